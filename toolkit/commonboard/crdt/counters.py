"""Counters that several agents change at once, and no change is lost.

Every replica counts in a slot of its own, which only it writes and which only grows. A merge takes the greater count of
each slot: the greater one is the later one, so seeing it twice changes nothing. (Shapiro et al. 2011.) Two things that
look simpler are wrong: one shared number merged by maximum loses updates, and one merged by sum counts them twice.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

from commonboard.crdt.base import Crdt, CrdtTypeError, CrdtValueError
from commonboard.crdt.clocks import Clock, below, join
from commonboard.crdt.codec import read_counts, read_state, write_state
from commonboard.values import register


class _Counter(Crdt):
    """The Python manners of both counters: `bool`, `int`, `+`, `-`."""

    __slots__ = ()

    @property
    @abstractmethod
    def value(self) -> int:
        """The count."""

    @abstractmethod
    def _change(self, k: int) -> None:
        """Count `k` more, in this replica's slot."""

    def become(self, value: Any) -> Self:
        """A copy which has this value: the difference is added.

        >>> (PNCounter("a~1") + 5).become(3)
        PNCounter(3, replica='a~1')

        Raises:
            CrdtTypeError: if the value is not a whole number.
            CrdtValueError: if a `GCounter` would have to shrink.
            UnboundReplicaError: if this object has no replica id.
        """
        return self + (_whole(value, "the new value") - self.value)

    def __bool__(self) -> bool:
        return self.value != 0

    def __int__(self) -> int:
        return self.value

    def __add__(self, k: int) -> Self:
        self._me()
        changed = self.copy()
        changed._change(k)
        return changed

    __radd__ = __add__

    def __sub__(self, k: int) -> Self:
        return self + -_whole(k, "the amount")


