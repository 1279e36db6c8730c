"""The verdicts of an exploration: how what a search found is run again, made small, and told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from commonboard.check.exploration import Explored
from commonboard.check.verdict import BudgetSpent, Exhausted, Finding, Unknown, Verdict, Violation, in_words
from commonboard.errors import ReplayError
from commonboard.explorer.beyond import Lockstep
from commonboard.explorer.judging import Check, failure
from commonboard.explorer.program import Program
from commonboard.explorer.progress import Progress
from commonboard.explorer.shrink import shrink
from commonboard.sim import Run

DEPENDS = "the agents depend on something else than the board, such as objects left over from an earlier run"


@dataclass
class Verdicts:
    """What can be said about one program and one check.

    Attributes:
        program, check: what is explored.
        samples: how many random schedules to try where the rest was not.
        progress: the bar.
        name: the check's name.
        plain: the verdict on a run in which the agents take turns.
        crossings: which agent woke which other one beside the board in that run.
        meanwhile: what agents changed beside the board in the course of that run, even if it was changed back.
    """

    program: Program
    check: Check
    samples: int
    progress: Progress
    name: str = ""
    plain: Verdict | None = None
    crossings: list[str] = field(default_factory=list)
    meanwhile: list[str] = field(default_factory=list)

    def begin(self) -> Verdict | None:
        """Run the agents in turns: gives the verdict at once if they come to no end that way, since no search would either."""
        watched = Lockstep(things=self.program.things)
        run = self.program.simulate(replay=watched)
        self.plain = failure(self.program, self.check, run)
        self.name, self.crossings, self.meanwhile = self.plain.check, run.crossings, watched.changed
        again = self.program.simulate(replay=Lockstep())
        if _trace(run) != _trace(again):
            explored = Explored("nothing", self.program.timing, completed=2)
            return Unknown(
                self.name, "these agents", why=f"the same choices gave another run the second time: {DEPENDS}", explored=explored
            )
        if run.outcome != "endless":
            return None
        explored = Explored("one schedule", self.program.timing, completed=1)
        if isinstance(self.plain, Violation):
            return self.going_round([], explored)
        return Unknown(self.name, "the schedules of these agents", why=self.plain.why, explored=explored)

    def violation(self, explored: Explored, listed: list[int], scope: str) -> Violation | None:
        """The verdict with the run of these choices; `None` if that run does not fail."""
        run = self.program.simulate(replay=listed)
        verdict = failure(self.program, self.check, run)
        return _told(verdict, explored, run, scope) if isinstance(verdict, Violation) else None

    def holds(self, explored: Explored, scope: str, touched: Iterable[str], unknown: str = "") -> Verdict:
        """Everything within the scope was tried and nothing failed: that holds, unless something could not be judged.

        Args:
            explored: how it went.
            scope: what was tried.
            touched: the kinds of faults that touched something.
            unknown: what could not be judged, if something could not.
        """
        world = self.program.world
        allowed: list[str] = [kind for kind, count in world.limits.items() if count]
        allowed += ["clock skew"] if any((world.clock_skew or {}).values()) else []
        idle = [kind for kind in allowed if kind not in touched]
        if not unknown and idle:
            unknown = f"in no schedule did a fault of this kind touch anything: {', '.join(idle)}"
        if not unknown and isinstance(self.plain, Unknown):
            unknown = self.plain.why
        if unknown:
            return Unknown(self.name, scope, why=unknown, explored=explored)
        return Exhausted(self.name, scope, explored=explored)

    def spent(self, explored: Explored, tried: str) -> Verdict:
        """The budget is spent: agents in lockstep, then random schedules, may still find something; else nobody can tell."""
        beyond = self.beyond(explored)
        if beyond is not None:
            return beyond
        return BudgetSpent(self.name, f"{tried}, and {explored.random:,} random schedules", explored=explored)

    def beyond(self, explored: Explored) -> Verdict | None:
        """Random schedules beyond what was tried; `None` if none of them fails."""
        for number in range(self.samples):
            self.progress.tick(explored.states + explored.completed + number)
            run = self.program.simulate(seed=f"beyond {number}")
            explored.random += 1
            verdict = failure(self.program, self.check, run)
            if isinstance(verdict, Violation):
                listed = run.choices.numbers
                small = listed if run.outcome == "endless" else self.shrunk(listed)
                return self.violation(explored, small, "a schedule beyond those that were tried in order")
        return None

    def going_round(self, listed: list[int], explored: Explored) -> Verdict:
        """The verdict on agents that, after these choices, go round in a circle; with a run just long enough to see it."""
        for operations in (*range(6, 60, 2), 100, 500, self.program.max_operations):
            run = self.program.simulate(replay=Lockstep(listed), operations=operations)
            verdict = failure(self.program, self.check, run)
            if isinstance(verdict, Violation) and run.outcome == "endless":
                return _told(verdict, explored, run, "a schedule without an end")
        why = "no end can be reached in some schedule, but agents that take turns do not go round in a circle there"
        return Unknown(self.name, "every schedule", why=why, explored=explored)

    def shrunk(self, listed: list[int]) -> list[int]:
        """The smallest list of choices with the same kind of failure."""
        wanted = self._kind(listed)

        def fails(candidate: list[int]) -> bool:
            try:
                return self._kind(candidate) == wanted
            except ReplayError:
                return False

        return shrink(listed, fails, most=500)

    def _kind(self, listed: list[int]) -> str:
        verdict = failure(self.program, self.check, self.program.simulate(replay=listed))
        return verdict.findings[0].kind if isinstance(verdict, Violation) and verdict.findings else ""


def _trace(run: Run) -> str:
    return repr((run.outcome, list(run.history), sorted(run.errors)))


def _told(verdict: Violation, explored: Explored, run: Run, scope: str) -> Violation:
    verdict.scope, verdict.explored, verdict.run, verdict.token = scope, explored, run, run.token
    return verdict


def with_fewer(verdict: Violation, whole: Explored) -> Violation:
    """The verdict on fewer agents, with the counts of all of them."""
    assert verdict.explored is not None
    whole.preemptions = verdict.explored.preemptions
    note = Finding(
        "fewer agents", f"{in_words(verdict.run.agents)} suffice: the run that is shown is theirs, and so is the token"
    )
    verdict.notes = [other for other in verdict.notes if other.kind != "fewer agents"] + [note]
    verdict.explored, verdict.scope = whole, share(whole)
    return verdict


def every(count: int, one: str, many: str = "") -> str:
    """`every one of 70 interleavings`."""
    return f"every one of {count:,} {many or one + 's'}" if count != 1 else f"the only {one} there is"


def share(explored: Explored) -> str:
    """How many of the interleavings fail; or what the one that is shown takes, where nobody counted."""
    if explored.interleavings is not None:
        return f"{explored.violating:,} of {explored.interleavings:,} interleavings"
    return f"a schedule with {preemptions(explored.preemptions or 0)}"


def preemptions(count: int) -> str:
    """`2 preemptions or faults`."""
    return f"{count} preemption{'s' if count != 1 else ''} or fault{'s' if count != 1 else ''}"
