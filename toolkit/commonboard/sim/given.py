"""What the board holds before the agents begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from commonboard.entry import MemoryEntry, Write, check_key
from commonboard.errors import InvalidArgumentError, InvalidKeyError, kind_of
from commonboard.history import GIVEN
from commonboard.values import MARKERS, encode

Given = Mapping[str, Any] | Iterable[MemoryEntry]
"""`{full key: value}`, or entries such as `await memory.list()` gives."""


def given_writes(given: Given, now: datetime) -> list[Write]:
    """The writes that put it there.

    Raises:
        InvalidKeyError: a key has no namespace, so that no agent would find it.
        InvalidArgumentError: it is neither a mapping nor made of entries.
    """
    if not isinstance(given, Iterable):
        raise _neither(given)
    if isinstance(given, Mapping):
        given = [MemoryEntry(_full_key(key), value) for key, value in given.items()]
    writes = []
    for entry in given:
        if not isinstance(entry, MemoryEntry):
            raise _neither(entry)
        text, markers = encode(entry.value)
        metadata = {name: fact for name, fact in entry.metadata.items() if name not in MARKERS} | markers
        created = entry.created_at if entry.created_at.year > 1970 else now
        actor, expires = entry.actor or GIVEN, entry.expires_at_turn
        writes.append(Write(entry.key, text, metadata, actor=actor, created_at=created, expires_at_turn=expires))
    return writes


def _full_key(key: Any) -> str:
    check_key(key)
    if "/" not in key:
        raise InvalidKeyError(f"given= takes full keys, such as 'shared/{key}' or 'web/{key}': no agent would find {key!r}")
    return str(key)


def _neither(thing: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"given= takes {{full key: value}}, or entries such as `await memory.list()` gives, not {kind_of(thing)}"
    )
