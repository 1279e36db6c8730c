"""A graph of what must come before what, its strongly connected parts, and the cycles in them. Nothing here is recursive.

Nodes are numbers. Those below `Graph.real` are transactions; those from there on only stand for "all that comes later in
this row", or "all that came before", so that a look at many things at once needs one edge and not one for each. Edges have kinds:

- `WW`: one replaced what the other wrote; `WR`: one saw what the other wrote;
- `RW`: one saw what the other replaced, so it comes before: an *anti-dependency*; `PRW`: the same for a list of keys;
- `SESSION`, `REALTIME`: one ended before the other of the same agent, or of anybody, began;
- `FREE`: from a helper node; it says nothing of its own.

Strongly connected parts are found with Tarjan's algorithm (1972). That a cycle in which no two anti-dependencies follow each
other is what snapshot isolation forbids, and that every other cycle has such a pair, is from Fekete et al. (2005) and Cerone
and Gotsman (2018). A search goes breadth first, so what it finds is shortest; it may spend a number of steps, never seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

WW, WR, RW, PRW, SESSION, REALTIME, FREE = (1 << place for place in range(7))
DEPENDENCIES = WW | WR
ANTI = RW | PRW
DATA = DEPENDENCIES | ANTI | FREE


class Step(NamedTuple):
    """One edge of a cycle: from a transaction to another."""

    source: int
    target: int
    kind: int


Cycle = tuple[Step, ...]


@dataclass(slots=True)
class Graph:
    """Edges by node, as two rows that belong together: where they go, and of which kind they are."""

    real: int
    targets: list[list[int]] = field(init=False)
    kinds: list[bytearray] = field(init=False)

    def __post_init__(self) -> None:
        self.targets = [[] for _ in range(self.real)]
        self.kinds = [bytearray() for _ in range(self.real)]

    def node(self) -> int:
        """A new helper node."""
        self.targets.append([])
        self.kinds.append(bytearray())
        return len(self.targets) - 1

    def add(self, source: int, target: int, kind: int) -> None:
        """A new edge."""
        self.targets[source].append(target)
        self.kinds[source].append(kind)

    @property
    def nodes(self) -> range:
        """All nodes."""
        return range(len(self.targets))

    @property
    def size(self) -> int:
        """How many nodes and edges there are."""
        return len(self.targets) + sum(map(len, self.targets))

    def edges(self, kinds: int) -> Iterator[Step]:
        """All edges of some kinds."""
        for source, row in enumerate(self.kinds):
            for target, kind in zip(self.targets[source], row, strict=True):
                if kind & kinds:
                    yield Step(source, target, kind)

    def within(self, nodes: Sequence[int]) -> tuple[Graph, list[int]]:
        """The part between some nodes, each edge once; and the nodes by their new numbers."""
        kept = sorted(nodes)
        new = {node: number for number, node in enumerate(kept)}
        part = Graph(sum(node < self.real for node in kept))
        for _ in range(len(kept) - part.real):
            part.node()
        for node, number in new.items():
            edges = dict.fromkeys(zip(self.targets[node], self.kinds[node], strict=True))
            for target, kind in edges:
                if target in new:
                    part.add(number, new[target], kind)
        return part, kept

    def parts(self, kinds: int = -1, hidden: Collection[tuple[int, int]] = ()) -> list[list[int]]:
        """The strongly connected parts of two transactions or more.

        Args:
            kinds: the edges to go along; all unless given.
            hidden: anti-dependencies not to go along.
        """
        rows: list[list[int]] = self.targets
        if kinds != -1:
            pairs = zip(rows, self.kinds, strict=True)
            rows = [[t for t, k in zip(row, of, strict=True) if k & kinds] for row, of in pairs]
        if hidden:
            rows = list(rows)
            for node in dict.fromkeys(source for source, _ in sorted(hidden)):
                shown = ((t, k) for t, k in self._edges(node, kinds) if not (k & ANTI and (node, t) in hidden))
                rows[node] = [target for target, _ in shown]
        return [part for part in components(rows) if sum(node < self.real for node in part) > 1]

    def starts(self, parts: Sequence[Sequence[int]], kinds: int) -> list[list[Step]]:
        """The edges of some kinds within each part; each of them lies on a cycle."""
        found: list[list[Step]] = []
        for nodes in map(sorted, parts):
            there = set(nodes)
            steps = (Step(node, target, kind) for node in nodes for target, kind in self._edges(node, kinds))
            found.append([step for step in steps if step.target in there])
        return found

    def starts_apart(self, kinds: int) -> list[list[Step]]:
        """The anti-dependencies that lie on a way round on which no two of them follow each other, by strongly connected part."""
        # Each node twice: reached along an anti-dependency (odd), from which no other may follow, or otherwise (even).
        doubled: list[list[int]] = []
        for node in self.nodes:
            doubled.append([2 * target + (kind & ANTI > 0) for target, kind in self._edges(node, kinds)])
            doubled.append([2 * target + (kind == FREE) for target, kind in self._edges(node, kinds & ~ANTI)])
        parts = [part for part in components(doubled) if len({state // 2 for state in part if state // 2 < self.real}) > 1]
        part_of = {state: number for number, part in enumerate(parts) for state in part}
        found: list[list[Step]] = [[] for _ in parts]
        for step in self.edges(kinds & ANTI):
            number = part_of.get(2 * step.source, -1)
            if number >= 0 and part_of.get(2 * step.target + 1) == number:
                found[number].append(step)
        return found

    def _edges(self, node: int, kinds: int) -> list[tuple[int, int]]:
        edges = zip(self.targets[node], self.kinds[node], strict=True)
        return [(target, kind) for target, kind in edges if kind & kinds]


def components(targets: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components of more than one node, by Tarjan's algorithm with a stack of its own."""
    size = len(targets)
    order, low = [0] * size, [0] * size
    done, count = size + 1, 0
    found: list[list[int]] = []
    stack: list[int] = []
    for root in range(size):
        if order[root] or not targets[root]:
            continue
        count += 1
        order[root] = low[root] = count
        stack.append(root)
        path = [(root, iter(targets[root]))]
        while path:
            node, edges = path[-1]
            lowest = low[node]
            for target in edges:
                reached = order[target]
                if not reached:
                    count += 1
                    order[target] = low[target] = count
                    stack.append(target)
                    path.append((target, iter(targets[target])))
                    break
                if reached < lowest:
                    lowest = reached
            else:
                path.pop()
                if lowest == order[node]:
                    part = [stack.pop()]
                    order[part[0]] = done  # nobody takes it for part of another any more
                    while part[-1] != node:
                        part.append(stack.pop())
                        order[part[-1]] = done
                    if len(part) > 1:
                        found.append(part)
                elif lowest < low[path[-1][0]]:
                    low[path[-1][0]] = lowest
                continue
            low[node] = lowest
    return found


