"""Lineage: what a value rested on, and who knew a value that was withdrawn."""

from __future__ import annotations

import pytest
from tests.check.notation import told

import commonboard as cb
from commonboard.check.lineage import lineage, who_read
from commonboard.history import History, Operation


class TestLineage:
    def test_of_a_value_is_a_tree_of_what_its_writers_had_read(self) -> None:
        assert str(lineage(told("w1a1 r2a1 w2b1 r3b1 w3c1"), "c")) == (
            "version 1 of c, by synth at 4 s: 'c1'\n"
            "  version 1 of b, by docs at 2 s, read by synth at 3 s: 'b1'\n"
            "    version 1 of a, by web at 0 s, read by docs at 1 s: 'a1'"
        )

    def test_names_no_version_that_was_read_only_after(self) -> None:
        assert [row.key for row in lineage(told("w1a1 w2b1 r2a1"), "b")] == ["b"]

    def test_takes_the_newest_version_of_a_key_that_was_read_before(self) -> None:
        rows = lineage(told("w1a1 r2a1 w1a2 r2a2 w2b1"), "b")
        assert [(row.depth, row.key, row.version) for row in rows] == [(0, "b", 1), (1, "a", 2)]

    def test_of_an_update_goes_from_version_to_version(self) -> None:
        rows = lineage(told("w0x1 r1x1 w1x2<1 r2x2 w2x3<2"), "x")
        assert [(row.version, row.writer) for row in rows] == [(3, "docs"), (2, "web"), (1, "given")]

    def test_tells_what_stands_above_already_once(self) -> None:
        rows = lineage(told("w1a1 r2a1 w2b1 r3a1 r3b1 w3c1"), "c")
        assert [(row.depth, row.key, row.is_repeated) for row in rows] == [
            (0, "c", False),
            (1, "a", False),
            (1, "b", False),
            (2, "a", True),
        ]
        assert str(rows).endswith("version 1 of a, by web at 0 s, read by docs at 1 s: see above")

    def test_ends_where_two_values_rest_on_each_other(self) -> None:
        assert [row.key for row in lineage(told("w1a1 r2a1 w2b1 r1b1 w1a2"), "a")] == ["a", "b", "a"]

    def test_takes_a_list_for_a_look_at_all_that_it_shows(self) -> None:
        assert [row.key for row in lineage(told("w1p/a1 w1p/b1 l2p w2c1"), "c")] == ["c", "p/a", "p/b"]

    def test_of_a_version_or_of_an_operation(self) -> None:
        history = told("w0x1 r1x1 w1x2<1")
        assert [row.version for row in lineage(history, "x", 1)] == [1]
        assert [row.version for row in lineage(history, history[2])] == [2, 1]

    def test_tells_a_delete(self) -> None:
        assert str(lineage(told("w1x1 d1x2"), "x")) == "version 2 of x, by web at 1 s: deleted"

    def test_of_a_log_rests_on_what_writers_had_seen_of_the_key(self) -> None:
        made = cb.simulate(cb.scenarios.counter, policy=cb.Optimistic(), seed=1)
        versions = [row.version for row in lineage(made.log, "shared/count")]
        assert versions == sorted(versions, reverse=True)
        assert len(versions) == len(made.log)

    def test_between_replicas_goes_by_dots(self) -> None:
        made = cb.simulate(cb.scenarios.research_crew, policy=cb.LastWriterWins(), seed=2, world=cb.World(replicas=2))
        read = {op.key: op.value for op in made.history if op.agent == "synth" and op.kind == "read"}
        rows = lineage(made, "synth/brief")
        assert {row.key: row.value for row in rows if row.depth == 1} == {k: v for k, v in read.items() if v is not None}

    def test_forgets_what_an_agent_had_read_before_it_crashed(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            if await me.value("shared/first"):
                await me.write("found", "nothing read")
            else:
                await me.shared.write("first", True)
                await me.value("docs/secret")
                await me.think(seconds=1)
                await me.value("docs/secret")

        crash = cb.World(agent_crashes=1)
        runs = [cb.simulate({"web": web}, seed=seed, given={"docs/secret": 7}, world=crash) for seed in range(40)]
        found = [made for made in runs if made.value("web/found")]
        again = [made for made in found if any(op.key == "docs/secret" and op.kind == "read" for op in made.history)]
        assert again
        assert {row.key for row in lineage(again[0], "web/found")} == {"web/found", "shared/first"}

    def test_has_a_table(self) -> None:
        frame = lineage(told("w1a1 r2a1 w2b1"), "b").to_frame()
        assert frame[["depth", "key", "writer", "reader"]].values.tolist()[1] == [1, "a", "web", "docs"]
        assert {"written_at_virtual_s", "read_at_virtual_s"} <= set(frame.columns)
        assert "<table" in lineage(told("w1a1 r2a1 w2b1"), "b")._repr_html_()

    @pytest.mark.parametrize(
        ("what", "version", "message"),
        [
            ("y", None, "nobody wrote 'y'; written were 'x'"),
            ("x", 7, "version 7 of 'x' was never made"),
        ],
    )
    def test_of_what_nobody_wrote_is_an_error(self, what: str, version: int | None, message: str) -> None:
        with pytest.raises(cb.InvalidArgumentError, match=message):
            lineage(told("w1x1"), what, version)

    def test_of_a_read_is_an_error(self) -> None:
        history = told("w1x1 r2x1")
        with pytest.raises(cb.InvalidArgumentError, match="no write of this history: t=1 s  docs reads x at version 1"):
            lineage(history, history[1])

    def test_of_a_write_of_another_history_is_an_error(self) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="no write of this history: t=0 s  docs writes x"):
            lineage(told("w1x1"), told("w2x1")[0])

    def test_of_a_version_that_is_no_number_says_what_it_was(self) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="version '1' of 'x' was never made"):
            lineage(told("w1x1"), "x", "1")  # type: ignore[arg-type]

    def test_of_a_number_that_several_replicas_gave_is_an_error(self) -> None:
        async def sets(me: cb.AgentMemory) -> None:
            await me.shared.write("x", me.name)

        runs = [cb.simulate({"web": sets, "docs": sets}, seed=seed, world=cb.World(replicas=2)) for seed in range(20)]
        twice = next(made for made in runs if [op.made for op in made.history.writes("shared/x")] == [1, 1])
        with pytest.raises(cb.InvalidArgumentError, match="version 1 of 'shared/x' was made on several replicas"):
            lineage(twice, "shared/x", 1)


