"""Searches that run the whole program anew for each schedule: slower, and right whatever the agents share.

Where nothing can be said about what commutes, `every_schedule` runs them all: first the boring one, then those that differ
from it by one choice, by two, and so on. Where what agents share was made `visible`, `classes_of_runs` leaves out schedules
that differ only in the order of steps that commute; what a step did shows when it is run, so sleep sets need no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonboard.explorer.moves import conflict
from commonboard.explorer.program import Program
from commonboard.explorer.visible import Visible, used
from commonboard.sim import Run
from commonboard.sim.asks import Footprint


@dataclass(slots=True)
class Ran:
    """A run, and how many of its choices were not the boring one."""

    run: Run
    cost: int


def every_schedule(program: Program) -> Iterator[Ran]:
    """Every schedule, each exactly once, those with the fewest choices that are not boring first."""
    level: list[list[int]] = [[]]
    cost = 0
    while level:
        following: list[list[int]] = []
        for prefix in level:
            run = program.simulate(replay=prefix)
            numbers, alternatives = run.choices.numbers, run.choices.alternatives
            yield Ran(run, cost)
            for place in range(len(prefix), len(numbers)):
                following += [[*numbers[:place], other] for other in range(1, alternatives[place])]
        level, cost = following, cost + 1


_NOTHING = Footprint()


@dataclass(frozen=True, slots=True)
class Touched:
    """What a step touched: on which copy of the board (`None`: nothing), what there, and which shared objects.

    `known` is `False` for what may have touched anything.
    """

    agent: str
    known: bool
    site: str | None = None
    footprint: Footprint = _NOTHING
    things: tuple[str, ...] = ()

    def commutes(self, other: Touched, listed: dict[str, None]) -> bool:
        """Whether the two steps do the same in the other order."""
        if not (self.known and other.known) or self.agent == other.agent:
            return False
        if any("written" in (one, two) and one and two for one, two in zip(self.things, other.things, strict=True)):
            return False
        return self.site != other.site or not conflict(self.footprint, other.footprint, listed)


@dataclass(slots=True)
class _Point:
    """A step of the run in which a choice could be made.

    Attributes:
        labels: what could happen.
        chosen: which of it does now.
        asleep: what need not be tried here, with what it touched when it was.
        touched: what the chosen one touched.
    """

    labels: list[str]
    chosen: int
    asleep: dict[str, Touched]
    touched: Touched | None = None


@dataclass
class _Guide:
    """Takes the choices of the points so far, then the first that is not asleep; notes what each step touches."""

    points: list[_Point]
    things: Sequence[Visible]
    listed: dict[str, None]
    place: int = -1
    cut: bool = False
    offered: Sequence[Any] = field(default_factory=list)

    def sees(self, alternatives: Sequence[Any]) -> None:
        self.close()
        self.place += 1
        self.offered = alternatives
        if self.place == len(self.points):
            before = self.points[-1] if self.points else None
            asleep = {} if before is None or before.touched is None else _still(before, self.listed)
            labels = [each.label for each in alternatives]
            awake = [number for number, label in enumerate(labels) if label not in asleep]
            self.cut = self.cut or not awake
            self.points.append(_Point(labels, awake[0] if awake else 0, asleep))

    def __call__(self, alternatives: int) -> int:
        return self.points[self.place].chosen

    def check(self, choices: Any) -> None:
        self.close()

    def close(self) -> None:
        """The step that ran last is over: note what it touched."""
        if self.place >= 0:
            point = self.points[self.place]
            point.touched = _touched(self.offered[point.chosen], tuple(used(thing) for thing in self.things), self.listed)
        else:
            for thing in self.things:
                used(thing)


def _still(point: _Point, listed: dict[str, None]) -> dict[str, Touched]:
    assert point.touched is not None
    return {label: other for label, other in point.asleep.items() if other.commutes(point.touched, listed)}


def _touched(chosen: Any, things: tuple[str, ...], listed: dict[str, None]) -> Touched:
    waiting = getattr(chosen, "waiting", chosen)
    ask = getattr(waiting, "ask", None)
    if ask is None:
        timer = getattr(chosen, "when", None) is not None
        return Touched(getattr(chosen, "agent", ""), timer, None, _NOTHING, things)
    listed.update(dict.fromkeys(ask.footprint.prefixes))
    return Touched(waiting.agent, waiting.site is not None, getattr(waiting.site, "replica", "") or "", ask.footprint, things)


def classes_of_runs(program: Program, things: Sequence[Visible]) -> Iterator[Ran | None]:
    """One run for each class of schedules that differ only in the order of steps which commute; `None` for one that was cut."""
    listed: dict[str, None] = {}
    points: list[_Point] = []
    while True:
        guide = _Guide(points, things, listed)
        knew = len(listed)
        run = program.simulate(replay=guide)
        if len(listed) != knew:
            points = []  # somebody lists: what commutes has to be told anew
            continue
        yield None if guide.cut else Ran(run, sum(point.chosen > 0 for point in points))
        while points:
            point = points[-1]
            assert point.touched is not None
            point.asleep[point.labels[point.chosen]] = point.touched
            awake = [number for number, label in enumerate(point.labels) if label not in point.asleep]
            if awake:
                point.chosen, point.touched = awake[0], None
                break
            points.pop()
        if not points:
            return
