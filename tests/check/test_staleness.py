"""Staleness: how far behind the newest committed write a read was, in versions and in virtual seconds."""

from __future__ import annotations

from typing import Any

import pytest
from tests.check.notation import overlapping, told

import commonboard as cb
from commonboard.check.staleness import StaleRead, staleness


def behind(history: Any) -> list[tuple[int | None, float | None]]:
    return [(row.versions_behind, row.seconds_behind) for row in staleness(history)]


class TestOneStore:
    def test_a_read_of_the_newest_is_not_behind(self) -> None:
        assert behind(told("w1x1 w1x2 r2x2")) == [(0, 0.0)]

    def test_a_read_is_behind_by_the_versions_that_were_committed_before_it_was_called(self) -> None:
        assert behind(told("w1x1 w1x2 w1x3 r2x1")) == [(2, 2.0)]  # the first that it missed was committed at second 1

    def test_a_write_that_was_not_committed_when_the_read_was_called_does_not_count(self) -> None:
        history = told("w1x1 w1x2 w1x3 r2x1")
        assert behind(overlapping(history, [(0, 1), (2, 3), (4, 9), (5, 10)])) == [(1, 2.0)]
        assert behind(overlapping(history, [(0, 1), (2, 8), (4, 9), (5, 10)])) == [(0, 0.0)]

    def test_seconds_count_from_the_first_answer_where_a_commit_was_answered_late(self) -> None:
        history = told("w1x1 w2x2 r3x0")
        assert behind(overlapping(history, [(0, 9), (1, 3), (5, 6)])) == [(2, 2.0)]

    def test_of_a_read_of_what_was_rolled_back_nobody_can_tell(self) -> None:
        assert behind(told("w1x1 a2x2 r1x2 r1x1")) == [(None, None), (0, 0.0)]

    def test_a_read_that_finds_nothing_is_behind_a_creation(self) -> None:
        assert behind(told("w1x1 r2x0")) == [(1, 1.0)]

    def test_a_read_of_a_key_that_nobody_wrote_is_not_behind(self) -> None:
        assert behind(told("r1x0")) == [(0, 0.0)]

    def test_a_read_without_a_version_is_not_known(self) -> None:
        history = told("w1x1 r2x1")
        history[1].saw = None
        assert behind(history) == [(None, None)]
        assert "of 1 nobody can tell" in str(staleness(history))

    def test_runs_are_never_behind(self) -> None:
        for seed in range(10):
            made = cb.simulate(cb.scenarios.research_crew, policy=cb.LastWriterWins(), seed=seed)
            rows = staleness(made)
            assert len(rows) > 3
            assert {row.versions_behind for row in rows} == {0}


async def writes(me: cb.AgentMemory) -> None:
    for number in range(3):
        await me.shared.write("x", number)
        await me.think(seconds=10)


async def reads(me: cb.AgentMemory) -> None:
    for _ in range(3):
        await me.think(seconds=9)
        await me.value("shared/x")


class TestBetweenReplicas:
    def runs(self, **world: Any) -> list[cb.Run]:
        worlds = cb.World(replicas=2, **world)
        return [cb.simulate({"web": writes, "docs": reads}, seed=seed, world=worlds) for seed in range(30)]

    def test_a_read_is_behind_what_was_committed_anywhere(self) -> None:
        rows = [row for made in self.runs(latency=25.0) for row in staleness(made)]
        # Nothing arrives before second 25: at 9, 18 and 27 there had been one, two and three writes.
        assert {(row.at_virtual_s, row.versions_behind, row.seconds_behind) for row in rows} >= {
            (9.0, 1, 9.0),
            (18.0, 2, 18.0),
        }
        assert all(row.versions_behind in (1, 2, 3) for row in rows if row.at_virtual_s < 25)

    def test_it_agrees_with_the_values_that_were_read(self) -> None:
        for made in self.runs():
            for row in staleness(made):
                op = made.history[row.operation]
                written = sum(w.end < op.begin for w in made.history.writes("shared/x"))
                assert row.versions_behind == written - (0 if op.value is None else op.value + 1)

    def test_a_write_that_was_settled_away_was_seen(self) -> None:
        async def both(me: cb.AgentMemory) -> None:
            await me.shared.write("x", me.name)
            await me.think(seconds=5)
            await me.value("shared/x")

        runs = [
            cb.simulate({"web": both, "docs": both}, policy=cb.LastWriterWins(), seed=seed, world=cb.World(replicas=2))
            for seed in range(20)
        ]
        settled = [made for made in runs if all(op.kind != "read" or op.value == "web" for op in made.history)]
        assert any({row.versions_behind for row in staleness(made)} == {0} for made in settled)


class TestTheTable:
    def test_has_units_in_the_names_of_its_columns(self) -> None:
        frame = staleness(told("w1x1 w1x2 r2x1 r3x2")).to_frame()
        assert list(frame.columns) == [
            "operation",
            "agent",
            "key",
            "replica",
            "at_virtual_s",
            "versions_behind",
            "seconds_behind",
        ]
        assert frame["versions_behind"].tolist() == [1, 0]
        assert str(frame["seconds_behind"].dtype) == "float64"

    def test_names_the_worst(self) -> None:
        rows = staleness(told("w1x1 w1x2 r2x1 w1x3 r3x1 r3x3"))
        assert rows.worst == StaleRead(4, "synth", "x", None, 4.0, 2, 3.0)
        assert rows.sentence == (
            "2 of 3 reads had missed something; the worst, synth's of x at 4 virtual s, was 2 versions and 3 virtual s behind"
        )
        assert str(rows).startswith(f"Staleness: {rows.sentence}\n  operation  agent")
        assert "<b>Staleness: 2 of 3 reads" in rows._repr_html_()

    def test_of_no_reads_says_so(self) -> None:
        rows = staleness(told("w1x1"))
        assert rows.worst is None
        assert str(rows) == "Staleness: there is no read, so none could be behind"
        assert rows._repr_html_() == f"<p><b>{rows}</b></p>"

    def test_is_not_for_what_is_no_history(self) -> None:
        with pytest.raises(TypeError, match="staleness takes a Run"):
            staleness(None)
