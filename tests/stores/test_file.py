"""FileStore: the file, what of a board it keeps, what it refuses to open, and whole-or-nothing writes."""

# ruff: noqa: ASYNC240 - these stores work in the call, and so do their tests

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.helpers import SHARED, everything, python, run

from commonboard import FileStore, LogicalClock, MemoryEntry, SharedMemory, Write
from commonboard.errors import (
    InvalidArgumentError,
    InvalidKeyError,
    LogCompactedError,
    StoreClosedError,
    StoreFileError,
    StoreReadOnlyError,
    StoreWriteError,
)

EXAMPLE = SHARED / "files" / "open-multi-agent-memory.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "board.json"


def entries_of(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text("utf-8"))["entries"]


def names_in(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


async def filled(path: Path, **options: Any) -> FileStore:
    """A store with a bit of everything: an overwrite, metadata, an expiry, a deleted key, a cleared past."""
    store = FileStore(path, clock=LogicalClock(step_seconds=0.001234), **options)
    await store.set("before", "1")
    await store.clear()
    await store.set("web/a", "1", {"agent": "web", "deep": {"n": [1, 2.5, None, True]}})
    await store.set("web/a", "2", {"agent": "web"})
    await store.set_with_expiry("docs/é\n😀", "expires\u2028", 3)
    await store.commit(Write("gone", "1", actor="web", reason="why", turn=1, saw=0), Write("gone", None))
    return store


# --- the file ---


def test_a_missing_file_is_an_empty_board_and_opening_makes_none(path: Path) -> None:
    store = FileStore(path)
    assert run(store.list()) == []
    assert run(store.look("a")).version == 0
    assert not path.exists()


def test_the_folders_above_are_made(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "board.json"
    run(FileStore(path).set("a", "1"))
    assert [record["key"] for record in entries_of(path)] == ["a"]


def test_the_file_has_the_shapes_that_open_multi_agent_reads(path: Path) -> None:
    run(filled(path))
    top = json.loads(path.read_text("utf-8"))
    assert list(top) == ["version", "entries", "commonboard"]
    assert top["version"] == 1
    assert top["entries"] == [
        {"key": "web/a", "value": "2", "metadata": {"agent": "web"}, "createdAt": "2026-01-01T00:00:00.002468Z"},
        {"key": "docs/é\n😀", "value": "expires\u2028", "createdAt": "2026-01-01T00:00:00.004936Z", "expiresAtTurn": 3},
    ]
    assert_that_open_multi_agent_would_open(path)


def assert_that_open_multi_agent_would_open(path: Path) -> None:
    """Its rules for a store file (research on its source), told once more."""
    top = json.loads(path.read_bytes().decode("utf-8"), parse_constant=pytest.fail)
    assert top["version"] == 1
    for record in top["entries"]:
        assert isinstance(record["key"], str)
        assert isinstance(record["value"], str)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\d{3})?Z", record["createdAt"])
        assert isinstance(record.get("metadata", {}), dict)
        assert isinstance(record.get("expiresAtTurn", 0), int)
        assert set(record) <= {"key", "value", "metadata", "createdAt", "expiresAtTurn"}


def test_all_that_a_board_knows_is_there_after_reopening(path: Path) -> None:
    async def main() -> None:
        store = await filled(path)
        before = await everything(store), [await store.look(key) for key in ("web/a", "gone", "before", "never")]
        store.close()
        again = FileStore(path)
        assert (await everything(again), [await again.look(key) for key in ("web/a", "gone", "before", "never")]) == before
        reader = FileStore(path, readonly=True)
        assert await everything(reader) == before[0]
        assert (await again.look("never")).version == 2
        assert [e.operation for e in await again.events()][-2:] == ["insert", "delete"]

    run(main())


def test_opening_a_file_of_ours_does_not_write_it(path: Path) -> None:
    run(filled(path)).close()
    before = path.read_bytes(), path.stat().st_mtime_ns
    FileStore(path).close()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_call_that_changes_nothing_writes_nothing(path: Path) -> None:
    async def main() -> None:
        store = await filled(path)
        before = path.stat().st_mtime_ns
        await store.delete("never")
        await store.commit()
        await store.compare_and_set("web/a", "no", "x")
        await store.get("web/a")
        await store.list()
        assert path.stat().st_mtime_ns == before

    run(main())


METADATA = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=5),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8"), max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=3)
        ),
        max_leaves=5,
    ),
    max_size=3,
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@settings(max_examples=40)
@given(
    entries=st.dictionaries(TEXT.filter(bool), st.tuples(TEXT, METADATA, st.none() | st.integers()), max_size=5),
    start=st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_what_was_written_is_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, tuple[str, Any, int | None]], start: datetime
) -> None:
    path = tmp_path_factory.mktemp("boards") / "board.json"

    async def main() -> None:
        with_clock = FileStore(path, clock=LogicalClock(start, 0.000_001))
        await with_clock.commit(*(Write(key, v, m, expires_at_turn=t) for key, (v, m, t) in entries.items()))
        before = await everything(with_clock)
        with_clock.close()
        store = FileStore(path)
        assert await everything(store) == before
        assert [(e.key, e.value, e.metadata, e.expires_at_turn) for e in await store.list()] == [
            (key, *rest) for key, rest in entries.items()
        ]
        store.close()
        if entries:
            assert_that_open_multi_agent_would_open(path)

    run(main())


