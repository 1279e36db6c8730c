"""A policy with a state of its own is noticed; and a sample of what counts as independent is run in both orders."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from tests.explorer.programs import ONCE, counter, explored_of, refused

import commonboard as cb

SEARCH = importlib.import_module("commonboard.explorer.search")


class TestAPolicyWithAStateOfItsOwn:
    def test_is_noticed_where_it_counts(self) -> None:
        class EverySecond(cb.ConflictPolicy):
            def __init__(self) -> None:
                self.asked = 0

            def resolve(self, base: Any, mine: Any, theirs: Any) -> Any:
                self.asked += 1
                return mine if self.asked % 2 else theirs

        refused(explored_of(counter(), counter(), counter(), policy=EverySecond()))

    def test_is_named_where_it_keeps_a_list(self) -> None:
        class EverySecond(cb.ConflictPolicy):
            def __init__(self) -> None:
                self.asked: list[Any] = []

            def resolve(self, base: Any, mine: Any, theirs: Any) -> Any:
                self.asked.append(mine)
                return mine if len(self.asked) % 2 else theirs

        refused(explored_of(counter(), counter(), counter(), policy=EverySecond()), "EverySecond.asked")

    def test_is_noticed_in_a_function_that_is_a_policy(self) -> None:
        asked: list[Any] = []

        def every_second(base: Any, mine: Any, theirs: Any) -> Any:
            asked.append(mine)
            return mine if len(asked) % 2 else theirs

        refused(explored_of(counter(), counter(), policy=every_second), "asked")

    def test_that_only_reads_its_settings_keeps_the_reduction(self) -> None:
        class Longest(cb.ConflictPolicy):
            def __init__(self, names: list[str]) -> None:
                self.names = names

            def resolve(self, base: Any, mine: Any, theirs: Any) -> Any:
                return mine if mine.actor in self.names else theirs

        assert explored_of(counter(), counter(), policy=Longest(["a"])).method == "equal states merged"


class TestTheSampleOfPairs:
    def test_is_run_both_ways_and_counted(self) -> None:
        explored = explored_of(counter(2, "x"), counter(2, "y"), reduction="sleep sets")
        assert explored.pairs > 0
        assert "independent pairs run in both orders" in str(explored)

    @pytest.mark.parametrize("reduction", ["sleep sets", "auto"])
    def test_catches_a_search_that_takes_everything_for_independent(
        self, monkeypatch: pytest.MonkeyPatch, reduction: Any
    ) -> None:
        monkeypatch.setattr(SEARCH, "conflict", lambda one, other, listed: False)
        agents = [counter(2, "n"), counter(2, "n")]
        verdict = cb.explore(*agents, policy=cb.LastWriterWins(), check=ONCE, reduction=reduction)
        assert verdict.explored.method == "every schedule run anew"
        assert "foresaw something else" in verdict.explored.why

    def test_a_search_that_takes_everything_for_independent_does_not_hide_a_violation(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(SEARCH, "conflict", lambda one, other, listed: False)
        verdict = cb.explore(counter(), counter(), policy=cb.LastWriterWins(), reduction="sleep sets")
        assert verdict.holds is False
