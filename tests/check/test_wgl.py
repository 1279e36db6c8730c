"""The search for an order: it agrees with trying all orders, takes few steps, and no key waits for another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.check.calls import RESULTS, any_calls, fair_calls, has_order, many_clients

from commonboard.check import models
from commonboard.check.model import ILLEGAL, Call, Model
from commonboard.check.wgl import FIRST_TURN, Search, decide
from commonboard.errors import InvalidArgumentError

PLENTY = 10**7
NAMES = sorted(RESULTS)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=200)
@given(data=st.data())
def test_the_search_agrees_with_trying_all_orders(name: str, data: Any) -> None:
    model, _ = RESULTS[name]
    calls = data.draw(any_calls(name))
    decision = decide(model, calls, PLENTY)
    assert decision.answer is has_order(model, calls)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100)
@given(data=st.data())
def test_the_search_finds_the_order_of_an_object_at_work(name: str, data: Any) -> None:
    model, _ = RESULTS[name]
    calls = data.draw(fair_calls(name))
    (search,) = decide(model, calls, PLENTY).done if calls else [Search(model, None, [])]
    assert search.answer is True
    state = model.initial(None)
    for call in search.order:
        state = model.step(state, call)
        assert state is not ILLEGAL
    placed = {id(call): place for place, call in enumerate(search.order)}
    returned = [call for call in calls if call.end is not None]
    assert all(id(call) in placed for call in returned)
    for call in returned:
        late = [other for other in search.order if call.end < other.begin]
        assert all(placed[id(call)] < placed[id(other)] for other in late)


@settings(max_examples=150)
@given(data=st.data())
def test_keys_are_judged_one_by_one_and_together_agree_with_all_orders(data: Any) -> None:
    keyed = [replace(call, key=data.draw(st.sampled_from("xy"))) for call in data.draw(any_calls("register", 4))]
    assert decide(models.Register(0), keyed, PLENTY).answer is has_order(models.Register(0), keyed)


@settings(max_examples=150)
@given(calls=any_calls("compare-and-set register"), turns=st.integers(1, 7))
def test_a_search_that_stops_and_goes_on_comes_to_the_same(calls: list[Call], turns: int) -> None:
    model, _ = RESULTS["compare-and-set register"]
    at_once, bit_by_bit = Search(model, None, calls), Search(model, None, calls)
    at_once.run(PLENTY)
    while bit_by_bit.run(turns) is None:
        pass
    assert (bit_by_bit.answer, bit_by_bit.steps, bit_by_bit.order) == (at_once.answer, at_once.steps, at_once.order)


def test_calls_that_touch_at_one_moment_are_at_the_same_time() -> None:
    touching = [Call("a", "write", 1, begin=0, end=2), Call("b", "read", None, 0, begin=2, end=3)]
    assert decide(models.Register(0), touching, PLENTY).answer is True
    apart = [touching[0], Call("b", "read", None, 0, begin=3, end=4)]
    assert decide(models.Register(0), apart, PLENTY).answer is False


def test_a_call_that_never_returned_may_happen_late_or_not_at_all_but_not_before_it_was_called() -> None:
    lost = Call("a", "write", 1, begin=2, end=None)
    late = [Call("b", "read", None, 0, begin=3, end=4), Call("b", "read", None, 1, begin=5, end=6)]
    assert decide(models.Register(0), [lost, *late], PLENTY).answer is True
    assert decide(models.Register(0), [lost, late[0]], PLENTY).answer is True
    early = [Call("b", "read", None, 1, begin=0, end=1)]
    assert decide(models.Register(0), [lost, *early], PLENTY).answer is False


def test_a_call_that_never_returned_happens_once() -> None:
    reads = [Call("b", "read", None, value, begin=10 + place, end=10 + place) for place, value in enumerate([1, 2])]
    assert decide(models.Counter(), [Call("a", "add", 1, begin=0, end=None), *reads], PLENTY).answer is False
    twice = [Call("a", "add", 1, begin=0, end=None), Call("c", "add", 1, begin=0, end=None), *reads]
    assert decide(models.Counter(), twice, PLENTY).answer is True


def test_the_longest_order_holds_no_call_that_need_not_have_happened() -> None:
    lost = [Call("lost", "write", value, begin=0, end=None) for value in (7, 8)]
    reads = [Call("b", "read", None, value, begin=place, end=place) for place, value in ((3, 7), (5, 5))]
    search = Search(models.Register(0), None, [*lost, Call("a", "write", 1, begin=1, end=2), *reads])
    assert search.run(PLENTY) is False
    assert [call.who for call in search.order] == ["a", "lost", "b"]
    assert search.order[1] is lost[0]


def test_what_was_given_was_there_before_all_calls() -> None:
    given_ = Call("given", "write", 7, begin=50, end=51)
    assert decide(models.Register(0), [given_, Call("a", "read", None, 7, begin=0, end=1)], PLENTY).answer is True
    assert decide(models.Register(0), [given_, Call("a", "read", None, 0, begin=0, end=1)], PLENTY).answer is False


def overlapping(key: str, writes: int) -> list[Call]:
    """Writes that all overlap, and then a read of what nobody wrote: every order of the writes is looked at."""
    made = [Call(number, "write", number, key=key, begin=0, end=100) for number in range(writes)]
    return [*made, Call("reader", "read", None, -1, key, begin=200, end=201)]


def test_a_key_that_is_refuted_early_does_not_wait_for_one_that_takes_long() -> None:
    hard = overlapping("a", 18)
    stale = [Call("web", "write", 1, key="b", begin=0, end=1), Call("docs", "read", None, 0, "b", begin=2, end=3)]
    alone = decide(models.Register(0), stale, PLENTY)
    assert alone.steps == 2
    decision = decide(models.Register(0), [*hard, *stale], PLENTY)
    assert decision.refuted is not None
    assert decision.refuted.key == "b"
    (open_,) = [search for search in decision.open if search.key == "a"]
    assert FIRST_TURN <= open_.steps < FIRST_TURN + len(hard)
    assert decision.steps == open_.steps + 2
    # By itself, the other key takes this many steps and more.
    assert decide(models.Register(0), hard, 100_000).answer is None


def test_turns_double_until_one_key_is_refuted() -> None:
    first, second = overlapping("a", 18), overlapping("b", 8)
    decision = decide(models.Register(0), [*first, *second], PLENTY)
    assert decision.refuted is not None
    assert decision.refuted.key == "b"
    needed = decide(models.Register(0), second, PLENTY).steps
    assert needed > 3 * FIRST_TURN  # so that it takes more than two turns
    (open_,) = [search for search in decision.open if search.key == "a"]
    assert open_.steps < 2 * needed + 2 * FIRST_TURN


def test_a_spent_budget_is_no_answer_and_the_count_is_kept_to() -> None:
    decision = decide(models.Register(0), overlapping("a", 18), 5_000)
    assert (decision.answer, decision.refuted) == (None, None)
    assert 5_000 <= decision.steps < 5_000 + 20


def test_many_equal_writes_that_never_returned_cost_little() -> None:
    # Which of them happened makes no difference: without that, every subset would be looked at.
    lost = [Call(number, "write", number % 3, begin=number, end=None) for number in range(60)]
    reads = [
        Call("r", "read", None, value, begin=100 + 2 * place, end=101 + 2 * place) for place, value in enumerate([0, 1, 2] * 4)
    ]
    assert decide(models.Register(9), [*lost, *reads], PLENTY).answer is True
    wrong = [*lost, *reads, Call("r", "read", None, 7, begin=200, end=201)]
    decision = decide(models.Register(9), wrong, PLENTY)
    assert (decision.answer, decision.steps) == (False, 132)


def test_reads_that_fit_cost_one_step_each() -> None:
    reads = [Call(number, "read", None, 0, begin=0, end=100) for number in range(300)]
    decision = decide(models.Register(0), reads, PLENTY)
    assert (decision.answer, decision.steps) == (True, 300)


def test_a_long_history_takes_steps_in_proportion_to_its_length() -> None:
    calls = []
    for place in range(0, 20_000, 2):
        calls.append(Call("a", "write", place, begin=3 * place, end=3 * place + 2))
        calls.append(Call("b", "read", None, place, begin=3 * place + 1, end=3 * place + 4))
    decision = decide(models.Register(0), calls, PLENTY)
    assert decision.answer is True
    assert decision.steps <= 3 * len(calls)


FIFTY = [(0, 0, 7_011), (1, 0, 9_016), (2, 0, 10_446), (0, 3, 8_185), (1, 3, 3_248), (2, 3, 1_476)]


@pytest.mark.parametrize(("seed", "wrong", "steps"), FIFTY)
def test_fifty_clients_that_append_to_ten_keys_are_decided_in_few_steps(seed: int, wrong: int, steps: int) -> None:
    calls = many_clients(seed, wrong=wrong)
    assert len(calls) == 1_700
    decision = decide(models.KeyValue(""), calls, PLENTY)
    assert (decision.answer, decision.steps) == (not wrong, steps)


def test_without_the_outlook_the_same_clients_are_past_searching() -> None:
    calls = [call for call in many_clients(0) if call.key == "k1"]
    assert Search(models.KeyValue(""), "k1", calls).run(1_000) is True
    assert Search(models.KeyValue(""), "k1", calls, outlook=False).run(200_000) is None


class Forgetful(Model):
    """A model whose states are lists, which cannot be looked up."""

    def initial(self, key: object) -> Any:
        return []

    def step(self, state: Any, call: Call) -> Any:
        return [*state, call.argument]


def test_a_state_that_is_not_hashable_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(InvalidArgumentError, match=r"not hashable: \[\]; return .*frozen"):
        decide(Forgetful(), [Call("a", "add", 1, begin=0, end=1)], PLENTY)


def test_what_was_given_must_fit_the_model() -> None:
    with pytest.raises(InvalidArgumentError, match="what was given does not fit"):
        decide(models.Register(0), [Call("given", "read", None, 3, begin=0, end=1)], PLENTY)


class Unpriced:
    """An argument without a hash: still a call that can be judged."""

    __hash__ = None  # type: ignore[assignment]


class Ticket(Model):
    """Counts whatever comes."""

    def initial(self, key: object) -> int:
        return 0

    def step(self, state: Any, call: Call) -> Any:
        return state + 1 if call.result == state else ILLEGAL


def test_calls_whose_arguments_have_no_hash_are_kinds_of_their_own() -> None:
    calls = [Call("a", "take", Unpriced(), place, begin=0, end=9) for place in (1, 0, 2)]
    assert decide(Ticket(), calls, PLENTY).answer is True
    assert decide(Ticket(), calls[:1], PLENTY).answer is False
