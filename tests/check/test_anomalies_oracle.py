"""Anomalies beside brute force: for small histories, all orders of the transactions are tried.

The oracle runs whole transactions one after the other and asks whether each read finds the version that it found, and whether the
versions come in their order. For snapshot isolation it tries all places of the snapshots and the commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import Any

from hypothesis import assume, example, given, settings, strategies as st
from tests.check.notation import told

import commonboard as cb
from commonboard.check.anomalies import LEVEL_HOLDS, LEVELS, anomalies
from commonboard.entry import under
from commonboard.history import History, Operation

Transaction = list[Operation]


def transactions(history: History) -> list[Transaction]:
    """The work of each agent, in its order; given things need none."""
    made: dict[str, Transaction] = {}
    for op in history:
        made.setdefault(op.agent, []).append(op)
    return list(made.values())


def rank(history: History) -> dict[int, int]:
    """By write, its number among the writes of its key."""
    writes = sorted(history.writes(), key=lambda op: op.made or 0)
    counts: dict[str, int] = {}
    found = {}
    for op in writes:
        found[op.index] = counts.setdefault(op.key, 0)
        counts[op.key] += 1
    return found


def listed(history: History) -> dict[int, dict[str, tuple[int, int]]]:
    """By list, what it showed: for each key under the prefix, the version of what was there, and how often it came or went."""
    state: dict[str, tuple[bool, int, int]] = {}
    found = {}
    for op in history:
        if op.kind == "list":
            found[op.index] = shown(op.key, state)
        elif op.is_write:
            state[op.key] = changed(state.get(op.key, (False, 0, 0)), op)
    return found


def changed(before: tuple[bool, int, int], op: Operation) -> tuple[bool, int, int]:
    there, _, times = before
    return op.text is not None, op.made or 0, times + (there != (op.text is not None))


def shown(prefix: str, state: dict[str, tuple[bool, int, int]]) -> dict[str, tuple[int, int]]:
    """The version of what is there; and of what is not, which of its deletes was seen."""
    return {key: (made if there else -1, times) for key, (there, made, times) in state.items() if under(prefix, key) and times}


def is_explained(history: History, order: tuple[Transaction, ...]) -> bool:
    """Whether running the transactions in this order gives every operation what it saw."""
    numbers, lists = rank(history), listed(history)
    version: dict[str, int] = {}
    state: dict[str, tuple[bool, int, int]] = {}
    for transaction in order:
        for op in transaction:
            if op.kind == "list" and lists[op.index] != shown(op.key, state):
                return False
            if op.kind == "read" and op.saw != version.get(op.key, 0):
                return False
            if op.is_write:
                before = sum((one.made or 0) <= version.get(op.key, 0) for one in history.writes(op.key))
                if numbers[op.index] != before:
                    return False
                version[op.key] = op.made or 0
                state[op.key] = changed(state.get(op.key, (False, 0, 0)), op)
    return True


def is_serializable(history: History) -> bool:
    return any(is_explained(history, order) for order in permutations(transactions(history)))


def is_strictly_serializable(history: History) -> bool:
    """Whether an order explains it that keeps apart what did not overlap."""

    def keeps_time(order: tuple[Transaction, ...]) -> bool:
        return not any(later[-1].end < earlier[0].begin for place, earlier in enumerate(order) for later in order[place:])

    return any(keeps_time(order) and is_explained(history, order) for order in permutations(transactions(history)))


def is_session_serializable(history: History) -> bool:
    """Whether an order of single operations explains it that keeps each agent's own order: sequential consistency."""
    single = [[op] for op in history]

    def keeps_sessions(order: tuple[Transaction, ...]) -> bool:
        pairs = [(one, other) for place, (one,) in enumerate(order) for (other,) in order[place:]]
        return not any(one.agent == other.agent and other.index < one.index for one, other in pairs)

    return any(keeps_sessions(order) and is_explained(history, order) for order in permutations(single))


