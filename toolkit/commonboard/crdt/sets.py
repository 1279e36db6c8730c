"""A set that several agents change at once: where one adds what another removes, the add wins.

Every add gets a name of its own, a dot. An element is in the set while one of its dots lives. A remove takes away the
dots that the remover has seen, so an add that it has not seen stays. No tombstones are kept: a dot which a version
vector has seen and which is not there any more was removed. (Observed-remove set: Shapiro et al. 2011; without
tombstones: Bieniusa et al. 2012; known as ORSWOT in Riak.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

from commonboard.crdt.base import Crdt, CrdtTypeError, ReplicaReusedError
from commonboard.crdt.clocks import Clock, Dot, Dots, covers, join, survivors
from commonboard.crdt.codec import (
    Key,
    corrupt,
    element_key,
    element_of,
    order_of,
    read_count,
    read_counts,
    read_replica,
    read_state,
    write_state,
)
from commonboard.errors import UnstorableValueError
from commonboard.values import register


@register
class ORSet(Crdt):
    """An add-wins set of JSON values.

    State: for each element its live dots, and one version vector for all that this state has ever seen. Value: the
    elements, sorted by (type name, canonical JSON). `1`, `1.0`, `True` and `"1"` are four elements; lists and dicts can
    be elements too, and come back as fresh copies.

    >>> a = ORSet("a~1")
    >>> a.add("who left?")
    >>> b = a.bind("b~1")
    >>> b.remove("who left?"); a.add("who left?")         # at the same time, so b has not seen this add
    >>> a.merge(b)
    ORSet(['who left?'], replica='a~1')

    It behaves enough like a list for an agent that knows nothing of CRDTs, such as `(questions or []) + ["who left?"]`.
    It is not equal to a list; compare `.value`.

    A merge knows what was added and removed, not what it meant: two agents who each add "I take the last task" will agree
    on a set with both. Do not delete the key that holds a set: its version vector would be lost, and an old copy would
    bring everything back. `clear()` the set instead.
    """

    __slots__ = ("_clock", "_live")

    tag: ClassVar[str] = "orset"

    def __init__(self, replica: str | None = None) -> None:
        super().__init__(replica)
        # Dots are immutable tuples, so that states may share them and a copy is cheap.
        self._live: dict[Key, Dots] = {}
        self._clock: Clock = {}

    @property
    def value(self) -> list[Any]:
        """The elements, sorted by (type name, canonical JSON), as fresh copies."""
        return [element_of(key) for key in sorted(self._live, key=order_of)]

    @property
    def clock(self) -> dict[str, int]:
        """A copy of the version vector: replica -> how many of its adds this state has seen."""
        return dict(self._clock)

    def dots(self, element: Any) -> Dots:
        """The live dots of an element, sorted; empty if it is not in the set."""
        return self._live.get(element_key(element), ())

    def add(self, element: Any) -> None:
        """Put the element in, under a new dot. If it is there already the new dot replaces those seen, so that a remove
        which happens elsewhere at the same time does not take it away.

        Raises:
            UnstorableValueError: if the element is not plain JSON data.
            UnboundReplicaError: if this object has no replica id.
        """
        me = self._replica or self._me()
        key = element_key(element)
        count = self._clock.get(me, 0) + 1
        self._clock[me] = count
        self._live[key] = ((me, count),)

    def remove(self, element: Any) -> None:
        """Take the element out, as far as this state has seen its adds. If it is not there, nothing happens.

        Raises:
            UnstorableValueError: if the element is not plain JSON data.
            UnboundReplicaError: if this object has no replica id.
        """
        self._me()
        self._live.pop(element_key(element), None)

    def clear(self) -> None:
        """Take out every element that this state has seen. What it has seen stays known, so old copies bring nothing back."""
        self._me()
        self._live.clear()

    def merge(self, other: Self) -> Self:
        """A new set that knows what both know; see `survivors` in `clocks.py` for which dots live on.

        Raises:
            CrdtTypeError: if the other is not of the same type.
            ReplicaReusedError: if one dot names one element here and another there.
        """
        self._same_type(other)
        merged = type(self)(self._replica)
        merged._clock = join(self._clock, other._clock)
        lost: list[Dot] = []
        lost_there: list[Dot] = []
        for key in self._live | other._live:
            mine, theirs = self._live.get(key, ()), other._live.get(key, ())
            live = mine if mine == theirs else survivors(mine, self._clock, theirs, other._clock)
            if live:
                merged._live[key] = live
            if mine and live != mine:
                lost += [dot for dot in mine if dot not in live]
            if theirs and live != theirs:
                lost_there += [dot for dot in theirs if dot not in live]
        _check_reuse(lost, lost_there)
        return merged

    def become(self, value: Any) -> Self:
        """A copy which has these elements: what is new is added, what is missing is removed. An element that is in both
        keeps its dots and gets no new one, for the agent only passed it on.

        >>> questions = ORSet("a~1") + ["who left?", "why?"]
        >>> questions.become(["why?", "when?"])
        ORSet(['when?', 'why?'], replica='a~1')

        Raises:
            CrdtTypeError: if the value is not a list (or tuple, or set).
            UnstorableValueError: if an element is not plain JSON data.
            UnboundReplicaError: if this object has no replica id.
        """
        self._me()
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise CrdtTypeError(f"an ORSet becomes a list of elements, not {type(value).__name__}: {value!r:.80}; return a list")
        wanted = {element_key(element): element for element in _in_order(value)}
        changed = self.copy()
        changed._live = {key: dots for key, dots in self._live.items() if key in wanted}
        for key, element in wanted.items():
            if key not in self._live:
                changed.add(element)
        return changed

    def copy(self) -> Self:
        """A new object in the same state, with the same replica id."""
        copied = type(self)(self._replica)
        copied._live = dict(self._live)
        copied._clock = dict(self._clock)
        return copied

    def to_json(self) -> str:
        """Canonical text: `e` holds the elements with their dots, `vv` the version vector.

        >>> (ORSet("a~1") + ["x", 1]).to_json()
        '{"e":[[1,[["a~1",2]]],["x",[["a~1",1]]]],"t":"orset","v":1,"vv":{"a~1":2}}'
        """
        elements = [(element_of(key), self._live[key]) for key in sorted(self._live, key=order_of)]
        return write_state(self.tag, e=elements, vv=self._clock)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The state that `to_json` wrote, without a replica id; `CorruptValueError` for any other text."""
        fields = read_state(text, cls.tag, "e", "vv")
        decoded = cls()
        decoded._clock = read_counts(fields["vv"], cls.tag, "vv")
        decoded._live = _read_elements(fields["e"], decoded._clock, cls.tag)
        return decoded

    def __bool__(self) -> bool:
        return bool(self._live)

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __contains__(self, element: Any) -> bool:
        return element_key(element) in self._live

    def __add__(self, elements: Iterable[Any]) -> Self:
        """A copy with these elements added, each under a new dot. The elements of another ORSet are added too, as if you
        had typed them; to join two sets with what each has removed, `merge` them.
        """
        self._me()
        if isinstance(elements, (str, bytes, dict)) or not isinstance(elements, Iterable):
            raise CrdtTypeError(f"to an ORSet add a list of elements, not {type(elements).__name__}: `+ [{elements!r:.60}]`")
        changed = self.copy()
        for element in _in_order(elements):
            changed.add(element)
        return changed

    __radd__ = __add__

    def _state(self) -> Any:
        return self._live, self._clock


