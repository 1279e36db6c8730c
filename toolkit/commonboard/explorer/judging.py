"""How a check is asked while a search goes on, and what counts as a failure of a run.

The cheaper a check can be asked, the more schedules can be treated as one. `no_lost_updates` looks at each operation alone;
`always` at the board; others only at the final state, which many schedules share. What judges a whole history has to be
shown every class of schedules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from commonboard.check.fates import fates
from commonboard.check.properties import Property
from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation, in_words
from commonboard.errors import CommonboardError, InvalidArgumentError, kind_of
from commonboard.explorer.moves import Move, Moves, State
from commonboard.explorer.program import Program
from commonboard.explorer.search import Judge, numbers
from commonboard.history import Operation
from commonboard.sim import Run
from commonboard.sim.trouble import is_told
from commonboard.values import decode, plain

Check = Callable[[Any], Verdict]
ENDS = "every agent comes to its end"
"""What is asked whatever the check."""


def every_intent_kept(run: Run) -> Verdict:
    """Whether everything that the agents of a scenario meant to get done is in the final state, or its agent was told.

    Raises:
        InvalidArgumentError: no scenario ran.
    """
    name = "every intent kept"
    if run.scenario is None:
        raise InvalidArgumentError("every_intent_kept judges the run of a scenario: only a scenario says what its agents meant")
    found = []
    for fate in fates(run):
        if fate.name not in ("kept", "rejected"):
            words = {"overwritten": "was overwritten unseen", "discarded": "was seen and left out"}.get(
                fate.name, f"is {fate.name}"
            )
            found.append(Finding("lost intent", f"{fate.intent!r} is not in the final state: it {words}."))
    if found:
        return Violation(name, "this run", found, history=run.history, token=run.token)
    return Holds(name, "this run", history=run.history, token=run.token)


every_intent_kept.judges = "end"  # type: ignore[attr-defined]


def failure(program: Program, check: Check, run: Run) -> Verdict:
    """What a run comes to: the check's verdict; or, where the check finds nothing, an agent that died or never came to an end.

    An agent that was refused, and told so, has not died of it: that is what its policy does.
    """
    # Whether a fault touches anything is asked of all schedules together.
    faults = run.faults
    if hasattr(check, "operation_breaks") or hasattr(check, "judges"):
        run.faults = []
    try:
        verdict = check(run)
    except CommonboardError:
        raise
    except Exception as error:
        name = getattr(check, "__name__", type(check).__name__)
        error.add_note(
            f"the check {name} raised this when it judged the run replay={run.token!r}; it takes a Run, gives a Verdict"
        )
        raise
    finally:
        run.faults = faults
    if not isinstance(verdict, Verdict):
        raise InvalidArgumentError(
            f"the check gave {kind_of(verdict)}; a check takes a Run and gives a Verdict. For a predicate on the board: "
            "check=cb.at_the_end(lambda state: …), or cb.always(…)"
        )
    if isinstance(verdict, Violation):
        return verdict
    if run.outcome == "endless":
        return _endless(run, verdict)
    told = [name for name, error in run.errors.items() if is_told(error)]
    troubles = [trouble for trouble in run.troubles if trouble.agent not in told]
    if troubles:
        found = [Finding("deadlock" if run.outcome == "deadlock" else "died", f"{trouble}.") for trouble in troubles]
        return Violation(ENDS, "this run", found, history=run.history, token=run.token)
    if isinstance(verdict, Unknown) and told and set(told) == set(run.errors):
        return Holds(verdict.check, "this run", [], verdict.notes, history=run.history, token=run.token)
    return verdict


def _endless(run: Run, verdict: Verdict) -> Verdict:
    """A run that was cut: a livelock if it goes round in a circle, else nobody knows whether it would have ended."""
    circle = _circle(list(run.history))
    agents = list(dict.fromkeys(op.agent for op in circle))
    left = [name for name in run.agents if name not in run.results and name not in run.errors]
    if circle and set(left) <= set(agents):  # else somebody who could go on was never let
        steps = "; ".join(f"{op.agent} {op.kind}s {op.key}" for op in circle)
        goes, comes = ("goes", "comes") if len(agents) == 1 else ("go", "come")
        told = f"{in_words(agents)} {goes} round in a circle and never {comes} to an end: {steps}; and again."
        found = Finding("livelock", told, circle)
        return Violation(ENDS, "this run", [found], history=run.history, token=run.token)
    stuck = [trouble for trouble in run.troubles if "max_steps" in trouble.what]
    if stuck:
        found = Finding("never ends", f"{stuck[0]}.")
        return Violation(ENDS, "this run", [found], history=run.history, token=run.token)
    why = f"a run was cut after {len(run.history):,} operations, before its agents had come to their end"
    return Unknown(verdict.check, "this run", why=why, history=run.history, token=run.token)


def _circle(operations: list[Operation]) -> tuple[Operation, ...]:
    """The operations that repeat at the end, with the same values each time, if they do so three times."""
    done = [op for op in operations if op.kind != "think"]
    marks = [(op.agent, op.kind, op.key, op.text, op.ok) for op in done]
    for length in range(1, min(len(marks) // 3, 60) + 1):
        if marks[-length:] == marks[-2 * length : -length] == marks[-3 * length : -2 * length]:
            return tuple(done[-length:])
    return ()


@dataclass
class OperationJudge(Judge):
    """Asks a check that judges each operation alone."""

    breaks: Callable[[Operation], bool]

    def operation(self, op: Operation) -> bool:
        return self.breaks(op)


@dataclass
class EndJudge(Judge):
    """Asks a check once for each final state, with a run that leads there."""

    program: Program
    check: Check

    def end(self, moves: Moves, state: State, path: Callable[[], list[tuple[State, Move]]]) -> str:
        verdict = failure(self.program, self.check, self.program.simulate(numbers(moves, path())))
        if isinstance(verdict, Unknown):
            self.unknown = self.unknown or verdict.why
        return "check" if isinstance(verdict, Violation) else ""


@dataclass
class StateJudge(Judge):
    """Asks a predicate on the board, after each operation or at the end; once for each board."""

    prop: Property
    known: dict[tuple[int, int], bool] = field(default_factory=dict)

    def end(self, moves: Moves, state: State, path: Callable[[], list[tuple[State, Move]]]) -> str:
        if self.prop.at_every_moment:
            return ""
        return "" if self._is_true(moves, state[0], 0) else "check"

    def state(self, moves: Moves, state: State) -> bool:
        if not self.prop.at_every_moment:
            return False
        return not all(self._is_true(moves, state[0], site) for site in range(len(moves.world(state).sites)))

    def _is_true(self, moves: Moves, world: int, site: int) -> bool:
        answer = self.known.get((world, site))
        if answer is None:
            board = moves.worlds[world].sites[site].board
            values = {key: plain(decode(e.value, e.metadata, key)) for key, e in board.entries.items()}
            answer = self.known[world, site] = self.prop.is_true(values)
        return answer


def judge_of(program: Program, check: Check) -> Judge | None:
    """How this check is asked while states are merged; `None` if it has to see whole histories."""
    breaks = getattr(check, "operation_breaks", None)
    if breaks is not None:
        return OperationJudge(breaks)
    if isinstance(check, Property):
        return StateJudge(check)
    if getattr(check, "judges", "history") == "end":
        return EndJudge(program, check)
    return None