def test_the_newest_events_are_kept_and_versions_outlive_the_rest(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path, keep_events=3)
        for number in range(4):
            await store.set("gone", str(number))
        await store.delete("gone")
        held = (await store.look("gone")).version
        for number in range(5):
            await store.set("a", str(number))
        for opened in (store, None):
            opened = opened or FileStore(path, keep_events=3)
            assert [event.value for event in await opened.events()] == ["2", "3", "4"]
            assert (await opened.list()).position == 10
            assert (await opened.look("gone")).version == held == 5
            with pytest.raises(LogCompactedError, match="events 2 to 7 are no longer"):
                await opened.events(1)
        await opened.set("gone", "again")
        assert (await opened.get("gone")).version == held + 1

    run(main())


@pytest.mark.parametrize("number", [0, -1, 1.5, "3", True, None])
def test_a_wrong_keep_events_is_refused(path: Path, number: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="keep_events must be a whole number of at least 1"):
        FileStore(path, keep_events=number)


def test_fields_of_others_at_the_top_of_the_file_are_kept(path: Path) -> None:
    note = {"deep": [1, 2.5, "half \ud800"], "é": None}
    path.write_text(json.dumps({"version": 1, "note": note, "entries": [], "z": "last"}))
    store = FileStore(path)
    run(store.set("a", "1"))
    top = json.loads(path.read_text("utf-8"))
    assert (top["note"], top["z"]) == (note, "last")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o666, 0o640], ids=oct)
def test_the_permissions_of_the_file_are_kept(path: Path, mode: int) -> None:
    store = FileStore(path)
    run(store.set("a", "1"))
    path.chmod(mode)
    run(store.set("a", "2"))
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link.json", tmp_path / "folder" / "board.json"
    target.parent.mkdir()
    link.symlink_to(target)
    run(FileStore(link).set("a", "1"))
    assert link.is_symlink()
    assert [record["key"] for record in entries_of(target)] == ["a"]
    older = FileStore(target)
    FileStore(link)
    with pytest.raises(StoreClosedError):
        run(older.get("a"))


def test_its_repr_names_the_file_and_reads_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    store = FileStore("board.json")
    run(store.set("a", "1"))
    run(store.set("a", "2"))
    reader = FileStore("board.json", readonly=True)
    path.write_text("broken")
    assert repr(store) == "FileStore('board.json', 1 entries, 2 events)"
    assert repr(reader) == "FileStore('board.json', readonly, 1 entries, 2 events)"
    store.close()
    assert repr(store) == "FileStore('board.json', closed, 1 entries, 2 events)"


# --- what is no board ---

RECORD = {"key": "a", "value": "1", "createdAt": "2026-11-30T15:48:46.676Z"}


def board(*records: Any, **top: Any) -> bytes:
    return json.dumps({"version": 1, "entries": list(records)} | top).encode()


