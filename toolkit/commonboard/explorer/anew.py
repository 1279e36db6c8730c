"""An exploration that runs each schedule anew: where agents share something beside the board, or were asked to."""

from __future__ import annotations

from collections.abc import Sequence

from commonboard.check.exploration import Explored
from commonboard.check.verdict import Unknown, Verdict, Violation
from commonboard.errors import ReplayError
from commonboard.explorer.judging import failure
from commonboard.explorer.rerun import Ran, classes_of_runs, every_schedule
from commonboard.explorer.verdicts import DEPENDS, Verdicts, every
from commonboard.explorer.visible import Visible


def explore_anew(verdicts: Verdicts, why: str, things: Sequence[Visible], bound: int | None, budget: int) -> Verdict:
    """The verdict.

    Args:
        verdicts: the program and the check.
        why: why schedules cannot be treated alike; empty if they can, since all that is shared is visible.
        things: the visible objects.
        bound: the most choices that are not the boring one; `None` for any number.
        budget: how many schedules to run at the most.
    """
    program, check = verdicts.program, verdicts.check
    alike = bool(things) and not why
    explored = Explored("sleep sets, every schedule run anew" if alike else "every schedule run anew", program.timing)
    explored.why = f"Schedules were not treated alike: {why}." if why else ""
    explored.why += " An agent may begin late, too." if why and program.late_starts else ""
    explored.violating = 0
    best: Ran | None = None
    unknown = ""
    touched: dict[str, None] = {}
    stopped: int | None = None
    runs = classes_of_runs(program, things) if alike else every_schedule(program)
    while True:
        try:
            ran = next(runs)
        except StopIteration:
            break
        except ReplayError as error:
            why = f"the same choices did not give the same run ({error}): {DEPENDS}"
            return Unknown(verdicts.name, "these agents", why=why, explored=explored)
        if ran is None:
            explored.cut += 1
            continue
        if explored.completed + explored.cut >= budget or (bound is not None and not alike and ran.cost > bound):
            stopped = ran.cost - 1
            break
        explored.completed += 1
        verdicts.progress.tick(explored.completed)
        verdict = failure(program, check, ran.run)
        unknown = unknown or (verdict.why if isinstance(verdict, Unknown) else "")
        touched.update(dict.fromkeys(fault.kind for fault in ran.run.faults if fault.touched))
        if isinstance(verdict, Violation):
            explored.violating += 1
            if best is None or (ran.cost, len(ran.run.history)) < (best.cost, len(best.run.history)):
                best = ran
    whole = stopped is None
    explored.done = None if whole or alike else stopped
    counts_orders = whole and not explored.cut and not alike and not program.late_starts
    explored.interleavings = explored.completed if counts_orders else None
    counted = f"{explored.completed:,} {'classes of ' if alike else ''}schedules"
    if best is not None:
        explored.preemptions = best.cost
        scope = f"{explored.violating:,} of {'' if whole else 'the first '}{counted}"
        made = verdicts.violation(explored, verdicts.shrunk(best.run.choices.numbers), scope)
        again = f"a run that failed did not fail when it was run again: {DEPENDS}"
        return made if made is not None else Unknown(verdicts.name, scope, why=again, explored=explored)
    if whole or (bound is not None and stopped == bound):
        if not _repeats(verdicts):
            unknown = f"the same choices did not give the same run: {DEPENDS}"
        if whole:
            one, many = ("class of schedules", "classes of schedules") if alike else ("schedule", "schedules")
            return verdicts.holds(explored, every(explored.completed, one, many), touched, unknown)
        beyond = verdicts.beyond(explored)
        scope = f"every schedule that departs from the boring one at most {bound} times ({counted})"
        return beyond if beyond is not None else verdicts.holds(explored, scope, touched, unknown)
    return verdicts.spent(explored, f"{counted} were tried")


def _repeats(verdicts: Verdicts) -> bool:
    """Whether the same choices give the same run twice."""
    one, two = (verdicts.program.simulate(seed="again") for _ in range(2))
    return one.token == two.token and repr(list(one.history)) == repr(list(two.history))
