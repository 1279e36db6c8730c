"""Transactions under every schedule: which anomalies each isolation prevents and permits, and what the history says of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import commonboard as cb
from commonboard.check.anomalies import anomalies
from commonboard.entry import PrefixUnchanged
from commonboard.explorer.moves import conflict
from commonboard.sim.asks import Clear, Commit, Footprint, List, ListPosition, Site
from commonboard.sim.store import EPOCH

Agent = Callable[[cb.AgentMemory], Any]


def transacting(work: Any, isolation: Any, **options: Any) -> Agent:
    """An agent that does one thing, as a transaction; `work` takes the agent's name and the transaction's handle."""

    async def agent(me: cb.AgentMemory) -> None:
        await me.transact(lambda tx: work(me.name, tx), isolation=isolation, **options)

    return agent


def plainly(work: Any) -> Agent:
    """The same agent without a transaction."""

    async def agent(me: cb.AgentMemory) -> None:
        await work(me.name, me)

    return agent


def explored(agents: dict[str, Agent], true: Any, start: dict[str, Any] | None = None) -> cb.Verdict:
    verdict = cb.explore(agents, given=start, check=cb.at_the_end(true, "what must be"), progress=False)
    assert verdict.explored is not None
    assert verdict.explored.method == "equal states merged"  # what the search foresaw is what happened when it was run
    return verdict


# --- the anomalies ---


async def counts(name: str, tx: cb.AgentMemory) -> None:
    count = await tx.value("shared/count", 0)
    await tx.shared.write("count", count + 1)


async def writes_both(name: str, tx: cb.AgentMemory) -> None:
    await tx.shared.write("x", name)
    await tx.shared.write("y", name)


async def compares(name: str, tx: cb.AgentMemory) -> None:
    x, y = await tx.value("shared/x"), await tx.value("shared/y")
    await tx.write("saw", [x, y])


async def leaves(name: str, tx: cb.AgentMemory) -> None:
    other = {"a": "b", "b": "a"}[name]
    if await tx.value(f"shared/{other}"):
        await tx.shared.write(name, False)


async def claims(name: str, tx: cb.AgentMemory) -> None:
    if not await tx.list("shared/claims"):
        await tx.shared.write(f"claims/{name}", True)


ON_CALL = {"shared/a": True, "shared/b": True}
BOTH_ZERO = {"shared/x": "0", "shared/y": "0"}
Row = tuple[dict[str, Any], Any, dict[str, Any] | None]
ANOMALIES: dict[str, Row] = {
    "lost update": ({"a": counts, "b": counts}, lambda state: state["shared/count"] == 2, None),
    "dirty write": ({"a": writes_both, "b": writes_both}, lambda state: state["shared/x"] == state["shared/y"], None),
    "read skew": ({"a": writes_both, "b": compares}, lambda state: len(set(state["b/saw"])) == 1, BOTH_ZERO),
    "write skew": ({"a": leaves, "b": leaves}, lambda state: state["shared/a"] or state["shared/b"], ON_CALL),
    "phantom": ({"a": claims, "b": claims}, lambda state: len(state) == 1, None),
}
PERMITTED_BY_SNAPSHOT = ("write skew", "phantom")


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_without_a_transaction_each_anomaly_happens(anomaly: str) -> None:
    works, true, start = ANOMALIES[anomaly]
    assert isinstance(explored({name: plainly(work) for name, work in works.items()}, true, start), cb.Violation)


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_snapshot_isolation_permits_write_skew_and_phantoms_and_prevents_the_rest(anomaly: str) -> None:
    works, true, start = ANOMALIES[anomaly]
    verdict = explored({name: transacting(work, "snapshot") for name, work in works.items()}, true, start)
    if anomaly not in PERMITTED_BY_SNAPSHOT:
        assert isinstance(verdict, cb.Exhausted)
        return
    assert isinstance(verdict, cb.Violation)
    assert verdict.run is not None
    found = anomalies(verdict.run)
    assert [finding.kind for finding in found.findings] == [anomaly]
    again = cb.simulate({name: transacting(work, "snapshot") for name, work in works.items()}, given=start, replay=verdict.token)
    assert str(again.history) == str(verdict.run.history)


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_serializable_transactions_prevent_them_all(anomaly: str) -> None:
    works, true, start = ANOMALIES[anomaly]
    agents = {name: transacting(work, "serializable") for name, work in works.items()}
    assert isinstance(explored(agents, true, start), cb.Exhausted)
    judged = cb.explore(agents, given=start, check=anomalies, progress=False)
    assert isinstance(judged, cb.Exhausted)


def test_updates_of_single_keys_permit_read_skew() -> None:
    async def moves(me: cb.AgentMemory) -> None:
        await me.shared.update("x", lambda x: x - 1)
        await me.shared.update("y", lambda y: y + 1)

    verdict = explored({"a": moves, "b": plainly(compares)}, lambda s: sum(s["b/saw"]) == 10, {"shared/x": 5, "shared/y": 5})
    assert isinstance(verdict, cb.Violation)


def test_the_read_only_anomaly_of_snapshot_isolation_is_found_and_prevented() -> None:
    # Fekete, O'Neil and O'Neil (2004): two writers that are fine by themselves, and a reader that sees what no order gives.
    async def deposits(name: str, tx: cb.AgentMemory) -> None:
        await tx.shared.write("savings", await tx.value("shared/savings") + 20)

    async def withdraws(name: str, tx: cb.AgentMemory) -> None:
        checking, savings = await tx.value("shared/checking"), await tx.value("shared/savings")
        await tx.shared.write("checking", checking - 10 - (checking + savings < 10))

    async def reports(me: cb.AgentMemory) -> None:
        async with me.transaction(isolation="snapshot") as tx:
            seen = [await tx.value("shared/checking"), await tx.value("shared/savings")]
        await me.write("seen", seen)

    def possible(state: Any) -> bool:
        orders = [((0, 0), -10), ((0, 0), -11), ((0, 20), -10), ((-11, 0), -11), ((-11, 20), -11), ((-10, 20), -10)]
        return (tuple(state["reader/seen"]), state["shared/checking"]) in orders

    start = {"shared/checking": 0, "shared/savings": 0}
    for isolation, kind in (("snapshot", cb.Violation), ("serializable", cb.Exhausted)):
        agents = {"t2": transacting(withdraws, isolation), "t1": transacting(deposits, isolation), "reader": reports}
        verdict = explored(agents, possible, start)
        assert isinstance(verdict, kind)


# --- what the history says ---


def told(run: cb.Run) -> list[tuple[Any, ...]]:
    return [
        (op.agent, op.kind, op.key, op.saw, op.made if op.ok else "refused", op.transaction)
        for op in run.history
        if op.agent != "given"
    ]


def test_the_history_has_the_looks_and_the_writes_of_a_transaction_under_its_name() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        await me.shared.write("unread", 0)
        async with me.transaction() as tx:
            await tx.value("shared/x")
            await tx.value("shared/x")
            await tx.list("shared/tasks")
            await tx.shared.write("x", 1)
            await tx.value("shared/x")
            await tx.shared.write("blind", 1)
            await tx.value("shared/blind")
            await tx.shared.delete("y")
        async with me.transaction(isolation="snapshot") as tx:
            await tx.read("shared/nothing")

    run = cb.simulate({"web": agent}, given={"shared/x": 0, "shared/y": 0, "shared/tasks/a": 0})
    assert told(run) == [
        ("web", "write", "shared/unread", None, 1, None),
        ("web", "read", "shared/x", 1, None, "web#1"),
        ("web", "list", "shared/tasks", None, None, "web#1"),
        ("web", "compare-and-set", "shared/x", 1, 2, "web#1"),
        ("web", "compare-and-set", "shared/blind", 0, 1, "web#1"),
        ("web", "delete", "shared/y", 1, 2, "web#1"),
        ("web", "read", "shared/nothing", 0, None, "web#2"),
    ]
    assert run.history[-5].value == ["shared/tasks/a"]
    assert [op.index for op in run.history] == list(range(len(run.history)))


def test_the_looks_stand_where_the_snapshot_was_taken() -> None:
    async def slow(me: cb.AgentMemory) -> None:
        async with me.transaction(isolation="snapshot") as tx:
            await me.think(seconds=5)
            await tx.value("shared/x", 0)
            await me.think(seconds=5)
            await tx.list("shared")
            await tx.write("done", True)

    async def quick(me: cb.AgentMemory) -> None:
        for number in (1, 2, 3):
            await me.think(seconds=4)
            await me.shared.write("x", number)

    run = cb.simulate({"slow": slow, "quick": quick})
    assert [(op.agent, op.kind, op.began_at, op.ended_at) for op in run.history if op.kind != "think"] == [
        ("slow", "read", 0, 0),
        ("slow", "list", 0, 0),
        ("quick", "write", 4, 4),
        ("quick", "write", 8, 8),
        ("slow", "compare-and-set", 10, 10),
        ("quick", "write", 12, 12),
    ]
    assert [op.index for op in run.history] == list(range(len(run.history)))
    assert anomalies(run).holds is True
    assert isinstance(cb.explore({"slow": slow, "quick": quick}, check=anomalies, progress=False), cb.Exhausted)


def test_what_an_agent_does_beside_its_transaction_stays_in_the_order_in_which_it_did_it() -> None:
    async def both(me: cb.AgentMemory) -> None:
        async with me.transaction(isolation="snapshot") as tx:
            newest = await me.value("shared/x", 0)
            await tx.write("saw", [await tx.value("shared/x", 0), newest])

    async def quick(me: cb.AgentMemory) -> None:
        await me.shared.write("x", 1)

    agents: dict[str, Agent] = {"both": both, "quick": quick}
    never_behind = explored(agents, lambda state: state["both/saw"] in ([0, 0], [0, 1], [1, 1]))
    assert isinstance(never_behind, cb.Exhausted)
    found = cb.explore(agents, check=cb.at_the_end(lambda state: state["both/saw"] != [0, 1]), progress=False)
    assert found.run is not None
    assert [(op.agent, op.kind, op.saw, op.transaction) for op in found.run.history] == [
        ("quick", "write", None, None),
        ("both", "read", 1, None),
        ("both", "read", 0, "both#1"),
        ("both", "compare-and-set", 0, "both#1"),
    ]


def test_a_transaction_that_was_refused_is_in_the_history_under_a_name_of_its_own() -> None:
    agents = {"a": transacting(counts, "serializable"), "b": transacting(counts, "serializable")}
    runs = [cb.simulate(agents, seed=seed) for seed in range(20)]
    run = next(run for run in runs if run.retries)
    first, second = ("a", "b") if told(run)[2][0] == "a" else ("b", "a")
    assert told(run)[2:] == [
        (first, "compare-and-set", "shared/count", 0, 1, f"{first}#1"),
        (second, "compare-and-set", "shared/count", 0, "refused", f"{second}#1"),
        (second, "read", "shared/count", 1, None, f"{second}#2"),
        (second, "compare-and-set", "shared/count", 1, 2, f"{second}#2"),
    ]


def test_an_agent_that_begins_anew_takes_new_names_for_its_transactions() -> None:
    agent = transacting(counts, "serializable")
    runs = [cb.simulate({"a": agent}, world=cb.World(agent_crashes=1), seed=seed) for seed in range(20)]
    names = {tuple(dict.fromkeys(op.transaction for op in run.history if op.transaction)) for run in runs}
    assert ("a#1", "a~2#1") in names


def test_an_answer_that_was_lost_leaves_the_transaction_whole() -> None:
    async def agent(me: cb.AgentMemory) -> str:
        try:
            async with me.transaction() as tx:
                await writes_both(me.name, tx)
        except cb.CommonboardError as error:
            return type(error).__name__
        return "committed"

    agents, world = {"a": agent, "b": agent}, cb.World(lost_answers=1)
    whole = cb.at_the_end(lambda state: state.get("shared/x") == state.get("shared/y"), "whole")
    assert isinstance(cb.explore(agents, check=whole, world=world, progress=False), cb.Exhausted)
    results = [cb.simulate(agents, world=world, seed=seed).results["a"] for seed in range(20)]
    assert set(results) == {"committed", "ConflictError", "OutcomeUnknownError"}


def test_a_transaction_on_one_of_several_replicas_is_refused() -> None:
    run = cb.simulate({"a": transacting(counts, "snapshot")}, world=cb.World(2))
    assert isinstance(run.errors["a"], cb.CapabilityError)
    assert "a cannot begin a transaction on replica-1: it is one of several copies" in str(run.errors["a"])


# --- what a search relies on ---


def board(**values: str) -> Site:
    site = Site()
    for key, value in values.items():
        write(site, key.replace("_", "/"), value)
    return site


def write(site: Site, key: str, value: str | None) -> None:
    Commit((cb.Write(key, value),), (), "writes").perform(site, "somebody", EPOCH, [])


def listed(site: Site, prefix: str) -> Any:
    return List(prefix).perform(site, "lister", EPOCH, []).position


def still(site: Site, prefix: str, position: Any) -> str | None:
    """Commits what rests on a part of a list; gives the key that refused it."""
    ask = Commit((cb.Write("out/come", "1"),), (PrefixUnchanged(prefix, position),), "writes")
    assert not ask.footprint.log
    try:
        ask.perform(site, "lister", EPOCH, [])
    except cb.ConflictError as refused:
        return refused.key
    return None


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (("a/x", "2"), "a/x"),
        (("a/x", None), "a/x"),
        (("a/new", "1"), "a/new"),
        (("b/x", "2"), None),
        (("b/x", None), None),
        (("ab", "1"), None),
    ],
)
def test_what_rests_on_a_part_of_a_list_is_judged_by_that_part_alone(change: tuple[str, Any], key: str | None) -> None:
    for whole in ("", "a"):
        site = board(a_x="1", a_y="1", b_x="1")
        position = listed(site, whole)
        write(site, *change)
        assert still(site, "a", position) == key
    site = board(a_x="1", b_x="1")
    write(site, "a/x", None)
    position = listed(site, "")
    assert still(site, "a", position) is None
    write(site, "a/x", "1")
    assert still(site, "a", position) == "a/x"


def test_a_part_of_a_list_notices_that_everything_was_deleted_between() -> None:
    site = board(b_x="1")
    position = listed(site, "")
    write(site, "a/x", "1")
    Clear().perform(site, "somebody", EPOCH, [])
    assert still(site, "a", position) == "a"


def test_the_footprint_of_a_commit_names_every_prefix_that_it_rests_on() -> None:
    site = board(a_x="1")
    whole, part = listed(site, ""), listed(site, "a")
    reads = (PrefixUnchanged("a", whole), PrefixUnchanged("b/c", whole), cb.KeyUnchanged("d", 0))
    assert Commit((cb.Write("e", "1"),), reads, "writes").footprint == Footprint(("e", "d"), True, ("a", "b/c"), False)
    assert isinstance(part, ListPosition)
    for beyond in (PrefixUnchanged("b", part), PrefixUnchanged("", part), PrefixUnchanged("a", 0)):
        assert Commit((), (beyond,), "writes").footprint.log


def test_operations_conflict_where_one_writes_under_a_prefix_of_the_other() -> None:
    rests = Footprint(("e",), True, ("a", "b"))
    for key, expected in (("a/x", True), ("b", True), ("c", False), ("ab", False), ("e", True)):
        assert conflict(rests, Footprint((key,), True), {}) is expected
        assert conflict(Footprint((key,), True), rests, {}) is expected
    assert not conflict(rests, Footprint(("a/x",)), {})


# --- any transactions: as if one after the other ---

KEYS = ("p/a", "p/b", "c")
Step = tuple[str, str, str]
steps = st.one_of(
    st.tuples(st.just("copy"), st.sampled_from(KEYS), st.sampled_from(KEYS)),
    st.tuples(st.just("count"), st.sampled_from(["p", ""]), st.sampled_from(KEYS)),
    st.tuples(st.just("delete"), st.just(""), st.sampled_from(KEYS)),
    st.tuples(st.just("append"), st.just(""), st.just("log")),
)
programs = st.lists(st.lists(steps, min_size=1, max_size=3), min_size=2, max_size=3)


def name_of(place: int) -> str:
    return "abc"[place]


async def perform(name: str, todo: Sequence[Step], tx: cb.AgentMemory) -> None:
    for kind, source, target in todo:
        if kind == "copy":
            found = await tx.value(f"shared/{source}", "")
            await tx.shared.write(target, f"{found[-6:]}{name}")
        elif kind == "count":
            page = await tx.list(f"shared/{source}" if source else "shared")
            await tx.shared.write(target, f"{len(page)}{name}")
        elif kind == "delete":
            await tx.shared.delete(target)
        else:
            await tx.shared.append(target, name)


def in_order(agents: Iterable[tuple[str, Sequence[Step]]], start: dict[str, Any]) -> dict[str, Any]:
    """What the board holds when these do their work one after the other: an independent model."""
    state = dict(start)
    for name, todo in agents:
        for kind, source, target in todo:
            key = f"shared/{target}"
            if kind == "copy":
                state[key] = f"{state.get(f'shared/{source}', '')[-6:]}{name}"
            elif kind == "count":
                below = f"shared/{source}/" if source else "shared/"
                state[key] = f"{sum(each.startswith(below) for each in state)}{name}"
            elif kind == "delete":
                state.pop(key, None)
            else:
                state[key] = [*state.get(key, []), name]
    return state


def agents_of(program: Sequence[Sequence[Step]], isolation: Any) -> Iterator[tuple[str, Agent]]:
    for place, todo in enumerate(program):

        async def work(name: str, tx: cb.AgentMemory, todo: Sequence[Step] = tuple(todo)) -> None:
            await perform(name, todo, tx)

        yield name_of(place), transacting(work, isolation, attempts=len(program), prefixes="shared")


@given(programs)
@settings(max_examples=30)
def test_serializable_transactions_end_as_in_some_order_one_after_the_other(program: list[list[Step]]) -> None:
    start: dict[str, Any] = {"shared/p/a": "", "shared/c": ""}
    named = [(name_of(place), todo) for place, todo in enumerate(program)]
    orders = [in_order(order, start) for order in itertools.permutations(named)]
    verdict = cb.explore(
        dict(agents_of(program, "serializable")),
        given=start,
        check=cb.at_the_end(lambda state: dict(state) in orders, "as in some order"),
        progress=False,
    )
    assert isinstance(verdict, cb.Exhausted)


def test_the_model_of_one_after_the_other_tells_snapshots_apart() -> None:
    program = [[("copy", "p/a", "p/b")], [("copy", "p/b", "p/a")]]
    start = {"shared/p/a": "", "shared/p/b": ""}
    orders = [in_order(order, start) for order in itertools.permutations([("a", program[0]), ("b", program[1])])]
    verdict = cb.explore(
        dict(agents_of(program, "snapshot")),
        given=start,
        check=cb.at_the_end(lambda state: dict(state) in orders, "as in some order"),
        progress=False,
    )
    assert isinstance(verdict, cb.Violation)


@given(st.lists(st.lists(steps, min_size=1, max_size=2), min_size=2, max_size=2), st.sampled_from(["snapshot", "serializable"]))
@settings(max_examples=12)
def test_every_way_to_search_says_the_same_of_transactions(program: list[list[Step]], isolation: str) -> None:
    async def beside(me: cb.AgentMemory) -> None:
        await me.shared.write("p/b", "beside")
        await me.shared.write("elsewhere", "beside")

    start: dict[str, Any] = {"shared/p/a": "", "shared/c": ""}
    agents = dict(agents_of(program, isolation)) | {"beside": beside}
    boards: dict[str, set[str]] = {}
    for reduction in ("none", "sleep sets", "states"):
        seen = boards[reduction] = set()

        def note(state: Any, seen: set[str] = seen) -> bool:
            seen.add(repr(sorted(state.items())))
            return True

        cb.explore(agents, given=start, check=cb.at_the_end(note), reduction=reduction, progress=False)
    assert boards["none"] == boards["sleep sets"] == boards["states"]


def test_a_loop_of_looks_at_a_snapshot_is_endless_and_not_a_hang() -> None:
    async def waits(me: cb.AgentMemory) -> None:
        async with me.transaction(isolation="snapshot") as tx:
            while await tx.value("shared/x") is None:
                pass

    run = cb.simulate({"web": waits}, max_steps=2_000)
    assert run.outcome == "endless"
    assert "never ends" in str(run.troubles[0])
