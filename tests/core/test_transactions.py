"""Transactions on a store: all or nothing, what they read, what refuses them, and how they must not be used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import FiveMethods, WithBoth, everything, run

from commonboard import ABSENT, AgentMemory, ConflictError, FileStore, InMemoryStore, Merge, ORSet, SharedMemory
from commonboard.entry import MemoryEntry, Page
from commonboard.errors import (
    CapabilityError,
    InvalidArgumentError,
    InvalidKeyError,
    NameNotAllowedError,
    TransactionError,
    UnstorableValueError,
)

BOTH = ["snapshot", "serializable"]


@pytest.fixture(params=[InMemoryStore, FileStore])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param is InMemoryStore:
        yield InMemoryStore()
        return
    opened = FileStore(tmp_path / "board.json")
    yield opened
    opened.close()


@pytest.fixture
def memory(store: Any) -> SharedMemory:
    return SharedMemory(store, turn=3)


# --- all or nothing ---


@pytest.mark.parametrize("isolation", BOTH)
def test_all_writes_happen_at_the_end_of_the_block_and_none_before(memory: SharedMemory, isolation: Any) -> None:
    async def main() -> None:
        me = memory.agent("web")
        await me.shared.write("old", 1)
        async with me.transaction(isolation=isolation) as tx:
            await tx.write("notes", [1], reason="because")
            await tx.shared.write("sum", 2, metadata={"page": 4})
            await tx.shared.delete("old", reason="done with it")
            assert [entry.key for entry in await memory.list()] == ["shared/old"]
            assert len(await memory.log()) == 1
        assert {entry.key: entry.value for entry in await memory.list()} == {"web/notes": [1], "shared/sum": 2}
        told = [(e.operation, e.key, e.actor, e.reason, e.turn, e.version) for e in await memory.log(after=1)]
        assert told == [
            ("insert", "web/notes", "web", "because", 3, 1),
            ("insert", "shared/sum", "web", None, 3, 1),
            ("delete", "shared/old", "web", "done with it", 3, 2),
        ]
        entry = await memory.read("shared/sum")
        assert entry is not None
        assert (entry.metadata["page"], entry.actor) == (4, "web")

    run(main())


def test_what_a_transaction_writes_to_one_key_is_one_write(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        first = await me.shared.write("log", ["a"])
        async with me.transaction() as tx:
            await tx.shared.append("log", "b")
            await tx.shared.update("log", lambda items: [*items, "c"])
            await tx.shared.write("short-lived", 1)
            await tx.shared.delete("short-lived")
        (event,) = await memory.log(after=1)
        assert (event.operation, event.value, event.saw, event.version) == ("replace", '["a","b","c"]', 1, 2)
        assert event.created_at == first.created_at

    run(main())


def test_a_block_that_raises_writes_nothing(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        await me.shared.write("key", "kept")
        before = await everything(memory.store)
        handles = []

        async def block() -> None:
            async with me.transaction() as tx:
                handles.append(tx)
                await tx.shared.write("key", "lost")
                await tx.delete("other")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await block()
        assert await everything(memory.store) == before
        with pytest.raises(TransactionError, match=r"the transaction web#1 was discarded; begin another one"):
            await handles[0].read("shared/key")

    run(main())


def test_a_cancelled_block_writes_nothing_and_the_next_one_works(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")

        async def hangs() -> None:
            async with me.transaction() as tx:
                await tx.shared.write("key", 1)
                await asyncio.Event().wait()

        task = asyncio.ensure_future(hangs())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await memory.log() == []
        async with me.transaction() as tx:
            await tx.shared.write("key", 2)
        assert await memory.value("shared/key") == 2

    run(main())


def test_a_transaction_that_is_refused_writes_nothing_at_all(memory: SharedMemory) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")
        handles = []

        async def block() -> None:
            async with one.transaction() as tx:
                handles.append(tx)
                await tx.write("first", 1)
                await tx.shared.write("key", "mine")
                await other.shared.write("key", "theirs")

        with pytest.raises(ConflictError) as refused:
            await block()
        assert str(refused.value) == (
            "the transaction one#1 was refused: 'shared/key', which it wrote, has changed since its snapshot "
            "(version 0 then, version 1 by other now); nothing was written: run the whole block again"
        )
        error = refused.value
        assert (error.key, error.expected, error.found_version, error.mine) == ("shared/key", 0, 1, "mine")
        assert error.found.value == "theirs"
        assert {entry.key: entry.value for entry in await memory.list()} == {"shared/key": "theirs"}
        with pytest.raises(TransactionError, match="one#1 was refused"):
            await handles[0].write("first", 2)

    run(main())


def test_a_key_that_was_there_before_everything_was_cleared_can_be_created_anew(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        await me.shared.write("key", 1)
        await me.shared.write("other", 1)
        await memory.store.clear()
        await me.shared.write("deleted", 1)
        await me.shared.delete("deleted")
        async with me.transaction() as tx:
            for key in ("key", "deleted"):
                assert await tx.read(f"shared/{key}") is None
                await tx.shared.write(key, 2)
        told = [(event.key, event.saw, event.version) for event in (await memory.log())[-2:]]
        assert told == [("shared/key", 2, 3), ("shared/deleted", 4, 5)]

    run(main())


# --- what it reads ---


@pytest.mark.parametrize("isolation", BOTH)
def test_reads_show_one_moment_whatever_others_write(memory: SharedMemory, isolation: Any) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")
        await other.shared.write("x", 0)
        await other.shared.write("gone", 0)
        async with one.transaction(isolation=isolation) as tx:
            await other.shared.write("x", 1)
            await other.shared.write("new", 1)
            await other.shared.delete("gone")
            assert [await tx.value(f"shared/{key}", "none") for key in ("x", "new", "gone")] == [0, "none", 0]
            assert [(entry.key, entry.value) for entry in await tx.list("shared")] == [("shared/x", 0), ("shared/gone", 0)]
            assert [await one.value(f"shared/{key}", "none") for key in ("x", "new", "gone")] == [1, 1, "none"]

    run(main())


def test_a_transaction_reads_its_own_writes(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        await me.shared.write("a", 1)
        async with me.transaction() as tx:
            await tx.shared.write("a", 2)
            await tx.write("b", {"deep": [1]})
            entry = await tx.read("web/b")
            assert entry is not None
            assert (entry.value, entry.actor) == ({"deep": [1]}, "web")
            entry.value["deep"].append(2)
            assert await tx.value("web/b") == {"deep": [1]}
            assert [(e.key, e.value) for e in await tx.list()] == [("shared/a", 2), ("web/b", {"deep": [1]})]
            await tx.shared.update("a", lambda old: old + 1)
            assert (await tx.shared.append("list", "x")).value == ["x"]
            assert await tx.shared.compare_and_set("a", 3, 4) is True
            assert await tx.shared.compare_and_set("a", 3, 5) is False
            await tx.delete("b")
            assert await tx.read("web/b") is None
            assert await tx.value("shared/a") == 4
        assert {e.key: e.value for e in await memory.list()} == {"shared/a": 4, "shared/list": ["x"]}

    run(main())


def test_what_a_transaction_reads_does_not_alias_what_it_writes_from(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        await me.shared.write("a", [1], metadata={"deep": [1]})
        async with me.transaction() as tx:
            entry = await tx.read("shared/a")
            assert entry is not None
            entry.metadata["deep"].append(2)
            again = await tx.read("shared/a")
            assert again is not None
            assert again.metadata["deep"] == [1]

    run(main())


def test_a_crdt_is_changed_as_by_the_agent_itself(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        await me.shared.update("tags", lambda tags: tags.add("a"), Merge(ORSet))
        async with me.transaction() as tx:
            await tx.shared.update("tags", lambda tags: tags.add("b"), Merge(ORSet))
        await me.shared.update("tags", lambda tags: tags.remove("a"), Merge(ORSet))
        await me.shared.update("tags", lambda tags: tags.add("c"), Merge(ORSet))
        assert sorted((await memory.value("shared/tags")).value) == ["b", "c"]

    run(main())


def test_reserved_keys_are_invisible_but_a_list_of_everything_rests_on_them(memory: SharedMemory) -> None:
    async def main() -> None:
        await memory.store.set("__oma_checkpoint__/run", "{}")
        async with memory.agent("web").transaction() as tx:
            assert await tx.read("__oma_checkpoint__/run") is None
            assert await tx.list() == []
            await memory.store.set("__oma_checkpoint__/run", "{1}")
            await tx.write("fine", 1)

    with pytest.raises(ConflictError, match=r"'__oma_checkpoint__/run', which it listed, has changed"):
        run(main())


def test_what_a_handle_refuses_a_transaction_refuses_when_it_is_written(memory: SharedMemory) -> None:
    async def main() -> None:
        async with memory.agent("web").transaction() as tx:
            with pytest.raises(NameNotAllowedError):
                await tx.shared.write("", 1)
            with pytest.raises(InvalidKeyError):
                await tx.write("a\0", 1)
            with pytest.raises(UnstorableValueError):
                await tx.write("a", {1, 2})
            with pytest.raises(AttributeError, match=r"read takes the full key, and stands on the agent's own handle"):
                await tx.shared.read("a")
            await tx.write("fine", 1)
        assert [entry.key for entry in await memory.list()] == ["web/fine"]

    run(main())


# --- expiry ---


def test_an_expired_entry_is_invisible_and_can_be_created_anew(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        await me.shared.write("plain", 1)
        await me.write_expiring("draft", "old", 1)
        await memory.advance_turn()
        async with me.transaction() as tx:
            assert await tx.read("web/draft") is None
            assert [entry.key for entry in await tx.list()] == ["shared/plain"]
            await tx.write("draft", "new", expect=ABSENT)
            await tx.shared.update("list", lambda old: [old])
            await tx.write_expiring("brief", "b", 2)
        assert await memory.value("web/draft") == "new"
        assert await memory.value("shared/list") == [None]
        entry = await memory.read("web/brief")
        assert entry is not None
        assert entry.expires_at_turn == memory.turn + 2
        await memory.advance_turn(5)
        assert await memory.value("web/draft") == "new"
        assert await memory.read("web/brief") is None

    run(main())


def test_the_turn_stands_still_inside_a_transaction(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        await me.write_expiring("draft", "old", 1)
        async with me.transaction() as tx:
            await memory.advance_turn()
            assert await memory.read("web/draft") is None
            assert await tx.value("web/draft") == "old"

    run(main())


def test_a_shared_turn_is_looked_up_when_the_transaction_begins(store: Any) -> None:
    async def main() -> None:
        one, other = SharedMemory(store, turn="shared"), SharedMemory(store, turn="shared")
        await one.agent("web").write_expiring("draft", "old", 1)
        await other.advance_turn()
        async with one.agent("web").transaction() as tx:
            assert await tx.read("web/draft") is None

    run(main())


# --- what refuses it ---


async def refused(memory: SharedMemory, isolation: Any, block: Any, beside: Any) -> bool:
    """Whether a transaction that does `block` is refused when somebody does `beside` meanwhile."""
    one, other = memory.agent("one"), memory.agent("other")
    await other.shared.write("x", 0)
    await other.shared.write("tasks/a", 0)
    try:
        async with one.transaction(isolation=isolation) as tx:
            await block(tx)
            await beside(other.shared)
            await tx.write("done", 1)
    except ConflictError:
        assert await memory.read("one/done") is None
        return True
    assert await memory.value("one/done") == 1
    return False


def twice(method: str, *arguments: Any) -> Any:
    return lambda on: getattr(on, method)(*arguments)


async def tries_to_swap(tx: AgentMemory) -> None:
    assert not await tx.shared.compare_and_set("x", 7, 8)


async def tries_to_create(tx: AgentMemory) -> None:
    with pytest.raises(ConflictError, match="expected no entry"):
        await tx.shared.write("x", 8, expect=ABSENT)


async def comes_and_goes(tx: AgentMemory) -> None:
    await tx.shared.write("new", 1)
    await tx.shared.delete("new")


CASES = [
    # what the transaction does, what somebody does meanwhile, refused under snapshot, refused under serializable
    (twice("read", "shared/x"), twice("write", "x", 0), False, True),
    (twice("value", "shared/x"), twice("delete", "x"), False, True),
    (twice("read", "shared/new"), twice("write", "new", 1), False, True),
    (twice("read", "shared/x"), twice("write", "y", 1), False, False),
    (twice("list", "shared/tasks"), twice("write", "tasks/b", 1), False, True),
    (twice("list", "shared/tasks"), twice("write", "tasks/a", 1), False, True),
    (twice("list", "shared/tasks"), twice("delete", "tasks/a"), False, True),
    (twice("list", "shared/tasks", 1), twice("write", "tasks/b", 1), False, True),
    (twice("list", "shared/tasks"), twice("write", "tasks-b", 1), False, False),
    (lambda tx: tx.shared.write("x", 1), twice("write", "x", 0), True, True),
    (lambda tx: tx.shared.write("x", 1), twice("delete", "x"), True, True),
    (lambda tx: tx.shared.delete("x"), twice("write", "x", 0), True, True),
    (lambda tx: tx.shared.append("new", 1), twice("append", "new", 2), True, True),
    (lambda tx: tx.shared.update("x", lambda n: n + 1), twice("append", "tasks/c", 1), False, False),
    (lambda tx: tx.shared.delete("new"), twice("write", "new", 1), False, True),
    (tries_to_swap, twice("write", "x", 7), False, True),
    (tries_to_create, twice("delete", "x"), False, True),
    (comes_and_goes, twice("write", "new", 1), False, True),
]


@pytest.mark.parametrize(("block", "beside", "under_snapshot", "under_serializable"), CASES)
def test_isolation_says_what_must_not_have_changed(
    memory: SharedMemory, block: Any, beside: Any, under_snapshot: bool, under_serializable: bool
) -> None:
    assert run(refused(SharedMemory(), "snapshot", block, beside)) is under_snapshot
    assert run(refused(memory, "serializable", block, beside)) is under_serializable


def test_a_transaction_that_only_reads_is_never_refused(memory: SharedMemory) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")
        await other.shared.write("x", 0)
        async with one.transaction() as tx:
            seen = [await tx.value("shared/x"), await tx.list()]
            await other.shared.write("x", 1)
            seen.append(await tx.value("shared/x"))
        assert (seen[0], seen[2]) == (0, 0)
        assert [event.actor for event in await memory.log()] == ["other", "other"]

    run(main())


def test_a_value_that_came_back_does_not_fool_it(memory: SharedMemory) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")
        await other.shared.write("x", "a")

        async def block() -> None:
            async with one.transaction() as tx:
                await tx.read("shared/x")
                await tx.write("done", 1)
                await other.shared.write("x", "b")
                await other.shared.write("x", "a")

        with pytest.raises(ConflictError, match=r"'shared/x', which it read, .*\(version 1 then, version 3 by other now\)"):
            await block()

    run(main())


def test_writing_beside_the_transaction_is_told_as_that(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")

        async def block() -> None:
            async with me.transaction() as tx:
                await tx.shared.write("x", 1)
                await me.shared.write("x", 2)

        with pytest.raises(
            ConflictError, match=r"version 1 by web now.*web wrote it beside this transaction, perhaps in another task"
        ):
            await block()

    run(main())


def test_a_key_that_came_and_went_inside_is_told_as_written(memory: SharedMemory) -> None:
    async def main() -> None:
        async def block() -> None:
            async with memory.agent("web").transaction() as tx:
                await tx.shared.write("x", 1)
                await tx.shared.delete("x")
                await tx.shared.write("y", 1)
                await memory.agent("docs").shared.write("x", 2)

        with pytest.raises(ConflictError, match="'shared/x', which it wrote, has changed since its snapshot"):
            await block()

    run(main())


def test_a_log_that_no_longer_reaches_back_is_told_as_that() -> None:
    async def main() -> None:
        store = InMemoryStore()
        one, other = SharedMemory(store).agent("one"), SharedMemory(store).agent("other")
        await other.shared.write("tasks/a", 0)

        async def block() -> None:
            async with one.transaction() as tx:
                await tx.list("shared/tasks")
                await tx.write("done", 1)
                await other.write("elsewhere", 0)
                store._board.compact(0)

        with pytest.raises(ConflictError, match=r"the store's log no longer reaches back .* under 'shared/tasks'; nothing was"):
            await block()

    run(main())


# --- what an agent knows afterwards ---


def test_what_was_seen_inside_counts_for_the_writes_after_it(memory: SharedMemory) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")
        for key in ("read", "listed/a", "untouched"):
            await other.shared.write(key, 0)
        async with one.transaction() as tx:
            await tx.read("shared/read")
            await tx.list("shared/listed")
            await tx.read("shared/made")
            await tx.shared.write("made", 1)
        for key in ("read", "listed/a", "untouched", "made"):
            await one.shared.write(key, 2)
        assert [event.saw for event in (await memory.log())[-4:]] == [1, 1, None, 1]

    run(main())


def test_an_old_snapshot_does_not_make_an_agent_forget_what_it_saw_beside_it(memory: SharedMemory) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")
        await other.shared.write("x", 0)
        async with one.transaction() as tx:
            await other.shared.write("x", 1)
            await one.read("shared/x")
            await tx.read("shared/x")
        await one.shared.write("x", 2)
        assert (await memory.log())[-1].saw == 2

    run(main())


# --- prefixes ---


class Counting(InMemoryStore):
    """Counts the lists, which each show one moment."""

    lists: list[str]

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        self.lists.append(prefix)
        return await super().list(prefix, limit, after)


@pytest.mark.parametrize(
    ("prefixes", "listed"),
    [
        ("", ""),
        ("shared", "shared"),
        ("shared/", "shared/"),
        (["shared/a", "shared/b"], "shared"),
        (("shared/", "shared/b"), "shared"),
        (("shared", "web"), ""),
        (("shared/a", "shared"), "shared"),
    ],
)
def test_one_list_takes_the_snapshot(prefixes: Any, listed: str) -> None:
    async def main() -> None:
        store = Counting()
        store.lists = []
        async with SharedMemory(store).agent("web").transaction(prefixes=prefixes) as tx:
            for prefix in [prefixes] if isinstance(prefixes, str) else prefixes:
                await tx.list(prefix)
                await tx.read(f"{prefix}/x" if prefix else "x/y")
        assert store.lists == [listed]

    run(main())


def test_nothing_outside_the_prefixes_can_be_used(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        async with me.transaction(prefixes=("shared/a", "web")) as tx:
            await tx.shared.write("a", 1)
            await tx.shared.write("a/b", 1)
            for call, what in (
                (tx.read("shared/ab"), "'shared/ab'"),
                (tx.shared.write("ab", 1), "'shared/ab'"),
                (tx.shared.delete("ab"), "'shared/ab'"),
                (tx.list("shared"), "everything under 'shared'"),
                (tx.list(), "the whole board"),
            ):
                with pytest.raises(TransactionError) as told:
                    await call
                assert f"took a snapshot of 'shared/a' and 'web' only, so it knows nothing of {what};" in str(told.value)
            await tx.write("fine", 1)
        assert [entry.key for entry in await memory.list()] == ["shared/a", "shared/a/b", "web/fine"]

    run(main())


# --- how it must not be used ---


def test_transactions_do_not_nest(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        async with me.transaction() as tx:
            with pytest.raises(TransactionError, match="'web' is in the transaction web#1 already, and transactions do not nest"):
                async with me.transaction():
                    pass
            with pytest.raises(TransactionError, match="transactions do not nest"):
                tx.transaction()
            with pytest.raises(TransactionError, match="transactions do not nest"):
                await tx.transact(lambda inner: inner.read("shared/x"))
            await tx.shared.write("x", 1)
        assert await memory.value("shared/x") == 1

    run(main())


def test_a_transaction_has_nothing_to_watch(memory: SharedMemory) -> None:
    async def main() -> None:
        async with memory.agent("web").transaction() as tx:
            with pytest.raises(TransactionError, match="sees one moment, so it has nothing to wait for"):
                async for _ in tx.watch():  # it would wait for ever: nobody else writes to a transaction's copy
                    pass

    run(main())


def test_two_tasks_of_an_agent_and_two_agents_in_one_task_have_transactions_of_their_own(memory: SharedMemory) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")

        async def adds(key: str) -> None:
            async with one.transaction() as tx:
                await asyncio.sleep(0)
                await tx.write(key, 1)

        await asyncio.gather(adds("a"), adds("b"))
        async with one.transaction() as first, other.transaction() as second:
            await first.write("c", 1)
            await second.write("c", 1)
        assert [entry.key for entry in await memory.list()] == ["one/a", "one/b", "other/c", "one/c"]

    run(main())


def test_a_transaction_cannot_be_used_after_its_end_or_begun_twice(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        transaction = me.transaction()
        async with transaction as tx:
            await tx.write("a", 1)
        for call in (tx.read("web/a"), tx.list(), tx.write("b", 1), tx.shared.update("c", str), tx.delete("a")):
            with pytest.raises(
                TransactionError, match=r"the transaction web#1 is over; begin another one with me.transaction\(\)"
            ):
                await call
        with pytest.raises(TransactionError, match="the transaction web#1 has begun already"):
            async with transaction:
                pass
        assert [event.key for event in await memory.log()] == ["web/a"]
        assert [event.key for event in transaction.events] == ["web/a"]

    run(main())


@pytest.mark.parametrize("store", [FiveMethods(), WithBoth()])
def test_a_store_that_cannot_commit_several_keys_is_refused_at_the_call(store: Any) -> None:
    me = SharedMemory(store).agent("web")
    with pytest.raises(CapabilityError, match=r"(FiveMethods|WithBoth) has no transactions: it cannot commit several keys"):
        me.transaction()
    with pytest.raises(CapabilityError, match="has no transactions"):
        run(me.transact(lambda tx: tx.read("shared/x")))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"isolation": "repeatable read"}, "isolation is 'snapshot' or 'serializable', not 'repeatable read'"),
        ({"isolation": None}, "isolation is 'snapshot' or 'serializable', not None"),
        ({"prefixes": ()}, r"prefixes is a prefix such as 'shared', or several, not \(\)"),
        ({"prefixes": 5}, "prefixes is a prefix such as 'shared', or several, not 5"),
    ],
)
def test_what_is_no_isolation_and_no_prefix_is_refused_at_the_call(options: Any, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        SharedMemory().agent("web").transaction(**options)
    with pytest.raises(InvalidKeyError, match="the prefix must be text"):
        SharedMemory().agent("web").transaction(prefixes=[5])  # type: ignore[list-item]


# --- transact ---


def test_transact_does_the_work_again_until_nobody_was_in_its_way(memory: SharedMemory) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")
        seen = []

        async def work(tx: AgentMemory) -> str:
            count = await tx.value("shared/count", 0)
            seen.append(count)
            if count < 2:
                await other.shared.write("count", count + 1)
            await tx.shared.write("count", count + 10)
            return f"from {count}"

        assert await one.transact(work) == "from 2"
        assert seen == [0, 1, 2]
        assert [(event.actor, event.value) for event in await memory.log()] == [("other", "1"), ("other", "2"), ("one", "12")]

    run(main())


def test_transact_gives_up_after_so_many_attempts(memory: SharedMemory) -> None:
    async def main() -> None:
        one, other = memory.agent("one"), memory.agent("other")

        async def work(tx: AgentMemory) -> None:
            await tx.shared.write("count", 0)
            await other.shared.update("count", lambda count: (count or 0) + 1)

        with pytest.raises(ConflictError, match="the transaction one#3 was refused"):
            await one.transact(work, attempts=3)
        assert await memory.value("shared/count") == 3

    run(main())


def test_transact_does_not_try_again_what_was_refused_inside_the_work(memory: SharedMemory) -> None:
    async def main() -> None:
        me = memory.agent("web")
        tries: list[MemoryEntry | None] = []

        async def work(tx: AgentMemory) -> None:
            tries.append(await tx.read("shared/x"))
            await tx.shared.write("x", 1, expect=7)

        with pytest.raises(ConflictError, match="expected version 7"):
            await me.transact(work)
        assert tries == [None]

    run(main())


@pytest.mark.parametrize("attempts", [0, -1, True, 1.5, None])
def test_attempts_that_are_no_number_of_tries_are_refused(attempts: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="attempts must be a whole number of at least 1"):
        run(SharedMemory().agent("web").transact(lambda tx: tx.read("shared/x"), attempts=attempts))


@pytest.mark.parametrize(("work", "told"), [(None, "work is an async function"), (lambda tx: 3, "work must be async")])
def test_work_that_is_not_async_is_refused_and_nothing_is_written(work: Any, told: str) -> None:
    memory = SharedMemory()
    with pytest.raises(InvalidArgumentError, match=told):
        run(memory.agent("web").transact(work))
    assert run(memory.list()) == []


def test_a_loop_of_looks_can_be_stopped(memory: SharedMemory) -> None:
    async def main() -> None:
        async def looks(write: bool) -> None:
            async with memory.agent("web").transaction() as tx:
                while True:
                    await (tx.write("x", 1) if write else tx.value("shared/x"))

        for write in (False, True):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(looks(write), 0.01)
        assert await memory.list() == []

    run(main())
