"""Shrinking: never longer, always the same answer, and done again it finds nothing more. Replays name what differs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.explorer.programs import counter, racers

import commonboard as cb
from commonboard.explorer.shrink import shrink

LAST = cb.LastWriterWins()
Fails = Callable[[list[int]], bool]
numbers = st.lists(st.integers(0, 4), max_size=12)
FAILURES: dict[str, Fails] = {
    "anything": lambda tried: True,
    "a sum": lambda tried: sum(tried) >= 5,
    "a place": lambda tried: len(tried) > 3 and tried[3] > 1,
    "two of them": lambda tried: tried.count(2) >= 2,
    "a pair of neighbours": lambda tried: any(a == 3 and b > 0 for a, b in itertools.pairwise(tried)),
    "a parity": lambda tried: sum(tried) % 2 == 1,
}


def order(tried: list[int]) -> tuple[int, list[int]]:
    return len(tried), tried


@pytest.mark.parametrize("name", FAILURES)
@given(tried=numbers)
@settings(max_examples=60)
def test_it_still_fails_and_is_no_longer(name: str, tried: list[int]) -> None:
    fails = FAILURES[name]
    if not fails(tried):
        return
    small = shrink(list(tried), fails)
    assert fails(small) or fails([*small, *[0] * (len(tried) - len(small))])
    assert len(small) <= len(tried)
    assert order(small) <= order(tried)
    assert sum(small) <= sum(tried)


@pytest.mark.parametrize("name", FAILURES)
@given(tried=numbers)
@settings(max_examples=60)
def test_done_again_it_finds_nothing_more_and_done_twice_it_finds_the_same(name: str, tried: list[int]) -> None:
    fails = FAILURES[name]
    if not fails(tried):
        return
    small = shrink(list(tried), fails)
    assert shrink(list(tried), fails) == small
    if fails(small):
        assert shrink(list(small), fails) == small


@given(tried=numbers)
def test_the_list_that_is_given_stays_as_it_is(tried: list[int]) -> None:
    kept = list(tried)
    shrink(tried, lambda each: sum(each) >= 1)
    assert tried == kept


def test_it_finds_the_smallest_of_simple_failures() -> None:
    assert shrink([3, 1, 4, 1, 5, 9, 2, 6], lambda tried: 5 in tried) == [5]
    assert shrink([3, 1, 4, 1, 5], lambda tried: True) == []
    assert shrink([0, 0, 2, 0, 0], lambda tried: any(tried)) == [1]
    assert shrink([], lambda tried: True) == []
    assert shrink([4, 4, 4], lambda tried: sum(tried) >= 7) in ([3, 4], [4, 3])


def test_boring_choices_at_the_end_cost_nothing() -> None:
    asked: list[list[int]] = []

    def fails(tried: list[int]) -> bool:
        asked.append(tried)
        return tried[:1] == [1]

    assert shrink([1, 0, 0, 0], fails) == [1]
    assert all(not tried or tried[-1] for tried in asked)


def test_it_asks_no_more_often_than_it_may() -> None:
    asked = 0

    def fails(tried: list[int]) -> bool:
        nonlocal asked
        asked += 1
        return sum(tried) >= 20

    shrink([random.Random(seed).randint(0, 4) for seed in range(60)], fails, most=25)
    assert asked <= 25


def test_a_long_random_failure_becomes_a_short_one_of_the_same_kind() -> None:
    agents = {"a": counter(4), "b": counter(4), "c": counter(2, "other")}
    verdict = cb.explore(agents, policy=LAST, budget=1, samples=100)
    assert verdict.holds is False
    assert sum(number > 0 for number in verdict.run.choices.numbers) <= 2
    assert verdict.findings[0].kind == "lost update"


def test_it_does_not_slide_to_another_kind_of_failure() -> None:
    """A failure of the check stays one, though an agent that dies of the smaller list would be shorter."""

    async def fragile(me: cb.AgentMemory) -> None:
        if await me.value("shared/n") is None:
            raise ValueError("nobody was here")

    agents = {"a": counter(), "b": counter(), "fragile": fragile}
    kinds = {}
    for how in ("sleep sets", "none"):
        verdict = cb.explore(agents, policy=LAST, reduction=how)  # type: ignore[arg-type]
        kinds[how] = verdict.findings[0].kind
        assert cb.simulate(agents, policy=LAST, replay=verdict.token).choices.numbers == verdict.run.choices.numbers
    assert set(kinds.values()) <= {"lost update", "died"}


class TestReplayingARun:
    """`simulate(replay=run)` holds each step beside the earlier one, and names the first that differs."""

    def test_of_the_same_agents_gives_the_same_run(self) -> None:
        verdict = racers()
        again = cb.simulate(counter(), counter(), policy=LAST, replay=verdict.run)
        assert str(again.history) == str(verdict.run.history)

    def test_of_agents_that_changed_names_the_first_step_that_differs(self) -> None:
        async def counter(me: cb.AgentMemory) -> None:
            await me.value("shared/other")
            await me.shared.write("n", 1)

        with pytest.raises(cb.ReplayError) as caught:
            cb.simulate(counter, counter, policy=LAST, replay=racers().run)
        told = str(caught.value)
        assert "The first step that differs is number 1" in told
        assert "then it was 'counter-1 reads shared/n'" in told
        assert "'counter-1 reads shared/other'" in told

    def test_of_an_agent_that_does_something_else_later_names_that_step(self) -> None:
        earlier = cb.simulate(counter(2), counter(2), policy=LAST, timing="free", replay=[1, 0, 0, 0])
        later = {"counter-1": counter(2), "counter-2": self.other_in_the_end}
        with pytest.raises(
            cb.ReplayError, match="The first step that differs is number 3: then it was 'counter-2 reads shared/n'"
        ):
            cb.simulate(later, policy=LAST, replay=earlier)

    @staticmethod
    async def other_in_the_end(me: cb.AgentMemory) -> None:
        await me.shared.update("n", lambda found: (found or 0) + 1)
        await me.shared.update("elsewhere", lambda found: (found or 0) + 1)

    def test_of_agents_that_stop_earlier_says_what_the_earlier_run_went_on_with(self) -> None:
        earlier = cb.simulate(counter(2), counter(2), policy=LAST, timing="free")
        with pytest.raises(cb.ReplayError, match=r"earlier one went on with|first step that differs"):
            cb.simulate({"counter-1": counter(2), "counter-2": counter(1)}, policy=LAST, replay=earlier)

    def test_of_a_token_of_other_agents_is_refused(self) -> None:
        with pytest.raises(cb.ReplayError, match="another program"):
            cb.simulate(counter(1, "x"), counter(1, "x"), policy=LAST, replay=racers().token)

    def test_needs_no_timing_since_the_run_knows_it(self) -> None:
        async def slow(me: cb.AgentMemory) -> None:
            await me.think(seconds=9)
            await me.shared.update("n", lambda found: (found or 0) + 1)

        verdict: Any = cb.explore(slow, counter(), policy=LAST)
        for replay in (verdict.run, verdict.token):
            again = cb.simulate(slow, counter(), policy=LAST, replay=replay)
            assert str(again.history) == str(verdict.run.history)
