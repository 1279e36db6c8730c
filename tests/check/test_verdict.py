"""What a verdict is like: never simply true, readable, and with all that is needed to see it again."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import commonboard as cb
from commonboard.check import CheckFailed, Finding, Holds, Unknown, Verdict, Violation
from commonboard.history import Operation

FOUND = Finding("lost update", "docs overwrote what web wrote", (Operation(0, "docs", "write", "shared/x"),))
NOTE = Finding("superseded", "docs never looked")


def violation(**facts: Any) -> Violation:
    return Violation("no lost updates", "this run", [FOUND], [NOTE], token="cb1-1-1-1", **facts)


def holds() -> Holds:
    return Holds("no lost updates", "this run", [], [NOTE], token="cb1-1-1-1")


def unknown() -> Unknown:
    return Unknown("no lost updates", "this run", [], [], "nothing was written", token="cb1-1-1-1")


ALL = [violation(), holds(), unknown()]


@pytest.mark.parametrize("verdict", ALL, ids=lambda verdict: type(verdict).__name__)
class TestEveryVerdict:
    def test_has_no_truth_value(self, verdict: Verdict) -> None:
        with pytest.raises(TypeError, match=r"neither true nor false; ask \.holds"):
            bool(verdict)
        with pytest.raises(TypeError):
            _ = not verdict
        with pytest.raises(TypeError):
            _ = verdict or "anything"

    def test_prints_as_it_reads(self, verdict: Verdict) -> None:
        assert repr(verdict) == str(verdict)
        assert str(verdict).splitlines()[0] == verdict.sentence
        assert "0x" not in str(verdict)

    def test_can_be_copied_and_sent_to_another_process(self, verdict: Verdict) -> None:
        assert str(copy.deepcopy(verdict)) == str(pickle.loads(pickle.dumps(verdict))) == str(verdict)
        assert pickle.loads(pickle.dumps(verdict)) == verdict


def test_a_violation_does_not_hold_and_tells_its_story_and_its_token() -> None:
    assert violation().holds is False
    with pytest.raises(CheckFailed) as caught:
        violation().assert_holds()
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, cb.CommonboardError)
    assert str(caught.value) == (
        "No lost updates: violated in this run, 1 finding\n"
        "  1. lost update: docs overwrote what web wrote\n"
        "  note: superseded: docs never looked\n"
        "  replay='cb1-1-1-1'"
    )


def test_a_violation_counts_its_findings() -> None:
    several = Violation("no lost updates", "this log", [FOUND, FOUND])
    assert several.sentence == "No lost updates: violated in this log, 2 findings"
    assert "replay=" not in str(several)  # a log has no token


def test_what_holds_says_that_it_speaks_of_this_alone() -> None:
    assert holds().holds is True
    assert holds().assert_holds() is None
    assert holds().sentence == "No lost updates: this holds in this run, which says nothing about other orders"
    assert "replay=" not in str(holds())


def test_what_is_unknown_is_no_pass_and_says_why_and_how_to_see_it_again() -> None:
    assert unknown().holds is None
    with pytest.raises(CheckFailed) as caught:
        unknown().assert_holds()
    assert str(caught.value) == "No lost updates: nobody can tell in this run, because nothing was written\n  replay='cb1-1-1-1'"


def test_the_three_are_told_apart_by_their_class_and_by_holds() -> None:
    assert [verdict.holds for verdict in ALL] == [False, True, None]
    assert len({type(verdict) for verdict in ALL}) == 3
    assert all(isinstance(verdict, Verdict) for verdict in ALL)


@pytest.mark.parametrize("number", [-1, 1, 7])
def test_only_a_finding_that_is_there_can_be_drawn(number: int) -> None:
    with pytest.raises(ValueError, match=f"there is no finding number {number} to draw: this verdict has 1"):
        violation(history=cb.History([])).spacetime(number)


def test_without_a_history_nothing_can_be_drawn() -> None:
    with pytest.raises(ValueError, match="to draw"):
        violation().spacetime()
