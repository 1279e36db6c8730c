"""InMemoryStore: what the conformance suite cannot see — the clock, loops, followers, wrong arguments."""

from __future__ import annotations

import asyncio
import gc
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.helpers import everything, run

from commonboard import (
    ABSENT,
    ConflictError,
    InMemoryStore,
    KeyUnchanged,
    LogicalClock,
    MemoryEntry,
    MemoryStore,
    PrefixUnchanged,
    Write,
)
from commonboard.entry import Event
from commonboard.errors import (
    CorruptValueError,
    InvalidArgumentError,
    InvalidWriteError,
    LogCompactedError,
    TurnError,
    UnstorableValueError,
)
from commonboard.rule import Board, settle
from commonboard.stores import BuiltInStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_it_is_what_the_protocols_ask_for() -> None:
    assert isinstance(InMemoryStore(), MemoryStore)
    assert isinstance(InMemoryStore(), BuiltInStore)


def test_its_clock_dates_entries_and_events() -> None:
    async def main() -> None:
        store = InMemoryStore(clock=LogicalClock())
        await store.set("a", "1")
        await store.set("a", "2")
        assert await store.get("a") == MemoryEntry("a", "2", {}, NOW, 2)
        assert [event.at.second for event in await store.events()] == [0, 1]
        assert repr(store) == "InMemoryStore(1 entries, 2 events)"

    run(main())


@pytest.mark.parametrize(
    ("call", "error", "why"),
    [
        (lambda s: s.set("a", None), UnstorableValueError, "the value for 'a' is a NoneType; .*or delete the key"),
        (
            lambda s: s.set("a", {"n": 1}),
            UnstorableValueError,
            "a store keeps text: the value for 'a' is a dict; write through a SharedM",
        ),
        (lambda s: s.set("a", "x\0"), UnstorableValueError, "the value for 'a' holds a NUL"),
        (lambda s: s.set("a", "1", ["x"]), UnstorableValueError, "metadata must be a mapping of text to JSON values, not list"),
        (lambda s: s.set("a", "1", []), UnstorableValueError, "metadata must be a mapping"),
        (lambda s: s.set("a", "1", {"n": {1}}), UnstorableValueError, r"value at metadata\.n is a set"),
        (lambda s: s.set_with_expiry("a", "1", "soon"), TurnError, "expires_at_turn for 'a' must be a whole number, not 'soon'"),
        (lambda s: s.set_with_expiry("a", "1", None), TurnError, "not None"),
        (lambda s: s.compare_and_set("a", 1, "2"), InvalidWriteError, "expects a stored text, or None for no entry, not 1"),
        (lambda s: s.compare_and_set("a", ABSENT, "2"), InvalidWriteError, "expects a stored text, or None"),
        (lambda s: s.compare_and_set("a", "0", None), UnstorableValueError, "is a NoneType"),
        (lambda s: s.commit("a"), InvalidWriteError, "commit takes cb.Write objects, not str: 'a'"),
        (lambda s: s.commit(Write("a", "1", expect=None)), InvalidWriteError, "must be ANY, ABSENT, a version"),
        (
            lambda s: s.commit(Write("a", "x", append=True)),
            UnstorableValueError,
            r"append to 'a' takes one item as JSON text.*json\.dumps",
        ),
        (
            lambda s: s.commit(Write("a", None, append=True)),
            UnstorableValueError,
            "append to 'a' takes one item as JSON text, not None",
        ),
        (lambda s: s.commit(reads=["a"]), InvalidWriteError, "reads takes cb.KeyUnchanged or cb.PrefixUnchanged, not str"),
        (lambda s: s.list(limit=-1), InvalidArgumentError, "limit must be a whole number of at least 0, or None for all, not -1"),
    ],
)
def test_a_wrong_argument_is_told_and_changes_nothing(call: Any, error: type[Exception], why: str) -> None:
    async def main() -> None:
        store = InMemoryStore()
        await store.set("a", "0")
        before = await everything(store)
        with pytest.raises(error, match=why):
            await call(store)
        assert await everything(store) == before

    run(main())


def test_an_append_to_a_list_that_is_damaged_or_a_crdt_is_refused() -> None:
    async def main() -> None:
        store = InMemoryStore()
        await store.set("a", "[1,", {"sharedMemoryValueEncoding": "json"})
        with pytest.raises(CorruptValueError, match="the entry 'a' is marked as JSON but its text is not"):
            await store.commit(Write("a", "2", append=True))
        assert (await store.get("a")).value == "[1,"

    run(main())


# --- the rule ---


def test_settle_is_pure_and_says_the_next_entry_and_the_event() -> None:
    entry = MemoryEntry("a", "1", {"deep": [1]}, NOW, 3, 7)
    write = Write("a", "2", {"n": 1}, 3, "web", "why", 5)
    later = datetime(2027, 1, 1, tzinfo=UTC)
    assert settle(entry, 3, write, 9, later) == (
        "a",
        MemoryEntry("a", "2", {"n": 1}, NOW, 4, None),
        Event(9, "replace", "a", "2", None, 3, 4, 3, "web", "why", 5, later, NOW),
    )
    assert entry == MemoryEntry("a", "1", {"deep": [1]}, NOW, 3, 7)
    assert settle(None, 3, Write("a", None), 9, later) is None
    with pytest.raises(ConflictError, match="expected version 2 and found version 3; nothing was written"):
        settle(entry, 3, Write("a", "2", expect=2), 9, later)


