"""What a check says. It is never optimistic: what could not be judged is `Unknown`, and no verdict is simply true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from commonboard.check.exploration import Explored
from commonboard.entry import Viewable
from commonboard.errors import CommonboardError, kind_of
from commonboard.history import History, Operation


class CheckFailed(CommonboardError, AssertionError):
    """A verdict that should have held did not; the message tells the story."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that went wrong (or that is worth knowing).

    Attributes:
        kind: the field's name for it, such as `lost update`.
        sentence: who, what and why, for somebody new to it.
        operations: the operations it is made of, in the order of the story.
    """

    kind: str
    sentence: str
    operations: tuple[Operation, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


@dataclass(slots=True)
class Verdict(Viewable):
    """The base of all verdicts. It has no truth value: ask `.holds`, or call `.assert_holds()`.

    Attributes:
        check: the name of the check.
        scope: what was judged, such as `this run`.
        findings: what went wrong.
        notes: what is worth knowing and is no violation, such as superseded writes.
        why: for an unknown, what kept the check from judging.
        history: the history that was judged.
        token: the replay token of the run, if it was one.
        run: the run that shows the first finding, where a search found it.
        explored: how a search went, if it was one.
        sampler: what gives runs of the program that was searched.
    """

    holds: ClassVar[bool | None] = None
    check: str
    scope: str
    findings: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    why: str = ""
    history: History | None = None
    token: str | None = None
    run: Any = None
    explored: Explored | None = None
    sampler: Callable[[int], list[Any]] | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{kind_of(self)} is neither true nor false; ask .holds (True, False or None), or call .assert_holds()")

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        raise NotImplementedError

    def assert_holds(self) -> None:
        """Nothing if it holds.

        Raises:
            CheckFailed: it does not, or nobody knows; the message tells the story and the replay token.
        """
        if self.holds is not True:
            drawn = self.explored is not None and self.findings and self.history is not None
            raise CheckFailed(f"{self}\n\n{self.spacetime()}" if drawn else str(self))

    def sample(self, number: int = 3) -> list[Any]:
        """Some runs of the agents that were explored, no two of which differ only in the order of what commutes.

        To look at where nothing was found: is the check asking what you meant, do the agents meet at all?

        Args:
            number: how many at the most; there may be fewer.

        Raises:
            ValueError: nothing was explored, so that there is nothing to run.
        """
        if self.sampler is None:
            raise ValueError("this verdict judges one history; only an exploration has other runs to show")
        return self.sampler(number)

    def spacetime(self, number: int = 0) -> Any:
        """The space-time picture of a finding.

        Raises:
            ValueError: there is no such finding, or no history to draw.
        """
        if not self.findings:
            raise ValueError(
                "nothing was found, so there is no finding to draw; of an exploration, .sample(3) gives runs to look at"
            )
        if self.history is None or not 0 <= number < len(self.findings):
            raise ValueError(f"there is no finding number {number} to draw: this verdict has {len(self.findings)}")
        found = self.findings[number]
        drawn = self.history if self.run is None else self.run  # a run knows who still waits
        return drawn.spacetime(found.operations, found.sentence)

    def __str__(self) -> str:
        lines = [self.sentence]
        lines += [f"  {place}. {found}" for place, found in enumerate(self.findings, 1)]
        lines += [f"  note: {note}" for note in self.notes]
        if self.holds is not True and self.token:
            lines.append(f"  replay={self.token!r}")
        if self.explored is not None:
            lines.append(str(self.explored))
        return "\n".join(lines)

    __repr__ = __str__


class Violation(Verdict):
    """It was broken; the findings say how."""

    __slots__ = ()
    holds = False

    @property
    def sentence(self) -> str:
        count = len(self.findings)
        return f"{_upper(self.check)}: violated in {self.scope}, {count} finding{'s' if count != 1 else ''}"

    __repr__ = Verdict.__str__


class Holds(Verdict):
    """It holds for what was judged, and says nothing about anything else."""

    __slots__ = ()
    holds = True

    @property
    def sentence(self) -> str:
        return f"{_upper(self.check)}: this holds in {self.scope}, which says nothing about other orders"

    __repr__ = Verdict.__str__


class Unknown(Verdict):
    """It could not be judged."""

    __slots__ = ()
    holds = None

    @property
    def sentence(self) -> str:
        return f"{_upper(self.check)}: nobody can tell in {self.scope}, because {self.why}"

    __repr__ = Verdict.__str__


class Exhausted(Verdict):
    """Everything within the bound that it prints was tried, and nothing broke it."""

    __slots__ = ()
    holds = True

    @property
    def sentence(self) -> str:
        return f"{_upper(self.check)}: this holds in {self.scope}"

    __repr__ = Verdict.__str__


class BudgetSpent(Verdict):
    """Nothing broke it so far, and not everything was tried. That is no pass."""

    __slots__ = ()
    holds = None

    @property
    def sentence(self) -> str:
        advice = "give budget= more, explore fewer agents or rounds, or say with bound= how far to look"
        told = f"{_upper(self.check)}: nobody can tell yet. {_upper(self.scope)}, and nothing was found; but there is more"
        return f"{told} ({advice})"

    __repr__ = Verdict.__str__


def in_words(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
