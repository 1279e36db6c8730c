"""Turns: expiry by turn, creating over what has expired, and a turn that several processes share."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from tests.helpers import FiveMethods, WithBoth, WithCompareAndSet, WithExpiry, everything, run

from commonboard import ABSENT, ConflictError, InMemoryStore, LastWriterWins, Optimistic, SharedMemory
from commonboard.errors import CapabilityError, TurnError
from commonboard.stores.port import CapabilityWarning


@pytest.mark.parametrize("store", [InMemoryStore, WithExpiry, WithBoth])
@pytest.mark.parametrize("ttl", [1, 2, 3])
def test_an_entry_is_readable_for_as_many_turns_as_it_was_given(store: Any, ttl: int) -> None:
    async def main() -> None:
        memory = SharedMemory(store(), turn=5)
        me = memory.agent("web")
        entry = await me.write_expiring("brief", [1], ttl)
        assert entry.expires_at_turn == 5 + ttl
        for turn in range(5, 10):
            visible = turn < 5 + ttl
            assert (await me.value("web/brief") == [1]) is visible
            assert (len(await memory.list()) == 1) is visible
            assert ("brief" in await memory.summary()) is visible
            assert (len((await memory.snapshot())["entries"]) == 1) is visible
            assert len(await memory.store.list()) == 1  # filtered, never deleted
            assert await memory.advance_turn() == turn + 1

    run(main())


@pytest.mark.parametrize("ttl", [0, -1, 1.5, float("nan"), float("inf"), "1", None, True])
def test_a_time_to_live_that_is_no_whole_number_above_zero_is_refused(ttl: Any) -> None:
    async def main() -> None:
        memory = SharedMemory()
        await memory.write("web", "key", "before")
        before = await everything(memory.store)
        with pytest.raises(TurnError, match=r"ttl_turns must be a whole number of at least 1, not"):
            await memory.write_expiring("web", "key", 1, ttl)
        assert await everything(memory.store) == before

    run(main())


@pytest.mark.parametrize("turn", [-1, 1.5, "two", None, True])
def test_a_wrong_turn_is_refused(turn: Any) -> None:
    with pytest.raises(TurnError, match="turn must be a whole number of at least 0"):
        SharedMemory(turn=turn)
    with pytest.raises(TurnError, match="turns must be a whole number of at least 1"):
        run(SharedMemory().advance_turn(turn if turn is not None else 0))


def test_without_a_time_to_live_an_entry_outlives_a_hundred_turns() -> None:
    async def main() -> None:
        memory = SharedMemory()
        await memory.write("web", "key", 1)
        await memory.advance_turn(100)
        assert await memory.value("web/key") == 1

    run(main())


def test_a_write_or_an_update_without_expiry_clears_it() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        for key, again in (("a", me.write("a", 2)), ("b", me.update("b", lambda old: old + 1))):
            await me.write_expiring(key, 1, 1)
            await again
        await memory.advance_turn(5)
        assert [entry.value for entry in await memory.list()] == [2, 2]

    run(main())


def test_an_append_keeps_the_expiry_of_its_list_and_begins_anew_after_it() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        await me.write_expiring("list", [1], 2)
        await memory.advance_turn()
        assert (await me.append("list", 2)).value == [1, 2]
        await memory.advance_turn()
        assert await me.value("web/list") is None
        assert (await me.append("list", 3)).value == [3]
        await memory.advance_turn(9)
        assert await me.value("web/list") == [3]

    run(main())


def test_without_set_with_expiry_an_entry_never_expires_and_a_warning_says_so_once() -> None:
    async def main() -> None:
        memory = SharedMemory(FiveMethods())
        for key in ("a", "b"):
            await memory.write_expiring("web", key, 1, 1)
        await memory.advance_turn(5)
        assert len(await memory.list()) == 2

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(main())
    assert [str(warning.message) for warning in caught] == [
        "FiveMethods has no set_with_expiry: entries written with a time to live never expire"
    ]
    assert issubclass(caught[0].category, CapabilityWarning)


@pytest.mark.parametrize("store", [InMemoryStore, WithBoth])
@pytest.mark.filterwarnings("ignore:.*has no versions")
def test_what_has_expired_counts_as_absent_for_who_creates(store: Any) -> None:
    async def main() -> None:
        memory = SharedMemory(store())
        me = memory.agent("web")
        await me.shared.write_expiring("lease", "old", 1)
        with pytest.raises(ConflictError):
            await me.shared.write("lease", "new", expect=ABSENT)
        assert await me.shared.compare_and_set("lease", None, "new") is False
        await memory.advance_turn()
        assert await me.shared.compare_and_set("lease", None, "new") is True
        assert await me.value("shared/lease") == "new"
        assert await me.shared.compare_and_set("lease", None, "newer") is False

    run(main())


def test_of_many_who_create_over_an_expired_entry_exactly_one_wins() -> None:
    async def main() -> None:
        memory = SharedMemory()
        await memory.agent("old").shared.write_expiring("lease", "old", 1)
        await memory.advance_turn()

        agents = [memory.agent(f"agent-{number}") for number in range(5)]
        won = await asyncio.gather(*(me.shared.compare_and_set("lease", None, me.name) for me in agents))
        assert won.count(True) == 1
        assert await memory.value("shared/lease") == agents[won.index(True)].name

    run(main())


def test_who_creates_over_an_expired_entry_never_overwrites_a_newer_write() -> None:
    class Meddling(InMemoryStore):
        """Somebody writes between the refusal that shows the expired entry and the write over it."""

        meddle = False

        async def commit(self, *writes: Any, reads: Any = ()) -> Any:
            try:
                return await super().commit(*writes, reads=reads)
            except ConflictError:
                if self.meddle:
                    self.meddle = False
                    await self.set("shared/lease", "somebody's newer write")
                raise

    async def main() -> None:
        store = Meddling()
        memory = SharedMemory(store)
        me = memory.agent("web")
        await me.shared.write_expiring("lease", "old", 1)
        await memory.advance_turn()
        store.meddle = True
        with pytest.raises(ConflictError):
            await me.shared.write("lease", "mine", expect=ABSENT)
        assert await me.value("shared/lease") == "somebody's newer write"

    run(main())


@pytest.mark.parametrize("policy", [Optimistic(), LastWriterWins()])
def test_an_update_of_what_has_expired_begins_with_nothing(policy: Any) -> None:
    async def main() -> None:
        memory = SharedMemory(policy=policy)
        me = memory.agent("web")
        await me.shared.write_expiring("list", ["old"], 1)
        await memory.advance_turn()
        entry = await me.shared.update("list", lambda items: [*(items or []), "new"])
        assert entry is not None
        assert entry.value == ["new"]

    run(main())


# --- a shared turn ---


def test_two_memories_share_the_turn_of_their_store() -> None:
    async def main() -> None:
        store = InMemoryStore()
        here, there = SharedMemory(store, turn="shared"), SharedMemory(store, turn="shared")
        assert await here.advance_turn(2) == 2
        entry = await there.write_expiring("web", "brief", 1, 1)
        assert entry.expires_at_turn == 3  # by the turn that the other memory made
        assert (await there.log())[-1].turn == 2
        assert await here.value("web/brief") == 1
        assert await there.advance_turn() == 3
        assert await here.snapshot() == {"version": 1, "turnCount": 3, "entries": []}
        assert await there.advance_turn() == 4
        assert await here.value("web/brief") is None
        assert await here.list() == []
        assert here.turn == 4
        assert [entry.key for entry in await store.list()] == ["__commonboard__/turn", "web/brief"]

    run(main())


def test_a_stale_memory_does_not_append_to_what_has_expired_for_the_others() -> None:
    async def main() -> None:
        store = InMemoryStore()
        here, there = SharedMemory(store, turn="shared"), SharedMemory(store, turn="shared")
        await here.write_expiring("web", "list", [1], 1)
        await there.advance_turn()
        assert (await here.agent("web").append("list", 2)).value == [2]

    run(main())


class SlowInMemoryStore(InMemoryStore):
    async def look(self, key: str) -> Any:
        found = await super().look(key)
        await asyncio.sleep(0)
        return found


class SlowWithCompareAndSet(WithCompareAndSet):
    async def get(self, key: str) -> Any:
        found = await super().get(key)
        await asyncio.sleep(0)
        return found


@pytest.mark.parametrize("store", [SlowInMemoryStore, SlowWithCompareAndSet])
@pytest.mark.filterwarnings("ignore:.*has no versions")
def test_no_step_of_a_shared_turn_is_lost(store: Any) -> None:
    async def main() -> None:
        shared = store()
        memories = [SharedMemory(shared, turn="shared") for _ in range(5)]
        await asyncio.gather(*(memory.advance_turn() for memory in memories for _ in range(3)))
        assert await SharedMemory(shared, turn="shared").advance_turn() == 16

    run(main())


def test_a_shared_turn_needs_compare_and_set() -> None:
    async def main() -> None:
        memory = SharedMemory(FiveMethods(), turn="shared")
        with pytest.raises(CapabilityError, match="FiveMethods has no compare_and_set, so a write cannot expect anything"):
            await memory.advance_turn()
        assert memory.turn == 0

    with pytest.warns(CapabilityWarning):
        run(main())
