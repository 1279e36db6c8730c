"""One stored entry as open-multi-agent writes it, in its store files and in its snapshots."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from commonboard.entry import MemoryEntry
from commonboard.errors import SnapshotError, UnstorableValueError
from commonboard.values import check_metadata, copy_json

FIELDS = ("key", "value", "metadata", "createdAt", "expiresAtTurn")


def to_record(entry: MemoryEntry) -> dict[str, Any]:
    """The entry as plain JSON data: `key`, `value`, `createdAt`, and `metadata` and `expiresAtTurn` where there are any."""
    record: dict[str, Any] = {"key": entry.key, "value": entry.value}
    if entry.metadata:
        record["metadata"] = copy_json(dict(entry.metadata))
    record["createdAt"] = to_iso(entry.created_at)
    if entry.expires_at_turn is not None:
        record["expiresAtTurn"] = entry.expires_at_turn
    return record


def from_record(record: Any, where: str) -> MemoryEntry:
    """The entry again.

    Raises:
        SnapshotError: a field is missing or of the wrong kind; the error names it.
    """
    if not isinstance(record, dict):
        raise SnapshotError(f"{where} is not an object")
    for name in ("key", "value", "createdAt"):
        if not isinstance(record.get(name), str):
            raise SnapshotError(f"{where} lacks {name!r} as text")
    metadata, expires = record.get("metadata", {}), record.get("expiresAtTurn")
    if not isinstance(metadata, dict):
        raise SnapshotError(f"{where} has metadata that are not an object")
    if expires is not None and (isinstance(expires, bool) or not isinstance(expires, int)):
        raise SnapshotError(f"{where} has expiresAtTurn {expires!r}, which is not a whole number")
    try:
        created = from_iso(record["createdAt"])
        return MemoryEntry(record["key"], record["value"], check_metadata(metadata), created, None, expires)
    except (ValueError, UnstorableValueError) as error:
        raise SnapshotError(f"{where}: {error}") from None


def to_iso(moment: datetime) -> str:
    """The time in UTC, to the millisecond as JavaScript writes it; to the microsecond where it has one.

    >>> to_iso(datetime(2026, 1, 1, tzinfo=UTC)), to_iso(datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC))
    ('2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000005Z')
    """
    digits = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.astimezone(UTC).isoformat(timespec=digits).replace("+00:00", "Z")


def from_iso(text: Any) -> datetime:
    """The time again, in UTC.

    Raises:
        ValueError: the text is not an ISO time.
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{text!r} is not an ISO time such as 2026-01-01T00:00:00.000Z") from None