class TestWhoRead:
    def test_a_withdrawn_value_names_readers_and_what_they_wrote_after(self) -> None:
        rows = who_read(told("w1a1 r2a1 w2b1 r3a0 w3c1 d1a2"), "a")
        assert [(row.agent, row.steps, row.read_version, row.wrote_key, row.knew) for row in rows] == [("docs", 1, 1, "b", False)]
        assert (rows.withdrawn.made, rows.withdrawn_by.made) == (1, 2)
        assert str(rows) == (
            "version 1 of a, by web at 0 s, was deleted by web at 5 s; these had read it:\n"
            "  docs read version 1 of a at 1 s and wrote version 1 of b at 2 s, not knowing that it was withdrawn"
        )

    def test_follows_it_from_reader_to_reader(self) -> None:
        rows = who_read(told("w1a1 r2a1 w2b1 d1a2 r3b1 w3c1"), "a")
        assert [(row.agent, row.steps, row.wrote_key) for row in rows] == [("docs", 1, "b"), ("synth", 2, "c")]

    def test_leaves_out_what_was_written_before_the_read(self) -> None:
        rows = who_read(told("w1a1 w2b1 r2a1 d1a2"), "a")
        assert [(row.agent, row.wrote_key, row.knew) for row in rows] == [("docs", None, None)]
        assert "docs read version 1 of a at 2 s and wrote nothing after" in str(rows)

    def test_says_who_had_seen_that_it_was_withdrawn(self) -> None:
        rows = who_read(told("w1a1 r2a1 d1a2 r2a2 w2b1 w2c1"), "a")
        assert [row.knew for row in rows] == [True, True]

    def test_leaves_out_its_writer(self) -> None:
        assert list(who_read(told("w1a1 r1a1 w1b1 d1a2"), "a")) == []
        assert str(who_read(told("w1a1 r1a1 w1b1 d1a2"), "a")).endswith("; nobody had read it.")

    def test_takes_the_newest_that_was_withdrawn_unless_told_otherwise(self) -> None:
        history = told("w1a1 r2a1 w1a2 r3a2 w1a3")
        assert [row.agent for row in who_read(history, "a")] == ["synth"]
        assert [row.agent for row in who_read(history, "a", 1)] == ["docs"]
        assert [row.agent for row in who_read(history, history[0])] == ["docs"]

    def test_of_what_stands_is_an_error(self) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="version 1 of a was not withdrawn"):
            who_read(told("w1a1 r2a1"), "a")

    def test_has_a_table(self) -> None:
        frame = who_read(told("w1a1 r2a1 w2b1 d1a2"), "a").to_frame()
        assert frame.loc[0, ["agent", "wrote_key"]].tolist() == ["docs", "b"]


