"""Bug reports of other projects, each as the behaviour that it asked for.

The numbers are those of the reports; what each says is told in our own words. Those that the conformance suite covers on
every store (live references, creation times, segment boundaries, limits, validation on every verb …) are not here again.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import everything, run

from commonboard import ConflictError, FileStore, InMemoryStore, SharedMemory
from commonboard.errors import NameNotAllowedError, StoreReadOnlyError, StoreShapeError, StoreWriteError


def test_reading_an_expired_entry_never_deletes_what_was_written_meanwhile() -> None:
    """open-multi-agent#213: the clean-up of a read stomped on a fresh write."""

    class Interleaved(InMemoryStore):
        async def look(self, key: str) -> Any:
            reading = await super().look(key)
            await asyncio.sleep(0)
            return reading

    async def main() -> None:
        memory = SharedMemory(Interleaved())
        me = memory.agent("web")
        await me.shared.write_expiring("key", "old", 1)
        await memory.advance_turn()
        read, _ = await asyncio.gather(me.read("shared/key"), me.shared.write("key", "fresh"))
        assert read is None
        assert await me.value("shared/key") == "fresh"
        assert {event.operation for event in await memory.log()} == {"insert", "replace"}

    run(main())


@pytest.mark.parametrize("store", [None, 0, ""])
def test_a_store_that_is_given_as_nothing_is_an_error_and_not_the_default(store: Any) -> None:
    """open-multi-agent#157: a store given as null, 0 or '' silently meant no store."""
    with pytest.raises(StoreShapeError):
        SharedMemory(store)


def test_of_twelve_who_update_at_once_twelve_survive_or_are_told() -> None:
    """ruflo#2878: twelve of twelve writers were told that they had succeeded, and two writes survived."""

    async def main() -> None:
        memory = SharedMemory()

        async def change(items: Any) -> Any:
            await asyncio.sleep(0)
            return [*(items or []), 1]

        agents = [memory.agent(f"agent-{number}") for number in range(12)]
        results = await asyncio.gather(*(me.shared.update("list", change) for me in agents), return_exceptions=True)
        told = sum(not isinstance(result, ConflictError) for result in results)
        assert len(await memory.value("shared/list")) == told == 12

    run(main())


def test_a_thousand_reads_of_nothing_leave_nothing_in_listings_digest_or_snapshot() -> None:
    """langgraph#8734: reading an unknown namespace made it appear."""

    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        for number in range(1000):
            await me.read(f"docs/{number}")
            await me.delete(f"{number}")
        assert await memory.list() == []
        assert await memory.summary() == ""
        assert (await memory.snapshot())["entries"] == []
        assert await memory.log() == []

    run(main())


def test_one_agents_prefix_never_shows_another_whose_name_begins_like_it() -> None:
    """langgraph#8478, crewAI#7543: a search in `foo` returned `foobar`; a leak, and a deletion too many."""

    async def main() -> None:
        memory = SharedMemory()
        for name in ("acme", "acme-corp", "acme_corp", "ac%", "acme.x"):
            await memory.write(name, "key", name)
        for name in ("acme", "acme-corp", "acme_corp", "ac%", "acme.x"):
            assert [entry.value for entry in await memory.list(name)] == [name]
        await memory.agent("acme").delete("key")
        assert len(await memory.list()) == 4

    run(main())


def test_a_name_with_a_separator_in_it_never_gets_at_the_keys_of_two() -> None:
    """langgraphjs#2721: ('a', 'b:c') and ('a:b', 'c') were one key."""
    with pytest.raises(NameNotAllowedError):
        SharedMemory().agent("a/b")


def test_none_in_a_key_is_refused_when_it_is_written() -> None:
    """langgraph#6240: None was stored in a namespace, and every listing died of it afterwards."""
    memory = SharedMemory()
    nothing: Any = None
    with pytest.raises(NameNotAllowedError, match="not None"):
        run(memory.agent("web").write(nothing, 1))
    assert run(memory.list()) == []


