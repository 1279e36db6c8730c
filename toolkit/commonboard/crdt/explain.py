"""Why a merge kept what it kept: one row for each element, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commonboard.crdt.base import Crdt, CrdtTypeError
from commonboard.crdt.clocks import Dots
from commonboard.crdt.codec import element_key, order_of
from commonboard.crdt.counters import GCounter, PNCounter
from commonboard.crdt.sets import ORSet
from commonboard.entry import Viewable


@dataclass(frozen=True, slots=True)
class MergeRow:
    """What a merge decided about one element of a set, or about one slot of a counter.

    Attributes:
        element: the element; for a counter the replica whose slot it is.
        decision: `kept: …` or `dropped: …`, and why.
        in_a, in_b, merged: what each side held and what the merge holds: the live dots of a set's element (empty where it
            is absent), the count of a counter's slot.
    """

    element: Any
    decision: str
    in_a: Any
    in_b: Any
    merged: Any


class MergeExplanation(Viewable, list[MergeRow]):
    """The rows of one merge, in the order of the elements."""

    def __str__(self) -> str:
        width = max((len(repr(row.element)) for row in self), default=0)
        return "\n".join(f"{row.element!r:<{width}}  {row.decision}" for row in self)


def explain_merge(a: Crdt, b: Crdt) -> MergeExplanation:
    """Why `a.merge(b)` has the value that it has.

    >>> a = ORSet("a~1") + ["old", "kept"]
    >>> b = a.bind("b~1") + ["new"]
    >>> b.remove("old")
    >>> print(explain_merge(a, b))
    'kept'  kept: in both
    'new'   kept: the other never saw it
    'old'   dropped: the other saw it and removed it

    Args:
        a, b: two states of one type: `ORSet`, `GCounter` or `PNCounter`.

    Raises:
        CrdtTypeError: if they are of different types, or of a type that is not known here.
        ReplicaReusedError: if the merge itself raises it.
    """
    merged = a.merge(b)
    if isinstance(a, ORSet) and isinstance(b, ORSet) and isinstance(merged, ORSet):
        return _explain_set(a, b, merged)
    if isinstance(a, GCounter) and isinstance(b, GCounter):
        return _explain_slots(a.counts, b.counts, "")
    if isinstance(a, PNCounter) and isinstance(b, PNCounter):
        rows = _explain_slots(a.added, b.added, " added")
        rows += _explain_slots(a.taken, b.taken, " took away")
        return rows
    raise CrdtTypeError(f"explain_merge explains ORSet, GCounter and PNCounter, not {type(a).__name__}")


def _explain_set(a: ORSet, b: ORSet, merged: ORSet) -> MergeExplanation:
    elements = {element_key(element): element for element in (*a, *b)}
    rows = MergeExplanation()
    for key in sorted(elements, key=order_of):
        element = elements[key]
        mine, theirs, live = a.dots(element), b.dots(element), merged.dots(element)
        rows.append(MergeRow(element, _decision(mine, theirs, live), mine, theirs, live))
    return rows


def _decision(mine: Dots, theirs: Dots, live: Dots) -> str:
    if mine and theirs:
        return "kept: in both" if live else "dropped: each side removed the add that the other still holds"
    return "kept: the other never saw it" if live else "dropped: the other saw it and removed it"


def _explain_slots(a: Mapping[str, int], b: Mapping[str, int], what: str) -> MergeExplanation:
    rows = MergeExplanation()
    for replica in sorted({*a, *b}):
        mine, theirs = a.get(replica, 0), b.get(replica, 0)
        if mine == theirs:
            decision = "kept: the same in both"
        elif not mine or not theirs:
            decision = "kept: the other never saw it"
        else:
            decision = f"kept: the count of {'a' if mine > theirs else 'b'}, which is the later one"
        rows.append(MergeRow(f"{replica}{what}", decision, mine, theirs, max(mine, theirs)))
    return rows