BLOCK: dict[str, Any] = {"format": 1, "seq": 0, "floor": 0, "keys": {}, "gone": {}, "events": []}
EVENT = {
    "seq": 1,
    "operation": "insert",
    "key": "a",
    "value": "1",
    "version_before": 0,
    "version": 1,
    "at": "2026-11-30T15:48:46.676Z",
    "created_at": "2026-11-30T15:48:46.676Z",
}
NO_BOARDS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty (0 bytes)"),
    "blank": (b" \n", "it is not JSON"),
    "not JSON": (b"not JSON", "it is not JSON"),
    "cut off": (board(RECORD)[:-3], "it is not JSON"),
    "two": (board(RECORD) * 2, "it is not JSON"),
    "not UTF-8": (b'{"version":1,"entries":[],"x":"\xff"}', "it is not JSON"),
    "UTF-16": (board().decode().encode("utf-16"), "it is not JSON"),
    "nested too deep": (b"[" * 100_000, "it is not JSON"),
    "a list": (b"[]", "it holds a JSON list"),
    "no version": (b'{"entries":[]}', "its version is None"),
    "newer": (board(version=2), "its version is 2, and this program knows version 1"),
    "a version in text": (board(version="1"), "its version is '1'"),
    "a true version": (board(version=True), "its version is True"),
    "no entries": (b'{"version":1}', "it has no list of entries"),
    "entries that are no list": (b'{"version":1,"entries":{}}', "it has no list of entries"),
    "an entry that is no object": (board("a"), "entry 0 is not an object"),
    "no key": (board(RECORD, {"value": "1"}), "entry 1 lacks 'key' as text"),
    "a key that is no text": (board(RECORD | {"key": 5}), "entry 0 lacks 'key' as text"),
    "an empty key": (board(RECORD | {"key": ""}), "entry 0: the key is empty"),
    "a NUL in a key": (board(RECORD | {"key": "a\0"}), "entry 0: the key holds a NUL"),
    "half a character in a key": (board(RECORD | {"key": "a\ud800"}), "entry 0: the key holds half of a surrogate pair"),
    "a value that is no text": (board(RECORD | {"value": {"a": 1}}), "entry 0 lacks 'value' as text"),
    "half a character in a value": (board(RECORD | {"value": "\udfff"}), "entry 0: the value for 'a' holds half"),
    "no createdAt": (board({"key": "a", "value": "1"}), "entry 0 lacks 'createdAt' as text"),
    "createdAt that is no time": (board(RECORD | {"createdAt": "soon"}), "entry 0: 'soon' is not an ISO time"),
    "metadata null": (board(RECORD | {"metadata": None}), "entry 0 has metadata that are not an object"),
    "metadata text": (board(RECORD | {"metadata": "x"}), "entry 0 has metadata that are not an object"),
    "metadata list": (board(RECORD | {"metadata": []}), "entry 0 has metadata that are not an object"),
    "NaN": (board(RECORD | {"metadata": {"n": float("nan")}}), "it holds NaN, which is not JSON"),
    "a number without end": (board(RECORD).replace(b'"1"', b'"1","metadata":{"n":1e999}'), "1e999, which is too large"),
    "expiresAtTurn text": (board(RECORD | {"expiresAtTurn": "2"}), "entry 0 has expiresAtTurn '2'"),
    "expiresAtTurn true": (board(RECORD | {"expiresAtTurn": True}), "entry 0 has expiresAtTurn True"),
    "a field of the future": (board(RECORD | {"updatedAt": "now"}), "the field 'updatedAt', which this program would lose"),
    "one key twice": (board(RECORD, RECORD | {"value": "2"}), "entry 1: the key 'a' is there twice"),
    "one field twice": (b'{"version":1,"version":1,"entries":[]}', "the name 'version' stands twice in one object"),
    "a block that is no object": (board(commonboard=[]), "its 'commonboard' block is damaged (it is not an object)"),
    "a newer block": (board(commonboard=BLOCK | {"format": 2}), "its format is 2, and this program knows format 1"),
    "a block without keys": (board(commonboard={"format": 1}), "its 'commonboard' block is damaged"),
    "a block with a version below 0": (board(RECORD, commonboard=BLOCK | {"keys": {"a": [-1, 1, ""]}}), "-1 stands where"),
    "a block with a version in text": (board(commonboard=BLOCK | {"gone": {"a": "1"}}), "'1' stands where a whole number"),
    "a block with half a character": (board(commonboard=BLOCK | {"gone": {"\ud800": 1}}), "block is damaged"),
    "events that do not fit": (board(commonboard=BLOCK | {"events": [EVENT]}), "its events do not lead up to position 0"),
    "an event without a key": (board(commonboard=BLOCK | {"seq": 1, "events": [EVENT | {"key": None}]}), "an event has key None"),
    "an event with a strange field": (board(commonboard=BLOCK | {"seq": 1, "events": [EVENT | {"x": 1}]}), "is damaged"),
    "an event at no time": (board(commonboard=BLOCK | {"seq": 1, "events": [EVENT | {"at": "soon"}]}), "'soon' is not an ISO"),
}


