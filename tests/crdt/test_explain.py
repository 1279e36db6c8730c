"""Why a merge kept what it kept, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from commonboard.crdt import CrdtTypeError, GCounter, MergeRow, ORSet, PNCounter, ReplicaReusedError, explain_merge
from commonboard.crdt.base import Crdt
from commonboard.entry import Viewable


def three_sides() -> tuple[ORSet, ORSet]:
    """Two states in which every decision occurs."""
    start_a, start_b = ORSet("a") + ["both", "gone here", "gone there"], ORSet("b") + ["crossed"]
    a, b = start_a.merge(start_b), start_b.merge(start_a)
    a.add("crossed")  # a holds its own add of it, b the older one
    b = b.merge(a)
    b_old = b.copy()
    a.remove("gone here")
    b.remove("gone there")
    a.add("new here")
    b.add({"new": "there"})
    assert b_old.value == ["both", "crossed", "gone here", "gone there"]
    return a, b


def test_each_element_has_a_row_that_says_why_it_stays_or_goes() -> None:
    a, b = three_sides()
    rows = explain_merge(a, b)
    assert [(row.element, row.decision) for row in rows] == [
        ({"new": "there"}, "kept: the other never saw it"),
        ("both", "kept: in both"),
        ("crossed", "kept: in both"),
        ("gone here", "dropped: the other saw it and removed it"),
        ("gone there", "dropped: the other saw it and removed it"),
        ("new here", "kept: the other never saw it"),
    ]


def test_the_kept_rows_are_the_merge_and_both_directions_decide_alike() -> None:
    a, b = three_sides()
    for left, right in ((a, b), (b, a)):
        kept = [row.element for row in explain_merge(left, right) if row.decision.startswith("kept")]
        assert kept == left.merge(right).value
        assert all(bool(row.merged) == row.decision.startswith("kept") for row in explain_merge(left, right))


def test_an_element_that_each_side_removed_under_the_others_add_is_dropped_with_its_own_reason() -> None:
    a, b = ORSet("a") + ["x"], ORSet("b") + ["x"]
    c = ORSet("c").merge(a)
    a.remove("x")
    left, right = a.merge(b), b.copy()  # left holds b's add, having removed a's
    right.remove("x")
    right = right.merge(c)  # right holds a's add, having removed b's
    assert explain_merge(left, right) == [
        MergeRow("x", "dropped: each side removed the add that the other still holds", (("b", 1),), (("a", 1),), ())
    ]


def test_the_rows_show_the_dots_of_both_sides() -> None:
    a, b = ORSet("a") + ["x"], ORSet("b") + ["x"]
    assert explain_merge(a, b) == [MergeRow("x", "kept: in both", (("a", 1),), (("b", 1),), (("a", 1), ("b", 1)))]


def test_a_counter_is_explained_slot_by_slot() -> None:
    a = GCounter("a") + 2
    b = a.bind("b") + 1
    newer = a + 3
    assert [(row.element, row.decision, row.in_a, row.in_b, row.merged) for row in explain_merge(newer, b)] == [
        ("a", "kept: the count of a, which is the later one", 5, 2, 5),
        ("b", "kept: the other never saw it", 0, 1, 1),
    ]
    assert [row.decision for row in explain_merge(b, newer)] == [
        "kept: the count of b, which is the later one",
        "kept: the other never saw it",
    ]
    assert [row.decision for row in explain_merge(a, a)] == ["kept: the same in both"]


def test_a_counter_that_goes_both_ways_has_rows_for_both() -> None:
    rows = explain_merge(PNCounter("a") + 2, PNCounter("b") - 1)
    assert [(row.element, row.merged) for row in rows] == [("a added", 2), ("b took away", 1)]


def test_the_answer_is_a_list_that_has_a_table_and_prints_as_text() -> None:
    rows = explain_merge(ORSet("a") + ["x", 10], ORSet("b"))
    assert isinstance(rows, list)
    assert isinstance(rows, Viewable)
    assert str(rows) == "10   kept: the other never saw it\n'x'  kept: the other never saw it"
    assert str(explain_merge(ORSet(), ORSet())) == ""


def test_what_cannot_be_merged_cannot_be_explained() -> None:
    class Own(Crdt):
        value = None  # type: ignore[assignment]
        copy = become = to_json = from_json = _state = None  # type: ignore[assignment]

        def merge(self, other: Any) -> Any:
            return self

    with pytest.raises(CrdtTypeError):
        explain_merge(ORSet("a"), GCounter("a"))
    with pytest.raises(CrdtTypeError, match="not Own"):
        explain_merge(Own(), Own())
    with pytest.raises(ReplicaReusedError):
        explain_merge(ORSet("a") + ["x"], ORSet("a") + ["y"])