def test_readonly_changes_no_byte_and_says_so(tmp_path: Path) -> None:
    """crewAI#7368: a memory opened to read still wrote, by its updates and even by its reads."""
    path = tmp_path / "board.json"
    run(SharedMemory(FileStore(path)).write("web", "key", 1))
    before = path.read_bytes(), path.stat().st_mtime_ns
    memory = SharedMemory(FileStore(path, readonly=True))
    assert run(memory.value("web/key")) == 1
    assert len(run(memory.list())) == 1
    with pytest.raises(StoreReadOnlyError):
        run(memory.write("web", "key", 2))
    with pytest.raises(StoreReadOnlyError):
        run(memory.agent("web").update("key", lambda value: value + 1))
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_read_gives_what_another_agent_has_just_written() -> None:
    """letta#2068: another agent's update of a shared block was visible only after the next message."""

    async def main() -> None:
        memory = SharedMemory()
        web, docs = memory.agent("web"), memory.agent("docs")
        for number in range(3):
            await web.shared.write("key", number)
            assert await docs.value("shared/key") == number

    run(main())


def test_an_update_of_what_is_not_there_creates_it() -> None:
    """letta#2181: rewriting an absent block raised instead of creating it; here it creates, for every kind of update."""

    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        assert (await me.shared.update("a", lambda value: value or "new")).value == "new"  # type: ignore[union-attr]
        assert (await me.shared.append("b", 1)).value == [1]
        assert await me.shared.compare_and_set("c", None, "new") is True

    run(main())


def test_the_losing_record_is_in_the_log() -> None:
    """langmem#180: what lost was destroyed without a trace."""

    async def main() -> None:
        memory = SharedMemory()
        await memory.agent("web").shared.write("key", "lost")
        await memory.agent("docs").shared.write("key", "stands", reason="newer source")
        assert [(e.actor, e.value) for e in await memory.log(key="shared/key")] == [("web", "lost"), ("docs", "stands")]

    run(main())


def test_a_restore_keeps_when_entries_were_created_and_in_which_order() -> None:
    """open-multi-agent, by reading: a restore deletes and sets, so every entry is born anew."""

    async def main() -> None:
        memory = SharedMemory()
        await memory.write("web", "b", 1)
        await memory.write("web", "a", 1)
        before = [(entry.key, entry.created_at) for entry in await memory.list()]
        snapshot = await memory.snapshot()
        await memory.write("web", "a", 2)
        await memory.restore(snapshot)
        assert [(entry.key, entry.created_at) for entry in await memory.list()] == before

    run(main())


def test_an_agent_with_the_name_of_a_reserved_prefix_cannot_hide_records_there() -> None:
    """open-multi-agent, by reading: an agent named like a reserved prefix could overwrite a checkpoint."""

    async def main() -> None:
        store = InMemoryStore()
        await store.set("__oma_checkpoint__/run1", "precious")
        memory = SharedMemory(store)
        with pytest.raises(NameNotAllowedError):
            await memory.write("__oma_checkpoint__", "run1", "gone")
        assert (await store.get("__oma_checkpoint__/run1")).value == "precious"  # type: ignore[union-attr]

    run(main())


def test_a_failed_flush_leaves_no_value_in_memory_that_is_not_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """open-multi-agent's file store, by reading: its memory changes before the flush, so readers see what was rejected."""

    async def main() -> None:
        memory = SharedMemory(FileStore(tmp_path / "board.json"))
        me = memory.agent("web")
        await me.shared.write("key", "before")
        before = await everything(memory.store)

        def full(fd: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr("os.fsync", full)
            with pytest.raises(StoreWriteError):
                await me.shared.compare_and_set("key", "before", "after")
        assert await everything(memory.store) == before
        assert await me.value("shared/key") == "before"

    run(main())