class Search:
    """Looks for cycles in one graph, and counts its steps.

    Args:
        graph: where to look.
        budget: how many steps it may take, apart from what it must.
    """

    def __init__(self, graph: Graph, budget: int) -> None:
        self._graph = graph
        self._left = budget
        self.steps = 0
        self.is_spent = False

    def cycle(
        self,
        start: Step,
        kinds: int,
        apart: bool = False,
        must: bool = False,
        hidden: Collection[tuple[int, int]] = (),
    ) -> Cycle | None:
        """The shortest way round that begins with an edge, or `None`.

        Args:
            start: the edge.
            kinds: the edges to go along.
            apart: never along two anti-dependencies in a row, the first edge included.
            must: whatever it costs.
            hidden: anti-dependencies not to go along.
        """
        if self._left <= self.steps and not must:
            self.is_spent = True
            return None
        real, goal = self._graph.real, start.source
        # A state: the node, whether the last true edge was an anti-dependency, whether a transaction other than the goal was met.
        first = (start.target, bool(start.kind & ANTI), start.target < real)
        before: dict[tuple[int, bool, bool], tuple[tuple[int, bool, bool], int] | None] = {first: None}
        queue = deque([first])
        while queue:
            state = queue.popleft()
            node, is_anti, has_moved = state
            for target, kind in zip(self._graph.targets[node], self._graph.kinds[node], strict=True):
                self.steps += 1
                anti = is_anti if kind == FREE else bool(kind & ANTI)
                if not kind & kinds or (kind & ANTI and ((apart and is_anti) or (node, target) in hidden)):
                    continue
                if target == goal:
                    if has_moved and not (apart and anti and start.kind & ANTI):
                        return self._told(start, [*_way(before, state), (goal, kind)])
                    continue
                reached = (target, anti and apart, has_moved or target < real)
                if reached not in before:
                    before[reached] = (state, kind)
                    (queue.appendleft if kind == FREE else queue.append)(reached)
        return None

    def _told(self, start: Step, way: Iterable[tuple[int, int]]) -> Cycle:
        """The steps between transactions; a helper node passes on the kind of the edge that led to it."""
        steps: list[Step] = []
        source, pending = start.source, 0
        for node, kind in [(start.target, start.kind), *way]:
            pending = pending if kind == FREE else kind
            if node < self._graph.real:
                if node != source:
                    steps.append(Step(source, node, pending))
                source = node
        return tuple(steps)


def _way(
    before: dict[tuple[int, bool, bool], tuple[tuple[int, bool, bool], int] | None], state: tuple[int, bool, bool]
) -> list[tuple[int, int]]:
    way: list[tuple[int, int]] = []
    while (came := before[state]) is not None:
        way.append((state[0], came[1]))
        state = came[0]
    return way[::-1]