@pytest.mark.parametrize("readonly", [False, True], ids=["to write", "to read"])
@pytest.mark.parametrize("kind", NO_BOARDS)
def test_a_file_that_is_no_board_is_refused_by_name_and_left_as_it_is(path: Path, kind: str, readonly: bool) -> None:
    data, why = NO_BOARDS[kind]
    path.write_bytes(data)
    with pytest.raises(StoreFileError) as raised:
        FileStore(path, readonly)
    assert str(path) in str(raised.value)
    assert why in str(raised.value)
    assert "mend it, or move it away" in str(raised.value)
    assert path.read_bytes() == data
    path.write_bytes(board(RECORD))  # the failed opening holds no lock and remembers nothing
    assert [entry.key for entry in run(FileStore(path, readonly).list())] == ["a"]


def test_a_damaged_block_says_how_to_open_the_entries_without_it(path: Path) -> None:
    path.write_bytes(board(RECORD, commonboard={"format": 1}))
    with pytest.raises(StoreFileError, match="take the field 'commonboard' out of the file to open it without its log"):
        FileStore(path)


def test_a_file_that_breaks_while_it_is_open_stops_reads_and_writes_until_it_is_mended(path: Path) -> None:
    async def main() -> None:
        store = await filled(path)
        good = path.read_bytes()
        path.write_bytes(good[:50])
        for call in (store.get("web/a"), store.list(), store.events(), store.set("web/a", "3"), store.clear()):
            with pytest.raises(StoreFileError, match="it is not JSON"):
                await call
        assert path.read_bytes() == good[:50]
        path.write_bytes(good)
        await store.set("web/a", "3")
        assert [event.operation for event in await store.events()][-1] == "replace"

    run(main())


def test_a_folder_is_no_board(tmp_path: Path) -> None:
    with pytest.raises(StoreFileError, match=r"is a folder; give the path of a file, such as .*board.json"):
        FileStore(tmp_path)


def test_a_device_is_no_board() -> None:
    with pytest.raises(StoreFileError, match="is no ordinary file"):
        FileStore(os.devnull)


def test_a_path_under_a_file_is_no_board(path: Path) -> None:
    path.write_bytes(board())
    with pytest.raises(StoreFileError, match="cannot be opened: Not a directory"):
        FileStore(path / "board.json")


@pytest.mark.parametrize("wrong", [5, None, b"board.json", "a\0b"])
def test_a_path_that_is_no_path_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidKeyError, match="the path of the file"):
        FileStore(wrong)


def test_readonly_needs_a_file(path: Path) -> None:
    with pytest.raises(StoreFileError, match="does not exist; open it without readonly to make it"):
        FileStore(path, readonly=True)
    assert names_in(path.parent) == []


def test_readonly_refuses_every_write_and_leaves_no_trace(path: Path) -> None:
    async def main() -> None:
        (await filled(path)).close()
        (path.parent / "board.json.lock").unlink()
        before = path.read_bytes()
        reader = FileStore(path, readonly=True)
        writes = (
            reader.set("a", "1"),
            reader.set_with_expiry("a", "1", 1),
            reader.compare_and_set("web/a", "2", "3"),
            reader.compare_and_set("web/a", "no", "3"),
            reader.commit(Write("a", "1")),
            reader.commit(Write("a", "1", expect=99)),
            reader.commit(),
            reader.delete("web/a"),
            reader.delete("never"),
            reader.clear(),
        )
        for call in writes:
            with pytest.raises(StoreReadOnlyError, match="was opened with readonly=True; open it without"):
                await call
        assert path.read_bytes() == before
        assert names_in(path.parent) == ["board.json"]

    run(main())


# --- writes that fail ---


def fail(code: int) -> Any:
    def failing(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return failing


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
@pytest.mark.parametrize("call", ["set", "clear", "delete", "commit", "compare_and_set"])
def test_a_write_that_fails_changes_neither_memory_nor_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, call: str
) -> None:
    async def main() -> None:
        store = await filled(path)
        before, data, names = await everything(store), path.read_bytes(), names_in(path.parent)
        calls = {
            "set": lambda: store.set("web/a", "3"),
            "clear": store.clear,
            "delete": lambda: store.delete("web/a"),
            "commit": lambda: store.commit(Write("web/a", "3"), Write("new", "1")),
            "compare_and_set": lambda: store.compare_and_set("web/a", "2", "3"),
        }
        with monkeypatch.context() as broken:
            broken.setattr(os, step, fail(errno.ENOSPC))
            with pytest.raises(StoreWriteError, match="No space left on device; the file and the memory are as they were"):
                await calls[call]()
        assert await everything(store) == before
        assert path.read_bytes() == data
        assert names_in(path.parent) == names
        await calls[call]()  # a failed write does not poison the next
        after = await everything(store)
        assert after != before
        assert await everything(FileStore(path)) == after

    run(main())


