"""Which isolation levels a dependency graph breaks, and the cycles that show it.

A level is broken where transactions are strongly connected along the edges that it looks at; that is found whatever happens.
To tell why, a shortest cycle is looked for through each anti-dependency in such a part, the worst anomaly first, until a number
of steps is spent. Each anti-dependency is told once, by the first level that it breaks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from commonboard.check.graph import (
    ANTI,
    DATA,
    DEPENDENCIES,
    FREE,
    REALTIME,
    RW,
    SESSION,
    WR,
    WW,
    Cycle,
    Graph,
    Search,
    Step,
)

LEVELS: Final = (
    "read uncommitted",
    "read committed",
    "snapshot isolation",
    "serializable",
    "strong session serializable",
    "strict serializable",
)
"""Isolation levels, each of which forbids all that the ones before it forbid. The last is judged with `realtime=True`."""
READ_UNCOMMITTED, READ_COMMITTED, SNAPSHOT, SERIALIZABLE, STRONG_SESSION, STRICT = LEVELS
_BUDGET = 10
"""Steps of the search for each node and edge."""
Pairs = set[tuple[int, int]]


class Cycles:
    """The cycles of a graph, by the first level that they break.

    Args:
        graph: the graph of what was seen and replaced.
        order: what must come before what because of the time at which it was done; it is added to the graph.
        told: anti-dependencies that are told already.

    Attributes:
        found: by level that is broken, the cycles to tell; there may be none, if all of them are told already.
        steps: how many nodes and edges were looked at.
        is_spent: whether the search was cut short.
    """

    def __init__(self, graph: Graph, order: Iterable[tuple[int, int, int]], told: Pairs) -> None:
        self.found: dict[str, list[Cycle]] = {}
        self.steps = 0
        self.is_spent = False
        inner, circular = graph.parts(), bytearray(len(graph.nodes))
        for nodes in inner:
            data = _Part(*graph.within(nodes), told)
            if data.by_data():
                for node in nodes:
                    circular[node] = True
            self._add(data)
        hidden = told | {(step.source, step.target) for steps in graph.starts(inner, ANTI) for step in steps}
        for source, target, kind in order:
            graph.add(source, target, kind)
        for nodes in graph.parts(hidden=hidden):
            if not any(circular[node] for node in nodes):  # else every order of sessions would be told as one more circle
                both = _Part(*graph.within(nodes), hidden)
                both.by_order()
                self._add(both)

    def _add(self, part: _Part) -> None:
        for level, cycles in part.found.items():
            self.found.setdefault(level, []).extend(cycles)
        self.steps += part.graph.size + part.search.steps
        self.is_spent |= part.search.is_spent


class _Part:
    """One strongly connected part of a graph.

    Args:
        graph: the part.
        names: its nodes' numbers in the whole graph.
        told: the anti-dependencies that are told already, in the whole graph.
    """

    def __init__(self, graph: Graph, names: list[int], told: Pairs) -> None:
        self.graph = graph
        self.search = Search(graph, _BUDGET * graph.size + 10_000)
        self.found: dict[str, list[Cycle]] = {}
        self._names = names
        named = ((step, self._names[step.source], self._names[step.target]) for step in graph.edges(ANTI))
        self._told = {(step.source, step.target) for step, one, other in named if (one, other) in told}
        self._known: set[frozenset[int]] = set()

    def by_data(self) -> bool:
        """Judge what one saw or replaced of another's; says whether some transactions stand in a circle without any look back."""
        graph = self.graph
        self._without_anti(READ_UNCOMMITTED, WW, WW)
        self._without_anti(READ_COMMITTED, DEPENDENCIES | FREE, WR)
        is_circular = bool(self.found)
        self._with_anti(SNAPSHOT, DATA, graph.starts_apart(DATA))
        self._with_anti(SERIALIZABLE, DATA, [list(graph.edges(ANTI))])
        return is_circular

    def by_order(self) -> None:
        """Judge what goes against an order in time, leaving out the anti-dependencies that are told already."""
        for level, order in ((STRONG_SESSION, SESSION), (STRICT, REALTIME)):
            self._without_anti(level, DEPENDENCIES | FREE | order, order)
            parts = self.graph.parts(DATA | order, self._told)
            self._with_anti(level, DATA | order, self.graph.starts(parts, ANTI), hide_told=True)

    def _without_anti(self, level: str, kinds: int, needed: int) -> None:
        """One shortest cycle of each part along these edges; one of the needed kind must be in it."""
        for starts in self.graph.starts(self.graph.parts(kinds), needed):
            best: Cycle | None = None
            for start in starts:
                cycle = self.search.cycle(start, kinds, must=best is None)
                if cycle is not None and (best is None or len(cycle) < len(best)):
                    best = cycle
            if best is not None:
                self._tell(level, best)

    def _with_anti(self, level: str, kinds: int, parts: list[list[Step]], hide_told: bool = False) -> None:
        """For each anti-dependency that is not told yet, a shortest cycle, with as few others in it as the level asks for.

        Args:
            level: the level that such cycles break.
            kinds: the edges to go along.
            parts: by strongly connected part, the anti-dependencies on such cycles.
            hide_told: never go along those that are told.
        """
        apart = level == SNAPSHOT
        for starts in parts:
            if starts:
                self.found.setdefault(level, [])
            must = True
            for start in starts:
                if (start.source, start.target) not in self._told:
                    cycle = self.search.cycle(start, DEPENDENCIES | FREE, must=must) if apart else None
                    hidden = self._told if hide_told else Pairs()
                    cycle = cycle or self.search.cycle(start, kinds, apart, must, hidden)
                    must = False
                    if cycle is not None:
                        self._told.add((start.source, start.target))
                        self._tell(level, cycle)

    def _tell(self, level: str, cycle: Cycle) -> None:
        cycles = self.found.setdefault(level, [])
        self._told.update((step.source, step.target) for step in cycle if step.kind == RW)
        nodes = frozenset(step.source for step in cycle)
        if nodes not in self._known:
            self._known.add(nodes)
            cycles.append(tuple(Step(self._names[step.source], self._names[step.target], step.kind) for step in cycle))
