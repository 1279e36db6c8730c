"""ORSet: what stays and what goes when adds and removes meet, and what a replica id that is used twice does to it."""

from __future__ import annotations

from typing import Any

import pytest

from commonboard.crdt import ORSet, ReplicaReusedError, UnboundReplicaError
from commonboard.errors import UnstorableValueError


def shared(*elements: Any) -> tuple[ORSet, ORSet]:
    """Two replicas which have both seen the elements."""
    a = ORSet("a~1") + elements
    return a, a.bind("b~1")


def both_ways(a: ORSet, b: ORSet) -> list[Any]:
    assert a.merge(b) == b.merge(a)
    return a.merge(b).value


def test_an_element_that_one_side_removed_is_gone_after_the_merge() -> None:
    a, b = shared("x")
    a.remove("x")
    assert both_ways(a, b) == []


def test_a_concurrent_add_wins_over_a_remove() -> None:
    a, b = shared("x")
    a.remove("x")
    b.add("x")
    assert both_ways(a, b) == ["x"]


def test_an_add_after_a_remove_stays_though_an_old_copy_has_it_removed() -> None:
    a, b = shared("x")
    b.remove("x")
    a.remove("x")
    a.add("x")
    assert both_ways(a, b) == ["x"]


def test_a_second_add_of_a_present_element_has_a_dot_of_its_own() -> None:
    a, b = shared("x")
    a.add("x")
    assert a.dots("x") == (("a~1", 2),)
    b.remove("x")
    assert both_ways(a, b) == ["x"]


def test_a_remove_of_what_was_not_seen_does_nothing_and_does_not_hit_a_concurrent_add() -> None:
    a, b = ORSet("a~1"), ORSet("b~1")
    a.remove("x")
    assert a == ORSet()
    b.add("x")
    assert both_ways(a, b) == ["x"]


def test_each_side_removed_the_others_add_so_the_element_goes() -> None:
    a, b = ORSet("a~1") + ["x"], ORSet("b~1") + ["x"]
    a_saw_b, b_saw_a = a.merge(b), b.merge(a)
    a_saw_b.remove("x")
    b_saw_a.remove("x")
    assert both_ways(a_saw_b, b_saw_a) == []


def test_two_concurrent_adds_of_one_element_are_one_element_with_two_dots() -> None:
    merged = (ORSet("a~1") + ["x"]).merge(ORSet("b~1") + ["x"])
    assert merged.value == ["x"]
    assert merged.dots("x") == (("a~1", 1), ("b~1", 1))
    assert merged.clock == {"a~1": 1, "b~1": 1}


def test_clear_removes_what_was_seen_and_nothing_else() -> None:
    a, b = shared("x", "y")
    b.add("z")
    a.clear()
    assert a.value == []
    assert both_ways(a, b) == ["z"]


def test_a_cleared_set_is_not_refilled_by_an_old_copy_but_a_deleted_one_is() -> None:
    a, old = shared("x")
    a.clear()
    assert a.merge(old).value == []
    assert ORSet("a~2").merge(old).value == ["x"]  # what deleting the key and starting anew would do


def test_the_state_does_not_grow_with_adds_and_removes_of_one_element() -> None:
    few, many = ORSet("a~1"), ORSet("a~1")
    for _ in range(10):
        few.add("x")
        few.remove("x")
    for _ in range(10_000):
        many.add("x")
        many.remove("x")
    assert len(many.to_json()) == len(few.to_json()) + len("10000") - len("10")


def test_elements_that_python_finds_equal_stay_distinct() -> None:
    elements = [1, 1.0, True, "1", None, "null", [], "[]", {}, [1], [1.0], [True], 0, False, -0.0]
    made = ORSet("a~1") + elements
    assert len(made) == len(elements)
    assert sorted(map(repr, made)) == sorted(map(repr, elements))
    made.remove(1)
    assert 1 not in made
    assert 1.0 in made
    assert True in made


def test_elements_come_out_in_an_order_that_does_not_depend_on_who_added_what_first() -> None:
    elements = ["b", "a", 10, 9, 1.5, None, True, [2], [1], {"k": 1}, "é", "Z"]
    there, back = ORSet("a~1") + elements, ORSet("b~1") + elements[::-1]
    assert there.value == back.value
    # By (type name, canonical JSON): NoneType, bool, dict, float, int, list, str. So 10 comes before 9, as their texts do.
    assert there.value == [None, True, {"k": 1}, 1.5, 10, 9, [1], [2], "Z", "a", "b", "é"]


def test_dicts_and_lists_go_in_and_come_out_as_copies() -> None:
    element = {"task": "draft", "tags": ["x"]}
    made = ORSet("a~1")
    made.add(element)
    element["tags"].append("changed outside")
    made.value[0]["tags"].append("changed outside too")
    assert made.value == [{"task": "draft", "tags": ["x"]}]
    assert {"tags": ["x"], "task": "draft"} in made
    made.remove({"tags": ["x"], "task": "draft"})
    assert made.value == []


