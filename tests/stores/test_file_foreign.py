"""FileStore and other programs: what they change enters the log, versions are never used twice, nothing is overwritten."""

# ruff: noqa: ASYNC240 - these stores work in the call, and so do their tests

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import everything, run

from commonboard import ConflictError, FileStore, LogicalClock, SharedMemory, Write
from commonboard.errors import StoreClosedError, StoreFileError

Top = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "board.json"


def in_place(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def by_renaming(path: Path, text: str) -> None:
    beside = path.with_name("board.json.tmp-1-1")
    beside.write_text(text, "utf-8")
    os.replace(beside, path)


def edit(path: Path, change: Callable[[list[Any]], None], *, keep_block: bool, write: Any = by_renaming) -> None:
    """What another program does: read the file, change the entries, write it; open-multi-agent does not keep our block."""
    top: Top = json.loads(path.read_text("utf-8"))
    change(top["entries"])
    if not keep_block:
        del top["commonboard"]
    write(path, json.dumps(top, ensure_ascii=False))


def their_edit(entries: list[Any]) -> None:
    """One entry kept, one changed, one gone, one new."""
    entries[1]["value"] = "theirs"
    del entries[2]
    entries.append({"key": "d", "value": "new", "metadata": {"agent": "them"}, "createdAt": "2026-05-05T05:05:05.555Z"})


async def filled(path: Path) -> FileStore:
    store = FileStore(path, clock=LogicalClock())
    for key in ("a", "b", "c"):
        await store.set(key, "1", {"agent": "us"})
    await store.set("b", "2", {"agent": "us"})
    return store


HOW = pytest.mark.parametrize("write", [by_renaming, in_place])
BLOCK = pytest.mark.parametrize("keep_block", [False, True], ids=["without our block", "with our block"])


@HOW
@BLOCK
def test_an_edit_while_the_file_is_open_enters_the_log(path: Path, write: Any, keep_block: bool) -> None:
    async def main() -> None:
        store = await filled(path)
        edit(path, their_edit, keep_block=keep_block, write=write)
        await store.set("e", "ours")  # overwrites nothing of theirs
        log = await store.events(4)
        assert [(e.operation, e.key, e.value, e.version_before, e.version, e.actor) for e in log] == [
            ("delete", "c", None, 1, 2, None),
            ("import", "b", "theirs", 2, 3, "us"),
            ("import", "d", "new", 0, 1, "them"),
            ("insert", "e", "ours", 0, 1, None),
        ]
        assert {e.reason for e in log} == {"changed in the file by another program", None}
        assert [(e.key, e.value, e.version) for e in await store.list()] == [
            ("a", "1", 1),
            ("b", "theirs", 3),
            ("d", "new", 1),
            ("e", "ours", 1),
        ]
        assert (await store.get("d")).created_at == datetime(2026, 5, 5, 5, 5, 5, 555_000, UTC)
        before = await everything(store)
        store.close()
        assert await everything(FileStore(path)) == before

    run(main())


def test_a_mere_read_takes_an_edit_in(path: Path) -> None:
    async def main() -> None:
        store = await filled(path)
        edit(path, their_edit, keep_block=False)
        assert (await store.get("b")).value == "theirs"
        assert "commonboard" in json.loads(path.read_text())
        assert len(await store.events()) == 7

    run(main())


def test_who_read_before_the_edit_is_refused_after_it(path: Path) -> None:
    async def main() -> None:
        store = await filled(path)
        seen = [await store.look(key) for key in ("b", "c", "d")]
        edit(path, their_edit, keep_block=False)
        for reading, key in zip(seen, ("b", "c", "d"), strict=True):
            with pytest.raises(ConflictError):
                await store.commit(Write(key, "ours", expect=reading.version))
        assert (await store.get("b")).value == "theirs"

    run(main())


def test_an_edit_while_the_file_is_closed_is_told_by_the_block_that_was_kept(path: Path) -> None:
    async def main() -> None:
        (await filled(path)).close()
        edit(path, their_edit, keep_block=True)
        store = FileStore(path)
        assert [(e.operation, e.key, e.version_before, e.version) for e in await store.events(4)] == [
            ("delete", "c", 1, 2),
            ("import", "b", 2, 3),
            ("import", "d", 0, 1),
        ]
        assert [(e.key, e.version) for e in await store.list()] == [("a", 1), ("b", 3), ("d", 1)]
        assert (await store.events())[4].created_at == (await store.events(key="c"))[0].created_at

    run(main())


def test_after_an_edit_without_the_block_no_version_is_used_twice(path: Path) -> None:
    """Nothing is known any more, so versions and the log begin at the time in microseconds."""

    async def main() -> None:
        store = await filled(path)
        held = {key: (await store.look(key)).version for key in ("a", "b", "c", "d", "never")}
        store.close()
        edit(path, their_edit, keep_block=False)
        now = datetime(2026, 12, 24, tzinfo=UTC)
        base = int(now.timestamp() * 1_000_000)
        store = FileStore(path, clock=lambda: now)
        assert [(e.operation, e.key, e.seq, e.version) for e in await store.events()] == [
            ("import", "a", base + 1, base + 1),
            ("import", "b", base + 2, base + 1),
            ("import", "d", base + 3, base + 1),
        ]
        for key, version in held.items():
            assert (await store.look(key)).version > version
            with pytest.raises(ConflictError):
                await store.commit(Write(key, "stale", expect=version))
        store.close()
        assert [e.version for e in await FileStore(path).list()] == [base + 1] * 3

    run(main())


def test_a_program_that_held_version_3_never_sees_it_again(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path)
        for number in range(3):
            await store.set("a", str(number))
        seen = (await store.get("a")).version
        assert seen == 3
        for keep_block in (False, True, False, False):
            store.close()
            edit(path, lambda entries: entries[0].update(value=entries[0]["value"] + "!"), keep_block=keep_block)
            store = FileStore(path)
            version = (await store.get("a")).version
            assert version > seen
            seen = version

    run(main())


def test_what_this_process_knows_of_versions_outlives_a_takeover_and_an_edit(path: Path) -> None:
    async def main() -> None:
        older = await filled(path)
        edit(path, their_edit, keep_block=False)
        newer = FileStore(path)
        assert [(e.key, e.version) for e in await newer.list()] == [("a", 1), ("b", 3), ("d", 1)]
        with pytest.raises(StoreClosedError):
            await older.get("a")

    run(main())


def test_an_old_copy_that_is_put_back_under_an_open_store_is_an_edit_too(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path)
        await store.set("a", "1")
        old = path.read_text()
        await store.set("a", "2")
        await store.set("b", "1")
        by_renaming(path, old)
        assert (await store.get("a")).version == 3
        assert [(e.operation, e.key, e.version) for e in await store.events(3)] == [("delete", "b", 2), ("import", "a", 3)]
        # Even where the entries are the same, the older versions in the copy must not stay on the disk.
        current = path.read_text()
        await store.set("a", "other")
        await store.set("a", "1")
        by_renaming(path, current)
        await store.get("a")
        store.close()
        assert (await FileStore(path).get("a")).version == 5

    run(main())


@BLOCK
def test_a_file_that_was_rewritten_without_a_change_leaves_no_event(path: Path, keep_block: bool) -> None:
    async def main() -> None:
        store = await filled(path)
        before = await everything(store)
        edit(path, lambda entries: None, keep_block=keep_block)
        assert await everything(store) == before
        store.close()
        assert await everything(FileStore(path)) == before

    run(main())


def test_javascript_may_cut_microseconds_without_that_being_a_change(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path, clock=LogicalClock(step_seconds=0.000_777))
        await store.set("a", "1")
        await store.set("b", "1")
        created = (await store.get("b")).created_at
        assert created.microsecond == 777

        def cut(entries: list[Any]) -> None:
            for record in entries:
                record["createdAt"] = record["createdAt"][:23] + "Z"

        edit(path, cut, keep_block=False)
        assert (await store.get("b")).created_at == created
        assert len(await store.events()) == 2

        def cut_and_change(entries: list[Any]) -> None:
            cut(entries)
            entries[1]["value"] = "2"

        edit(path, cut_and_change, keep_block=False)
        assert ((await store.get("b")).value, (await store.get("b")).created_at) == ("2", created)

    run(main())


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(value="other"),
        lambda record: record.update(metadata={"agent": "them"}),
        lambda record: record.update(expiresAtTurn=3),
        lambda record: record.update(createdAt="2020-01-01T00:00:00.000Z"),
    ],
    ids=["value", "metadata", "expiry", "creation"],
)
@BLOCK
@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
def test_every_field_of_an_entry_is_watched(path: Path, change: Any, keep_block: bool, opened: bool) -> None:
    async def main() -> None:
        store = await filled(path)
        if not opened:
            store.close()
        edit(path, lambda entries: change(entries[1]), keep_block=keep_block)
        store = store if opened else FileStore(path)
        changed = (await store.events())[-1]
        if opened or keep_block:
            assert (changed.operation, changed.key, changed.version) == ("import", "b", 3)
        record = json.loads(path.read_text())["entries"][1]
        expected = {"key": "b", "value": "2", "metadata": {"agent": "us"}, "createdAt": "2026-01-01T00:00:01.000Z"}
        change(expected)
        assert record == expected

    run(main())


