"""Merge on a store that can only get and set: one key for each writer, merged when read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.helpers import FiveMethods, WithExpiry, everything, run

from commonboard import CommonboardError, Merge, Reject, SharedMemory
from commonboard.crdt import ORSet, PNCounter
from commonboard.errors import CapabilityError, NotAdmittedError


class Slow(FiveMethods):
    """Each call takes a while, so that calls of several agents lie within each other."""

    async def get(self, key: str) -> Any:
        await asyncio.sleep(0)
        return await super().get(key)

    async def set(self, key: str, value: str, metadata: Any = None) -> None:
        await asyncio.sleep(0)
        await super().set(key, value, metadata)

    async def list(self) -> Any:
        found = await super().list()
        await asyncio.sleep(0)
        return found


async def increment(counter: Any) -> None:
    await asyncio.sleep(0)
    counter.add(1)


@pytest.mark.parametrize("store", [FiveMethods, WithExpiry, Slow])
@pytest.mark.parametrize("agents", [["a"] * 5, ["a", "b", "c"] * 2], ids=["one agent", "three agents"])
def test_increments_at_the_same_time_all_count(store: Any, agents: list[str]) -> None:
    async def main() -> None:
        memory = SharedMemory(store(), policy=Merge(PNCounter))
        for round_ in range(1, 4):
            await asyncio.gather(*(memory.agent(name).shared.update("count", increment) for name in agents))
            assert (await memory.value("shared/count")).value == round_ * len(agents)

    run(main())


def test_two_memories_of_one_store_count_together() -> None:
    async def main() -> None:
        store = Slow()
        memories = [SharedMemory(store, policy=Merge(PNCounter)) for _ in range(2)]
        await asyncio.gather(*(memory.agent("same name").shared.update("count", increment) for memory in memories * 3))
        assert [(await memory.value("shared/count")).value for memory in memories] == [6, 6]

    run(main())


def test_each_writer_has_a_part_of_his_own_and_reads_merge_them() -> None:
    async def main() -> None:
        store = FiveMethods()
        memory = SharedMemory(store, policy=Merge(ORSet), incarnation="1")
        for name in ("web", "docs"):
            made = await memory.agent(name).shared.update("tags", lambda tags, name=name: tags.add(name))
            assert made is not None
            assert made.actor == name
        assert [entry.key for entry in await store.list()] == ["shared/tags/@web~1", "shared/tags/@docs~1"]
        entry = await memory.read("shared/tags")
        assert entry is not None
        assert entry.key == "shared/tags"
        assert sorted(entry.value.value) == ["docs", "web"]
        await memory.agent("web").shared.update("tags", lambda tags: tags.remove("docs"))
        assert (await memory.value("shared/tags")).value == ["web"]

    run(main())


def test_a_key_that_was_written_whole_is_not_merged_with_and_told_so() -> None:
    async def main() -> None:
        memory = SharedMemory(FiveMethods(), policy=Merge(ORSet))
        me = memory.agent("web")
        await me.shared.write("tags", ["a"])
        before = await everything(memory.store)
        with pytest.raises(CapabilityError, match="'shared/tags' holds a value that was written whole, and FiveMethods cannot"):
            await me.shared.update("tags", lambda tags: tags.add("b"))
        assert await everything(memory.store) == before
        await me.shared.delete("tags")
        await me.shared.update("tags", lambda tags: tags.add("b"))
        assert (await memory.value("shared/tags")).value == ["b"]

    run(main())


def test_a_key_in_parts_is_not_deleted_by_halves() -> None:
    async def main() -> None:
        memory = SharedMemory(FiveMethods(), policy=Merge(ORSet))
        me = memory.agent("web")
        await me.shared.update("tags", lambda tags: tags.add("b"))
        before = await everything(memory.store)
        with pytest.raises(CapabilityError, match=r"'shared/tags' is kept in parts, one for each writer.*nothing was deleted"):
            await me.shared.delete("tags")
        assert await everything(memory.store) == before

    run(main())


def test_a_plain_key_that_looks_like_a_part_is_none() -> None:
    async def main() -> None:
        memory = SharedMemory(FiveMethods(), policy=Merge(ORSet))
        me = memory.agent("web")
        await me.shared.write("tags/@home", "no part")
        assert await memory.read("shared/tags") is None
        await me.shared.update("tags", lambda tags: tags.add("b"))
        assert (await memory.value("shared/tags")).value == ["b"]

    run(main())


def test_parts_of_another_crdt_are_refused() -> None:
    async def main() -> None:
        memory = SharedMemory(FiveMethods())
        me = memory.agent("web")
        await me.shared.update("key", lambda tags: tags.add("b"), Merge(ORSet))
        before = await everything(memory.store)
        with pytest.raises(CommonboardError):
            await me.shared.update("key", lambda count: count.add(1), Merge(PNCounter))
        assert await everything(memory.store) == before

    run(main())


def test_a_change_that_raises_or_is_not_admitted_writes_no_part() -> None:
    class Guarded(Merge):
        def admit(self, base: Any, mine: Any) -> Any:
            return Reject("not on a Sunday")

    async def main() -> None:
        memory = SharedMemory(FiveMethods())
        me = memory.agent("web")
        with pytest.raises(NotAdmittedError, match="'web' may not change 'shared/tags': not on a Sunday; nothing was written"):
            await me.shared.update("tags", lambda tags: tags.add("b"), Guarded(ORSet))
        with pytest.raises(ZeroDivisionError):
            await me.shared.update("tags", lambda tags: 1 / 0, Merge(ORSet))
        assert await everything(memory.store) == []

    run(main())