@pytest.mark.parametrize("element", [{1, 2}, (1, 2), b"x", float("nan"), float("inf"), {1: 2}, "\ud800", ["\ud800"], object])
def test_what_is_no_json_value_cannot_be_an_element(element: Any) -> None:
    made = ORSet("a~1") + ["x"]
    calls = [
        lambda: made.add(element),
        lambda: made.remove(element),
        lambda: element in made,
        lambda: made + [element],
        lambda: made.become([element]),
    ]
    for call in calls:
        with pytest.raises(UnstorableValueError, match="an element of a set must be plain JSON data"):
            call()
    assert made == ORSet("a~1") + ["x"]


def test_text_with_a_nul_and_text_beyond_ascii_can_be_elements() -> None:
    made = ORSet("a~1") + ["a\0b", "é😀", "e\u0301"]
    assert ORSet.from_json(made.to_json()).value == made.value
    assert len(made) == 3


def test_a_text_of_a_subclass_is_the_same_element_as_the_plain_text() -> None:
    class Name(str):
        __slots__ = ()

    made = ORSet("a~1") + [Name("x"), Name("é")]
    assert made.value == ["x", "é"]
    assert all(type(element) is str for element in made)
    assert "x" in made


def test_a_set_without_a_replica_id_can_be_read_and_merged_but_not_changed() -> None:
    merged = ORSet().merge(ORSet("a~1") + ["x"])
    assert merged.value == ["x"]
    calls = [
        lambda: merged.add("y"),
        lambda: merged.remove("x"),
        lambda: merged.clear(),
        lambda: merged + [],
        lambda: merged.become(["x"]),
    ]
    for call in calls:
        with pytest.raises(UnboundReplicaError, match=r"ORSet\('name~incarnation'\)"):
            call()
    assert merged.value == ["x"]


def test_a_merge_shares_nothing_with_what_it_was_made_of() -> None:
    a, b = shared("x")
    b.add("y")
    before = a.to_json(), b.to_json()
    merged = a.merge(b)
    merged.add("z")
    merged.remove("x")
    assert (a.to_json(), b.to_json()) == before


def test_le_is_the_order_of_knowledge_where_a_remove_is_knowledge_too() -> None:
    a, b = shared("x")
    b.remove("x")
    assert a.le(b)
    assert not b.le(a)
    assert ORSet().le(a)


# --- a replica id that is used twice -----------------------------------------------------------------------------------


def test_a_replica_id_used_twice_is_noticed_where_one_dot_names_two_elements() -> None:
    first_life = ORSet("researcher") + ["x"]
    second_life = ORSet("researcher") + ["y"]  # started again without its state, under the same id
    for one, other in ((first_life, second_life), (second_life, first_life)):
        with pytest.raises(ReplicaReusedError, match=r"'researcher' was used twice"):
            one.merge(other)
    assert (first_life.value, second_life.value) == (["x"], ["y"])


def test_a_replica_id_used_twice_loses_an_element_silently_where_the_proof_is_gone() -> None:
    first_life = ORSet("researcher") + ["x"]
    second_life = ORSet("researcher") + ["y"]
    second_life.remove("y")
    assert first_life.merge(second_life).value == []  # x was never removed by anybody


def test_a_new_id_for_each_incarnation_loses_no_element() -> None:
    first_life = ORSet("researcher~1f") + ["x"]
    second_life = ORSet("researcher~2a") + ["y"]
    second_life.remove("y")
    assert both_ways(first_life, second_life) == ["x"]


def test_copies_of_one_replica_that_go_on_one_after_the_other_raise_no_false_alarm() -> None:
    older = ORSet("a~1") + ["x"]
    newer = older + ["y"]
    stored = ORSet.from_json(newer.to_json()).bind("a~1")  # my own dots, read back
    assert older.merge(newer).value == older.merge(stored).value == stored.merge(older).value == ["x", "y"]
    moved = newer.copy()
    moved.remove("x")
    moved.add("x")
    assert newer.merge(moved).merge(older) == moved


def test_two_copies_of_one_replica_that_both_change_are_a_reused_id() -> None:
    start = ORSet("a~1")
    with pytest.raises(ReplicaReusedError):
        (start + ["x"]).merge(start + ["y"])


def test_a_stale_read_makes_an_agent_use_a_dot_again_unless_it_merges_its_last_state_first() -> None:
    mine = ORSet("a~1") + ["x"]
    stale = ORSet.from_json(ORSet().to_json()).bind("a~1")  # what a replica that is behind gives back
    with pytest.raises(ReplicaReusedError):
        (stale + ["y"]).merge(mine)
    assert (stale.merge(mine) + ["y"]).merge(mine).value == ["x", "y"]
