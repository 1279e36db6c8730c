"""The digest for a prompt, and snapshots: taken, put back, refused."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import FiveMethods, WithBoth, WithExpiry, everything, run

from commonboard import FileStore, InMemoryStore, LogicalClock, MemoryEntry, SharedMemory, Write
from commonboard.crdt import ORSet
from commonboard.errors import InvalidKeyError, NameNotAllowedError, SnapshotError, StoreWriteError, UnstorableValueError
from commonboard.snapshot import digest
from commonboard.stores.records import from_iso, from_record, to_iso, to_record

# --- the digest ---


def told(*entries: tuple[str, Any], task_ids: Any = None) -> str:
    return digest([MemoryEntry(key, value) for key, value in entries], task_ids)


def test_an_empty_board_has_an_empty_digest() -> None:
    assert told() == ""
    assert run(SharedMemory().summary()) == ""


def test_a_digest_groups_by_namespace_in_the_order_of_the_board() -> None:
    assert told(("web/b", "text"), ("docs/a", {"b": 1, "a": [None]}), ("web/a/deep", 5), ("alone", True)) == (
        "## Shared Team Memory\n\n"
        "### web\n- b: text\n- a/deep: 5\n\n"
        '### docs\n- a: {"a":[null],"b":1}\n\n'
        "### _unknown\n- alone: true\n"
    )


def test_a_crdt_is_told_by_what_it_stands_for() -> None:
    tags = ORSet("a~1")
    tags.add("x")
    assert told(("shared/tags", tags)).endswith('- tags: ["x"]\n')


@pytest.mark.parametrize("letter", ["x", "é", "日", "😀", "\U0010ffff"])
@pytest.mark.parametrize(("length", "kept"), [(199, 199), (200, 200), (201, 199), (5000, 199)])
def test_a_long_value_is_cut_between_characters(letter: str, length: int, kept: int) -> None:
    line = told(("web/a", letter * length)).splitlines()[-1]
    ending = "…" if length > 200 else ""
    assert line == f"- a: {letter * kept}{ending}"
    line.encode()  # no half of a character


def test_a_long_structured_value_is_cut_as_its_json() -> None:
    line = told(("web/a", ["x" * 300])).splitlines()[-1]
    assert line == '- a: ["' + "x" * 197 + "…"


def test_a_digest_may_be_of_the_results_of_some_tasks() -> None:
    entries = [("web/task:1:result", "one"), ("web/task:2:result", "two"), ("web/notes", "n"), ("web/task:11:result", "no")]
    assert told(*entries, task_ids=["1"]) == "## Shared Team Memory\n\n### web\n- task:1:result: one\n"
    assert told(*entries, task_ids=iter(["1", "2"])).count("- task:") == 2
    assert told(*entries, task_ids=["3"]) == ""


def test_no_tasks_is_nothing_and_none_is_everything() -> None:
    entries = [("web/task:1:result", "one")]
    assert told(*entries, task_ids=[]) == ""
    assert told(*entries, task_ids=None) != ""


# --- records ---


def test_a_record_has_only_the_fields_that_there_are() -> None:
    entry = MemoryEntry("a", "1", {}, datetime(2026, 1, 1, tzinfo=UTC))
    assert to_record(entry) == {"key": "a", "value": "1", "createdAt": "2026-01-01T00:00:00.000Z"}
    entry.metadata, entry.expires_at_turn = {"deep": [1]}, 0
    record = to_record(entry)
    assert record["expiresAtTurn"] == 0
    record["metadata"]["deep"].append(2)
    assert entry.metadata == {"deep": [1]}
    assert from_record(to_record(entry), "it") == entry


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-30T15:48:46.676Z", datetime(2026, 11, 30, 15, 48, 46, 676_000, UTC)),
        ("2026-11-30T16:48:46.676123+01:00", datetime(2026, 11, 30, 15, 48, 46, 676_123, UTC)),
        ("2026-11-30T15:48:46", datetime(2026, 11, 30, 15, 48, 46, 0, UTC)),
    ],
)
def test_a_time_is_read_as_utc(text: str, moment: datetime) -> None:
    assert from_iso(text) == moment
    assert from_iso(text).utcoffset() == moment.utcoffset()
    assert from_iso(to_iso(moment)) == moment


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "0001-01-01T00:00:00+23:00", None, 5])
def test_what_is_no_time_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="is not an ISO time such as"):
        from_iso(text)


# --- snapshots ---


async def filled(store: Any, **options: Any) -> SharedMemory:
    memory = SharedMemory(store, **options)
    me = memory.agent("web")
    await me.write("b", {"n": [1]}, metadata={"page": 2})
    await me.shared.write("a", "text")
    await me.write_expiring("brief", 1, 5)
    await me.write_expiring("gone soon", 1, 1)
    await me.write("b", {"n": [2]}, metadata={"page": 3})
    await memory.advance_turn(2)
    await store.set("__oma_checkpoint__/run1", "{}")
    return memory


def seen(page: list[MemoryEntry]) -> list[tuple[Any, ...]]:
    return [(e.key, e.value, e.metadata, e.created_at, e.expires_at_turn) for e in page]


def test_a_snapshot_is_plain_json_in_the_shapes_of_open_multi_agent() -> None:
    memory = run(filled(InMemoryStore(clock=LogicalClock())))
    snapshot = run(memory.snapshot())
    assert json.loads(json.dumps(snapshot)) == snapshot
    assert snapshot == {
        "version": 1,
        "turnCount": 2,
        "entries": [
            {
                "key": "web/b",
                "value": '{"n":[2]}',
                "metadata": {"page": 3, "sharedMemoryValueEncoding": "json", "agent": "web"},
                "createdAt": "2026-01-01T00:00:00.000Z",
            },
            {"key": "shared/a", "value": "text", "metadata": {"agent": "web"}, "createdAt": "2026-01-01T00:00:01.000Z"},
            {
                "key": "web/brief",
                "value": "1",
                "metadata": {"sharedMemoryValueEncoding": "json", "agent": "web"},
                "createdAt": "2026-01-01T00:00:02.000Z",
                "expiresAtTurn": 5,
            },
        ],
    }


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_restore_brings_back_entries_order_creation_and_turn_under_new_versions(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        clock = LogicalClock(step_seconds=0.000_777)
        store = InMemoryStore(clock=clock) if kind == "memory" else FileStore(tmp_path / "board.json", clock=clock)
        memory = await filled(store)
        before, snapshot = seen(await memory.list()), await memory.snapshot()
        held = {entry.key: entry.version for entry in await store.list()}
        me = memory.agent("other")
        await me.shared.write("a", "changed")
        await me._memory.agent("web").delete("b")
        await me.shared.write("new", 1)
        await memory.advance_turn(7)
        position = (await store.list()).position
        await memory.restore(snapshot)
        assert seen(await memory.list()) == before
        assert memory.turn == 2
        assert all(entry.version > held[entry.key] for entry in await memory.list() if entry.version is not None)
        assert await memory.read("shared/new") is None
        assert [e.key for e in await store.list()] == ["__oma_checkpoint__/run1", "web/b", "shared/a", "web/brief"]
        assert [(e.operation, e.key, e.reason) for e in await memory.log(position)] == [
            ("delete", "web/gone soon", "restore"),
            ("delete", "shared/new", "restore"),
            ("restore", "web/b", "restore"),
            ("restore", "shared/a", "restore"),
            ("restore", "web/brief", "restore"),
        ]
        assert await memory.snapshot() == snapshot

    run(main())


def test_a_snapshot_goes_from_one_memory_to_another() -> None:
    async def main() -> None:
        memory = await filled(InMemoryStore())
        snapshot = await memory.snapshot()
        other = SharedMemory(InMemoryStore())
        await other.restore(json.loads(json.dumps(snapshot)))
        assert seen(await other.list()) == seen(await memory.list())
        snapshot["entries"][0]["metadata"]["page"] = "changed afterwards"
        assert (await other.list())[0].metadata["page"] == 3

    run(main())


GOOD: dict[str, Any] = {
    "version": 1,
    "turnCount": 3,
    "entries": [{"key": "web/a", "value": "1", "createdAt": "2026-01-01T00:00:00.000Z"}],
}
RECORD = GOOD["entries"][0]
NO_SNAPSHOTS: dict[str, tuple[Any, type[Exception], str]] = {
    "none": (None, SnapshotError, "not a snapshot of version 1"),
    "text": ("{}", SnapshotError, "not a snapshot of version 1"),
    "newer": (GOOD | {"version": 2}, SnapshotError, r"its version is 2\); nothing was restored"),
    "no turn": ({"version": 1, "entries": []}, SnapshotError, "a snapshot has turnCount"),
    "a turn below zero": (GOOD | {"turnCount": -1}, SnapshotError, "a snapshot has turnCount"),
    "a true turn": (GOOD | {"turnCount": True}, SnapshotError, "a snapshot has turnCount"),
    "entries that are no list": (GOOD | {"entries": {}}, SnapshotError, "a snapshot has turnCount"),
    "an entry that is none": (GOOD | {"entries": [RECORD, 5]}, SnapshotError, "entry 1 of the snapshot is not an object"),
    "no value": (GOOD | {"entries": [{"key": "a"}]}, SnapshotError, "entry 0 of the snapshot lacks 'value' as text"),
    "no time": (GOOD | {"entries": [RECORD | {"createdAt": "x"}]}, SnapshotError, "entry 0 of the snapshot: 'x' is not"),
    "bad metadata": (GOOD | {"entries": [RECORD | {"metadata": {"n": float("nan")}}]}, SnapshotError, "metadata.n must be"),
    "one key twice": (GOOD | {"entries": [RECORD, RECORD]}, SnapshotError, "the key 'web/a' stands twice in the snapshot"),
    "a bad key": (GOOD | {"entries": [RECORD, RECORD | {"key": "a\0"}]}, InvalidKeyError, "holds a NUL"),
    "an empty key": (GOOD | {"entries": [RECORD | {"key": ""}]}, InvalidKeyError, "the key is empty"),
    "a bad value": (GOOD | {"entries": [RECORD, RECORD | {"key": "b", "value": "a\0"}]}, UnstorableValueError, "holds a NUL"),
    "a reserved key": (GOOD | {"entries": [RECORD | {"key": "__oma_approval__/x"}]}, NameNotAllowedError, "is reserved"),
}


@pytest.mark.parametrize("store", [InMemoryStore, FiveMethods, WithBoth])
@pytest.mark.parametrize("kind", NO_SNAPSHOTS)
def test_a_restore_of_what_is_no_snapshot_changes_nothing(kind: str, store: Any) -> None:
    snapshot, error, why = NO_SNAPSHOTS[kind]

    async def main() -> None:
        memory = SharedMemory(store(), turn=1)
        await memory.write("web", "key", "before")
        before = await everything(memory.store)
        with pytest.raises(error, match=why):
            await memory.restore(copy.deepcopy(snapshot))
        assert await everything(memory.store) == before
        assert memory.turn == 1

    run(main())


def test_a_restore_that_fails_on_the_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        memory = await filled(FileStore(tmp_path / "board.json"), turn="shared")
        before = await everything(memory.store)

        def full(*names: str) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr("os.replace", full)
            with pytest.raises(StoreWriteError):
                await memory.restore(GOOD)
        assert await everything(memory.store) == before
        assert memory.turn == 2
        await memory.restore(GOOD)
        assert [entry.key for entry in await memory.list()] == ["web/a"]

    run(main())


def test_a_restore_sets_a_shared_turn_in_the_same_step() -> None:
    async def main() -> None:
        commits = []

        class Counting(InMemoryStore):
            async def commit(self, *writes: Write, reads: Any = ()) -> Any:
                commits.append([write.key for write in writes])
                return await super().commit(*writes, reads=reads)

        store = Counting()
        here, there = SharedMemory(store, turn="shared"), SharedMemory(store, turn="shared")
        await here.restore(GOOD)
        assert commits == [["web/a", "__commonboard__/turn"]]
        await there.list()
        assert there.turn == 3

    run(main())


@pytest.mark.parametrize("store", [FiveMethods, WithExpiry])
@pytest.mark.filterwarnings("ignore:.*set_with_expiry")
def test_a_restore_key_by_key_brings_back_what_such_a_store_can_keep(store: Any) -> None:
    async def main() -> None:
        memory = SharedMemory(store())
        await memory.write("web", "old", 1)
        await memory.restore(GOOD | {"entries": [RECORD | {"expiresAtTurn": 9, "metadata": {"agent": "web"}}]})
        (entry,) = await memory.list()
        assert (entry.key, entry.value, entry.metadata) == ("web/a", "1", {"agent": "web"})
        assert entry.expires_at_turn == (9 if store is WithExpiry else None)
        assert memory.turn == 3

    run(main())