def test_an_order_that_somebody_else_made_is_kept_and_pages_still_work(path: Path) -> None:
    async def main() -> None:
        store = await filled(path)
        edit(path, lambda entries: entries.reverse(), keep_block=False)
        assert [entry.key for entry in await store.list()] == ["c", "b", "a"]
        assert len(await store.events()) == 4
        assert await _page_by_page(store) == ["c", "b", "a"]
        await store.set("d", "1")
        store.close()
        assert await _page_by_page(FileStore(path)) == ["c", "b", "a", "d"]

    run(main())


async def _page_by_page(store: FileStore) -> list[str]:
    page = await store.list(limit=1)
    found = [entry.key for entry in page]
    while page.cursor is not None:
        page = await store.list(limit=1, after=page.cursor)
        found += [entry.key for entry in page]
    return found


def test_delete_then_set_by_another_program_goes_last(path: Path) -> None:
    async def main() -> None:
        store = await filled(path)

        def again(entries: list[Any]) -> None:
            entries.append(entries.pop(0) | {"createdAt": "2026-05-05T05:05:05.555Z"})

        edit(path, again, keep_block=False)
        assert [entry.key for entry in await store.list()] == ["b", "c", "a"]
        assert [entry.key for entry in await store.list(limit=2)] == ["b", "c"]
        assert [entry.key for entry in await store.list(after=(await store.list(limit=2)).cursor)] == ["a"]

    run(main())


