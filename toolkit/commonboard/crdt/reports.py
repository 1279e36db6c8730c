"""What the checks in `laws.py` answer: tables that print well, and that nobody can mistake for a yes or a no."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from commonboard.crdt.base import CrdtTypeError
from commonboard.crdt.scripts import Step, show_script
from commonboard.entry import Viewable
from commonboard.errors import CommonboardError


class LawError(CommonboardError, AssertionError):
    """`assert_holds` found that something does not hold, or was not settled."""


@dataclass(frozen=True, slots=True)
class LawRow:
    """One law.

    Attributes:
        law: its name.
        holds: `True` on all states tried, `False`, or `None` if the budget ran out first, or it was never tried.
        checked: how many times it was tried.
        counterexample: the first failure, with the history that leads to it; empty if there is none.
    """

    law: str
    holds: bool | None
    checked: int
    counterexample: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of a history.

    Attributes:
        step: what happened, such as `add('x')@a` or `b<-a`.
        value: what that replica reads after it.
        expected: what the specification says it should read.
        ok: whether the two agree.
    """

    step: str
    value: Any
    expected: Any
    ok: bool


class _Report:
    """A verdict which is not a truth value: ask `holds`, or `assert_holds()`."""

    holds: bool | None

    def __bool__(self) -> bool:
        raise CrdtTypeError("a report is neither true nor false: ask `.holds` (True, False or None), or call `.assert_holds()`")

    def assert_holds(self) -> None:
        """Do nothing if it holds; otherwise raise `LawError`, which tells the story."""
        if self.holds is not True:
            raise LawError(str(self))


class LawReport(_Report, Viewable, list[LawRow]):
    """One row for each law, and the overall verdict.

    Attributes:
        holds: `True` if every law held on all states of the bound, `False` if one failed, `None` if the budget ran out before.
        bound: what was tried, in words.
    """

    def __init__(self, rows: Iterable[LawRow], bound: str) -> None:
        super().__init__(rows)
        self.bound = bound
        verdicts = [row.holds for row in self]
        self.holds: bool | None = False if False in verdicts else None if None in verdicts else True

    def __str__(self) -> str:
        words = {True: "holds", False: "FAILS", None: "not settled"}
        width = max((len(row.law) for row in self), default=0)
        lines = [f"{row.law:<{width}}  {words[row.holds]:<11}  {row.counterexample}".rstrip() for row in self]
        return "\n".join([*lines, f"Tried: {self.bound}."])


class SpecReport(_Report, Viewable, list[StepRow]):
    """Whether a type says what its specification says, and the history that shows it if not.

    Attributes:
        holds: `True` (nothing failed within the bound), `False`, or `None` if the budget ran out first.
        layer: what failed: `"spec"` (a replica reads the wrong value), `"converge"` (two replicas have seen the same updates
            and differ), `"error"` (the type raised an error), or `""`.
        problem: the failure in a sentence; empty if there is none.
        script: the history as steps, ready for `check_spec`.
        explored: how many different situations were tried.
        bound: what was tried, in words.
    """

    def __init__(
        self,
        rows: Iterable[StepRow],
        script: Iterable[Step],
        *,
        layer: str = "",
        problem: str = "",
        explored: int,
        bound: str,
        settled: bool = True,
    ) -> None:
        super().__init__(rows)
        self.script = list(script)
        self.layer = layer
        self.problem = problem
        self.explored = explored
        self.bound = bound
        self.holds: bool | None = False if problem else True if settled else None

    def __str__(self) -> str:
        if not self.problem:
            return f"{'Holds' if self.holds else 'Not settled; nothing failed'} in {self.bound}."
        width = max((len(row.step) for row in self), default=0)
        lines = [
            f"  {row.step:<{width}}  reads {row.value!r}" + ("" if row.ok else f", should read {row.expected!r}") for row in self
        ]
        return "\n".join([f"Fails ({self.layer}) after {show_script(self.script)}", *lines, f"  {self.problem}"])
