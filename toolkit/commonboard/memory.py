"""The memory that agents share.

An agent writes under its own name, where nobody else can, or in the shared block, where everybody does. Reads take the
full key and may look anywhere. Values are Python values; turns expire entries; a policy settles conflicts of `update`.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from commonboard.entry import ABSENT, ANY, Event, Expectation, Log, MemoryEntry, Page, Reading, Write, check_key
from commonboard.errors import CapabilityError, ConflictError, NameNotAllowedError, TurnError, UnstorableValueError
from commonboard.handle import RESERVED, AgentMemory, Sightings, warn_short_key
from commonboard.parts import merged_parts, parts_of, update_part
from commonboard.policies import ConflictPolicy, Merge, Optimistic, as_policy
from commonboard.rule import check_write
from commonboard.snapshot import digest, from_snapshot, to_snapshot
from commonboard.stores.in_memory import InMemoryStore
from commonboard.stores.port import port
from commonboard.stores.protocol import check_store
from commonboard.transactions import Looks, Transaction
from commonboard.updating import Update, check_capability
from commonboard.values import ENCODING, MARKERS, as_schema, canonical_json, check_metadata, decode, decoded, encode, validate

TURN_KEY = "__commonboard__/turn"
_NEW: Any = object()


class SharedMemory:
    """A store as several agents use it: with names, Python values, turns and a conflict policy.

    Args:
        store: any object with the five methods of a store; a fresh `InMemoryStore` if none is given.
        policy: what `update` does on a conflict; a call may set another.
        turn: the turn to begin with, or `"shared"` to keep it in the store, for several processes.
        incarnation: what makes this run's replica ids new; random unless given.

    Raises:
        StoreShapeError: the store lacks a method; the error names it.

    >>> import asyncio
    >>> async def main():
    ...     memory = SharedMemory()
    ...     await memory.write("web", "notes", {"customers": 3}, reason="read the report")
    ...     return (await memory.read("web/notes")).value
    >>> asyncio.run(main())
    {'customers': 3}
    """

    def __init__(self, store: Any = _NEW, *, policy: Any = None, turn: int | str = 0, incarnation: str | None = None) -> None:
        store = InMemoryStore() if store is _NEW else store
        check_store(store)
        self.store = store
        self.policy: ConflictPolicy = Optimistic() if policy is None else as_policy(policy)
        self._port = port(store)
        self._shared_turn = turn == "shared"
        self._turn = 0 if turn == "shared" else _whole(turn, 0, "turn")
        self._incarnation = incarnation or secrets.token_hex(4)
        self._in_parts = not (self._port.has_commit or self._port.has_compare_and_set)
        self._writers: dict[str, AgentMemory] = {}
        self._busy: dict[str, set[str]] = {}

    def __repr__(self) -> str:
        return f"SharedMemory({self.store!r}, policy={self.policy!r}, turn={self._turn})"

    def agent(self, name: str) -> AgentMemory:
        """The handle of the agent of this name.

        Raises:
            NameNotAllowedError: the name is empty, holds a `/`, or is reserved.
        """
        return AgentMemory(self, name, self._incarnation)

    async def write(self, agent: str, key: str, value: Any, **options: Any) -> MemoryEntry:
        """Overwrite an agent's own key; options as for `AgentMemory.write`."""
        return await self._writer(agent).write(key, value, **options)

    async def write_expiring(self, agent: str, key: str, value: Any, ttl_turns: int, **options: Any) -> MemoryEntry:
        """Overwrite an agent's own key for `ttl_turns` turns; see `AgentMemory.write_expiring`."""
        return await self._writer(agent).write_expiring(key, value, ttl_turns, **options)

    async def read(self, key: str, *, schema: Any = None) -> MemoryEntry | None:
        """The entry at a full key, or `None` if there is none, or it has expired, or the key is reserved."""
        entry = self._visible((await self._look(key)).entry)
        if entry is None and "/" not in key and key not in RESERVED:
            warn_short_key(key, "agent")
        if entry is not None and schema is not None:
            entry.value = as_schema(entry.value, schema, key)
        return entry

    async def value(self, key: str, default: Any = None) -> Any:
        """The value at a full key, or the default."""
        entry = await self.read(key)
        return default if entry is None else entry.value

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        """The entries under a prefix that can be read now, first created first.

        Args:
            prefix: whole segments: `"web"` never finds `website/…`; the empty prefix finds everything.
            limit: how many at the most; `None` for all.
            after: the `.cursor` of the page before.
        """
        await self._refresh_turn()
        page = await self._port.list(prefix, limit, after)
        found = self._page(page)
        while limit is not None and len(found) < limit and page.cursor is not None:
            page = await self._port.list(prefix, limit - len(found), page.cursor)
            found.extend(self._page(page))
        found.cursor = page.cursor
        return found

    async def summary(self, task_ids: Iterable[str] | None = None) -> str:
        """The board as markdown, grouped by namespace, for a prompt; long values are cut. Empty text if nothing is there."""
        return digest(await self.list(), task_ids)

    async def snapshot(self) -> dict[str, Any]:
        """All that can be read now, and the turn, as plain JSON data in open-multi-agent's format."""
        await self._refresh_turn()
        return to_snapshot(await self._port.list(), self._turn, self._hidden)

    async def restore(self, snapshot: dict[str, Any]) -> None:
        """Make the board what the snapshot says: atomically on a built-in store, with new versions, creation times kept.

        Reserved keys stay. On a five-method store it is done key by key: a failure midway leaves it half done, creation
        times are the store's, and expiry is kept only where the store has `set_with_expiry`.

        Raises:
            SnapshotError: it is not a snapshot of version 1. Nothing was changed.
            InvalidKeyError, UnstorableValueError, NameNotAllowedError: it holds what cannot be written. Nothing was changed.
        """
        writes, turn = from_snapshot(snapshot)
        wanted = {write.key for write in writes}
        for key in wanted:
            _check_writable(key)
        present = [entry.key for entry in await self._port.list() if not _is_reserved(entry.key)]
        wipe = [Write(key, None, reason="restore", turn=turn) for key in present if key not in wanted]
        everything = [*wipe, *writes, *self._turn_writes(turn)]
        if self._port.has_commit:
            await self._port.commit(*everything)
        else:
            for write in everything:
                check_write(write)
            for write in everything:
                await self._port.commit(write)
        self._turn = turn

    async def log(self, after: int = 0, *, key: str | None = None, actor: str | None = None) -> Log:
        """What happened, oldest first; of one key or one actor if asked.

        Raises:
            CapabilityError: the store keeps no log.
        """
        self._need_log()
        found = await self.store.events(after, key=key, actor=actor)
        return Log(event for event in found if not _is_reserved(event.key))

    async def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """The events after a log position, and then each new one as it happens.

        Raises:
            CapabilityError: the store keeps no log.
        """
        self._need_log()
        async for event in self.store.watch(after):
            if not _is_reserved(event.key):
                yield event

    @property
    def turn(self) -> int:
        """The turn, as this memory knows it."""
        return self._turn

    async def advance_turn(self, turns: int = 1) -> int:
        """End the turn; gives the new one. A shared turn is advanced by compare-and-set, so no process's step is lost."""
        step = _whole(turns, 1, "turns")
        while self._shared_turn:
            reading = await self._refresh_turn()
            try:
                return await self._set_turn(self._turn + step, self._port.expectation(reading))
            except ConflictError:
                continue
        return await self._set_turn(self._turn + step)

    def _writer(self, name: str) -> AgentMemory:
        if name not in self._writers:
            self._writers[name] = self.agent(name)
        return self._writers[name]

    def _need_log(self) -> None:
        if not self._port.has_commit:
            raise CapabilityError(f"{self._port.name} keeps no log; use a built-in store such as InMemoryStore()")

    async def _set_turn(self, turn: int, expect: Expectation = ANY) -> int:
        for write in self._turn_writes(turn, expect):
            await self._port.commit(write)
        self._turn = turn
        return turn

    def _turn_writes(self, turn: int, expect: Expectation = ANY) -> tuple[Write, ...]:
        return (Write(TURN_KEY, str(turn), {ENCODING: "json"}, expect, turn=turn),) if self._shared_turn else ()

    async def _refresh_turn(self) -> Reading:
        if not self._shared_turn:
            return Reading(None, None)
        reading = await self._port.look(TURN_KEY)
        self._turn = int(reading.entry.value) if reading.entry else 0
        return reading

    async def _look(self, key: str) -> Reading:
        check_key(key)
        if _is_reserved(key):
            return Reading(None, None)
        if self._shared_turn:
            await self._refresh_turn()
        reading = await self._port.look(key)
        if reading.entry is None and self._in_parts:
            return Reading(await merged_parts(self._port, key), None)
        return reading

    def _visible(self, entry: MemoryEntry | None) -> MemoryEntry | None:
        return None if entry is None or self._hidden(entry) else decoded(entry)

    def _hidden(self, entry: MemoryEntry) -> bool:
        expired = entry.expires_at_turn is not None and self._turn >= entry.expires_at_turn
        return expired or _is_reserved(entry.key)

    def _page(self, page: Page) -> Page:
        shown = [decoded(entry) for entry in page if not self._hidden(entry)]
        return Page(shown, cursor=page.cursor, position=page.position, floor=page.floor, gone=page.gone)

    async def _write(
        self,
        actor: str,
        key: str,
        value: Any,
        *,
        schema: Any = None,
        reason: str | None = None,
        metadata: Any = None,
        expect: Expectation = ANY,
        ttl_turns: int = 0,
        expires: bool = False,
        sightings: Sightings,
        saw: int | None = None,
    ) -> MemoryEntry:
        _check_writable(key)
        if self._shared_turn:
            await self._refresh_turn()
        expires_at = self._turn + _whole(ttl_turns, 1, "ttl_turns") if expires else None
        if schema is not None:
            value = validate(value, schema, key)
        text, markers = encode(value)
        facts = {k: v for k, v in check_metadata(metadata).items() if k not in MARKERS} | markers | {"agent": actor}
        saw = sightings.saw(key) if saw is None else saw
        write = Write(key, text, facts, expect, actor, reason, self._turn, saw, expires_at)
        try:
            return await self._commit(write, value, facts, sightings)
        except ConflictError as refused:
            expired = refused.found if expect is ABSENT else None
            if expired is None or not self._hidden(expired):
                raise
            # An expired entry counts as absent, as long as it is still the same one.
            write = replace(write, expect=self._port.expectation(Reading(expired, refused.found_version)))
        return await self._commit(write, value, facts, sightings)

    async def _commit(self, write: Write, value: Any, metadata: dict[str, Any], sightings: Sightings) -> MemoryEntry:
        events = await self._port.commit(write)
        entry = MemoryEntry(write.key, value, metadata, expires_at_turn=write.expires_at_turn)
        if events:
            entry.version, entry.created_at = events[0].version, events[0].created_at
            sightings.made(write.key, entry.version)
        return entry

    async def _update(
        self,
        actor: str,
        key: str,
        change: Callable[[Any], Any],
        policy: Any,
        *,
        schema: Any,
        reason: str | None,
        sightings: Sightings,
        replica: str,
    ) -> MemoryEntry | None:
        _check_writable(key)
        settled = self.policy if policy is None else as_policy(policy)
        check_capability(self._port, settled)

        async def look() -> Reading:
            reading = await self._look(key)
            sightings.see(key, reading.version)
            return reading

        async def commit(value: Any, expect: Expectation, saw: int | None) -> MemoryEntry:
            return await self._write(actor, key, value, schema=schema, reason=reason, expect=expect, sightings=sightings, saw=saw)

        with self._lane(key, replica) as lane:
            if isinstance(settled, Merge) and self._in_parts:
                return await update_part(self._port, key, change, settled, actor, lane)
            return await Update(self._port, key, change, settled, actor, lane, look, commit, self._visible).run()

    @contextmanager
    def _lane(self, key: str, replica: str) -> Iterator[str]:
        """A replica id that no other update of the key is using: two at once under one id would give two changes one name."""
        busy = self._busy.setdefault(key, set())
        lane, number = replica, 1
        while lane in busy:
            number += 1
            lane = f"{replica}.{number}"
        busy.add(lane)
        try:
            yield lane
        finally:
            busy.remove(lane)
            if not busy:
                self._busy.pop(key, None)

    async def _append(self, actor: str, key: str, item: Any, *, reason: str | None, sightings: Sightings) -> MemoryEntry:
        _check_writable(key)
        await self._refresh_turn()
        text = canonical_json(item)
        if not self._port.has_commit:
            if not self._port.has_compare_and_set:
                name = self._port.name
                raise CapabilityError(f"{name} can append neither in one step nor by compare-and-set; use a built-in store")

            def add(items: Any) -> Any:
                if items is not None and not isinstance(items, list):
                    raise UnstorableValueError(f"cannot append to {key!r}: what is there is not a list; write a list first")
                return [*(items or ()), item]

            many = Optimistic(attempts=1000)
            made = await self._update(actor, key, add, many, schema=list, reason=reason, sightings=sightings, replica="")
            assert made is not None  # nobody can let another's value stand here
            return made
        metadata = {ENCODING: "json", "agent": actor}
        write = Write(key, text, metadata, ANY, actor, reason, self._turn, append=True)
        (event,) = await self._port.commit(write)
        sightings.made(key, event.version)
        return MemoryEntry(key, decode(event.value or "", metadata, key), metadata, event.created_at, event.version)

    async def _compare_and_set(
        self, actor: str, key: str, expected: Any, value: Any, *, reason: str | None, sightings: Sightings
    ) -> bool:
        expect: Expectation = ABSENT if expected is None else encode(expected)[0]
        try:
            await self._write(actor, key, value, reason=reason, expect=expect, sightings=sightings)
        except ConflictError:
            return False
        return True

    async def _delete(self, actor: str, key: str, *, reason: str | None, expect: Expectation, sightings: Sightings) -> None:
        _check_writable(key)
        await self._refresh_turn()
        if self._in_parts and await parts_of(self._port, key):
            raise CapabilityError(
                f"{key!r} is kept in parts, one for each writer, and {self._port.name} cannot delete them in one step; "
                f"nothing was deleted: delete the keys {key + '/@…'!r} one by one"
            )
        write = Write(key, None, None, expect, actor, reason, self._turn, sightings.saw(key))
        for event in await self._port.commit(write):
            sightings.made(key, event.version)

    def _transaction(self, me: AgentMemory, number: int, isolation: Any, prefixes: Any) -> Transaction:
        if not self._port.has_commit:
            name = self._port.name
            raise CapabilityError(f"{name} has no transactions: it cannot commit several keys as one step; use a built-in store")
        return Transaction(self, me, isolation, prefixes, self._looks(me, number))

    def _looks(self, me: AgentMemory, number: int) -> Looks:
        """Who is told what a transaction looks at."""
        return Looks(f"{me.name}#{number}")

    def _over(self, store: Any) -> SharedMemory:
        """The same memory over another store, for a transaction that works on a copy."""
        return SharedMemory(store, policy=self.policy, turn=self._turn, incarnation=self._incarnation)

    async def _think(self, actor: str, seconds: float, tokens: int) -> None:
        """Nothing here; a simulation puts its virtual clock in its place."""


def _is_reserved(key: str) -> bool:
    return key.startswith("__") and key.partition("/")[0] in RESERVED


def _check_writable(key: str) -> None:
    check_key(key)
    if _is_reserved(key):
        raise NameNotAllowedError(f"{key!r} is reserved: it is kept for the system's own records, so agents cannot write it")


def _whole(number: Any, least: int, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise TurnError(f"{what} must be a whole number of at least {least}, not {number!r}")
    return number