def _in_order(elements: Iterable[Any]) -> Iterable[Any]:
    # The order decides which dot an element gets, and a Python set has no order that lasts.
    if isinstance(elements, (set, frozenset)):
        return sorted(elements, key=lambda element: order_of(element_key(element)))
    return elements


def _check_reuse(lost: list[Dot], lost_there: list[Dot]) -> None:
    # A dot that falls on both sides lived on a different element on each. An honest replica never makes such a dot.
    if lost and lost_there:
        twice = sorted(set(lost) & set(lost_there))
        if twice:
            replica, count = twice[0]
            raise ReplicaReusedError(
                f"the replica id {replica!r} was used twice: its add number {count} is one element here and another there, so "
                "a merge would drop both. Nothing was merged. Give each start of an agent a new id (name~incarnation), and "
                "add the elements of one of the two states again, to the other"
            )


def _read_elements(rows: Any, clock: Clock, tag: str) -> dict[Key, Dots]:
    if not isinstance(rows, list):
        corrupt(tag, f"the field 'e' must be a list of elements with their dots, not {rows!r:.60}")
    live: dict[Key, Dots] = {}
    seen: set[Dot] = set()
    for row in rows:
        if not isinstance(row, list) or len(row) != 2:
            corrupt(tag, f"an entry of 'e' must be [element, dots], not {row!r:.60}")
        try:
            key = element_key(row[0])
        except UnstorableValueError as error:
            corrupt(tag, str(error))
        if key in live:
            corrupt(tag, f"the element {row[0]!r:.60} stands twice")
        live[key] = dots = _read_dots(row[1], clock, tag)
        for dot in dots:
            if dot in seen:
                corrupt(tag, f"the dot {list(dot)} stands twice; a dot names one add of one element")
            seen.add(dot)
    return live


def _read_dots(value: Any, clock: Clock, tag: str) -> Dots:
    if not isinstance(value, list) or not value:
        corrupt(tag, f"an element needs a list of at least one dot, not {value!r:.60}")
    dots: list[Dot] = []
    for dot in value:
        if not isinstance(dot, list) or len(dot) != 2:
            corrupt(tag, f"a dot must be [replica, count], not {dot!r:.60}")
        replica = read_replica(dot[0], tag)
        read = (replica, read_count(dot[1], tag, replica))
        if read[1] < 1 or not covers(clock, read):
            corrupt(tag, f"the dot {dot!r:.60} is not covered by the version vector 'vv'")
        dots.append(read)
    return tuple(sorted(dots))
