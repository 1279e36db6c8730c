"""The same agent code works on a plain value and on a CRDT: `(questions or []) + ["who left?"]`, `(count or 0) + 1`."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from commonboard.crdt import CrdtTypeError, GCounter, ORSet, PNCounter
from commonboard.errors import CommonboardError


def ask(questions: Any) -> Any:
    return (questions or []) + ["who left?"]


def count(times: Any) -> Any:
    return (times or 0) + 1


def settled(given: Any, returned: Any) -> Any:
    """What a merge policy does with the answer of a change."""
    return returned if isinstance(returned, type(given)) else given.become(returned)


def test_an_agent_that_adds_to_a_list_adds_to_a_set() -> None:
    empty = ORSet("a~1")
    first = settled(empty, ask(empty))
    assert first.value == ["who left?"]
    second = settled(first.bind("b~1"), ask(first.bind("b~1") + ["when?"]))
    assert second.value == ["when?", "who left?"]
    assert empty.value == []


@pytest.mark.parametrize("kind", [GCounter, PNCounter])
def test_an_agent_that_counts_with_a_number_counts_with_a_counter(kind: Any) -> None:
    empty = kind("a~1")
    once = settled(empty, count(empty))
    twice = settled(once, count(once))
    assert (empty.value, once.value, twice.value) == (0, 1, 2)
    assert twice.replica == "a~1"


def test_an_agent_that_filters_a_list_removes_from_a_set() -> None:
    questions = ORSet("a~1") + ["who?", "when?", "why?"]
    left = questions.become([question for question in questions if question != "why?"])
    assert left.value == ["when?", "who?"]
    assert questions.merge(left).value == ["when?", "who?"]


def test_become_makes_new_dots_only_for_what_is_new() -> None:
    before = ORSet("a~1") + ["stays", "goes"]
    after = before.bind("b~1").become(["new", "stays", "new"])
    assert after.dots("stays") == before.dots("stays")
    assert after.dots("new") == (("b~1", 1),)
    assert after.dots("goes") == ()


def test_an_element_that_become_only_passed_on_goes_when_somebody_removes_it() -> None:
    before = ORSet("a~1") + ["x"]
    passed_on = before.bind("b~1").become(["x", "y"])
    before.remove("x")
    assert before.merge(passed_on).value == ["y"]


def test_become_what_it_is_already_changes_nothing() -> None:
    for made in (ORSet("a~1") + ["x", 1], PNCounter("a~1") - 4, GCounter("a~1") + 4):
        assert made.become(made.value) == made


@pytest.mark.parametrize("value", ["who?", None, 3, {"who?": 1}, b"x", iter([])])
def test_a_set_becomes_a_list_only(value: Any) -> None:
    with pytest.raises(CrdtTypeError, match="return a list"):
        ORSet("a~1").become(value)


def test_a_set_or_tuple_of_elements_is_as_good_as_a_list_and_has_one_order() -> None:
    assert (ORSet("a~1") + {"y", "x", "z"}).to_json() == (ORSet("a~1") + ["x", "y", "z"]).to_json()
    assert ORSet("a~1").become({"y", "x", "z"}) == ORSet("a~1").become(("x", "y", "z"))


def test_become_and_plus_leave_the_object_as_it_was() -> None:
    made, number = ORSet("a~1") + ["x"], PNCounter("a~1") + 1
    before = made.to_json(), number.to_json()
    made.become([])
    _ = (made + ["y"], ["y"] + made, number + 1, 1 + number, number - 1, number.become(9))
    assert (made.to_json(), number.to_json()) == before


@pytest.mark.parametrize("elements", ["who?", b"x", {"who?": 1}, 3, None])
def test_only_a_list_of_elements_can_be_added_to_a_set(elements: Any) -> None:
    with pytest.raises(CrdtTypeError, match="add a list of elements"):
        ORSet("a~1") + elements


def test_an_element_can_be_added_from_the_left_too() -> None:
    assert (["y"] + (ORSet("a~1") + ["x"])).value == ["x", "y"]


def test_another_set_can_be_added_and_its_elements_get_new_dots() -> None:
    added = (ORSet("a~1") + ["x"]) + (ORSet("b~1") + ["y"])
    assert added.value == ["x", "y"]
    assert added.dots("y") == (("a~1", 2),)


def test_a_counter_added_to_a_counter_is_refused_with_the_two_things_that_may_be_meant() -> None:
    with pytest.raises(CrdtTypeError, match=r"int\(other\).*merge"):
        (PNCounter("a~1") + 1) + (PNCounter("b~1") + 1)
    assert ((PNCounter("a~1") + 1) + int(PNCounter("b~1") + 1)).value == 2


def test_truth_length_iteration_and_membership() -> None:
    empty, made = ORSet("a~1"), ORSet("a~1") + ["y", "x"]
    assert not empty
    assert made
    assert (len(empty), len(made), list(made), "x" in made, "z" in made) == (0, 2, ["x", "y"], True, False)


@pytest.mark.parametrize("kind", [GCounter, PNCounter])
def test_a_counter_is_true_and_a_number_as_its_value_is(kind: Any) -> None:
    assert not kind("a~1")
    assert kind("a~1") + 1
    assert int(kind("a~1") + 3) == 3


def test_a_negative_counter_is_true_and_one_that_is_back_at_zero_is_not() -> None:
    assert PNCounter("a~1") - 1
    assert not (PNCounter("a~1") + 1 - 1)


def test_equality_is_for_one_type_and_one_state_whoever_holds_it() -> None:
    made = ORSet("a~1") + ["x"]
    assert made == made.bind("b~1")
    assert made != ORSet("b~1") + ["x"]  # the same value, by another add
    assert made != ["x"]
    assert PNCounter("a~1") + 1 != 1
    assert GCounter() != PNCounter()
    with pytest.raises(TypeError):
        hash(made)


def test_bind_and_copy_give_independent_objects() -> None:
    for original in (ORSet("a~1") + ["x"], PNCounter("a~1") + 1, GCounter("a~1") + 1):
        before = original.to_json()
        for twin in (original.bind("b~1"), original.copy(), copy.copy(original), copy.deepcopy(original)):
            assert twin == original
            assert twin.replica == ("b~1" if twin.replica != "a~1" else "a~1")
            twin.add("y") if isinstance(twin, ORSet) else twin.inc() if isinstance(twin, GCounter) else twin.add()
            assert twin != original
        assert original.to_json() == before


def test_a_merge_keeps_the_replica_id_of_the_left_side() -> None:
    for kind in (ORSet, PNCounter, GCounter):
        assert kind("a~1").merge(kind("b~1")).replica == "a~1"
        assert kind().merge(kind("b~1")).replica is None


def test_a_repr_says_the_value_and_the_id_and_no_address() -> None:
    assert repr(ORSet("a~1") + ["x", 1]) == "ORSet([1, 'x'], replica='a~1')"
    assert repr(PNCounter()) == "PNCounter(0)"
    assert repr(GCounter("a~1") + 2) == "GCounter(2, replica='a~1')"


def test_objects_survive_pickling_with_their_id() -> None:
    for original in (ORSet("a~1") + ["x", [1]], PNCounter("a~1") + 1, GCounter("a~1") + 1):
        again = pickle.loads(pickle.dumps(original))
        assert again == original
        assert again.replica == "a~1"


def test_every_error_is_caught_by_the_one_base() -> None:
    for call in (lambda: ORSet().add("x"), lambda: ORSet("a") + 3, lambda: GCounter("a").inc(-1), lambda: ORSet("a").add({1})):
        with pytest.raises(CommonboardError):
            call()
