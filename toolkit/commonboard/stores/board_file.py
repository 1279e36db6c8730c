"""A board as the text of a file, and back: open-multi-agent's version-1 format, with one block of our own.

    {"version": 1,
     "entries": [{"key", "value", "metadata"?, "createdAt", "expiresAtTurn"?}, …],
     "commonboard": {"format": 1, "seq", "floor",
                     "keys": {key: [version, log position of its creation, digest]},
                     "gone": {deleted key: version},
                     "events": [{"seq", "operation", "key", …}, …]}}

open-multi-agent reads the first two fields and drops the rest when it writes. So the block may be missing, and any program
or person may have changed an entry without it: the digests tell, and `taken_in` turns what changed into events.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NoReturn

from commonboard.entry import Event, MemoryEntry, Write, check_key
from commonboard.errors import CommonboardError, SnapshotError
from commonboard.rule import Board, check_value
from commonboard.stores.records import FIELDS, from_iso, from_record, to_iso, to_record

VERSION: Final = 1
FORMAT: Final = 1
BLOCK: Final = "commonboard"

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_KINDS: Final = {name: (str, type(None)) for name in Event._fields} | {
    "seq": (int,),
    "operation": (str,),
    "key": (str,),
    "version_before": (int,),
    "version": (int,),
    "saw": (int, type(None)),
    "turn": (int, type(None)),
    "at": (str,),
    "created_at": (str,),
}
_DAMAGED: Final = f"take the field {BLOCK!r} out of the file to open it without its log: every entry then counts as imported"


@dataclass(slots=True)
class BoardFile:
    """What a file says.

    Attributes:
        entries: the entries, without versions, in the file's order.
        block: our own block; `None` if there is none.
        extra: top-level fields that others put there; they are written back as they are.
    """

    entries: list[MemoryEntry]
    block: dict[str, Any] | None
    extra: dict[str, Any]


def parse(data: bytes) -> BoardFile:
    """What the bytes of a file say.

    Raises:
        SnapshotError: they are not a board of version 1; the error says what is wrong and where.
    """
    if not data:
        raise SnapshotError("it is empty (0 bytes)")
    try:
        top = json.loads(data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
    except CommonboardError:
        raise
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"it is not JSON ({error})") from None
    if not isinstance(top, dict):
        raise SnapshotError(f"it holds a JSON {type(top).__name__}, not an object")
    version, records, block = top.pop("version", None), top.pop("entries", None), top.pop(BLOCK, None)
    if type(version) is not int or version != VERSION:
        raise SnapshotError(f"its version is {version!r}, and this program knows version {VERSION}")
    if not isinstance(records, list):
        raise SnapshotError("it has no list of entries")
    if block is not None and not isinstance(block, dict):
        _damaged("it is not an object")
    return BoardFile(_entries(records), block, top)


def board_of(file: BoardFile, base: int) -> Board:
    """The board as its last writer among us left it: entries that have been changed since then are there without a value.

    Args:
        file: what the file says.
        base: where versions and log positions begin if the file has no block. Nothing is known then of what was given
            out before, so it must be above all that may have been: the time in microseconds is.

    Raises:
        SnapshotError: the block is damaged, or newer than this program.
    """
    if file.block is None:
        return Board({}, {}, {}, [], floor=base, seq=base, dropped=base)
    try:
        return _board_of_block(file.block, {entry.key: entry for entry in file.entries})
    except (KeyError, TypeError, ValueError) as error:
        _damaged(str(error) if isinstance(error, SnapshotError) else f"{type(error).__name__}: {error}")


def taken_in(board: Board, entries: list[MemoryEntry], now: datetime) -> Board | None:
    """The board after what somebody else did to the file: an event for each entry that is new, changed or gone.

    Each takes the next version of its key, as any write does. `None` if nothing was done.
    """
    wanted = {entry.key: entry for entry in entries}
    why = "changed in the file by another program"
    writes = [Write(key, None, reason=why) for key in board.entries if key not in wanted]
    for entry in entries:
        mine = board.entries.get(entry.key)
        if mine is None or not _same(mine, entry):
            writes.append(_import(entry, mine, why))
    if not writes and list(board.entries) == list(wanted):
        return None
    after = board.copy()
    after.apply(board.plan(writes, (), now))
    after.entries = {key: after.entries[key] for key in wanted}
    places = [after.born[key] for key in wanted]
    if places != sorted(places):
        # Somebody put the entries in another order. The places only have to grow, and there are no more keys than events.
        after.born = {key: place for place, key in enumerate(wanted, 1)}
    return after


@dataclass(slots=True)
class BoardText:
    """Makes the text of a board; what has not changed since the last time is not made again."""

    _entries: dict[str, tuple[MemoryEntry, int, str, str]] = field(default_factory=dict)
    _events: dict[int, tuple[Event, str]] = field(default_factory=dict)

    def of(self, board: Board, extra: dict[str, Any]) -> bytes:
        """The text as UTF-8, one line for each entry and event."""
        self._entries = {key: self._entry(key, entry, board.born[key]) for key, entry in board.entries.items()}
        self._events = {event.seq: self._event(event) for event in board.log}
        parts = [
            f'{{"version":{VERSION},"entries":',
            _lines("[]", (record for _, _, record, _ in self._entries.values())),
            *(f",\n{json.dumps(name)}:{json.dumps(value)}" for name, value in extra.items()),
            f',\n"{BLOCK}":{{"format":{FORMAT},"seq":{board.seq},"floor":{board.floor},"keys":',
            _lines("{}", (fact for _, _, _, fact in self._entries.values())),
            f',\n"gone":{_ENCODE(board.gone)},"events":',
            _lines("[]", (text for _, text in self._events.values())),
            "}}\n",
        ]
        return "".join(parts).encode()

    def _entry(self, key: str, entry: MemoryEntry, born: int) -> tuple[MemoryEntry, int, str, str]:
        known = self._entries.get(key)
        if known is not None and known[0] is entry and known[1] == born:
            return known
        fact = f"{_ENCODE(key)}:{_ENCODE([entry.version, born, _digest(entry)])}"
        return entry, born, _ENCODE(to_record(entry)), fact

    def _event(self, event: Event) -> tuple[Event, str]:
        known = self._events.get(event.seq)
        if known is not None and known[0] is event:
            return known
        said = {name: fact for name, fact in event._asdict().items() if fact is not None}
        return event, _ENCODE(said | {"at": to_iso(event.at), "created_at": to_iso(event.created_at)})


def _lines(brackets: str, texts: Iterable[str]) -> str:
    inside = ",\n".join(texts)
    return f"{brackets[0]}\n{inside}\n{brackets[1]}" if inside else brackets


def _entries(records: list[Any]) -> list[MemoryEntry]:
    entries: dict[str, MemoryEntry] = {}
    for place, record in enumerate(records):
        where = f"entry {place}"
        entry = from_record(record, where)
        unknown = [name for name in record if name not in FIELDS]
        try:
            check_key(entry.key)
            check_value(entry.value, entry.key)
        except CommonboardError as error:
            raise SnapshotError(f"{where}: {error}") from None
        if unknown:
            raise SnapshotError(f"{where} ({entry.key!r}) has the field {unknown[0]!r}, which this program would lose")
        if entry.key in entries:
            raise SnapshotError(f"{where}: the key {entry.key!r} is there twice")
        entries[entry.key] = entry
    return list(entries.values())


def _board_of_block(block: dict[str, Any], found: dict[str, MemoryEntry]) -> Board:
    if block["format"] != FORMAT:
        raise SnapshotError(f"its format is {block['format']!r}, and this program knows format {FORMAT}")
    _ENCODE(block).encode()  # half of a surrogate pair could not be written again
    log = [_event_of(said) for said in block["events"]]
    seq, floor = _whole(block["seq"]), _whole(block["floor"])
    board = Board({}, {}, {}, log, floor, seq, seq - len(log))
    if board.dropped < 0 or [event.seq for event in log] != list(range(board.dropped + 1, seq + 1)):
        raise SnapshotError(f"its events do not lead up to position {seq}")
    board.gone = {key: _whole(version) for key, version in block["gone"].items()}
    last = {event.key: event for event in log}
    for key, (version, born, digest) in block["keys"].items():
        entry = found.get(key)
        if entry is None or _digest(entry) != digest:
            entry = MemoryEntry(key, None)
            if key in last:
                entry.created_at = last[key].created_at
        entry.version = _whole(version)
        board.entries[key], board.born[key] = entry, _whole(born)
    return board


def _event_of(said: dict[str, Any]) -> Event:
    facts: dict[str, Any] = dict.fromkeys(Event._fields) | said
    for name, fact in facts.items():
        if not isinstance(fact, _KINDS[name]) or isinstance(fact, bool):
            raise SnapshotError(f"an event has {name} {fact!r}")
    return Event(**facts | {"at": from_iso(facts["at"]), "created_at": from_iso(facts["created_at"])})


def _same(mine: MemoryEntry, theirs: MemoryEntry) -> bool:
    return (mine.value, mine.metadata, mine.expires_at_turn) == (theirs.value, theirs.metadata, theirs.expires_at_turn) and (
        _to_the_millisecond(mine.created_at) == _to_the_millisecond(theirs.created_at)
    )


def _import(entry: MemoryEntry, mine: MemoryEntry | None, why: str) -> Write:
    created = entry.created_at
    if mine is not None and _to_the_millisecond(mine.created_at) == created:
        created = mine.created_at  # JavaScript keeps no more than milliseconds; we did
    return Write(
        entry.key,
        entry.value,
        entry.metadata,
        actor=entry.actor,
        reason=why,
        expires_at_turn=entry.expires_at_turn,
        operation="import",
        created_at=created,
    )


def _to_the_millisecond(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _digest(entry: MemoryEntry) -> str:
    return hashlib.blake2b(_CANONICAL(to_record(entry)).encode(), digest_size=6).hexdigest()


def _whole(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise SnapshotError(f"{number!r} stands where a whole number should")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise SnapshotError(f"the name {next(n for n in names if names.count(n) > 1)!r} stands twice in one object")
    return made


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise SnapshotError(f"it holds the number {text:.40}, which is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise SnapshotError(f"it holds {name}, which is not JSON")


def _damaged(what: str) -> NoReturn:
    raise SnapshotError(f"its {BLOCK!r} block is damaged ({what}); {_DAMAGED}")