def schedules(count: int) -> Iterator[list[tuple[str, int]]]:
    """All orders of the begins and the commits of some transactions."""

    def grow(begun: frozenset[int], done: frozenset[int], so_far: list[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
        if len(done) == count:
            yield so_far
        for number in range(count):
            if number not in begun:
                yield from grow(begun | {number}, done, [*so_far, ("begin", number)])
            elif number not in done:
                yield from grow(begun, done | {number}, [*so_far, ("commit", number)])

    yield from grow(frozenset(), frozenset(), [])


def is_snapshot_isolated(history: History) -> bool:
    """Whether some snapshots and commits explain it: reads from the snapshot or one's own writes, first committer wins."""
    work, lists = transactions(history), listed(history)
    return any(fits(work, lists, schedule) for schedule in schedules(len(work)))


def fits(work: list[Transaction], lists: dict[int, dict[str, tuple[int, int]]], schedule: list[tuple[str, int]]) -> bool:
    version: dict[str, int] = {}
    state: dict[str, tuple[bool, int, int]] = {}
    drafts: dict[int, dict[str, tuple[bool, int, int]]] = {}
    running: dict[int, set[str]] = {}
    for what, number in schedule:
        if what == "begin":
            own, draft = dict(version), dict(state)
            drafts[number] = draft
            for op in work[number]:
                if op.kind == "list" and lists[op.index] != shown(op.key, draft):
                    return False
                if op.kind == "read" and op.saw != own.get(op.key, 0):
                    return False
                if op.is_write:
                    if op.replaced != own.get(op.key, 0):
                        return False
                    own[op.key] = op.made or 0
                    draft[op.key] = changed(draft.get(op.key, (False, 0, 0)), op)
            running[number] = set()
        else:
            writes = {op.key: op.made or 0 for op in work[number] if op.is_write}
            if running.pop(number) & writes.keys():
                return False
            version |= writes
            state |= {key: drafts[number][key] for key in writes}
            for seen in running.values():
                seen |= writes.keys()
    return True


@st.composite
def any_versions(draw: st.DrawFn, may_abort: bool = False) -> History:
    """Up to four transactions of up to three operations, whose reads saw any version: of any order of the writes."""
    operations = st.tuples(st.sampled_from("rw"), st.sampled_from("xy"))
    shape = draw(st.lists(st.lists(operations, min_size=1, max_size=3), max_size=4))
    aborted = draw(st.sets(st.integers(1, 4), max_size=2)) if may_abort else set()
    flat = [(agent, kind, key) for agent, ops in enumerate(shape, 1) for kind, key in ops]
    flat = draw(st.permutations(flat)) if may_abort else flat
    makers: dict[str, list[int]] = {key: [] for key in "xy"}
    undone: dict[str, list[int]] = {key: [] for key in "xy"}
    for place, (agent, kind, key) in enumerate(flat):
        if kind == "w":
            (undone if agent in aborted else makers)[key].append(place)
    orders = {key: draw(st.permutations(places)) for key, places in makers.items()}
    words = []
    for place, (agent, kind, key) in enumerate(flat):
        if kind == "r":
            versions = [*range(len(makers[key]) + 1), *(50 + place for place in undone[key])]
            words.append(f"r{agent}{key}{draw(st.sampled_from(versions))}")
        elif agent in aborted:
            words.append(f"a{agent}{key}{50 + place}")
        else:
            words.append(f"w{agent}{key}{orders[key].index(place) + 1}")
    return told(" ".join(words))


@st.composite
def as_it_happened(draw: st.DrawFn) -> History:
    """Up to four transactions of up to three operations on one store, in any order, with deletes and lists."""
    kinds = st.tuples(st.sampled_from("rwdl"), st.sampled_from(["p/a", "p/b", "q/a"]))
    shape = draw(st.lists(st.lists(kinds, min_size=1, max_size=3), min_size=1, max_size=4))
    turns = draw(st.permutations([agent for agent, ops in enumerate(shape) for _ in ops]))
    todo = [list(ops) for ops in shape]
    versions: dict[str, int] = {}
    there: set[str] = set()
    words = []
    for agent in turns:
        kind, key = todo[agent].pop(0)
        if kind == "l":
            words.append(f"l{agent + 1}p")
        elif kind == "r":
            words.append(f"r{agent + 1}{key}{versions.get(key, 0)}")
        elif kind == "w" or key in there:
            versions[key] = versions.get(key, 0) + 1
            (there.add if kind == "w" else there.discard)(key)
            words.append(f"{kind}{agent + 1}{key}{versions[key]}")
    assume(words)
    return told(" ".join(words))


def holds_up_to(history: History, **options: Any) -> str:
    verdict = anomalies(history, **({"unit": "agent"} | options))
    (note,) = (note.sentence for note in verdict.notes if note.kind.startswith(LEVEL_HOLDS))
    return note


def at_least(history: History, level: str, **options: Any) -> bool:
    strongest = holds_up_to(history, **options)
    return strongest != "none" and LEVELS.index(strongest) >= LEVELS.index(level)


@settings(max_examples=600, deadline=None)
@given(any_versions())
@example(told("r1y0 r2x0 w1x1 w2y1"))
@example(told("w1x1 w2y1 r3x1 r3y0 r4y1 r4x0"))
@example(told("r1y0 w2y1 r3x0 r3y1 w1x1"))
def test_serializable_is_what_some_order_of_the_transactions_explains(history: History) -> None:
    assert at_least(history, "serializable") == is_serializable(history), str(anomalies(history, unit="agent"))


@settings(max_examples=400, deadline=None)
@given(any_versions())
@example(told("r1y0 r2x0 w1x1 w2y1"))
@example(told("w1x1 w2y1 r3x1 r3y0 r4y1 r4x0"))
def test_snapshot_isolation_is_what_some_snapshots_explain(history: History) -> None:
    assert at_least(history, "snapshot isolation") == is_snapshot_isolated(history), str(anomalies(history, unit="agent"))


@settings(max_examples=600, deadline=None)
@given(as_it_happened())
@example(told("l1p l2p w1p/a1 w2p/b1"))
@example(told("l1p w2p/a1 d2p/a2 r1q/a0"))
def test_lists_and_deletes_on_one_store_are_judged_as_brute_force_does(history: History) -> None:
    assume(len(history.writes()))
    assert at_least(history, "serializable") == is_serializable(history), str(anomalies(history, unit="agent"))


@settings(max_examples=400, deadline=None)
@given(as_it_happened())
@example(told("l1p l2p w1p/a1 w2p/b1"))
@example(told("l1p w2p/a1 w2z1 r1z1"))
@example(told("w1p/a1 l2p w2z1 r1z1"))
def test_lists_under_snapshot_isolation_are_judged_as_brute_force_does(history: History) -> None:
    assume(len(history.writes()))
    assert at_least(history, "snapshot isolation") == is_snapshot_isolated(history), str(anomalies(history, unit="agent"))


def is_in_some_order(work: list[Transaction], reads: bool) -> bool:
    """Whether an order of the transactions has all versions of each key in their order, and each writer before its readers."""
    for order in permutations(work):
        turn = {op.index: place for place, ops in enumerate(order) for op in ops}
        writes = sorted((op.key, op.made or 0, turn[op.index]) for ops in order for op in ops if op.is_write)
        maker = {(key, made): at for key, made, at in writes}
        seen = [(maker.get((op.key, op.saw), -1), turn[op.index]) for ops in order for op in ops if op.kind == "read"]
        in_order = all(one[2] <= other[2] for one, other in pairwise(writes) if one[0] == other[0])
        if in_order and (not reads or all(made <= read for made, read in seen)):
            return True
    return not work


def is_read_committed(work: list[Transaction]) -> bool:
    """Whether besides all saw what was committed, nothing that its writer wrote over, and what they had written themselves."""
    makers = {(op.key, op.made): (op, ops) for ops in work for op in ops if op.is_write}
    for ops in work:
        own: dict[str, int] = {}
        for op in ops:
            made, by = makers.get((op.key, op.saw), (op, ops))
            last = [one for one in by if one.is_write and one.key == op.key][-1:]
            is_undone = op.kind == "read" and bool(op.saw) and made is op
            is_unfinished = op.kind == "read" and by is not ops and [made] != last
            is_too_early = op.kind == "read" and by is ops and made.index > op.index
            version = op.saw if op.kind == "read" else op.made
            if is_undone or is_unfinished or is_too_early or (version or 0) < own.get(op.key, 0):
                return False
            own |= {op.key: op.made or 0} if op.is_write else {}
    return is_in_some_order(work, reads=True)


def committed(history: History) -> list[Transaction]:
    """The transactions that were not rolled back."""
    works = transactions(history)
    return [ops for ops in works if all(op.kind == "read" for op in ops) or any(op.is_write for op in ops)]


@settings(max_examples=600, deadline=None)
@given(any_versions(may_abort=True))
@example(told("a1x1 r2x1"))
@example(told("w1x1 w2x2 w2y1 w1y2"))
@example(told("w1x1 w2y1 r1y1 r2x1"))
@example(told("w1x1 r2x1 w1x2"))
@example(told("r1x1 w1x1"))
def test_the_lower_levels_are_what_some_order_of_what_was_committed_explains(history: History) -> None:
    work = committed(history)
    assert at_least(history, "read uncommitted") == is_in_some_order(work, reads=False), str(anomalies(history, unit="agent"))
    assert at_least(history, "read committed") == is_read_committed(work), str(anomalies(history, unit="agent"))


@settings(max_examples=200, deadline=None)
@given(any_versions())
def test_each_broken_level_has_a_finding(history: History) -> None:
    assume(len(history.writes()))
    verdict = anomalies(history, unit="agent")
    assert isinstance(verdict, cb.Violation if holds_up_to(history) != LEVELS[-2] else cb.Holds)
    assert bool(verdict.findings) == isinstance(verdict, cb.Violation)


@settings(max_examples=300, deadline=None)
@given(as_it_happened())
@example(told("w1q/a1 r2q/a0"))
def test_strictly_serializable_is_what_an_order_in_time_explains(history: History) -> None:
    assume(len(history.writes()))
    assert at_least(history, "strict serializable", realtime=True) == is_strictly_serializable(history)


@settings(max_examples=300, deadline=None)
@given(any_versions().filter(lambda history: len(history) <= 6))
@example(told("w1x1 w2y1 r3x1 r3y0 r4y1 r4x0"))
@example(told("w1x1 w2y1 r3x1 r3y0 r4y1 r4x1"))
def test_single_operations_are_session_serializable_where_they_are_sequentially_consistent(history: History) -> None:
    strong = at_least(history, "strong session serializable", unit="transaction")
    assert strong == is_session_serializable(history), str(anomalies(history))


Program = list[tuple[str, str]]


def agent(program: Program) -> Any:
    """An agent that reads, writes blindly, or updates, each write with a value of its own."""

    async def runs(me: cb.AgentMemory) -> None:
        for number, (kind, key) in enumerate(program):
            if kind == "r":
                await me.value(f"shared/{key}")
            elif kind == "w":
                await me.shared.write(key, f"{me.name}-{number}")
            else:
                await me.shared.update(key, lambda _, value=f"{me.name}-{number}": value)

    return runs


def is_explained_by_values(made: cb.Run) -> bool:
    """Whether some order of whole agents gives every read the value that it found, and leaves the values that were left."""
    work: dict[str, Transaction] = {}
    for op in made.history:
        if op.kind in ("read", "write", "compare-and-set"):
            work.setdefault(op.agent, []).append(op)
    for order in permutations(work.values()):
        board: dict[str, Any] = {}
        if all(plays(op, board) for transaction in order for op in transaction) and board == made.state:
            return True
    return False


def plays(op: Operation, board: dict[str, Any]) -> bool:
    if op.kind == "read":
        return bool(op.value == board.get(op.key))
    if op.ok:
        board[op.key] = op.value
    return True


def programs(kinds: str) -> st.SearchStrategy[list[Program]]:
    operations = st.lists(st.tuples(st.sampled_from(kinds), st.sampled_from("xy")), min_size=1, max_size=3)
    return st.lists(operations, min_size=2, max_size=3)


def judged(crew: list[Program], seed: int, world: cb.World) -> tuple[cb.Run, cb.Verdict]:
    agents = {f"agent-{number}": agent(program) for number, program in enumerate(crew)}
    made = cb.simulate(agents, policy=cb.LastWriterWins(), seed=seed, world=world)
    return made, anomalies(made, unit="agent")


seeds = st.integers(0, 10_000)
worlds = st.sampled_from([cb.World(replicas=2), cb.World(replicas=3), cb.World(replicas=2, visibility="eventual")])


@settings(max_examples=300, deadline=None)
@given(programs("rwu"), seeds, worlds)
def test_what_holds_between_replicas_is_explained_by_some_order(crew: list[Program], seed: int, world: cb.World) -> None:
    made, verdict = judged(crew, seed, world)
    assume(verdict.holds is not None and at_least(made.history, "serializable"))
    assert is_explained_by_values(made), f"{made.token}\n{made.history}\n{verdict}"


@settings(max_examples=300, deadline=None)
@given(programs("ru"), seeds, worlds)
def test_what_is_violated_between_replicas_is_explained_by_no_order(crew: list[Program], seed: int, world: cb.World) -> None:
    # Without blind writes, so that values say as much as versions.
    made, verdict = judged(crew, seed, world)
    assume(verdict.holds is False and not at_least(made.history, "serializable"))
    assert not is_explained_by_values(made), f"{made.token}\n{made.history}\n{verdict}"
