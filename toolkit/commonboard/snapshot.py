"""The board as markdown for a prompt, and as plain data to keep and to put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from commonboard.entry import MemoryEntry, Page, Write
from commonboard.errors import SnapshotError
from commonboard.stores.records import from_record, to_record
from commonboard.values import canonical_json, plain

_LONGEST = 200


def digest(entries: Iterable[MemoryEntry], task_ids: Iterable[str] | None = None) -> str:
    """A heading for each namespace and a line for each entry; a value over 200 characters is cut to 199 and an ellipsis.

    Args:
        entries: decoded entries.
        task_ids: only the keys `…/task:<id>:result` of these tasks; `None` for everything.
    """
    wanted = None if task_ids is None else {f"task:{task_id}:result" for task_id in task_ids}
    groups: dict[str, list[str]] = {}
    for entry in entries:
        namespace, slash, key = entry.key.partition("/")
        if not slash:
            namespace, key = "_unknown", entry.key
        if wanted is None or key in wanted:
            groups.setdefault(namespace, []).append(f"- {key}: {_cut(_told(entry.value))}")
    if not groups:
        return ""
    blocks = [f"### {namespace}\n" + "\n".join(lines) for namespace, lines in groups.items()]
    return "## Shared Team Memory\n\n" + "\n\n".join(blocks) + "\n"


def to_snapshot(page: Page, turn: int, hidden: Callable[[MemoryEntry], bool]) -> dict[str, Any]:
    """Version 1 of open-multi-agent's snapshot: the turn, and the entries that can be read, as stored."""
    return {"version": 1, "turnCount": turn, "entries": [to_record(entry) for entry in page if not hidden(entry)]}


def from_snapshot(snapshot: Any) -> tuple[list[Write], int]:
    """The writes that put a snapshot back, and its turn.

    Raises:
        SnapshotError: it is not a snapshot of version 1.
    """
    if not isinstance(snapshot, dict) or snapshot.get("version") != 1:
        version = snapshot.get("version") if isinstance(snapshot, dict) else None
        raise SnapshotError(f"this is not a snapshot of version 1 (its version is {version!r}); nothing was restored")
    turn, records = snapshot.get("turnCount"), snapshot.get("entries")
    if isinstance(turn, bool) or not isinstance(turn, int) or turn < 0 or not isinstance(records, list):
        raise SnapshotError("a snapshot has turnCount (a whole number of at least 0) and entries (a list); nothing was restored")
    writes, keys = [], set()
    for place, record in enumerate(records):
        entry = from_record(record, f"entry {place} of the snapshot")
        if entry.key in keys:
            raise SnapshotError(f"the key {entry.key!r} stands twice in the snapshot; nothing was restored")
        keys.add(entry.key)
        writes.append(
            Write(
                entry.key,
                entry.value,
                entry.metadata,
                actor=entry.actor,
                reason="restore",
                turn=turn,
                expires_at_turn=entry.expires_at_turn,
                operation="restore",
                created_at=entry.created_at,
            )
        )
    return writes, turn


def _told(value: Any) -> str:
    if isinstance(value, str):
        return value
    return canonical_json(plain(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