class TestInANotebook:
    def test_what_was_withdrawn_stands_above_the_table(self) -> None:
        rows = who_read(told("w1x1 r2x1 w2y1 w1x2"), "x")
        assert rows._repr_html_().startswith(f"<p><b>{rows.sentence}</b></p><table")
        assert rows.sentence == "version 1 of x, by web at 0 s, was replaced by web at 3 s; these had read it:"

    def test_that_nobody_had_read_it_is_all_that_is_said(self) -> None:
        rows = who_read(told("w1x1 w1x2"), "x")
        assert rows._repr_html_() == f"<p><b>{rows}</b></p>"
        assert str(rows).endswith("nobody had read it.")


class TestWhatAReaderKnew:
    def test_is_forgotten_when_it_crashes(self) -> None:
        history = told("w1x1 r2x1 w2y1 w2z1 w1x2")
        crash = Operation(3, "docs", "fault", "", note="crashed and began again", fault="agent crash", begin=5, end=5)
        rows = who_read(History([*history[:3], crash, *history[3:]]), "x")
        assert [(row.agent, row.wrote_key, row.knew) for row in rows] == [("docs", "y", False)]

    def test_is_not_that_a_value_was_withdrawn_where_it_had_read_another_replica_before(self) -> None:
        one, two = "replica-1", "replica-2"
        operations = [
            Operation(0, "synth", "write", "x", '"b"', replaced=0, made=1, replica=two, dot="replica-2:1"),
            Operation(1, "docs", "read", "x", '"b"', saw=1, replica=two),
            Operation(2, "web", "write", "x", '"a"', replaced=0, made=1, replica=one, dot="replica-1:1"),
            Operation(3, "docs", "read", "x", '"a"', saw=1, replica=one),
            Operation(4, "docs", "write", "report", '"a"', replaced=0, made=1, replica=one, dot="replica-1:2"),
            Operation(5, one, "merge", "x", '"b"', made=2, replica=one, source=two, dot="replica-2:1", note="kept theirs"),
            Operation(6, "docs", "read", "x", '"b"', saw=2, replica=one),
            Operation(7, "docs", "write", "report", '"b"', replaced=1, made=2, replica=one, dot="replica-1:3"),
        ]
        operations[5].dropped, operations[5].live = ("replica-1:1",), ("replica-2:1",)
        for op in operations:
            op.begin, op.end = 2 * op.index, 2 * op.index + 1
        rows = who_read(History(operations, replicas=[one, two]), operations[2])
        assert [(row.agent, row.wrote_version, row.knew) for row in rows] == [("docs", 1, False), ("docs", 2, True)]
