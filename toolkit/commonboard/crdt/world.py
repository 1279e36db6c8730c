"""All small histories of a few replicas: what each replica holds, what it has seen, and what it should read.

A `World` takes steps from one situation (a `Node`) to the next. A `Walk` takes all of them, shortest first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, Final, NamedTuple

from commonboard.crdt.base import CrdtTypeError, CrdtValueError
from commonboard.crdt.clocks import Dot
from commonboard.crdt.reports import SpecReport, StepRow
from commonboard.crdt.scripts import RECEIVE, States, Step, Subject, SubjectError, describe, show_step
from commonboard.crdt.specs import Spec, Update, counter_spec, set_spec

LAYERS: Final = ("spec", "converge")


class Node(NamedTuple):
    """A situation: for each replica its state and the ids of the updates it has seen, and the log of all updates."""

    states: tuple[int, ...]
    seen: tuple[frozenset[Dot], ...]
    log: tuple[Update, ...]


class World:
    """A few replicas of the type under test, beside the log of what happened to them."""

    def __init__(self, subject: Subject, spec: Spec | None, replicas: Sequence[str]) -> None:
        self.subject = subject
        self.states = States(subject)
        self.replicas = tuple(replicas)
        self._spec = spec
        self._expected: dict[tuple[Update, ...], Any] = {}

    def start(self) -> Node:
        states = tuple(self.states.number(self.subject.fresh(replica)) for replica in self.replicas)
        return Node(states, (frozenset(),) * len(states), ())

    def names(self, node: Node) -> dict[int, str]:
        """The different states of a situation, each with the first replica that holds it."""
        names: dict[int, str] = {}
        for state, replica in zip(node.states, self.replicas, strict=True):
            names.setdefault(state, replica)
        return names

    def steps(self, node: Node, events: int) -> Iterator[Step]:
        for replica in self.replicas:
            if len(node.log) < events:
                yield from ((replica, *op) for op in self.subject.ops)
            yield from ((replica, RECEIVE, other) for other in self.replicas if other != replica)

    def take(self, node: Node, step: Step) -> Node:
        """The situation after a step; `SubjectError` if the type under test fails."""
        here = self.index(step[0])
        if step[1] == RECEIVE:
            there = self.index(step[2])
            state = self.states.merge(node.states[here], node.states[there])
            return Node(_put(node.states, here, state), _put(node.seen, here, node.seen[here] | node.seen[there]), node.log)
        state = self.states.update(node.states[here], step[0], step[1:])
        done = sum(update.id[0] == step[0] for update in node.log)
        update = Update((step[0], done + 1), step[1], step[2:], node.seen[here])
        seen = _put(node.seen, here, node.seen[here] | {update.id})
        return Node(_put(node.states, here, state), seen, tuple(sorted((*node.log, update))))

    def expected(self, node: Node, here: int) -> Any:
        visible = tuple(update for update in node.log if update.id in node.seen[here])
        if visible not in self._expected:
            self._expected[visible] = self._guess_spec()(visible)
        return self._expected[visible]

    def problem(self, node: Node, replica: str, layers: Sequence[str]) -> tuple[str, str] | None:
        """The layer and the sentence of what is wrong at this replica, if something is."""
        here = self.index(replica)
        if "spec" in layers:
            value, expected = self.states.value(node.states[here]), self.expected(node, here)
            if not self._agree(value, expected):
                seen = ", ".join(show_step((u.id[0], u.name, *u.args)) for u in node.log if u.id in node.seen[here]) or "nothing"
                return "spec", f"{replica} has seen {seen}, so it should read {expected!r}, and reads {value!r}"
        if "converge" in layers:
            for there, other in enumerate(self.replicas):
                if node.seen[there] == node.seen[here] and not self.states.same(node.states[here], node.states[there]):
                    differ = self.states.contrast(node.states[here], node.states[there])
                    return "converge", f"{replica} and {other} have seen the same updates and read {differ}"
        return None

    def goes_wrong(self, node: Node, replica: str, layers: Sequence[str]) -> bool:
        """Whether something is wrong at this replica; an error of the type under test is."""
        try:
            return self.problem(node, replica, layers) is not None
        except SubjectError:
            return True

    def replay(
        self, script: Sequence[Step], layers: Sequence[str], *, explored: int, bound: str, finish: bool = False
    ) -> SpecReport:
        """The script again, row by row, up to its first problem."""
        check_layers(layers)
        rows: list[StepRow] = []
        node = self.start()
        for done, step in enumerate(script, 1):
            try:
                node = self.take(node, step)
                found = self.problem(node, step[0], layers)
                rows.append(self._row(node, step, layers))
            except SubjectError as error:
                return SpecReport(rows, script[:done], layer="error", problem=str(error), explored=explored, bound=bound)
            if found:
                return SpecReport(rows, script[:done], layer=found[0], problem=found[1], explored=explored, bound=bound)
        layer, problem = self._finish(node, layers) if finish else ("", "")
        return SpecReport(rows, script, layer=layer, problem=problem, explored=explored, bound=bound)

    def _row(self, node: Node, step: Step, layers: Sequence[str]) -> StepRow:
        here = self.index(step[0])
        value = self.states.value(node.states[here])
        expected = self.expected(node, here) if "spec" in layers else value
        return StepRow(show_step(step), value, expected, "spec" not in layers or self._agree(value, expected))

    def _agree(self, value: Any, expected: Any) -> bool:
        if self._spec is set_spec and isinstance(value, (list, tuple)):
            return sorted(map(describe, value)) == sorted(map(describe, expected))
        return describe(value) == describe(expected)

    def _finish(self, node: Node, layers: Sequence[str]) -> tuple[str, str]:
        """Merge all replicas, in every order."""
        first: int | None = None
        everything = node._replace(seen=(frozenset(update.id for update in node.log),) * len(self.replicas))
        try:
            for order in permutations(range(len(self.replicas))):
                merged = node.states[order[0]]
                for there in order[1:]:
                    merged = self.states.merge(merged, node.states[there])
                first = merged if first is None else first
                if "converge" in layers and not self.states.same(first, merged):
                    return "converge", f"merging all replicas in two orders gives {self.states.contrast(first, merged)}"
                found = self.problem(everything._replace(states=(merged,) * len(order)), self.replicas[order[0]], layers)
                if found:
                    return found[0], f"with all replicas merged, {found[1]}"
        except SubjectError as error:
            return "error", str(error)
        return "", ""

    def _guess_spec(self) -> Spec:
        if self._spec is None:
            self._spec = counter_spec if isinstance(self.subject.value(self.subject.fresh(self.replicas[0])), int) else set_spec
        return self._spec

    def index(self, replica: str) -> int:
        if replica not in self.replicas:
            raise CrdtTypeError(f"there is no replica {replica!r} here; they are {', '.join(self.replicas)}: give replicas=")
        return self.replicas.index(replica)


class Walk:
    """Every step from every situation, shortest histories first; iterate it once.

    It gives `(situation, step, next)`, where `next` is a situation that is new, or the `SubjectError` that the step raised.
    """

    def __init__(self, world: World, events: int, budget: int) -> None:
        if events < 1 or not world.subject.ops:
            raise CrdtValueError(
                f"there is nothing to try with events={events} and ops={world.subject.ops}; give at least 1 of each"
            )
        self.complete = False
        self._world = world
        self._events = events
        self._budget = budget
        self._came: dict[Node, tuple[Node, Step] | None] = {}

    def __len__(self) -> int:
        return len(self._came)

    def __iter__(self) -> Iterator[tuple[Node, Step, Node | SubjectError]]:
        start = self._world.start()
        self._came = {start: None}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for step in self._world.steps(node, self._events):
                try:
                    child = self._world.take(node, step)
                except SubjectError as error:
                    yield node, step, error
                    continue
                if child in self._came:
                    continue
                if len(self._came) >= self._budget:
                    return
                self._came[child] = (node, step)
                queue.append(child)
                yield node, step, child
        self.complete = True

    def story(self, node: Node) -> list[Step]:
        """The steps that led to a situation."""
        steps: list[Step] = []
        came = self._came[node]
        while came is not None:
            node, step = came
            steps.append(step)
            came = self._came[node]
        return steps[::-1]

    def bound(self) -> str:
        """What was walked through, in words."""
        what = f"histories of {len(self._world.replicas)} replicas with at most {self._events} updates"
        if self.complete:
            return f"all {what} ({len(self):,} situations)"
        return f"the first {len(self):,} situations of {what}; there are more (budget= sets how many to try)"


def check_layers(layers: Sequence[str]) -> None:
    """Refuse a layer that does not exist, and none at all."""
    if isinstance(layers, str) or not layers or not set(layers) <= set(LAYERS):
        raise CrdtValueError(f"layers must be a list out of {', '.join(LAYERS)}, not {layers!r}")


def _put(items: tuple[Any, ...], place: int, item: Any) -> tuple[Any, ...]:
    return (*items[:place], item, *items[place + 1 :])
