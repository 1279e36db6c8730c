"""Shrinking a refuted history: what is left is refuted too, accounts for the whole, and is as small as it can be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from tests.check.calls import RESULTS, any_calls, fair_calls, has_order

from commonboard.check import models
from commonboard.check.model import Call, Model
from commonboard.check.shrink_history import Shrinker, Shrunk, removable
from commonboard.check.wgl import Search, decide

PLENTY = 10**6
NAMES = sorted(RESULTS)
# Short histories mostly have an order, so that most of what is drawn is passed over.
MOSTLY_FILTERED = settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])


def shrunk(model: Model, calls: list[Call], budget: int = PLENTY) -> Shrunk:
    search = Search(model, None, calls)
    assert search.run(PLENTY) is False
    return Shrinker(search, budget).run()


def write(place: int, value: Any, process: str = "web") -> Call:
    return Call(process, "write", value, begin=10 * place, end=10 * place + 1)


def read(place: int, value: Any, process: str = "docs") -> Call:
    return Call(process, "read", None, value, begin=10 * place, end=10 * place + 1)


def test_a_stale_read_of_what_was_there_at_first_comes_to_two_calls() -> None:
    noise = [call for place in range(0, 40, 2) for call in (write(place, place), read(place + 1, place))]
    stale = read(100, "first")
    left = shrunk(models.Register("first"), [*noise, stale])
    assert [call.kind for call in left.calls] == ["write", "read"]
    assert left.calls[-1] is stale
    assert left.minimal


def test_a_stale_read_of_what_was_written_over_keeps_its_write() -> None:
    told = [write(0, 1), read(1, 1), write(2, 2), read(3, 2), write(4, 3), read(5, 2)]
    assert shrunk(models.Register(0), told).calls == [write(2, 2), write(4, 3), read(5, 2)]


def test_of_several_writes_of_a_value_that_was_read_one_stays() -> None:
    told = [write(0, 1), write(1, 1), write(2, 1), write(3, 2), read(4, 1)]
    assert shrunk(models.Register(0), told).calls == [write(2, 1), write(3, 2), read(4, 1)]


def test_a_write_that_somebody_may_still_have_seen_stays() -> None:
    # The first write overlaps the second, so the read may have seen it: without it, a fault would be made up.
    first = Call("slow", "write", 1, begin=0, end=35)
    told = [first, write(1, 2), read(4, 1), read(5, 2)]
    left = shrunk(models.Register(0), told).calls
    assert first in left
    assert left == told


def test_calls_after_the_refusal_go_without_being_tried() -> None:
    told = [write(0, 1), read(1, 0), *[write(place, place) for place in range(10, 3_000)]]
    search = Search(models.Register(0), None, told)
    assert search.run(PLENTY) is False
    left = Shrinker(search, 200).run()
    assert left.calls == told[:2]
    assert left.minimal


def test_two_that_both_created_come_to_two_calls() -> None:
    both = [Call(name, "compare-and-set", (None, name), True, begin=0, end=50) for name in ("web", "docs")]
    noise = [read(place, None) for place in range(6, 9)]
    assert sorted(call.who for call in shrunk(models.KeyValue(), [*both, *noise]).calls) == ["docs", "web"]


def test_a_counter_keeps_every_add_that_the_read_may_have_counted() -> None:
    adds = [Call("web", "add", 1, begin=10 * place, end=10 * place + 1) for place in range(3)]
    late = Call("web", "add", 1, begin=90, end=91)
    told = [*adds, read(5, 2), read(6, 3), late]
    assert shrunk(models.Counter(), told).calls == [*adds, read(5, 2)]


def test_what_was_given_stays_out_of_it_and_counts() -> None:
    given_ = Call("given", "write", 5, begin=0, end=0)
    left = shrunk(models.Register(0), [given_, read(1, 5), read(2, 0)])
    assert left.calls == [read(2, 0)]
    assert left.search.when.given == [given_]


def test_a_spent_budget_is_told() -> None:
    told = [call for place in range(0, 40, 2) for call in (write(place, place), read(place + 1, place))]
    left = shrunk(models.Register(0), [*told, read(90, 0)], budget=3)
    assert not left.minimal
    assert left.search.answer is False


@pytest.mark.parametrize("name", NAMES)
@MOSTLY_FILTERED
@given(data=st.data())
def test_what_is_left_is_refuted_and_each_call_is_needed(name: str, data: Any) -> None:
    model, _ = RESULTS[name]
    calls = data.draw(any_calls(name))
    assume(decide(model, calls, PLENTY).answer is False)
    left = shrunk(model, calls)
    assert left.minimal
    assert not has_order(model, left.calls)
    assert all(any(call is other for other in calls) for call in left.calls)
    for call in left.calls:
        if removable(model, left.calls, [call]):
            assert has_order(model, [other for other in left.calls if other is not call])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100)
@given(data=st.data())
def test_what_may_be_left_out_of_a_history_that_has_an_order_never_makes_up_a_fault(name: str, data: Any) -> None:
    model, _ = RESULTS[name]
    calls = data.draw(fair_calls(name))
    block = [call for call in calls if data.draw(st.booleans())]
    gone = removable(model, calls, block)
    kept = [call for call in calls if not any(call is other for other in gone)]
    assert decide(model, kept, PLENTY).answer is True


@MOSTLY_FILTERED
@given(data=st.data())
def test_the_same_history_always_shrinks_to_the_same(data: Any) -> None:
    model, _ = RESULTS["compare-and-set register"]
    calls = data.draw(any_calls("compare-and-set register"))
    assume(decide(model, calls, PLENTY).answer is False)
    assert shrunk(model, calls).calls == shrunk(model, list(calls)).calls


def test_what_a_compare_and_set_added_to_a_text_stays_while_the_text_is_read() -> None:
    swap = Call("a", "compare-and-set", (None, "a"), True, begin=0, end=1)
    append = Call("b", "append", "b", begin=2, end=3)
    for observer in (read(1, "ab"), Call("c", "compare-and-set", ("ab", "x"), True, begin=10, end=11)):
        assert removable(models.KeyValue(), [swap, append, observer], [swap]) == []
        assert removable(models.KeyValue(), [swap, append, observer], [append]) == []
        assert removable(models.KeyValue(), [swap, append, observer], [swap, append, observer]) == [swap, append, observer]
