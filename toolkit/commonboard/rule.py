"""The one write rule, as a pure function, and the state it works on.

Look at the entry, check the expectation, give the next entry and one event: `settle` is the whole of it. The in-memory
store is this rule and a dict; every other store does the same in its own atomic way, and is tested against this one.

Versions are per key and only grow. A key without an entry has a version too, the version of its absence: that of its
tombstone, or the board's `floor` where there is none. So "I saw nothing" is as exact an observation as "I saw version 3".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from commonboard.entry import (
    ABSENT,
    ANY,
    Event,
    Expectation,
    KeyUnchanged,
    MemoryEntry,
    Operation_,
    PrefixUnchanged,
    Read,
    Reading,
    Write,
    check_key,
    check_text,
    under,
)
from commonboard.errors import (
    ConflictError,
    InvalidKeyError,
    InvalidWriteError,
    LogCompactedError,
    TurnError,
    UnstorableValueError,
)
from commonboard.values import ENCODING, canonical_json, check_metadata, decode, own_copy

Change = tuple[str, MemoryEntry | None, Event]
"""A key, its next entry (`None`: deleted), and the event of it."""


def settle(entry: MemoryEntry | None, version: int, write: Write, seq: int, now: datetime) -> Change | None:
    """What becomes of an entry at a version when this write arrives.

    Args:
        entry: the entry that is there, or `None`.
        version: its version, or the version of its absence.
        write: what is wanted.
        seq: the place in the log that the event would take.
        now: the time that the event would carry.

    Returns:
        The change, or `None` where there is nothing to do (the delete of what is not there).

    Raises:
        ConflictError: the expectation does not hold.
        UnstorableValueError: an append to something that is not a list.
    """
    expect, saw = write.expect, write.saw
    if expect is not ANY:
        if not _holds(expect, entry, version):
            raise _conflict(write, entry, version)
        if saw is None or not isinstance(expect, str):
            saw = version  # whoever names a version rests on it; a text may have come back (ABA), so there the last look counts
    text, key, made = write.value, write.key, version + 1
    encoding: str | None = None
    operation: Operation_
    if text is None:
        if entry is None:
            return None
        operation, after, created = "delete", None, entry.created_at
    else:
        metadata = {} if write.metadata is None else check_metadata(write.metadata)
        expires = write.expires_at_turn
        if write.append:
            kept = None if entry is None or _expired(entry, write) else entry
            text, expires = _appended(kept, write), kept.expires_at_turn if kept is not None else expires
            metadata[ENCODING] = "json"
            saw = version  # and so does whoever adds to it
        encoding = "json" if metadata and metadata.get(ENCODING) == "json" else None
        operation = write.operation or ("insert" if entry is None else "replace")
        created = write.created_at or (now if entry is None else entry.created_at)
        after = MemoryEntry(key, text, metadata, created, made, expires)
    actor, reason, turn = write.actor, write.reason, write.turn
    facts = (seq, operation, key, text, encoding, version, made, saw, actor, reason, turn, now, created)
    return key, after, tuple.__new__(Event, facts)  # what Event(*facts) does, in half the time: every write passes here


@dataclass(slots=True)
class Board:
    """All that a store holds: the entries in order of creation, the tombstones, the floor, and the log.

    `plan` is pure: it says what would change, or raises. `apply` makes it so and cannot fail. A store that also writes
    to a disk does that between the two.
    """

    entries: dict[str, MemoryEntry]
    gone: dict[str, int]
    born: dict[str, int]
    log: list[Event]
    floor: int = 0
    seq: int = 0
    dropped: int = 0

    @classmethod
    def empty(cls) -> Board:
        return cls({}, {}, {}, [])

    def copy(self) -> Board:
        """A board of its own with the same entries and events, which nobody changes."""
        return replace(self, entries=dict(self.entries), gone=dict(self.gone), born=dict(self.born), log=list(self.log))

    def at(self, key: str) -> tuple[MemoryEntry | None, int]:
        """The entry itself, not a copy, and its version (the version of its absence where there is none)."""
        entry = self.entries.get(key)
        if entry is None:
            return None, self.gone.get(key, self.floor)
        return entry, entry.version or 0

    def look(self, key: str) -> Reading:
        """What a reader gets: a copy of the entry, and the version."""
        entry, version = self.at(key)
        return Reading(own_copy(entry), version)

    def plan(self, writes: Sequence[Write], reads: Iterable[Read], now: datetime) -> list[Change]:
        """All the changes that these writes make together, or none: any refusal refuses them all."""
        for read in reads:
            self._check_read(read)
        changes: list[Change] = []
        ahead: dict[str, Change] = {}
        for write in writes:
            check_write(write)
            if write.key in ahead:
                _, entry, event = ahead[write.key]
                version = event.version
            else:
                entry, version = self.at(write.key)
            change = settle(entry, version, write, self.seq + len(changes) + 1, now)
            if change is not None:
                changes.append(change)
                ahead[write.key] = change
        return changes

    def apply(self, changes: Iterable[Change]) -> None:
        for key, entry, event in changes:
            seq = event.seq
            if entry is None:
                del self.entries[key], self.born[key]
                self.gone[key] = event.version
            else:
                if event.operation == "restore":
                    self.entries.pop(key, None)
                    self.born.pop(key, None)
                if key not in self.born:
                    self.born[key] = seq
                    self.gone.pop(key, None)
                self.entries[key] = entry
            self.log.append(event)
            self.seq = seq

    def raise_floor(self) -> None:
        """Forget the tombstones: the floor rises to the highest version they had, so that no version is used twice."""
        self.floor = max([self.floor, *self.gone.values()])
        self.gone.clear()

    def compact(self, keep: int) -> None:
        """Drop all but the newest `keep` events, and the tombstones of what they no longer cover."""
        if len(self.log) > keep:
            self.dropped = self.log[len(self.log) - keep - 1].seq
            del self.log[: len(self.log) - keep]
            kept = {event.key for event in self.log}
            old = {key: version for key, version in self.gone.items() if key not in kept}
            self.floor = max([self.floor, *old.values()])
            for key in old:
                del self.gone[key]

    def since(self, after: int) -> list[Event]:
        """The events after a log position.

        Raises:
            LogCompactedError: some of them are no longer kept.
        """
        if 0 < after < self.dropped:
            raise LogCompactedError(
                f"events {after + 1} to {self.dropped} are no longer in the log; read the entries, then follow from {self.seq}"
            )
        first = len(self.log) - (self.seq - max(after, self.dropped))
        return self.log[max(first, 0) :]

    def _check_read(self, read: Read) -> None:
        if isinstance(read, KeyUnchanged):
            check_key(read.key)
            if self.at(read.key)[1] != read.version:
                raise self.changed(read.key, f"{read.key!r} is no longer at version {read.version}", read.version)
        elif isinstance(read, PrefixUnchanged):
            check_text(read.prefix, "the prefix")
            if read.after < self.dropped:
                what = f"the log no longer reaches back to position {read.after}, where {read.prefix!r} was listed"
                raise self.changed(read.prefix, what, read.after)
            for event in self.since(read.after):
                if under(read.prefix, event.key):
                    what = f"{event.key!r} under the prefix {read.prefix!r} changed after log position {read.after}"
                    raise self.changed(event.key, what, read.after)
        else:
            raise InvalidWriteError(f"reads takes cb.KeyUnchanged or cb.PrefixUnchanged, not {type(read).__name__}: {read!r:.80}")

    def changed(self, key: str, what: str, expected: int) -> ConflictError:
        """The refusal of a write that rests on something which is no longer so."""
        found, version = self.look(key).entry, self.at(key)[1]
        text = f"{what}; nothing was written: read again and redo the work"
        return ConflictError(text, key=key, expected=expected, found=found, found_version=version)


def check_write(write: Any) -> None:
    """Refuse a write that no store could keep, before anything is touched.

    Raises:
        InvalidKeyError, UnstorableValueError, TurnError, InvalidWriteError: naming the field, and the key.
    """
    if not isinstance(write, Write):
        raise InvalidWriteError(f"commit takes cb.Write objects, not {type(write).__name__}: {write!r:.80}")
    check_key(write.key)
    if write.value is not None:
        check_value(write.value, write.key)
    if write.append:
        _check_item(write)
    expect = write.expect
    if expect is not ANY and expect is not ABSENT and (isinstance(expect, bool) or not isinstance(expect, (int, str))):
        raise InvalidWriteError(
            f"the expectation for {write.key!r} must be ANY, ABSENT, a version (int) or a stored text (str), not {write.expect!r}"
        )
    for name, kind in _FACTS:
        fact = getattr(write, name)
        if fact is not None:
            _check_fact(write.key, name, kind, fact)
    if write.operation not in (None, "restore", "import"):
        raise InvalidWriteError(f"the operation of the write to {write.key!r} must be 'restore', 'import' or None")


def check_value(value: Any, key: str) -> None:
    """Refuse what is not text that every store can keep."""
    if type(value) is str and value.isascii() and "\0" not in value:
        return
    if not isinstance(value, str):
        raise UnstorableValueError(
            f"a store keeps text: the value for {key!r} is a {type(value).__name__}; "
            "write through a SharedMemory, which encodes it, or delete the key"
        )
    try:
        check_text(value, f"the value for {key!r}")
    except InvalidKeyError as error:
        raise UnstorableValueError(str(error)) from None


def check_expiry(turn: Any, key: str) -> None:
    """Refuse what is not a turn."""
    if isinstance(turn, bool) or not isinstance(turn, int):
        raise TurnError(f"expires_at_turn for {key!r} must be a whole number, not {turn!r}")


_FACTS: tuple[tuple[str, type], ...] = (
    ("actor", str),
    ("reason", str),
    ("turn", int),
    ("saw", int),
    ("expires_at_turn", int),
    ("created_at", datetime),
)


def _check_fact(key: str, name: str, kind: type, fact: Any) -> None:
    if name == "expires_at_turn":
        check_expiry(fact, key)
    if isinstance(fact, bool) or not isinstance(fact, kind):
        raise InvalidWriteError(f"the {name} of the write to {key!r} must be {kind.__name__} or None, not {fact!r:.80}")
    if isinstance(fact, str):
        check_text(fact, f"the {name} of the write to {key!r}")
    if isinstance(fact, datetime) and fact.tzinfo is None:
        raise InvalidWriteError(f"the {name} of the write to {key!r} has no time zone; use datetime.now(UTC)")


def _check_item(write: Write) -> None:
    try:
        canonical_json(json.loads(write.value or ""))
    except (ValueError, UnstorableValueError, RecursionError) as error:
        raise UnstorableValueError(
            f"append to {write.key!r} takes one item as JSON text, not {write.value!r:.80} ({error}); use json.dumps(item)"
        ) from None


def _holds(expect: Expectation, entry: MemoryEntry | None, version: int) -> bool:
    if expect is ANY:
        return True
    if expect is ABSENT:
        return entry is None
    if isinstance(expect, int):
        return version == expect
    return entry is not None and entry.value == expect


def _conflict(write: Write, entry: MemoryEntry | None, version: int) -> ConflictError:
    def told(expect: Expectation) -> str:
        if expect is ABSENT:
            return "no entry"
        return f"version {expect}" if isinstance(expect, int) else f"the text {expect!r:.60}"

    is_there = f"version {version}" + (f" by {entry.actor}" if entry is not None and entry.actor else "")
    if entry is None:
        is_there = f"no entry (its absence is version {version})"
    elif isinstance(write.expect, str):
        is_there += f" with the text {entry.value!r:.60}"
    return ConflictError(
        f"the write to {write.key!r} expected {told(write.expect)} and found {is_there}; "
        "nothing was written: read again and decide",
        key=write.key,
        expected=write.expect,
        found=own_copy(entry),
        found_version=version,
        mine=write.value,
    )


def _expired(entry: MemoryEntry, write: Write) -> bool:
    return entry.expires_at_turn is not None and write.turn is not None and write.turn >= entry.expires_at_turn


def _appended(entry: MemoryEntry | None, write: Write) -> str:
    items = [] if entry is None else decode(entry.value, entry.metadata, write.key)
    if not isinstance(items, list):
        raise UnstorableValueError(f"cannot append to {write.key!r}: what is stored there is not a list; write a list first")
    if entry is None or not items:
        return f"[{write.value}]"
    return f"{entry.value[: entry.value.rindex(']')]},{write.value}]"
