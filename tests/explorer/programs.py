"""Small programs, and a brute force over all their interleavings that knows nothing of how `explore` works."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import commonboard as cb

ONCE = cb.at_the_end(lambda state: sum(key.endswith("/first") for key in state) <= 1, "only one is first")
"""Broken where two agents found what they share untouched: each then writes a key `first` of its own."""
WRITES = ("writes", "compare-and-sets", "appends", "deletes")


def counter(times: int = 1, key: str = "n") -> Callable[[cb.AgentMemory], Any]:
    """An agent that adds 1 to a shared number so many times."""

    async def counter(me: cb.AgentMemory) -> None:
        for _ in range(times):
            await me.shared.update(key, lambda found: (found or 0) + 1)

    return counter


def racers(**options: Any) -> cb.check.Verdict:
    """The lost update of two counters, found."""
    return cb.explore(counter(), counter(), policy=cb.LastWriterWins(), **options)


class Event(NamedTuple):
    """An operation in one interleaving: the agent's n-th, what it does, and where."""

    agent: str
    number: int
    what: str
    key: str


class Watching:
    """Choices of a list, and boring ones after it; keeps the operations in the order in which they happened."""

    def __init__(self, numbers: Sequence[int] = ()) -> None:
        self._rest = iter(list(numbers))
        self._offered: Sequence[Any] = ()
        self._labels: list[str] = []
        self.switches = 0
        self._last = ""

    def sees(self, alternatives: Sequence[Any]) -> None:
        self._offered = alternatives
        if len(alternatives) == 1:
            self._take(0)

    def __call__(self, alternatives: int) -> int:
        number = next(self._rest, 0)
        self._take(number)
        return number

    def check(self, choices: Any) -> None:
        """It fits always."""

    def _take(self, number: int) -> None:
        labels = [each.label for each in self._offered]
        agent, what, _ = labels[number].split(" ", 2)
        if what == "has":
            return  # a timer
        able = [label.split(" ", 2)[0] for label in labels if " has waited " not in label]
        self.switches += self._last not in ("", agent) and self._last in able
        self._last = agent
        self._labels.append(labels[number])

    @property
    def events(self) -> tuple[Event, ...]:
        """The operations in order."""
        counts: dict[str, int] = {}
        found = []
        for label in self._labels:
            agent, what, key = label.split(" ", 2)
            counts[agent] = counts.get(agent, 0) + 1
            found.append(Event(agent, counts[agent], what, key))
        return tuple(found)


def is_under(prefix: str, key: str) -> bool:
    parts, whole = prefix.split("/") if prefix else [], key.split("/")
    return whole[: len(parts)] == parts


def depends(one: Event, other: Event, listed: Iterable[str]) -> bool:
    """Whether two operations may come out otherwise in the other order."""
    if one.agent == other.agent:
        return True
    writers = [event for event in (one, other) if event.what in WRITES]
    if len(writers) == 2:
        together = any(is_under(prefix, one.key) and is_under(prefix, other.key) for prefix in listed)
        return together or one.key == other.key
    if len(writers) == 1:
        (writer,) = writers
        reader = other if writer is one else one
        return is_under(reader.key, writer.key) if reader.what == "lists" else reader.key == writer.key
    return False


def normal_form(events: Sequence[Event], listed: Iterable[str]) -> tuple[Event, ...]:
    """The first, in alphabetical order, of all interleavings that differ only in the order of what does not depend."""
    rest, form = list(events), list[Event]()
    while rest:
        free = [event for n, event in enumerate(rest) if not any(depends(earlier, event, listed) for earlier in rest[:n])]
        form.append(min(free))
        rest.remove(form[-1])
    return tuple(form)


def swapped_classes(orders: Iterable[Sequence[Event]], listed: Iterable[str]) -> int:
    """The same by union-find: how many groups there are if neighbours that do not depend may be exchanged."""
    group: dict[tuple[Event, ...], tuple[Event, ...]] = {tuple(order): tuple(order) for order in orders}

    def top(order: tuple[Event, ...]) -> tuple[Event, ...]:
        while group[order] != order:
            order = group[order]
        return order

    for order in list(group):
        for n in range(len(order) - 1):
            if not depends(order[n], order[n + 1], listed):
                group[top(order)] = top((*order[:n], order[n + 1], order[n], *order[n + 2 :]))
    return sum(order == above for order, above in group.items())