FULL_DISK = """
import asyncio, resource, sys
from commonboard import FileStore
from commonboard.errors import StoreWriteError

async def main():
    store = FileStore(sys.argv[1])
    await store.set("a", "small")
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    try:
        await store.set("a", "x" * 5000)
    except StoreWriteError as error:
        print(error)
    print((await store.get("a")).value, (await store.get("a")).version, len(await store.events()))
    await store.set("b", "small too")
    print(sorted(entry.key for entry in await store.list()))

asyncio.run(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_a_disk_that_is_really_full_changes_nothing_and_later_writes_work(path: Path) -> None:
    out, err = python(FULL_DISK, path).communicate()
    assert err == ""
    told = out.splitlines()
    assert "could not be written: File too large; the file and the memory are as they were before" in told[0]
    assert told[1:] == ["small 1 1", "['a', 'b']"]
    assert [(record["key"], record["value"]) for record in entries_of(path)] == [("a", "small"), ("b", "small too")]
    assert names_in(path.parent) == ["board.json", "board.json.lock"]


def test_a_write_whose_folder_cannot_be_synced_stands_and_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = await filled(path)
        with monkeypatch.context() as broken:
            broken.setattr("commonboard.stores.file.sync_folder", fail(errno.EIO))
            with pytest.raises(StoreWriteError, match="the write stands, and a power cut may undo it"):
                await store.set("web/a", "3")
        assert (await store.get("web/a")).value == "3"
        assert entries_of(path)[0]["value"] == "3"
        assert [event.value for event in await store.events(key="web/a")] == ["1", "2", "3"]

    run(main())


@pytest.mark.parametrize("renamed", [False, True], ids=["before the rename", "right after the rename"])
def test_an_interrupt_in_a_write_leaves_memory_and_disk_in_step(
    path: Path, monkeypatch: pytest.MonkeyPatch, renamed: bool
) -> None:
    replace = os.replace

    def interrupted(*names: str) -> None:
        if renamed:
            replace(*names)
        raise KeyboardInterrupt

    async def main() -> None:
        store = await filled(path)
        with monkeypatch.context() as broken:
            broken.setattr(os, "replace", interrupted)
            with pytest.raises(KeyboardInterrupt):
                await store.set("web/a", "3")
        assert (await store.get("web/a")).value == ("3" if renamed else "2")
        assert entries_of(path)[0]["value"] == ("3" if renamed else "2")
        await store.set("web/a", "4")
        written = [event.value for event in await store.events(key="web/a") if event.operation != "import"]
        assert written == (["1", "2", "3", "4"] if renamed else ["1", "2", "4"])
        assert names_in(path.parent) == ["board.json", "board.json.lock"]

    run(main())


def test_the_data_are_forced_to_the_disk_before_the_rename_and_the_folder_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(fd: int) -> None:
        done.append("sync folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "sync file")
        fsync(fd)

    def noted_replace(*names: str) -> None:
        done.append("rename")
        replace(*names)

    store = FileStore(path)
    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    run(store.set("a", "1"))
    assert done == ["sync file", "rename", "sync folder"]


UNPRIVILEGED = """
import asyncio, os, sys
from commonboard import FileStore
from commonboard.errors import CommonboardError

if os.getuid() == 0:  # who may do everything
    os.setgid(65534)
    os.setuid(65534)
path = sys.argv[1]
try:
    FileStore(path)
except CommonboardError as error:
    print(type(error).__name__, error)
