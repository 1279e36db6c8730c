"""The conformance suite: ours pass it, a store that offers less is told so, and each lie is found by the check of its name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import FiveMethods, WithBoth, run
from tests.stores.mutants import MUTANTS

from commonboard import CommonboardError, FileStore, InMemoryStore
from commonboard.errors import ConformanceError
from commonboard.stores import conformance

BY_NAME = {check.name: check for check in conformance.CHECKS}


@pytest.mark.parametrize("check", conformance.CHECKS, ids=str)
def test_the_in_memory_store_conforms(check: conformance.Check) -> None:
    assert run(check(InMemoryStore)).status == "passed"


@pytest.mark.parametrize("check", conformance.CHECKS, ids=str)
def test_the_file_store_conforms(check: conformance.Check, tmp_path: Path) -> None:
    assert run(check(lambda: FileStore(tmp_path / "board.json"))).status == "passed"


@pytest.mark.parametrize("check", conformance.CHECKS, ids=str)
def test_a_file_store_that_keeps_one_event_conforms_where_no_log_is_asked_for(check: conformance.Check, tmp_path: Path) -> None:
    outcome = run(check.outcome(lambda: FileStore(tmp_path / "board.json", keep_events=1)))
    about_the_log = ("event", "log", "watch", "follower", "position", "clear_leaves", "restore_keeps", "prefixes_must")
    assert outcome.status == "passed" or any(word in check.name for word in about_the_log), outcome


@pytest.mark.parametrize(("check", "store"), MUTANTS, ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_a_lying_store_is_found_by_the_check_of_its_lie(check: str, store: type[Any]) -> None:
    with pytest.raises(ConformanceError, match=f"^{check}: ") as raised:
        run(BY_NAME[check](store, seconds=0.5))
    assert len(str(raised.value)) > len(check) + 20


def test_every_check_finds_a_lying_store() -> None:
    assert sorted({check for check, _ in MUTANTS}) == sorted(BY_NAME)


def test_a_store_of_five_methods_is_checked_for_those() -> None:
    report = run(conformance.run(FiveMethods))
    assert report.holds is True
    assert {outcome.status for outcome in report.outcomes[: len(conformance.basic.CHECKS)]} == {"passed"}
    assert len(report.not_offered) == len(conformance.CHECKS) - len(conformance.basic.CHECKS)
    assert "no compare_and_set" in {outcome.why for outcome in report.not_offered}


def test_what_is_demanded_and_not_offered_counts_as_failed() -> None:
    report = run(conformance.run(WithBoth, built_in=True))
    assert report.holds is False
    assert all("has no commit, look, events, watch, which built_in=True asks for" in outcome.why for outcome in report.failed)


def test_what_is_not_asked_for_is_left_out() -> None:
    report = run(conformance.run(InMemoryStore, built_in=False))
    assert report.holds is True
    assert {outcome.why for outcome in report.not_offered} == {"not asked for"}


def test_a_report_says_what_failed_and_why() -> None:
    lying = next(store for check, store in MUTANTS if check == "set_replaces_the_metadata")
    report = run(conformance.run(lying))
    assert report.holds is False
    assert "set_replaces_the_metadata" in [outcome.name for outcome in report.failed]
    line = "  failed      set replaces the metadata: the metadata after a second set: {'a': 1, 'b': 3}, where {'b': 3} should be"
    assert line in str(report).splitlines()
    assert repr(report) == str(report)
    assert "<mark>failed</mark>" in report._repr_html_()
    assert list(report.to_frame().columns) == ["check", "status", "why"]
    with pytest.raises(ConformanceError, match="set replaces the metadata"):
        report.assert_holds()
    with pytest.raises(TypeError, match=r"\.holds"):
        bool(report)


def test_a_report_of_nothing_holds_nothing() -> None:
    report = run(conformance.run(FiveMethods, checks=conformance.built_in.CHECKS))
    assert report.holds is None
    with pytest.raises(ConformanceError):
        report.assert_holds()


def test_a_hanging_store_is_told_from_a_slow_one() -> None:
    hangs = next(store for _, store in MUTANTS if store.__name__ == "Hangs")
    with pytest.raises(ConformanceError, match="was not done after"):
        run(BY_NAME["what_is_set_reads_back"](hangs, seconds=0.05))


@pytest.mark.parametrize("closer", ["close", "aclose"])
def test_each_store_is_closed_also_when_its_check_fails(closer: str) -> None:
    closed: list[str] = []

    class Closing(FiveMethods):
        pass

    async def close(self: Any) -> None:
        closed.append(closer)

    setattr(Closing, closer, close)
    run(BY_NAME["a_missing_key_reads_as_none"](Closing))
    Closing.get = Closing.set  # type: ignore[method-assign,assignment]
    with pytest.raises(ConformanceError):
        run(BY_NAME["a_missing_key_reads_as_none"](Closing))
    assert closed == [closer, closer]


def test_a_store_may_be_made_by_an_async_function() -> None:
    async def make() -> InMemoryStore:
        await asyncio.sleep(0)
        return InMemoryStore()

    assert run(conformance.run(make, checks=conformance.basic.CHECKS)).holds is True


def test_checks_of_your_own_run_beside_ours() -> None:
    mine: list[conformance.Check] = []

    @conformance.check(mine, "search")
    async def search_finds_something(store: Any) -> None:
        assert await store.search("x")

    class Searching(FiveMethods):
        search: Callable[..., Any]

    without = run(conformance.run(FiveMethods, checks=mine))
    assert [(outcome.name, outcome.why) for outcome in without.outcomes] == [("search_finds_something", "no search")]

    async def found(self: Any, text: str) -> list[str]:
        return []

    Searching.search = found
    assert run(conformance.run(Searching, checks=mine)).failed[0].why.startswith("the store raised AssertionError")


def test_a_conformance_error_is_one_of_ours_and_an_assertion_error() -> None:
    assert issubclass(ConformanceError, CommonboardError)
    assert issubclass(ConformanceError, AssertionError)
