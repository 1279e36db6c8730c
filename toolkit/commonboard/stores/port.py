"""How a memory reaches a store: one way in for the built-in ones and for anybody's five methods.

A port knows what its store can do. What the store cannot do atomically, the port refuses.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from datetime import UTC
from typing import Any

from commonboard.entry import ABSENT, ANY, Event, Expectation, MemoryEntry, Page, Read, Reading, Write, check_key, under
from commonboard.errors import CapabilityError, ConflictError, StoreShapeError
from commonboard.rule import check_expiry, check_value, check_write
from commonboard.stores.protocol import is_built_in
from commonboard.values import check_metadata, copy_json


class CapabilityWarning(UserWarning):
    """The store does less than the built-in ones; what is missing is said."""


def name_of(store: Any) -> str:
    """What errors call a store; a recorder around one is called what it records."""
    recorder = isinstance(getattr(type(store), "recorded", None), property)
    return type(store.recorded if recorder else store).__name__


class BuiltInPort:
    """Straight through."""

    has_commit = True

    def __init__(self, store: Any) -> None:
        self.store, self.name = store, name_of(store)
        self.has_compare_and_set = callable(getattr(store, "compare_and_set", None))

    async def look(self, key: str) -> Reading:
        return await self.store.look(key)  # type: ignore[no-any-return]

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        return await self.store.commit(*writes, reads=reads)  # type: ignore[no-any-return]

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        return await self.store.list(prefix, limit, after)  # type: ignore[no-any-return]

    def expectation(self, reading: Reading) -> Expectation:
        """What a write that rests on this reading must expect."""
        return ANY if reading.version is None else reading.version


class ForeignPort:
    """Anybody's store: no versions, no log, one write at a time, and compare-and-set by text if it has that."""

    has_commit = False

    def __init__(self, store: Any) -> None:
        self.store, self.name = store, name_of(store)
        self.has_compare_and_set = callable(getattr(store, "compare_and_set", None))
        self._has_expiry = callable(getattr(store, "set_with_expiry", None))
        self._warned: set[str] = set()

    async def look(self, key: str) -> Reading:
        found = await self._call("get", key)
        return Reading(self._entry(found), None)

    async def commit(self, *writes: Write) -> list[Event]:
        if len(writes) != 1:
            raise CapabilityError(
                f"{self.name} cannot write {len(writes)} keys as one step; write them one by one, or use a built-in store"
            )
        (write,) = writes
        check_write(write)
        write = replace(write, metadata=check_metadata(write.metadata))  # its own copy: a store may keep what it is given
        if write.append:
            raise CapabilityError(f"{self.name} cannot append in one step")
        if write.expect is not ANY:
            await self._compare_and_set(write)
        elif write.value is None:
            await self._call("delete", write.key)
        elif write.expires_at_turn is not None and self._has_expiry:
            await self._call("set_with_expiry", write.key, write.value, write.expires_at_turn, write.metadata)
        else:
            if write.expires_at_turn is not None:
                self._warn("set_with_expiry", "entries written with a time to live never expire")
            await self._call("set", write.key, write.value, write.metadata)
        return []

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        if limit is not None or after is not None:
            raise CapabilityError(f"{self.name} lists everything at once; it has no limit= and no after=")
        found = await self._call("list")
        if not isinstance(found, Iterable):
            raise StoreShapeError(f"{self.name}.list gave a {type(found).__name__}; it gives a list of entries")
        return Page(entry for entry in map(self._entry, found) if entry is not None and under(prefix, entry.key))

    def expectation(self, reading: Reading) -> Expectation:
        self._warn(
            "versions", "conflicts are found by comparing texts, so a change from A to B and back to A is not noticed (ABA)"
        )
        return ABSENT if reading.entry is None else str(reading.entry.value)

    async def _compare_and_set(self, write: Write) -> None:
        if not self.has_compare_and_set:
            raise CapabilityError(f"{self.name} has no compare_and_set, so a write cannot expect anything; use a built-in store")
        if isinstance(write.expect, int):
            raise CapabilityError(f"{self.name} keeps no versions; expect ABSENT or the stored text instead of {write.expect}")
        if write.value is None or write.expires_at_turn is not None:
            raise CapabilityError(f"{self.name} can compare-and-set a value only: no conditional delete, no expiry with it")
        expected = None if write.expect is ABSENT else write.expect
        if not await self._call("compare_and_set", write.key, expected, write.value, write.metadata):
            found = (await self.look(write.key)).entry
            raise ConflictError(
                f"the write to {write.key!r} found another text than it expected; nothing was written: read again and decide",
                key=write.key,
                expected=write.expect,
                found=found,
                mine=write.value,
            )

    async def _call(self, method: str, *args: Any) -> Any:
        made = getattr(self.store, method)(*args)
        if not inspect.isawaitable(made):
            raise StoreShapeError(
                f"{self.name}.{method} is not async: it returned {type(made).__name__}; write `async def {method}`"
            )
        awaited: Awaitable[Any] = made
        return await awaited

    def _entry(self, found: Any) -> MemoryEntry | None:
        if found is None:
            return None
        try:
            entry = MemoryEntry(found.key, found.value, copy_json(dict(found.metadata or {})))
            entry.created_at = getattr(found, "created_at", None) or entry.created_at
            entry.expires_at_turn = getattr(found, "expires_at_turn", None)
            check_key(entry.key)
            check_value(entry.value, entry.key)
            if entry.created_at.tzinfo is None:
                entry.created_at = entry.created_at.replace(tzinfo=UTC)
            if entry.expires_at_turn is not None:
                check_expiry(entry.expires_at_turn, entry.key)
        except (AttributeError, TypeError, ValueError) as error:
            raise StoreShapeError(
                f"{self.name} gave a {type(found).__name__} as an entry ({error}); an entry has key, value and metadata, "
                "such as cb.MemoryEntry(key, value, metadata)"
            ) from None
        return entry

    def _warn(self, what: str, consequence: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(f"{self.name} has no {what}: {consequence}", CapabilityWarning, stacklevel=2)


Port = BuiltInPort | ForeignPort


def port(store: Any) -> Port:
    """The way to this store."""
    return BuiltInPort(store) if is_built_in(store) else ForeignPort(store)
