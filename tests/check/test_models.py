"""The models: for each the smallest history that it refuses, and a near miss that it allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from commonboard.check import models
from commonboard.check.model import ILLEGAL, LOST, UNKNOWN, Call, Model, frozen, shown
from commonboard.check.wgl import decide
from commonboard.errors import InvalidArgumentError, SubjectError
from commonboard.history import History

PLENTY = 10**6


def one_by_one(*told: tuple[Any, ...]) -> list[Call]:
    """Calls one after another: kind, argument, result."""
    calls = []
    for place, (kind, *rest) in enumerate(told):
        argument, result = [*rest, None, None][:2]
        calls.append(Call(f"p{place}", kind, argument, result, begin=2 * place, end=2 * place + 1))
    return calls


def fits(model: Model, *told: tuple[Any, ...]) -> bool | None:
    return decide(model, one_by_one(*told), PLENTY).answer


REFUSED_AND_ALLOWED = [
    # register: a stale read; a value out of nowhere; a lost write
    (models.Register(0), [("write", 1), ("read", None, 0)], [("write", 1), ("read", None, 1)]),
    (models.Register(), [("read", None, 3)], [("read", None, None)]),
    (
        models.Register(),
        [("write", [1, {"a": 2}]), ("read", None, [1, {"a": 3}])],
        [("write", [1, {"a": 2}]), ("read", None, (1, {"a": 2}))],
    ),
    # compare-and-set: done on another value; refused on the right one; two that both found the same
    (models.CompareAndSetRegister(0), [("compare-and-set", (1, 2), True)], [("compare-and-set", (0, 2), True)]),
    (models.CompareAndSetRegister(0), [("compare-and-set", (0, 2), False)], [("compare-and-set", (1, 2), False)]),
    (
        models.CompareAndSetRegister(0),
        [("compare-and-set", (0, 1), True), ("compare-and-set", (0, 1), True)],
        [("compare-and-set", (0, 1), True), ("compare-and-set", (1, 0), True), ("compare-and-set", (0, 1), True)],
    ),
    (
        models.CompareAndSetRegister(0),
        [("compare-and-set", (0, 1), False), ("read", None, 1)],
        [("compare-and-set", (5, 1), False), ("read", None, 0)],
    ),
    # key-value
    (
        models.KeyValue(),
        [("append", "a"), ("append", "b"), ("read", None, "ba")],
        [("append", "a"), ("append", "b"), ("read", None, "ab")],
    ),
    (models.KeyValue(), [("write", "a"), ("delete",), ("read", None, "a")], [("write", "a"), ("delete",), ("read", None, None)]),
    (
        models.KeyValue(),
        [("write", "a"), ("append", "b"), ("read", None, "b")],
        [("delete",), ("append", "b"), ("read", None, "b")],
    ),
    (models.KeyValue(), [("write", 3), ("append", "b")], [("write", "3"), ("append", "b"), ("read", None, "3b")]),
    (models.KeyValue(), [("read", None, "")], [("read", None, None)]),
    # counter
    (models.Counter(), [("add", 1), ("add", 1), ("read", None, 1)], [("add", 1), ("add", 1), ("read", None, 2)]),
    (models.Counter(5), [("add", -2, 4)], [("add", -2, 3)]),
    # set
    (models.Set(), [("add", "a"), ("read", None, [])], [("add", "a"), ("read", None, {"a"})]),
    (
        models.Set(),
        [("add", "a"), ("remove", "a"), ("contains", "a", True)],
        [("add", "a"), ("add", "a"), ("contains", "a", True)],
    ),
    (models.Set(), [("read", None, ["b"])], [("add", "b"), ("add", "a"), ("read", None, ["a", "b"])]),
    (models.Set(), [("contains", "a", True)], [("remove", "a"), ("contains", "a", False)]),
    # log
    (
        models.AppendLog(),
        [("append", 1), ("append", 2), ("read", None, [2, 1])],
        [("append", 1), ("append", 2), ("read", None, [1, 2])],
    ),
    (models.AppendLog(), [("append", 1, 1)], [("append", 1, 0), ("append", 1, 1)]),
    (models.AppendLog(), [("append", 1), ("read", None, [1, 1])], [("append", 1), ("append", 1), ("read", None, (1, 1))]),
]


@pytest.mark.parametrize(("model", "refused", "allowed"), REFUSED_AND_ALLOWED)
def test_a_model_refuses_what_cannot_be_and_allows_the_near_miss(model: Model, refused: Any, allowed: Any) -> None:
    for call in [*one_by_one(*refused), *one_by_one(*allowed)]:
        model.check(call)
    assert fits(model, *refused) is False
    assert fits(model, *allowed) is True


@pytest.mark.parametrize(
    "model",
    [models.Register(), models.CompareAndSetRegister(), models.KeyValue(), models.Counter(), models.Set(), models.AppendLog()],
)
def test_each_key_is_an_object_of_its_own(model: Model) -> None:
    assert model.key_of(Call("a", "read", key="x", begin=0, end=1)) == "x"


def test_a_result_that_nobody_knows_fits_whatever_was_there() -> None:
    known = Call("a", "add", 2, begin=0, end=1)
    told = [known, Call("b", "add", 1, UNKNOWN, begin=2, end=3), Call("c", "read", None, UNKNOWN, begin=4, end=5)]
    assert decide(models.Counter(), [*told, Call("d", "read", None, 3, begin=6, end=7)], PLENTY).answer is True
    assert decide(models.Counter(), [*told, Call("d", "read", None, 2, begin=6, end=7)], PLENTY).answer is False


def test_a_read_of_a_log_of_which_nobody_knows_what_it_gave_fits_wherever_it_stands() -> None:
    told = [Call("a", "append", "x", begin=0, end=1), Call("b", "read", None, UNKNOWN, begin=2, end=3)]
    assert decide(models.AppendLog(), [*told, Call("c", "read", None, ["x"], begin=4, end=5)], PLENTY).answer is True
    assert decide(models.AppendLog(), [*told, Call("c", "read", None, [], begin=4, end=5)], PLENTY).answer is False


def test_a_compare_and_set_that_returned_and_told_nothing_was_done_only_if_it_met_its_value() -> None:
    swap = Call("a", "compare-and-set", (1, 2), UNKNOWN, begin=0, end=1)
    for initial, after in [(1, 2), (0, 0)]:
        found = Call("b", "read", None, after, begin=2, end=3)
        assert decide(models.CompareAndSetRegister(initial), [swap, found], PLENTY).answer is True
        other = Call("b", "read", None, 1, begin=2, end=3)
        assert decide(models.CompareAndSetRegister(initial), [swap, other], PLENTY).answer is False


KNOWN = [
    (models.Register(), Call("web", "append", 1, begin=0, end=1), "Register knows read, write, not 'append' (by web)"),
    (models.CompareAndSetRegister(), Call(3, "compare-and-set", 1, begin=0, end=1), "takes (old, new), not 1 (by process 3)"),
    (models.KeyValue(), Call("web", "append", 1, begin=0, end=1), "takes text, not 1"),
    (models.Counter(), Call("web", "add", "1", begin=0, end=1), "adds a number, not '1'"),
    (models.Set(), Call("web", "read", None, "ab", begin=0, end=1), "gives its elements, not 'ab'"),
    (models.AppendLog(), Call("web", "read", None, {1}, begin=0, end=1), "gives a list of its items, not {1}"),
    (models.Counter(), Call("web", "read", begin=0, end=1), "a read of a Counter gives a number, not None"),
    # Whoever leaves the result out must not be taken for one that was refused, or that found nothing.
    (
        models.CompareAndSetRegister(),
        Call("web", "compare-and-set", (0, 1), begin=0, end=1),
        "gives True, False or UNKNOWN, not None",
    ),
    (models.Set(), Call("web", "contains", 1, begin=0, end=1), "a contains gives True, False or UNKNOWN, not None"),
]


@pytest.mark.parametrize(("model", "call", "told"), KNOWN)
def test_a_call_that_a_model_does_not_know_is_an_error(model: Model, call: Call, told: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        model.check(call)
    assert told in str(caught.value)


def test_only_a_model_of_reads_and_writes_of_keys_takes_a_history() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Counter judges calls \(add, read\).*use linearizable\(\)"):
        models.Counter().from_history(History([]))


def test_a_call_ends_no_sooner_than_it_begins() -> None:
    with pytest.raises(InvalidArgumentError, match="the write by web ends at 3, before it begins at 4"):
        Call("web", "write", 1, begin=4, end=3)
    assert Call("web", "write", 1, begin=4, end=4).end == 4


@pytest.mark.parametrize(("begin", "end"), [("9", "10"), (0.5, 1), (None, 1), (0, "1"), (0, float("nan"))])
def test_a_call_begins_and_ends_at_whole_numbers(begin: Any, end: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="must be a whole number"):
        Call("web", "read", begin=begin, end=end)


def test_a_counter_begins_at_a_number() -> None:
    with pytest.raises(InvalidArgumentError, match="a Counter begins at a number, not 'x'"):
        models.Counter("x")  # type: ignore[arg-type]


def test_a_call_without_an_end_has_a_result_that_nobody_knows() -> None:
    assert Call("web", "read", None, 3, begin=0, end=None).result is UNKNOWN


DESCRIBED = [
    (models.Register(), "write", "a", None, "writes 'a'"),
    (models.Register(), "read", None, None, "reads nothing"),
    (models.Register(), "read", None, UNKNOWN, "reads"),
    (models.CompareAndSetRegister(), "compare-and-set", (1, 2), True, "replaces 1 by 2"),
    (models.CompareAndSetRegister(), "compare-and-set", (1, 2), False, "is refused to replace 1 by 2"),
    (models.CompareAndSetRegister(), "compare-and-set", (1, 2), UNKNOWN, "would replace 1 by 2 (and hears nothing)"),
    (models.KeyValue(), "append", "a", None, "appends 'a'"),
    (models.KeyValue(), "delete", None, None, "deletes it"),
    (models.KeyValue(), "read", None, None, "finds nothing"),
    (models.Counter(), "add", 2, None, "adds 2"),
    (models.Counter(), "add", 2, 5, "adds 2 and gets 5"),
    (models.Counter(), "read", None, 5, "reads 5"),
    (models.Set(), "add", 2, None, "adds 2"),
    (models.Set(), "remove", 2, None, "removes 2"),
    (models.Set(), "contains", 2, True, "finds 2"),
    (models.Set(), "contains", 2, False, "does not find 2"),
    (models.Set(), "contains", 2, UNKNOWN, "looks for 2"),
    (models.Set(), "read", None, ["b", "a"], "reads {'a', 'b'}"),
    (models.AppendLog(), "append", 2, None, "appends 2"),
    (models.AppendLog(), "append", 2, 0, "appends 2 at place 0"),
    (models.AppendLog(), "read", None, [1, 2], "reads [1, 2]"),
]


@pytest.mark.parametrize(("model", "kind", "argument", "result", "told"), DESCRIBED)
def test_a_call_is_told_in_words(model: Model, kind: str, argument: Any, result: Any, told: str) -> None:
    assert model.describe(Call("web", kind, argument, result, begin=0, end=1)) == told


def test_a_call_that_never_returned_says_so() -> None:
    assert models.Register().describe(Call("web", "write", 1, begin=0, end=None)) == "writes 1 (and never hears of it)"


def test_why_a_call_does_not_fit_is_told_in_words() -> None:
    stale = Call(3, "read", None, 0, begin=0, end=1)
    assert models.Register().why_not(2, stale) == "process 3 reads 0, but the register is 2"
    assert models.Register().why_not(None, stale) == "process 3 reads 0, but the register is empty"
    keyed = Call("web", "read", None, "a", "x", begin=0, end=1)
    assert models.KeyValue().why_not(None, keyed) == "web reads 'a', but key x is absent"


def test_the_outlook_of_texts_sees_what_can_no_longer_be_read() -> None:
    read = Call("r", "read", None, "ab", begin=5, end=6)
    append = Call("a", "append", "c", begin=0, end=1)
    look = models.KeyValue().outlook(read, [read, append])
    assert look is not None
    assert [look(state) for state in (None, "", "a", "ab", "b", "abc")] == [None, "", "a", "ab", ILLEGAL, ILLEGAL]
    fresh = models.KeyValue().outlook(read, [read, append, Call("w", "write", "a", begin=0, end=9)])
    assert fresh is not None
    assert [fresh(state) for state in ("a", "b", LOST)] == ["a", LOST, LOST]
    too_late = models.KeyValue().outlook(read, [read, Call("w", "write", "a", begin=7, end=9)])
    assert too_late is not None
    assert too_late("b") is ILLEGAL


@pytest.mark.parametrize("kind", ["compare-and-set", "delete"])
def test_the_outlook_of_texts_says_nothing_where_others_may_come_between(kind: str) -> None:
    read = Call("r", "read", None, "ab", begin=5, end=6)
    other = Call("w", kind, ("a", "b") if kind == "compare-and-set" else None, UNKNOWN, begin=0, end=1)
    assert models.KeyValue().outlook(read, [read, other]) is None


JSON = st.recursive(
    st.none() | st.integers(-2, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
    max_leaves=5,
)


@given(JSON, JSON)
def test_frozen_values_are_equal_exactly_where_the_values_are(one: Any, other: Any) -> None:
    assert (frozen(one) == frozen(other)) == (one == other)
    assert hash(frozen(one)) == hash(frozen(one))


def test_a_list_or_a_set_of_pairs_is_no_dict() -> None:
    assert frozen({"a": 1}) != frozen([["a", 1]])
    assert frozen({"a": 1}) != frozen({("a", 1)})
    assert frozen({("a", 1)}) != frozen({"a": 1})
    assert frozen(frozen({"a": 1})) == frozen({"a": 1})


def test_a_state_that_was_a_dict_is_told_as_one() -> None:
    stale = Call("web", "read", None, {"a": 1, "b": [2]}, begin=0, end=1)
    told = models.Register().why_not(frozen({"b": [2], "a": {}}), stale)
    assert told == "web reads {'a': 1, 'b': [2]}, but the register is {'a': {}, 'b': [2]}"


def test_long_values_are_cut_in_the_middle() -> None:
    told = shown("x" * 200)
    assert len(told) < 90
    assert " … " in told


def test_a_model_without_initial_or_step_says_what_it_lacks() -> None:
    with pytest.raises(SubjectError, match="Model needs a method initial"):
        Model().initial(None)
    with pytest.raises(SubjectError, match="Model needs a method step"):
        Model().step(0, Call("a", "b", begin=0, end=1))
