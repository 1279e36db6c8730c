"""How an exploration went: how much was tried, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from commonboard.entry import Viewable


@dataclass(slots=True, repr=False)
class Explored(Viewable):
    """How an exploration went, in numbers.

    Attributes:
        method: how schedules were treated alike: `equal states merged`, `sleep sets`, or `every schedule run anew`.
        timing: `free`: delays are lower bounds; `exact`: they last as long as they say.
        interleavings: in how many orders the operations can happen; `None` where nobody counted them all.
        violating: how many of them violate the check.
        told: in how many of them an agent ended because it was refused, and was told so.
        unresolved: in how many of them a key ends with several values side by side.
        states: how many different states were visited.
        completed: how many schedules were run to their end, one by one.
        cut: how many were begun and cut, since all that was left to do had been tried elsewhere.
        preemptions: how many faults, and switches away from an agent that could have gone on, the run that is shown takes.
        done: every schedule with at most so many preemptions and faults was tried; `None` if every schedule was.
        random: how many random schedules were tried beyond that.
        pairs: how many pairs of operations that count as independent were run in both orders, to see whether they are.
        why: why schedules were not treated alike; empty if they were.
    """

    method: str
    timing: str = "free"
    interleavings: int | None = None
    violating: int | None = None
    told: int = 0
    unresolved: int = 0
    states: int = 0
    completed: int = 0
    cut: int = 0
    preemptions: int | None = None
    done: int | None = None
    random: int = 0
    pairs: int = 0
    why: str = ""

    @property
    def total(self) -> int | None:
        """Of how many the violating ones are counted: of interleavings, or of the schedules that were run to their end."""
        return self.completed if self.interleavings is None and self.completed else self.interleavings

    @property
    def how(self) -> str:
        """How schedules were treated, in words."""
        return f"{self.method}, {'delays as lower bounds' if self.timing == 'free' else 'delays as long as they say'}"

    @property
    def _completed_words(self) -> str:
        if "sleep" in self.method:
            return "classes of interleavings, one schedule of each"
        return "schedules run to their end, one by one"

    def rows(self) -> Iterator[tuple[str, int]]:
        """The counts that say something, each with its words."""
        always = ("interleavings that violate the check", "preemptions and faults in the run that is shown")
        for words, count in (
            ("interleavings in all", self.interleavings),
            (f"{'interleavings' if self.interleavings else 'schedules'} that violate the check", self.violating),
            ("in which an agent ended because it was refused", self.told),
            ("in which a key ends with several values side by side", self.unresolved),
            ("different states", self.states),
            (self._completed_words, self.completed),
            ("schedules begun and cut", self.cut),
            ("preemptions and faults in the run that is shown", self.preemptions),
            ("random schedules beyond", self.random),
            ("independent pairs run in both orders", self.pairs),
        ):
            if count or (count == 0 and words in always):
                yield words, count
        if self.done is not None and self.done >= 0:
            yield "preemptions and faults up to which every schedule was tried", self.done

    def __str__(self) -> str:
        lines = [f"  What was tried ({self.how}):", *(f"    {count:>10,}  {words}" for words, count in self.rows())]
        return "\n".join([*lines, f"  {self.why}"] if self.why else lines)

    __repr__ = __str__