@dataclass
class Brute:
    """What all interleavings come to.

    Attributes:
        orders: each interleaving, with its run.
        listed: the prefixes that somebody lists in one of them.
        switches: how many preemptions each takes.
    """

    orders: list[tuple[tuple[Event, ...], cb.Run]] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    switches: list[int] = field(default_factory=list)

    def classes(self, only: Callable[[cb.Run], bool] = lambda run: True) -> int:
        return len({normal_form(events, self.listed) for events, run in self.orders if only(run)})

    def fails(self, check: Callable[[cb.Run], Any] = cb.no_lost_updates) -> list[bool]:
        return [failed(run, check) for _, run in self.orders]

    def outcomes(self) -> set[str]:
        return {outcome(run) for _, run in self.orders}


class TooMany(Exception):
    """There are more interleavings than a test has time for."""


def brute(agents: Any, most: int = 5_000, **options: Any) -> Brute:
    """All interleavings: an odometer over the choices, each with a run of its own."""
    found, numbers = Brute(), list[int]()
    while True:
        watching = Watching(numbers)
        run = cb.simulate(agents, replay=watching, timing="free", **options)
        found.orders.append((watching.events, run))
        found.switches.append(watching.switches)
        found.listed |= {event.key for event in watching.events if event.what == "lists"}
        if len(found.orders) > most:
            raise TooMany
        numbers, wheels = run.choices.numbers, run.choices.alternatives
        while numbers and numbers[-1] + 1 == wheels[len(numbers) - 1]:
            numbers.pop()
        if not numbers:
            return found
        numbers[-1] += 1


def failed(run: cb.Run, check: Callable[[cb.Run], Any] = cb.no_lost_updates) -> bool:
    """Whether a run is a failure: by the check, or since it did not come to its end, and nobody was told why."""
    told = all(isinstance(error, (cb.ConflictError, cb.NotAdmittedError)) for error in run.errors.values())
    return check(run).holds is False or run.outcome in ("deadlock", "endless") or (run.outcome == "failed" and not told)


def outcome(run: cb.Run) -> str:
    """What can be told of a run once it is over: the board with its order, and what each agent came to."""
    errors = {name: type(error).__name__ for name, error in run.errors.items()}
    return json.dumps([sorted(run.state.items()), sorted(run.results.items()), sorted(errors.items())], default=str)


def noting(seen: set[str], judges: str = "end") -> Callable[[cb.Run], Any]:
    """A check that holds always, and keeps what it was shown."""

    def noted(run: cb.Run) -> cb.check.Verdict:
        seen.add(outcome(run))
        return cb.Holds("noted", "this run", history=run.history, token=run.token)

    noted.judges = judges  # type: ignore[attr-defined]
    return noted


def shown(agents: Any, reduction: str, judges: str = "end", **options: Any) -> tuple[set[str], cb.check.Verdict]:
    """All the outcomes that a check is shown in an exploration, and its verdict."""
    seen: set[str] = set()
    verdict = cb.explore(agents, check=noting(seen, judges), reduction=reduction, **options)  # type: ignore[arg-type]
    return seen, verdict


def without_running(program: Sequence[Sequence[tuple[str, str]]]) -> tuple[int, int]:
    """Interleavings and classes of straight-line agents, given as `(what, key)`: by arithmetic, without a simulator.

    A class is which of two operations that depend on each other comes first, for all of them.
    """
    agents = [[Event(f"agent-{a}", n, *step) for n, step in enumerate(steps)] for a, steps in enumerate(program)]
    events = [event for agent in agents for event in agent]
    listed = {event.key for event in events if event.what == "lists"}
    pairs = [pair for pair in itertools.combinations(events, 2) if pair[0].agent != pair[1].agent and depends(*pair, listed)]
    count, classes = 0, set[tuple[bool, ...]]()
    for order in merged(agents):
        place = {event: n for n, event in enumerate(order)}
        classes.add(tuple(place[one] < place[other] for one, other in pairs))
        count += 1
    return count, len(classes)


def merged(lanes: list[list[Event]]) -> Iterator[list[Event]]:
    """All ways to put lanes together that keep the order in each."""
    if not any(lanes):
        yield []
    for number, lane in enumerate(lanes):
        if lane:
            for rest in merged([*lanes[:number], lane[1:], *lanes[number + 1 :]]):
                yield [lane[0], *rest]


def explored_of(*agents: Any, **options: Any) -> cb.check.Explored:
    verdict = cb.explore(*agents, **{"check": ONCE, **options})
    assert verdict.explored is not None
    return verdict.explored


def refused(explored: Any, *words: str) -> None:
    """Schedules were not treated alike, and the reason names these."""
    assert explored.method == "every schedule run anew"
    for word in words:
        assert word in explored.why, explored.why
