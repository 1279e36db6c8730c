"""`explore`: run every interleaving of some agents up to equivalence, and show the simplest run in which something goes wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from commonboard.check.exploration import Explored
from commonboard.check.lost_updates import no_lost_updates
from commonboard.check.verdict import Unknown, Verdict, Violation
from commonboard.errors import InvalidArgumentError, ReplayError
from commonboard.explorer.anew import explore_anew
from commonboard.explorer.beyond import check_pairs, sampled
from commonboard.explorer.judging import Check, StateJudge, every_intent_kept, failure, judge_of
from commonboard.explorer.learn import Diverged, Learner
from commonboard.explorer.moves import Moves, Restart
from commonboard.explorer.program import program_of
from commonboard.explorer.progress import Progress
from commonboard.explorer.search import Judge, Schedule, cheapest, classes, ends, exhaust, livelock, numbers
from commonboard.explorer.trust import Shared, changed_attributes, distrust, put_all_back, shared_objects, visible_ones
from commonboard.explorer.verdicts import Verdicts, every, preemptions, share, with_fewer
from commonboard.sim import World
from commonboard.sim.given import Given
from commonboard.sim.loop import SimLoop
from commonboard.sim.network import first_world
from commonboard.sim.outside import Outside
from commonboard.sim.store import EPOCH

Reduction = Literal["auto", "states", "sleep sets", "none"]


STATES, COUNTED, SCHEDULES = 200_000, 50_000, 20_000
"""How many states are visited, how many to count what fails once something does, and how many schedules are run."""


def explore(
    *agents: Any,
    policy: Any = None,
    given: Given | None = None,
    check: Check | None = None,
    store: Callable[..., Any] | None = None,
    world: World | None = None,
    bound: int | None = None,
    timing: str = "free",
    reduction: Reduction = "auto",
    budget: int | None = None,
    samples: int = 200,
    turn: int = 0,
    progress: bool | None = None,
) -> Verdict:
    """Try every interleaving of the agents' operations, up to equivalence, and say whether anything can go wrong.

    Args:
        agents, policy, given, store, world, turn: as for `simulate`.
        check: what is wrong: a function of a `Run` that gives a `Verdict`, such as `no_lost_updates`, or what `at_the_end` and
            `always` make. Unless given: for a scenario with intents, that each is kept; else `no_lost_updates`. A deadlock, a
            livelock, and an agent that dies of anything but being refused are found whatever the check.
        bound: the most preemptions and faults of which every schedule is tried; `None` for all schedules.
        timing: `"free"`: a delay is a lower bound, so that no race hides behind a think time; `"exact"`: it lasts as long as it
            says.
        reduction: how schedules are treated alike. `"states"`: equal states are merged. `"sleep sets"`: one schedule is run of
            those that differ only in the order of operations which commute; the check must not look at that order. `"none"`:
            every schedule is run. `"auto"`: states, where the check can be asked that way; for a function that judges whole
            histories, none.
        budget: how many states to visit, or schedules to run, at the most; 200,000 states or 20,000 schedules unless given, and
            50,000 states to count how many interleavings fail. What is spent is never a pass.
        samples: how many random schedules to try beyond that.
        progress: whether to show a progress bar; by itself on work that takes more than two seconds, and not in CI.

    Returns:
        `Violation` with the simplest run that fails (`.run`, `.token`, `.spacetime()`); `Exhausted` if everything within the
        bound was tried; `BudgetSpent` or `Unknown` where nobody can tell. `.explored` has the counts.

    Raises:
        AgentError, PolicyError, SimulationError: as `simulate` raises them.
        InvalidArgumentError: a number is out of range, or the check gives no `Verdict`.

    >>> async def counter(me):
    ...     await me.shared.update("count", lambda n: (n or 0) + 1)
    >>> from commonboard import LastWriterWins, Optimistic
    >>> verdict = explore(counter, counter, policy=LastWriterWins())
    >>> verdict.holds, verdict.explored.violating, verdict.explored.interleavings
    (False, 4, 6)
    >>> explore(counter, counter, policy=Optimistic()).holds
    True
    """
    for name, number, least in (("bound", bound, 0), ("budget", budget, 1), ("samples", samples, 0)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < least):
            raise InvalidArgumentError(f"{name} must be a whole number of at least {least}, not {number!r:.60}")
    if timing not in ("free", "exact"):
        raise InvalidArgumentError(f"timing is 'free' or 'exact', not {timing!r:.60}")
    if reduction not in ("auto", "states", "sleep sets", "none"):
        raise InvalidArgumentError(f"reduction is 'auto', 'states', 'sleep sets' or 'none', not {reduction!r:.60}")
    program = program_of(agents, policy, given, store, world, turn, timing)
    if check is None:
        check = every_intent_kept if program.scenario is not None and program.scenario.intents else no_lost_updates
    if not callable(check):
        raise InvalidArgumentError(f"check= takes a function of a Run that gives a Verdict, not {check!r:.60}")
    if progress is not None and not isinstance(progress, bool):
        raise InvalidArgumentError(f"progress is True, False or None, not {progress!r:.60}")
    with Progress(progress) as shown:
        limits = (STATES, COUNTED, SCHEDULES) if budget is None else (budget, budget, budget)
        return _Exploration(Verdicts(program, check, samples, shown), bound, reduction, *limits).verdict()


@dataclass
class _Exploration:
    """One call of `explore`."""

    verdicts: Verdicts
    bound: int | None
    reduction: Reduction
    budget: int
    counted: int
    schedules: int

    def verdict(self) -> Verdict:
        verdicts = self.verdicts
        things = shared_objects(verdicts.program.crew, verdicts.program.policy)
        verdicts.program = replace(verdicts.program, things=tuple(things))
        try:
            made = self._of_these(things)
        finally:
            put_all_back(things)
        made.sampler = partial(sampled, verdicts.program)
        return made

    def _of_these(self, things: list[Shared]) -> Verdict:
        verdicts = self.verdicts
        endless = verdicts.begin()
        if endless is not None:
            return endless
        kept, beside = self._beside_the_board(things)
        shown = visible_ones(things)
        why = self._why_not(bool(shown)) or kept or beside
        if not why and not shown:
            try:
                with Outside(SimLoop):
                    made = self.treated_alike()
            except (Diverged, ReplayError):
                made = None
            why = distrust(things)
            if made is not None and not why:
                return made
            why = beside = why or "treating schedules alike foresaw something else than what happens when they are run"
        stuck = put_all_back(things)
        if stuck:
            why = f"{stuck} cannot be put back to what it was before each run"
            return Unknown(verdicts.name, "these agents", why=why, explored=Explored("nothing", verdicts.program.timing))
        if beside or shown:
            verdicts.program = replace(verdicts.program, late_starts=True)
        return explore_anew(verdicts, why, shown, self.bound, self.schedules)

    def _beside_the_board(self, things: list[Shared]) -> tuple[str, str]:
        """What the policy keeps, and what the agents share, beside the board; empty texts if nothing."""
        program = self.verdicts.program
        policy = copy.deepcopy(program.policy)
        crossings = [*self.verdicts.crossings, *program.simulate(seed="trust", policy=policy).crossings]
        kept = changed_attributes(policy, program.policy)
        shared = f"{crossings[0]} beside the board, which no operation shows" if crossings else ""
        return (
            f"the policy keeps something in itself ({kept}), which no operation shows" if kept else "",
            shared or distrust(things, self.verdicts.meanwhile),
        )

    def _why_not(self, shown: bool) -> str:
        """Why schedules must not be treated alike; empty if they may. `shown`: whether agents share visible objects."""
        program = self.verdicts.program
        if self.reduction == "none":
            return "asked for: reduction='none'"
        if program.timing == "exact":
            return "the delays are exact, so that the clock orders everything"
        if program.store is not None:
            return "store= is of another make, so nobody knows what its calls touch"
        if self.reduction == "auto" and judge_of(program, self.verdicts.check) is None:
            return (
                "the check judges whole histories, and may see in which order operations happened that commute; if it does not "
                "look at that, reduction='sleep sets' runs one of those orders"
            )
        if program.world.replicas > 1 and shown:
            return "between replicas nobody can tell which steps commute by the objects that are visible"
        return ""

    def treated_alike(self) -> Verdict | None:
        """The verdict; `None` where the search foresaw something else than what runs show."""
        program, check = self.verdicts.program, self.verdicts.check
        judge = judge_of(program, check)
        if self.reduction == "states" and judge is None:
            name = self.verdicts.name
            raise InvalidArgumentError(
                f"{name!r} judges whole histories, so equal states cannot be merged; use reduction='sleep sets'"
            )
        if self.reduction == "sleep sets" and isinstance(judge, StateJudge) and judge.prop.at_every_moment:
            raise InvalidArgumentError(
                f"{self.verdicts.name!r} is asked of the boards in between, of which sleep sets leave some out; "
                "use reduction='states'"
            )
        learner = Learner(program.crew, program.policy, program.turn, program.world.may_fork)
        owed = bool(getattr(check, "asks_what_is_owed", False))
        while True:
            moves = Moves(learner, first_world(program.world, program.policy, list(program.crew), program.given, EPOCH), owed)
            try:
                if judge is None or self.reduction == "sleep sets":
                    return self._by_classes(moves, judge)
                return self._by_states(moves, judge)
            except Restart:
                learner = learner.again()
                judge = judge_of(program, check)  # it knows states by their numbers
            finally:
                moves.learner.close()

    def _by_states(self, moves: Moves, judge: Judge) -> Verdict | None:
        verdicts, explored = self.verdicts, Explored("equal states merged")
        census = None
        if self.bound is None:
            census = exhaust(moves, judge, self.budget, verdicts.progress.tick, self.counted)
            explored.states = census.states
            explored.interleavings, explored.violating = census.interleavings, census.violating
            explored.told, explored.unresolved = census.told, census.unresolved
            if census.complete and not census.failure:
                return self._all_states(moves, judge, explored)
        found = cheapest(moves, judge, self.bound, self.budget, verdicts.progress.tick)
        explored.states = max(explored.states, found.states)
        if found.found is not None:
            explored.preemptions = found.found.cost
            smaller = self._with_fewer_agents(found.found.failure)
            if smaller is not None:
                return with_fewer(smaller, explored)
            return verdicts.violation(explored, numbers(moves, found.found.path), share(explored))
        if census is not None and census.failure:
            return verdicts.violation(explored, verdicts.shrunk(numbers(moves, census.path)), share(explored))
        if found.everything:
            return self._tested(moves, judge, explored, f"every schedule, {explored.states:,} states in all")
        explored.done = found.done
        if self.bound is not None and found.done == self.bound:
            beyond = verdicts.beyond(explored)
            scope = f"every schedule with at most {preemptions(self.bound)} ({explored.states:,} states)"
            return beyond if beyond is not None else self._tested(moves, judge, explored, scope)
        done = f" and every schedule with at most {preemptions(found.done)}" if found.done >= 0 else ""
        return verdicts.spent(explored, f"{explored.states:,} states{done} were tried")

    def _all_states(self, moves: Moves, judge: Judge, explored: Explored) -> Verdict | None:
        """The verdict when every state was seen, and none fails."""
        circle = livelock(moves) if moves.learner.spins else None
        if circle is not None:
            return self.verdicts.going_round(numbers(moves, circle), explored)
        if explored.interleavings is not None:
            return self._tested(moves, judge, explored, every(explored.interleavings, "interleaving"))
        return self._tested(moves, judge, explored, f"every interleaving, {explored.states:,} states in all")

    def _tested(self, moves: Moves, judge: Judge, explored: Explored, scope: str) -> Verdict | None:
        """The verdict that it holds, if a sample of what was treated alike comes out alike."""
        explored.pairs, right = check_pairs(self.verdicts.program, moves)
        if not right:
            return None
        return self.verdicts.holds(explored, scope, judge.touched, judge.unknown)

    def _with_fewer_agents(self, kind: str) -> Violation | None:
        """The same kind of failure with one agent less, if that will do; for checks that say nothing of who takes part."""
        verdicts = self.verdicts
        if len(verdicts.program.crew) < 3 or kind != "check" or not hasattr(verdicts.check, "operation_breaks"):
            return None
        for agent in reversed(verdicts.program.crew):
            fewer = replace(verdicts, program=verdicts.program.without(agent), samples=0, plain=None)
            made = replace(self, verdicts=fewer, bound=None, budget=min(self.budget, 20_000)).treated_alike()
            if isinstance(made, Violation) and made.check == verdicts.name:
                return made
        return None

    def _by_classes(self, moves: Moves, judge: Judge | None) -> Verdict | None:
        """One schedule for each class; the failing one with the fewest choices that are not boring is shown."""
        verdicts, explored = self.verdicts, Explored("sleep sets", violating=0)
        asked = _History(verdicts) if judge is None else judge
        best: list[int] | None = None
        whole, failing = True, 0
        for schedule in classes(moves):
            if explored.completed + explored.cut >= self.budget:
                whole = False
                break
            if schedule is None:
                explored.cut += 1
                continue
            explored.completed += 1
            verdicts.progress.tick(explored.completed)
            if schedule.failure or _fails(moves, asked, schedule):
                failing += 1
                listed = numbers(moves, schedule.path)
                if best is None or _cost(listed) < _cost(best):
                    best = listed
        explored.violating = failing
        if best is not None:
            scope = f"{failing:,} of {'' if whole else 'the first '}{explored.completed:,} classes of interleavings"
            return verdicts.violation(explored, verdicts.shrunk(best), scope)
        if not whole:
            return verdicts.spent(explored, f"{explored.completed:,} classes of interleavings were tried")
        circle = livelock(moves) if moves.learner.spins else None
        if circle is not None:
            return verdicts.going_round(numbers(moves, circle), explored)
        scope = every(explored.completed, "class of interleavings", "classes of interleavings")
        return self._tested(moves, asked, explored, scope)


@dataclass
class _History(Judge):
    """Asks a check that has to see whole histories: with a run of each class of schedules."""

    verdicts: Verdicts

    def end(self, moves: Moves, state: Any, path: Callable[[], Any]) -> str:
        program = self.verdicts.program
        verdict = failure(program, self.verdicts.check, program.simulate(replay=numbers(moves, path())))
        if isinstance(verdict, Unknown):
            self.unknown = self.unknown or verdict.why
        return "check" if isinstance(verdict, Violation) else ""


def _fails(moves: Moves, judge: Judge, schedule: Schedule) -> bool:
    wrong = ends(moves, judge, schedule.state, lambda: schedule.path)
    return bool(wrong) or any(judge.broken(moves, moves.step(state, move)) for state, move in schedule.path)


def _cost(listed: list[int]) -> tuple[int, int]:
    return sum(number > 0 for number in listed), len(listed)
