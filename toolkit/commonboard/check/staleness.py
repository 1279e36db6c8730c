"""Staleness: how far behind the newest value each read was, in versions and in virtual seconds.

It is a number to plot rather than a fault: a copy that is ten seconds behind may be good enough, and a read that breaks
linearizability may still be serializable. What counts as newest is the newest write that was committed anywhere, on any replica,
before the read was called. So a read on one store that keeps one copy is never behind.

Versions behind is k-staleness (Bailis et al., "Probabilistically bounded staleness", 2012); seconds behind, counted from when the
first write that it missed was committed, is Δ-staleness (Golab et al., 2011).
"""

from __future__ import annotations

import importlib
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from commonboard.check.lineage import told_above
from commonboard.check.model import counted
from commonboard.check.observed import Observed, observed
from commonboard.check.subject import judged
from commonboard.entry import Viewable
from commonboard.history import Operation


@dataclass(frozen=True, slots=True)
class StaleRead:
    """One read, and how far behind it was.

    Attributes:
        operation: the read's number in the history.
        agent, key, replica: who read what, and on which replica, where there are several.
        at_virtual_s: when it was called, in virtual seconds.
        versions_behind: how many writes of the key, committed before, what it found had not seen; `None` if nobody can tell.
        seconds_behind: virtual seconds since the first of those was committed; 0 if there is none, `None` if nobody can tell.
    """

    operation: int
    agent: str
    key: str
    replica: str | None
    at_virtual_s: float
    versions_behind: int | None
    seconds_behind: float | None


class Staleness(Viewable, list[StaleRead]):
    """A row for each read, in the order of the history; `to_frame()` gives the columns to plot."""

    @property
    def worst(self) -> StaleRead | None:
        """The read that was the most versions behind, then the most seconds; the first of several; `None` without reads."""
        known = [row for row in self if row.versions_behind is not None]
        return max(known, key=lambda row: (row.versions_behind or 0, row.seconds_behind or 0.0), default=None)

    @property
    def sentence(self) -> str:
        """The whole in one sentence."""
        if not self:
            return "there is no read, so none could be behind"
        unknown = sum(row.versions_behind is None for row in self)
        behind, worst = sum(bool(row.versions_behind) for row in self), self.worst
        told = f"{behind:,} of {counted(len(self), 'read')} had missed something"
        if worst is not None and worst.versions_behind:
            told += f"; the worst, {worst.agent}'s of {worst.key} at {worst.at_virtual_s:g} virtual s, was "
            told += f"{counted(worst.versions_behind, 'version')} and {worst.seconds_behind:g} virtual s behind"
        return f"{told}; of {unknown:,} nobody can tell" if unknown else told

    def __str__(self) -> str:
        table = str(importlib.import_module("commonboard.show").text(self)).partition("\n")[2] if self else ""
        return f"Staleness: {self.sentence}\n{table}".rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return told_above(f"Staleness: {self.sentence}", self)


def staleness(subject: Any) -> Staleness:
    """How far behind each read was.

    Args:
        subject: a `Run` or a `History`; a log has no reads, so it gives no rows.

    Raises:
        TypeError: the subject is neither.

    >>> import commonboard as cb
    >>> print(staleness(cb.simulate(cb.scenarios.counter, seed=1)).sentence)
    0 of 2 reads had missed something
    """
    seen = observed(judged(subject, "staleness").history)
    commits: dict[str, _Commits] = {}
    rows = []
    for place, op in enumerate(seen.operations):
        if op.kind == "read":
            if op.key not in commits:
                commits[op.key] = _Commits(seen, op.key)
            versions, seconds = commits[op.key].missed(place, op)
            rows.append(StaleRead(op.index, op.agent, op.key, op.replica, op.began_at, versions, seconds))
    return Staleness(rows)


class _Commits:
    """The writes of one key in the order of their commits."""

    def __init__(self, seen: Observed, key: str) -> None:
        self._seen = seen
        self._writes = seen.writes.get(key, [])
        places = sorted(self._writes, key=lambda place: seen.operations[place].end)
        self._ends = [seen.operations[place].end for place in places]
        self._ended_at = [seen.operations[place].ended_at for place in self._writes]
        # By how many commits there were: on one store the newest version's number, between replicas the numbers as bits.
        numbers = [seen.number[place] for place in places]
        if seen.replicated:
            self._newest = list(accumulate((1 << number for number in numbers), int.__or__, initial=0))
        else:
            self._newest = list(accumulate(numbers, max, initial=-1))
            # A commit may be answered later than the next one is, so the first that was missed is not always the oldest.
            self._since = list(accumulate(reversed(self._ended_at), min))[::-1]

    def missed(self, place: int, op: Operation) -> tuple[int | None, float | None]:
        """How many commits before its call a read had missed, and for how many virtual seconds."""
        looks = self._seen.saw[place]
        if looks is None or any(self._seen.number[write] < 0 for write in looks):  # the latter was rolled back
            return None, None
        newest = self._newest[bisect_left(self._ends, op.begin)]
        if self._seen.replicated:
            missing = newest & ~self._seen.seen[place]
            ended = [at for number, at in enumerate(self._ended_at) if missing >> number & 1]
            return len(ended), max(op.began_at - min(ended), 0.0) if ended else 0.0
        shown = self._seen.number[looks[0]] if looks else -1
        if newest <= shown:
            return 0, 0.0
        return newest - shown, max(op.began_at - self._since[shown + 1], 0.0)