def test_a_file_that_appears_under_an_empty_store_is_taken_in(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path)
        by_renaming(path, '{"version":1,"entries":[{"key":"a","value":"1","createdAt":"2026-01-01T00:00:00.000Z"}]}')
        await store.set("b", "1")
        assert [(e.operation, e.key) for e in await store.events()] == [("import", "a"), ("insert", "b")]

    run(main())


def test_a_file_that_vanishes_is_not_made_anew_from_memory_nor_taken_for_empty(path: Path) -> None:
    async def main() -> None:
        store = await filled(path)
        aside = path.with_name("aside.json")
        path.rename(aside)
        for call in (store.get("a"), store.list(), store.set("a", "2")):
            with pytest.raises(StoreFileError, match="has vanished while it was open; put it back, or open the path again"):
                await call
        assert not path.exists()
        aside.rename(path)
        assert len(await store.list()) == 3
        reader = FileStore(path, readonly=True)
        path.unlink()
        with pytest.raises(StoreFileError, match="has vanished"):
            await reader.get("a")

    run(main())


def test_a_reader_sees_an_edit_at_once_and_the_versions_of_the_writer_once_there_are_any(path: Path) -> None:
    async def main() -> None:
        writer = await filled(path)
        reader = FileStore(path, readonly=True)
        edit(path, their_edit, keep_block=False)
        edited = path.read_bytes()
        assert [(e.key, e.value, e.version) for e in await reader.list()] == [("a", "1", 1), ("b", "theirs", 3), ("d", "new", 1)]
        assert path.read_bytes() == edited
        await writer.set("b", "ours")
        assert (await reader.get("b")).version == 4
        assert await everything(reader) == await everything(writer)

    run(main())


def test_entries_of_another_program_are_values_like_any_other(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path)
        memory = SharedMemory(store)
        me = memory.agent("web")
        await me.shared.write("questions", ["who?"])

        def theirs(entries: list[Any]) -> None:
            entries[0]["value"] = '[ "who?", "why?" ]'

        edit(path, theirs, keep_block=False)
        await me.shared.update("questions", lambda items: [*items, "when?"])
        assert await me.value("shared/questions") == ["who?", "why?", "when?"]
        assert [e.operation for e in await memory.log()] == ["insert", "import", "replace"]

    run(main())


def test_a_reader_counts_from_0_where_no_version_is_known_and_the_writer_above_all(path: Path) -> None:
    async def main() -> None:
        (await filled(path)).close()
        edit(path, their_edit, keep_block=False)
        reader = FileStore(path, readonly=True)
        assert [entry.version for entry in await reader.list()] == [1, 1, 1]
        writer = FileStore(path, clock=lambda: datetime(2026, 12, 24, tzinfo=UTC))
        assert await everything(reader) == await everything(writer)

    run(main())
