"""The grid says what was expected of it, each witness replays, and what prevents an anomaly is what is said to prevent it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import commonboard as cb
from commonboard.anomaly_grid import (
    COLUMNS,
    FAULTS,
    ROWS,
    Cell,
    Column,
    Grid,
    NoCellError,
    Row,
    Way,
    fault_grid,
    grid,
    never,
    prove,
)
from commonboard.anomaly_grid.columns import InSerial, InSnapshot
from commonboard.anomaly_grid.copies import no_stale_read
from commonboard.anomaly_grid.expected import EXPECTED
from commonboard.check.anomalies import anomalies

ROW = {row.name: row for row in ROWS}
COLUMN = {column.name: column for column in COLUMNS}
LWW, LWW_COPIES, BY_VALUE, BY_VERSION, CRDT, OWNER, SNAPSHOT, SERIAL = COLUMN.values()


# --- all of it ---


@pytest.mark.slow
def test_the_proofs_say_what_was_expected(whole: Grid) -> None:
    assert {row: whole.answers(row) for row in whole.rows} == EXPECTED


@pytest.mark.slow
def test_what_permits_has_a_witness_that_replays_and_what_prevents_was_tried_in_every_order(whole: Grid) -> None:
    for cell in whole:
        proved(cell)


def proved(cell: Cell) -> None:
    if cell.answer == "does not apply":
        assert cell.verdict is None
        assert len(cell.why) > 20
        return
    assert cell.program is not None
    assert cell.world is not None
    assert cell.verdict is not None
    if cell.answer == "prevents":
        assert isinstance(cell.verdict, cb.Exhausted)
        assert cell.verdict.explored is not None
        assert cell.verdict.explored.done is None  # no bound
        return
    assert cell.answer == "permits"
    assert isinstance(cell.verdict, cb.Violation)
    again = cell.program.again(cell.verdict, cell.world)
    assert str(again.history) == str(cell.verdict.run.history)
    if again.outcome == "endless":
        assert cell.verdict.findings[0].kind == "livelock"
        return
    told = cell.program.check(again)
    assert isinstance(told, cb.Violation)
    assert [str(finding) for finding in told.findings] == [str(finding) for finding in cell.verdict.findings]


def test_the_faults_are_shown_by_the_wrong_program_and_not_by_the_right_one(faults: Grid) -> None:
    assert faults.rows == [fault.name for fault in FAULTS]
    assert {faults.answers(row) for row in faults.rows} == {("permits", "prevents")}
    for cell in faults:
        proved(cell)


def test_a_livelock_is_found_as_one(faults: Grid) -> None:
    verdict = faults.cell("livelock", "wrong").verdict
    assert verdict is not None
    assert verdict.findings[0].kind == "livelock"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_agent_of_a_row_does_its_work_in_every_column(row: Row) -> None:
    for column in COLUMNS:
        if row.why_not(column):
            continue
        world = column.worlds()[0]
        agents = column.agents(row.jobs, row.readers)
        run = cb.simulate(agents, policy=column.policy(row.crdt), given=row.board, world=world, seed=None)
        assert run.ok
        done = {op.agent for op in run.history if op.kind not in ("think", "merge")}
        silent = {"planner"} if row.name == "aborted read" and issubclass(column.way, InSnapshot) else set()
        assert set(agents) - silent <= done  # a transaction that is taken back leaves no trace


# --- an oracle that knows nothing of the grid: the dependency graph of the witness ---

NAMED = {
    "lost update": (LWW, "lost update"),
    "ABA": (BY_VALUE, "lost update (ABA)"),
    "check-then-act": (LWW, "lost update (check-then-act)"),
    "dirty write": (BY_VERSION, "dirty write"),
    "intermediate read": (OWNER, "intermediate read"),
    "circular information flow": (BY_VERSION, "circular information flow"),
    "read skew": (OWNER, "read skew"),
    "write skew": (SNAPSHOT, "write skew"),
    "phantom": (SNAPSHOT, "phantom"),
    "long fork": (LWW_COPIES, "long fork"),
    "forgotten write": (LWW_COPIES, "aborted read"),
    "converged but lost": (LWW_COPIES, "lost update"),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_dependency_graph_of_a_witness_names_the_anomaly(name: str) -> None:
    column, kind = NAMED[name]
    found = anomalies(prove(ROW[name], column).run, unit="agent")
    assert [finding.kind for finding in found.findings] == [kind]


def test_the_dependency_graph_names_the_read_only_anomaly_of_snapshots() -> None:
    found = anomalies(prove(ROW["read-only anomaly"], SNAPSHOT).run)
    assert [finding.kind for finding in found.findings] == ["read-only anomaly"]


# --- near misses: what prevents is what is said to prevent ---


def prove_with(row: Row, column: Column, **changes: Any) -> tuple[str, cb.Verdict]:
    cell = prove(row, column)
    assert cell.program is not None
    answer, verdict, _ = replace(cell.program, **changes).proof()
    return answer, verdict


class _Apart(InSerial):
    """Serializable, and each operation a transaction of its own."""

    async def together(self, work: Any) -> Any:
        return await work(self) if getattr(work, "__name__", "") != "<lambda>" else await super().together(work)


@pytest.mark.parametrize(
    "name", ["dirty write", "intermediate read", "circular information flow", "read skew", "write skew", "phantom"]
)
def test_serializable_transactions_prevent_nothing_of_work_that_is_not_in_one_transaction(name: str) -> None:
    assert prove(ROW[name], SERIAL).answer == "prevents"
    assert prove(ROW[name], replace(SERIAL, way=_Apart)).answer == "permits"


def test_snapshots_permit_write_skew_only_where_the_agents_write_different_keys() -> None:
    async def goes_home(way: Way) -> None:
        async def work(way: Way) -> None:
            on_call = await way.see("on call")
            if len(on_call) > 1:
                await way.write("on call", [name for name in on_call if name != way.name])

        await way.together(work)

    one_key = Row(
        "write skew in one key", "", "", {"a": goes_home, "b": goes_home}, never(lambda board: not board["on call"], "one stays"),
        {"on call": ["a", "b"]},
    )  # fmt: skip
    assert prove(one_key, SNAPSHOT).answer == "prevents"
    assert prove(ROW["write skew"], SNAPSHOT).answer == "permits"


def test_a_value_that_does_not_come_back_fools_no_compare_and_set() -> None:
    async def works(way: Way) -> None:
        if await way.change("working", lambda working: 1 if working == 0 else working) == 1:
            await way.change("results", lambda results: [*results, "churn is up"])
            await way.change("working", lambda working: 2)

    aba = ROW["ABA"]
    assert prove(aba, BY_VALUE).answer == "permits"
    assert prove(replace(aba, jobs={**aba.jobs, "web": works}), BY_VALUE).answer == "prevents"


def test_versions_prevent_aba_since_they_are_compared() -> None:
    assert prove(ROW["ABA"], BY_VERSION).answer == "prevents"
    assert prove_with(ROW["ABA"], BY_VERSION, policy=cb.LastWriterWins())[0] == "permits"


def test_an_owner_prevents_write_skew_since_all_go_by_the_owner() -> None:
    skew = ROW["write skew"]
    assert prove(skew, OWNER).answer == "prevents"
    assert prove(skew, replace(OWNER, has_owner=False, policy=LWW.policy)).answer == "permits"


def test_clocks_that_agree_lose_no_later_write() -> None:
    row = ROW["clock-skew loss"]
    assert prove(row, LWW_COPIES).answer == "permits"
    world = cb.World(2, visibility="eventual", clock_skew={})
    verdict = cb.explore(
        LWW_COPIES.agents(row.jobs, ()), policy=cb.LastWriterWins(), given=row.board, check=row.check, world=world, progress=False
    )
    assert isinstance(verdict, cb.Exhausted)


STAYS = cb.World(2)


@pytest.mark.parametrize("name", ["read your writes broken", "monotonic reads broken", "writes follow reads broken"])
def test_who_stays_with_one_copy_keeps_the_session_guarantees(name: str) -> None:
    assert prove(ROW[name], LWW_COPIES).answer == "permits"
    assert prove_with(ROW[name], LWW_COPIES, worlds=(STAYS,))[0] == "prevents"


def test_messages_in_order_keep_writes_in_order() -> None:
    row = ROW["monotonic writes broken"]
    assert prove_with(row, LWW_COPIES, worlds=(STAYS,))[0] == "permits"
    assert prove_with(row, LWW_COPIES, worlds=(cb.World(2, reorder=False),))[0] == "prevents"


def test_a_copy_that_keeps_what_it_has_on_disk_forgets_nothing() -> None:
    durable = tuple(cb.World(2, visibility="eventual", crashes=1, durable=durable) for durable in (True, False))
    row = ROW["forgotten write"]
    assert prove_with(row, LWW_COPIES, worlds=durable[:1])[0] == "prevents"
    assert prove_with(row, LWW_COPIES, worlds=durable[1:])[0] == "permits"


def test_nothing_is_torn_without_a_crash() -> None:
    row = ROW["torn multi-key update"]
    assert prove(row, LWW).answer == "permits"
    assert prove(replace(row, faults={}), LWW).answer == "prevents"


def test_a_copy_that_everybody_shares_gives_no_stale_read() -> None:
    row = ROW["stale read"]
    assert prove_with(row, LWW_COPIES)[0] == "permits"
    assert prove_with(row, LWW_COPIES, worlds=(cb.World(2, visibility="strong"),))[0] == "prevents"


def test_a_read_that_began_before_the_write_ended_is_not_stale() -> None:
    async def writes(me: cb.AgentMemory) -> None:
        await me.shared.write("x", 1)

    async def reads(me: cb.AgentMemory) -> None:
        await me.value("shared/x")

    verdict = cb.explore(
        {"w": writes, "r": reads},
        policy=cb.LastWriterWins(),
        given={"shared/x": 0},
        check=no_stale_read,
        world=STAYS,
        progress=False,
    )
    assert isinstance(verdict, cb.Exhausted)


@pytest.mark.parametrize("isolation", [InSnapshot, InSerial])
def test_a_transaction_that_takes_back_leaves_nothing(isolation: type[Way]) -> None:
    async def takes_back(me: cb.AgentMemory) -> None:
        async def work(way: Way) -> None:
            await way.write("x", 1)
            await way.take_back("x", 0)

        await isolation(me).together(work)

    assert cb.simulate({"a": takes_back}).state == {}


# --- honesty ---


def test_a_spent_budget_is_unknown_and_never_a_pass() -> None:
    cell = prove(ROW["long fork"], SERIAL, budget=50)
    assert cell.answer == "unknown"
    assert "?" in cell.words
    assert "50 states" in cell.proof


def test_a_witness_that_does_not_replay_is_unknown() -> None:
    answers = iter([False, True, False, False, False, False])

    def wavers(run: Any) -> cb.Verdict:
        kind = cb.Violation if next(answers, False) else cb.Holds
        return kind("wavers", "this run", [cb.Finding("it", "so.")] if kind is cb.Violation else [], history=run.history)

    cell = prove(replace(ROW["lost update"], check=wavers), LWW)
    assert cell.answer != "permits"


# --- the result ---


@pytest.fixture(scope="module")
def small() -> Grid:
    return grid(["lost update", "ABA"], ["compare-and-set by value", "CRDT, replicas"])


def test_the_matrix_says_each_answer_in_words_with_a_sign(small: Grid) -> None:
    assert str(small).splitlines() == [
        "What each way of working permits",
        "               1           2",
        "  lost update  ✓ prevents  ✓ prevents",
        "  ABA          ✗ permits   –",
        "  1 compare-and-set by value",
        "  2 CRDT, replicas",
        "  – does not apply",
    ]
    html = small._repr_html_()
    for words in ("✓ prevents", "✗ permits", "– does not apply", "compare-and-set by value", "CRDT, replicas"):
        assert words in html
    assert "a merge compares nothing" in html


def test_the_frame_has_a_row_for_each_cell(small: Grid) -> None:
    frame = small.to_frame()
    assert list(frame["answer"]) == ["prevents", "prevents", "permits", "does not apply"]
    assert list(frame["row"]) == ["lost update", "lost update", "ABA", "ABA"]
    assert int(frame["interleavings"][0]) == 6
    assert [isinstance(token, str) for token in frame["token"]] == [False, False, True, False]
    assert "a merge compares nothing" in frame["proof"][3]


def test_a_cell_has_its_run_its_token_and_its_picture(small: Grid) -> None:
    cell = small.cell("ABA", "compare-and-set by value")
    assert cell.run is not None
    assert cell.run.token == cell.token
    assert "closed" in str(cell.spacetime())
    with pytest.raises(NoCellError, match="there is no run to draw"):
        small.cell("ABA", "CRDT, replicas").spacetime()


def test_what_is_not_there_is_named_with_what_is(small: Grid) -> None:
    with pytest.raises(NoCellError, match="no row 'phantom'; there are: 'lost update', 'ABA'"):
        small.cell("phantom", "CRDT, replicas")
    with pytest.raises(NoCellError, match="no column 'sharding'"):
        grid("ABA", "sharding")
    with pytest.raises(NoCellError, match="no fault 'nothing'; there are: 'blind retry', "):
        fault_grid("nothing")


@pytest.mark.parametrize("asked", [3, True, ["lost update", 3], COLUMNS[0]])
def test_what_is_no_row_is_refused_with_the_names_that_there_are(asked: Any) -> None:
    with pytest.raises(NoCellError, match=r"there is no row .*; there are: 'lost update', 'ABA'"):
        grid(asked, "single writer")


def test_a_grid_of_nothing_is_refused() -> None:
    with pytest.raises(NoCellError, match="no column is asked for"):
        grid("lost update", [])


def test_a_row_and_a_column_may_be_given_as_they_are() -> None:
    assert len(grid(ROWS[0], COLUMNS[3])) == 1


@pytest.mark.parametrize("budget", [0, "many", 1.5, True])
def test_a_budget_that_is_no_number_of_steps_is_refused(budget: Any) -> None:
    with pytest.raises(cb.InvalidArgumentError, match="budget must be a whole number of at least 1, not"):
        grid("lost update", "single writer", budget=budget)


def test_progress_is_told_of_each_cell() -> None:
    told: list[Cell] = []
    made = grid("lost update", ["last writer wins, one copy", "compare-and-set by version"], progress=told.append)
    assert told == list(made)


def test_a_row_of_ones_own_is_proved_like_any_other() -> None:
    async def signs(way: Way) -> None:
        await way.change("signed", lambda signed: [*signed, way.name])

    row = Row(
        "lost signature", "", "", {"a": signs, "b": signs}, never(lambda board: len(board["signed"]) < 2, "two"), {"signed": []}
    )
    assert grid([row], ["last writer wins, one copy", "single writer"]).answers("lost signature") == ("permits", "prevents")