@register
class GCounter(_Counter):
    """A counter that only grows.

    State: one count for each replica. Value: their sum.

    >>> a, b = GCounter("a~1"), GCounter("b~1")
    >>> a.inc(); b.inc(2)
    >>> a.merge(b)
    GCounter(3, replica='a~1')
    >>> a.merge(b).merge(b).value                # a repeated delivery counts once
    3
    """

    __slots__ = ("_counts",)

    tag: ClassVar[str] = "gcounter"

    def __init__(self, replica: str | None = None) -> None:
        super().__init__(replica)
        self._counts: Clock = {}

    @property
    def value(self) -> int:
        """The sum of all slots."""
        return sum(self._counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """A copy of the state: replica -> its own count."""
        return dict(self._counts)

    def inc(self, k: int = 1) -> None:
        """Count `k` more, in this replica's slot. `inc(0)` does nothing.

        Raises:
            CrdtTypeError: if `k` is not a whole number (`True` and `1.0` are none).
            CrdtValueError: if `k` is negative.
            UnboundReplicaError: if this object has no replica id.
        """
        me = self._replica or self._me()
        if type(k) is not int:
            k = _whole(k, "the amount")
        if k > 0:
            self._counts[me] = self._counts.get(me, 0) + k
        elif k < 0:
            raise CrdtValueError(f"a GCounter only grows, so it cannot change by {k}; take a PNCounter to count down")

    def merge(self, other: Self) -> Self:
        """A new counter: the greater count of each slot."""
        self._same_type(other)
        merged = type(self)(self._replica)
        merged._counts = join(self._counts, other._counts)
        return merged

    def le(self, other: Self) -> bool:
        """Whether no slot of this counter is ahead of the other's."""
        self._same_type(other)
        return below(self._counts, other._counts)

    def copy(self) -> Self:
        """A new object in the same state, with the same replica id."""
        copied = type(self)(self._replica)
        copied._counts = dict(self._counts)
        return copied

    def to_json(self) -> str:
        """Canonical text: `c` maps each replica to its count.

        >>> (GCounter("a~1") + 2).to_json()
        '{"c":{"a~1":2},"t":"gcounter","v":1}'
        """
        return write_state(self.tag, c=self._counts)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The state that `to_json` wrote, without a replica id; `CorruptValueError` for any other text."""
        counter = cls()
        counter._counts = read_counts(read_state(text, cls.tag, "c")["c"], cls.tag, "c")
        return counter

    def _change(self, k: int) -> None:
        self.inc(k)

    def _state(self) -> Any:
        return self._counts


@register
class PNCounter(_Counter):
    """A counter that goes up and down. Its value may be negative.

    State: for each replica, how much it ever added and how much it ever took away, each of which only grows. One signed
    number for each replica would not do: after +1 and -1 it is back at 0, and a merge by maximum would bring the +1 back.

    >>> a, b = PNCounter("a~1"), PNCounter("b~1")
    >>> a.add(); b.add(-3)
    >>> a.merge(b)
    PNCounter(-2, replica='a~1')
    """

    __slots__ = ("_added", "_taken")

    tag: ClassVar[str] = "pncounter"

    def __init__(self, replica: str | None = None) -> None:
        super().__init__(replica)
        self._added: Clock = {}
        self._taken: Clock = {}

    @property
    def value(self) -> int:
        """All that was added, less all that was taken away."""
        return sum(self._added.values()) - sum(self._taken.values())

    @property
    def added(self) -> dict[str, int]:
        """A copy of half of the state: replica -> how much it ever added."""
        return dict(self._added)

    @property
    def taken(self) -> dict[str, int]:
        """A copy of the other half: replica -> how much it ever took away."""
        return dict(self._taken)

    def add(self, k: int = 1) -> None:
        """Add `k`, which may be negative. `add(0)` does nothing.

        Raises:
            CrdtTypeError: if `k` is not a whole number (`True` and `1.0` are none).
            UnboundReplicaError: if this object has no replica id.
        """
        me = self._replica or self._me()
        if type(k) is not int:
            k = _whole(k, "the amount")
        if k > 0:
            self._added[me] = self._added.get(me, 0) + k
        elif k < 0:
            self._taken[me] = self._taken.get(me, 0) - k

    def merge(self, other: Self) -> Self:
        """A new counter: the greater count of each slot, on both sides."""
        self._same_type(other)
        merged = type(self)(self._replica)
        merged._added = join(self._added, other._added)
        merged._taken = join(self._taken, other._taken)
        return merged

    def le(self, other: Self) -> bool:
        """Whether no slot of this counter is ahead of the other's."""
        self._same_type(other)
        return below(self._added, other._added) and below(self._taken, other._taken)

    def copy(self) -> Self:
        """A new object in the same state, with the same replica id."""
        copied = type(self)(self._replica)
        copied._added = dict(self._added)
        copied._taken = dict(self._taken)
        return copied

    def to_json(self) -> str:
        """Canonical text: `p` (plus) and `n` (minus) each map a replica to its count.

        >>> (PNCounter("a~1") + 2 - 5).to_json()
        '{"n":{"a~1":5},"p":{"a~1":2},"t":"pncounter","v":1}'
        """
        return write_state(self.tag, p=self._added, n=self._taken)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The state that `to_json` wrote, without a replica id; `CorruptValueError` for any other text."""
        fields = read_state(text, cls.tag, "p", "n")
        counter = cls()
        counter._added = read_counts(fields["p"], cls.tag, "p")
        counter._taken = read_counts(fields["n"], cls.tag, "n")
        return counter

    def _change(self, k: int) -> None:
        self.add(k)

    def _state(self) -> Any:
        return self._added, self._taken


def _whole(k: Any, what: str) -> int:
    if isinstance(k, _Counter):
        raise CrdtTypeError(f"{what} is a counter: write `+ int(other)` to add its value, or `.merge(other)` to merge the two")
    if isinstance(k, bool) or not isinstance(k, int):
        raise CrdtTypeError(f"{what} must be a whole number (int), not {type(k).__name__}: {k!r:.80}")
    return int(k)