print([entry.key for entry in asyncio.run(FileStore(path, readonly=True).list())])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "said"),
    [(0o555, 0o666, "cannot be opened for writing: Permission denied"), (0o777, 0o444, "may not be written")],
    ids=["the folder", "the file"],
)
def test_without_the_permission_to_write_opening_says_so_and_reading_works(folder_mode: int, file_mode: int, said: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is closed to other users
        path = Path(folder) / "board.json"
        run(FileStore(path).set("a", "1"))
        (Path(folder) / "board.json.lock").unlink()
        path.chmod(file_mode)
        Path(folder).chmod(folder_mode)
        out, err = python(UNPRIVILEGED, path).communicate()
        Path(folder).chmod(0o777)
    assert err == ""
    error, read = out.splitlines()
    assert error.startswith("StoreWriteError ")
    assert said in error
    assert "readonly=True" in error
    assert read == "['a']"


def test_a_folder_in_which_nothing_can_be_made_is_a_clear_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonboard.stores.file.SidecarLock", fail(errno.EROFS))
    with pytest.raises(StoreWriteError, match=r"cannot be opened for writing: Read-only file system .*readonly=True"):
        FileStore(path)


# --- closing ---


def test_a_closed_store_refuses_to_work_and_says_what_to_do(path: Path) -> None:
    async def main() -> None:
        async with await filled(path) as store:
            await store.set("a", "1")
        store.close()
        for call in (store.get("a"), store.list(), store.events(), store.set("a", "2"), store.delete("a"), store.clear()):
            with pytest.raises(StoreClosedError, match=r"it was closed; open it again with FileStore\(path\)"):
                await call
        assert entries_of(path)[-1]["value"] == "1"
        async with FileStore(path) as again:
            assert (await again.get("a")).value == "1"

    run(main())


def test_a_clock_of_ones_own_dates_entries_and_events(path: Path) -> None:
    store = FileStore(path, clock=LogicalClock())
    run(store.set("a", "1"))
    assert run(store.get("a")) == MemoryEntry("a", "1", {}, datetime(2026, 1, 1, tzinfo=UTC), 1)
    assert run(store.events())[0].at == datetime(2026, 1, 1, tzinfo=UTC)
    run(store.set("a", "2"))
    assert run(store.events())[1].at - timedelta(seconds=1) == run(store.get("a")).created_at


# --- the file of another project ---


@pytest.fixture
def example(path: Path) -> Path:
    if not EXAMPLE.exists():
        pytest.skip("a file that open-multi-agent wrote is not there: it lies in ../shared/files beside the checkout")
    path.write_bytes(EXAMPLE.read_bytes())
    return path


def test_a_file_of_open_multi_agent_shows_the_five_entries_that_its_own_digest_shows(example: Path) -> None:
    async def main() -> None:
        memory = SharedMemory(FileStore(example))
        found = await memory.list()
        assert [e.key for e in found] == ["web/open_questions", "docs/findings", "docs/note", "synth/draft", "web/hint"]
        assert found[0].value == ["Which customers left in Q3?"]
        assert found[1].value == {"rfcs": 80, "flagged": ["RFC-12", "RFC-31"], "ratio": 0.25}
        assert found[2].value == '{"looks": "like JSON"}'
        assert found[3].value == "Q3 brief — café 😀 line1\nline2"
        assert found[3].created_at == datetime(2026, 11, 30, 15, 48, 46, 694_000, UTC)
        assert [line for line in (await memory.summary()).splitlines() if line.startswith("#")] == [
            "## Shared Team Memory",
            "### web",
            "### docs",
            "### synth",
        ]
        await memory.advance_turn(2)
        assert "web/hint" not in [entry.key for entry in await memory.list()]

    run(main())


def test_a_file_of_open_multi_agent_is_written_back_as_it_was(example: Path) -> None:
    async def main() -> None:
        theirs = json.loads(EXAMPLE.read_bytes())
        store = FileStore(example)
        memory = SharedMemory(store)
        await memory.write("new", "key", {"b": 1, "a": 2})
        assert entries_of(example)[:-1] == theirs["entries"]
        await memory.agent("new").delete("key")
        assert entries_of(example) == theirs["entries"]
        assert_that_open_multi_agent_would_open(example)
        assert [event.operation for event in await store.events()][:6] == ["import"] * 6
        snapshot = await memory.snapshot()
        await memory.restore(snapshot)
        restored = [record for record in entries_of(example) if not record["key"].startswith("__")]
        assert restored == [record for record in theirs["entries"] if not record["key"].startswith("__")]
        assert "__oma_checkpoint__/run1" in [record["key"] for record in entries_of(example)]

    run(main())


def test_a_file_of_open_multi_agent_opened_to_read_is_not_touched(example: Path) -> None:
    reader = FileStore(example, readonly=True)
    assert len(run(reader.list())) == 6
    assert example.read_bytes() == EXAMPLE.read_bytes()
    assert names_in(example.parent) == ["board.json"]
