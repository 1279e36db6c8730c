"""Exact counts of known programs: how many interleavings, classes, states; so that no change of the search goes unnoticed."""

from __future__ import annotations

import math

import pytest
from tests.explorer.programs import brute, counter, racers

import commonboard as cb

LAST = cb.LastWriterWins()


def counted(agents: int, times: int, keys: int = 1, reduction: str = "states", **options: object) -> cb.check.Verdict:
    crew = {f"agent-{n}": counter(times, f"key {n % keys}") for n in range(agents)}
    return cb.explore(crew, policy=LAST, reduction=reduction, **options)  # type: ignore[arg-type]


def test_two_counters_of_two_increments_have_seventy_interleavings_of_which_all_but_six_lose_something() -> None:
    explored = counted(2, 2).explored
    assert (explored.interleavings, explored.violating, explored.states) == (70, 64, 134)
    # Nothing is lost where no two updates overlap: the updates as a whole can be put in 4! / (2! 2!) orders.
    assert explored.interleavings - explored.violating == math.comb(4, 2)


def test_their_seventy_interleavings_are_thirty_four_classes() -> None:
    explored = counted(2, 2, reduction="sleep sets").explored
    assert (explored.completed, explored.violating) == (34, 28)


def test_three_counters_of_two_increments_on_one_key() -> None:
    explored = counted(3, 2).explored
    assert (explored.interleavings, explored.violating) == (34_650, 34_560)
    assert explored.interleavings == math.factorial(12) // math.factorial(4) ** 3
    assert explored.interleavings - explored.violating == math.factorial(6) // 2**3


def test_their_interleavings_are_7134_classes() -> None:
    assert counted(3, 2, reduction="sleep sets").explored.completed == 7_134


def test_counters_on_keys_of_their_own_have_one_class() -> None:
    explored = counted(3, 2, keys=3, reduction="sleep sets").explored
    assert (explored.completed, explored.cut, explored.violating) == (1, 24, 0)
    states = counted(3, 2, keys=3).explored
    assert (states.interleavings, states.violating, states.states) == (34_650, 0, 5**3)


def test_four_counters_on_two_keys_have_63_million_interleavings_and_are_settled_all_the_same() -> None:
    explored = counted(4, 2, keys=2).explored
    assert explored.interleavings == math.factorial(16) // math.factorial(4) ** 4 == 63_063_000
    # On each key 6 of 70 orders are right, and the two pairs of agents know nothing of each other.
    assert explored.interleavings - explored.violating == 6 * 6 * math.comb(16, 8)


def test_five_counters_of_one_increment() -> None:
    explored = counted(5, 1).explored
    assert explored.interleavings == math.factorial(10) // 2**5 == 113_400
    assert explored.interleavings - explored.violating == math.factorial(5)


@pytest.mark.slow
def test_five_counters_of_one_increment_have_14400_classes() -> None:
    assert counted(5, 1, reduction="sleep sets").explored.completed == math.factorial(5) ** 2 == 14_400


def test_careful_counters_lose_nothing_in_any_of_their_interleavings() -> None:
    agents = [counter(), counter(), counter()]
    verdict = cb.explore(*agents, policy=cb.Optimistic())
    truth = brute(agents, policy=cb.Optimistic())
    assert (verdict.holds, verdict.explored.interleavings, verdict.explored.violating) == (True, len(truth.orders), 0)
    classes = cb.explore(*agents, policy=cb.Optimistic(), reduction="sleep sets")
    assert (classes.holds, classes.explored.completed) == (True, truth.classes())


def test_an_agent_alone_has_one_interleaving() -> None:
    verdict = cb.explore(counter(3))
    assert (verdict.holds, verdict.explored.interleavings) == (True, 1)
    assert "the only interleaving there is" in verdict.sentence


def test_the_counts_are_in_the_text_of_the_verdict() -> None:
    told = str(racers())
    assert "violated in 4 of 6 interleavings, 1 finding" in told
    assert "            6  interleavings in all" in told
    assert "            4  interleavings that violate the check" in told
    assert "equal states merged, delays as lower bounds" in told


def test_every_way_of_reducing_says_what_it_did() -> None:
    assert racers(reduction="states").explored.method == "equal states merged"
    assert racers(reduction="sleep sets").explored.method == "sleep sets"
    none = racers(reduction="none")
    assert none.explored.method == "every schedule run anew"
    assert "reduction='none'" in none.explored.why
    assert (none.explored.completed, none.explored.violating) == (6, 4)