def test_an_event_says_json_only_where_the_marker_says_it() -> None:
    for marker, encoding in (("json", "json"), ("JSON", None), (5, None), (["json"], None)):
        change = settle(None, 0, Write("a", "1", {"sharedMemoryValueEncoding": marker}), 1, NOW)
        assert change is not None
        assert change[2].encoding == encoding


def test_compaction_drops_old_events_and_versions_still_only_grow() -> None:
    board = Board.empty()
    for write in (Write("gone", "1"), Write("gone", None), Write("a", "1"), Write("late", "1"), Write("late", None)):
        board.apply(board.plan([write], (), NOW))
    board.compact(2)
    assert [event.seq for event in board.log] == [4, 5]
    assert (board.floor, board.gone, board.dropped) == (2, {"late": 2}, 3)
    assert [board.at(key)[1] for key in ("gone", "late", "a", "never")] == [2, 2, 1, 2]
    with pytest.raises(LogCompactedError, match="events 2 to 3 are no longer in the log; read the entries, then follow from 5"):
        board.since(1)
    assert [event.seq for event in board.since(3)] == [4, 5]
    assert [event.seq for event in board.since(0)] == [4, 5]  # from the beginning means: all that is kept
    board.compact(9)
    assert len(board.log) == 2


def test_a_prefix_that_was_listed_before_the_log_begins_counts_as_changed() -> None:
    board = Board.empty()
    for key in ("a/1", "b", "b"):
        board.apply(board.plan([Write(key, "1")], (), NOW))
    board.compact(1)
    for position in (0, 1):
        with pytest.raises(ConflictError, match=r"the log no longer reaches back to position .*, where 'a' was listed"):
            board.plan([Write("x", "1")], [PrefixUnchanged("a", position)], NOW)
    assert len(board.plan([Write("x", "1")], [PrefixUnchanged("a", 2), KeyUnchanged("a/1", 1)], NOW)) == 1


# --- loops and followers ---


def test_it_works_in_one_event_loop_after_another() -> None:
    store = InMemoryStore()
    for number in range(3):
        run(store.set("a", str(number)))
        assert run(store.look("a")).version == number + 1


async def _first(store: InMemoryStore, count: int, after: int = 0) -> list[str | None]:
    seen = []
    watching = store.watch(after)
    async for event in watching:
        seen.append(event.value)
        if len(seen) == count:
            break
    await watching.aclose()
    return seen


def test_a_follower_in_one_loop_sees_what_is_written_in_another_between_its_runs() -> None:
    store = InMemoryStore()
    loop = asyncio.new_event_loop()

    async def begin() -> asyncio.Task[Any]:
        task = asyncio.ensure_future(_first(store, 1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task

    task = loop.run_until_complete(begin())
    run(store.set("a", "1"))
    assert loop.run_until_complete(asyncio.wait_for(task, 60)) == ["1"]
    loop.close()


def test_a_follower_whose_loop_was_closed_hinders_nobody() -> None:
    store = InMemoryStore()
    loop = asyncio.new_event_loop()

    async def begin() -> None:
        left.append(asyncio.ensure_future(_first(store, 1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    left: list[Any] = []
    loop.run_until_complete(begin())
    loop.close()
    run(store.set("a", "1"))
    assert run(store.get("a")).value == "1"
    left[0]._log_destroy_pending = False  # it was left on purpose


def test_a_follower_leaves_nothing_behind() -> None:
    async def main() -> None:
        store = InMemoryStore()
        await store.set("a", "1")
        assert await _first(store, 1) == ["1"]
        assert store._followers == []
        task = asyncio.create_task(_first(store, 5))
        await asyncio.sleep(0)
        assert len(store._followers) == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gc.collect()
        await asyncio.sleep(0)
        assert store._followers == []

    run(main())


def test_a_follower_of_a_log_whose_beginning_is_gone_waits_and_does_not_spin() -> None:
    async def main() -> None:
        store = InMemoryStore()
        for number in range(3):
            await store.set("a", str(number))
        store._board.log.clear()
        store._board.dropped = 3
        task = asyncio.create_task(_first(store, 1))
        for _ in range(3):
            await asyncio.sleep(0)
        await store.set("a", "later")
        assert await asyncio.wait_for(task, 60) == ["later"]

    run(main())


def test_a_follower_that_was_too_slow_is_told() -> None:
    async def main() -> None:
        store = InMemoryStore()
        for number in range(5):
            await store.set("a", str(number))
        store._board.compact(2)
        with pytest.raises(LogCompactedError):
            await _first(store, 1, after=2)
        assert await _first(store, 2, after=3) == ["3", "4"]

    run(main())


def test_a_thousand_followers_of_one_write_all_hear_of_it() -> None:
    async def main() -> None:
        store = InMemoryStore()
        tasks = [asyncio.create_task(_first(store, 1)) for _ in range(1000)]
        await asyncio.sleep(0)
        await store.set("a", "1")
        assert await asyncio.gather(*tasks) == [["1"]] * 1000

    run(main())
