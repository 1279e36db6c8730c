"""Stores that note every call: around a built-in store, which tells versions, and around anybody's five methods."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from commonboard.entry import ABSENT, ANY, Event, Log, MemoryEntry, Page, Read, Reading, Write, check_key
from commonboard.errors import (
    CommonboardError,
    ConflictError,
    InvalidArgumentError,
    InvalidWriteError,
    LogCompactedError,
    OutcomeUnknownError,
    StoreShapeError,
    UnstorableValueError,
)
from commonboard.history import History, Kind
from commonboard.recording.facts import MARK, Clock, Fact, Recording, Shown, Tape, shown, unmarked
from commonboard.recording.settling import settled
from commonboard.recording.telling import Told, histories, tell
from commonboard.rule import check_expiry
from commonboard.stores.port import name_of
from commonboard.stores.protocol import check_store, is_built_in
from commonboard.values import TYPE, canonical_json


class _Recorded:
    """What both have: the store inside, and what was noted."""

    def __init__(self, inner: Any, tape: Tape) -> None:
        self.inner = inner
        self.tape = tape

    def __repr__(self) -> str:
        calls = len(self.tape.facts)
        return f"{type(self).__name__}({name_of(self.inner)}, {calls} call{'' if calls == 1 else 's'})"

    @property
    def recorded(self) -> Any:
        """The store inside: errors name that."""
        return self.inner

    @property
    def history(self) -> History:
        """What happened so far. Versions that are not certain are `None`, so that a check answers `Unknown`."""
        return self._told().history

    @property
    def doubts(self) -> list[str]:
        """Why some versions are not known, a sentence for each key; empty where all are."""
        return self._told().doubts

    def histories(self, limit: int = 1000) -> Iterator[History]:
        """The histories that may have happened: one for each order of overlapping writes that the record allows.

        Args:
            limit: how many at the most.
        """
        return (told.history for told in histories([self.recording], limit=limit))

    @property
    def recording(self) -> Recording:
        """The facts, as they travel between processes."""
        return Recording(self.tape.name, list(self.tape.facts))

    def _told(self) -> Told:
        return tell([self.recording])


class RecordedBuiltInStore(_Recorded):
    """A built-in store with a recorder around it: every call goes through, with the same answers and errors.

    The versions are the store's own. `get` is a `look`, and `set`, `delete` and `compare_and_set` are commits of one write,
    which come to the same and tell their version. Following the log (`events`, `watch`) is no operation.

    Attributes:
        inner: the store inside.
        history: what happened so far.
    """

    def __init__(self, inner: Any, tape: Tape) -> None:
        super().__init__(inner, tape)
        for name in ("set_with_expiry", "compare_and_set"):  # what the store inside does not offer, this one does not
            if callable(getattr(inner, name, None)):
                setattr(self, name, getattr(self, f"_{name}"))

    async def get(self, key: str) -> MemoryEntry | None:
        reading = await self.look(key)
        self.tape.see(key, reading.version)
        return reading.entry

    async def look(self, key: str) -> Reading:
        fact = self.tape.begin("read", key)
        reading: Reading = await self.inner.look(key)
        fact.saw = reading.version
        if reading.entry is not None:
            fact.carries(reading.entry.value, reading.entry.metadata)
        self.tape.answer(fact)
        return reading

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        await self._put(Write(key, value, metadata))

    async def _set_with_expiry(
        self, key: str, value: str, expires_at_turn: int, metadata: Mapping[str, Any] | None = None
    ) -> None:
        check_expiry(expires_at_turn, key)
        await self._put(Write(key, value, metadata, expires_at_turn=expires_at_turn))

    async def _compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        if expected is not None and not isinstance(expected, str):
            raise InvalidWriteError(
                f"compare_and_set expects a stored text, or None for no entry, not {expected!r:.80}; commit expects versions"
            )
        try:
            await self._put(Write(key, value, metadata, ABSENT if expected is None else expected))
        except ConflictError:
            return False
        return True

    async def delete(self, key: str) -> None:
        await self._put(Write(key, None))

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        return await self._commit(writes, reads)

    async def clear(self) -> None:
        tape = self.tape
        before = (await self.inner.list("", 0)).position
        fact = tape.begin("delete", "")
        await self.inner.clear()
        tape.answer(fact)
        try:
            events = await self.inner.events(before)
        except LogCompactedError:
            fact.key, fact.note = "everything", "cleared; the log no longer tells what was deleted"
            return
        fact.forgotten = True
        known = {one.seq for one in tape.facts if one.made is not None}
        for event in events:
            if event.operation == "delete" and event.actor is None and event.seq not in known:
                one = tape.begin("delete", event.key, fact.agent, fact.called)
                one.agent, one.answered = fact.agent, fact.answered
                _did(one, event, None)

    async def _put(self, write: Write) -> None:
        """A write of the five methods: it says not what its caller saw, so the `get` before it counts."""
        agent = (write.metadata or {}).get("agent") if isinstance(write.metadata, Mapping) else None
        write.actor = agent if isinstance(agent, str) else None
        check_key(write.key)
        saw, knows = self.tape.saw(write.key)
        for event in await self._commit((write,), (), saw, knows):
            self.tape.wrote(event.key, event.version)

    async def _commit(
        self, writes: tuple[Write, ...], reads: Iterable[Read], saw: int | None = None, knows: bool = True
    ) -> list[Event]:
        if not all(isinstance(write, Write) for write in writes):
            events: list[Event] = await self.inner.commit(*writes, reads=reads)  # which refuses them
            return events
        tape, called = self.tape, self.tape.now()
        facts = [tape.begin(_kind(write), write.key, write.actor, called) for write in writes]
        for fact, write in zip(facts, writes, strict=True):
            fact.carries(write.value, write.metadata if isinstance(write.metadata, Mapping) else None)
            fact.saw, fact.knows, fact.reason = write.saw if saw is None else saw, knows, write.reason
        try:
            events = await self.inner.commit(*writes, reads=reads)
        except OutcomeUnknownError:
            raise
        except CommonboardError as error:  # nothing was written, and the caller was told
            _refuse(facts, error)
            tape.answer(*facts)
            raise
        wishes = iter(zip(facts, writes, strict=True))
        for event in events:
            for fact, write in wishes:  # the delete of what was not there makes no event
                if fact.key == event.key and (write.value is None) == (event.value is None):
                    _did(fact, event, write.metadata)
                    break
        for fact in facts:
            fact.forgotten = fact.made is None
        tape.answer(*facts)
        return events

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        fact = self.tape.begin("list", prefix)
        page: Page = await self.inner.list(prefix, limit, after)
        fact.text, fact.encoding, fact.seq = canonical_json([entry.key for entry in page]), "json", page.position
        self.tape.answer(fact)
        if limit is None and after is None:
            self.tape.see_all(prefix, page)
        return page

    async def events(self, after: int = 0, *, key: str | None = None, actor: str | None = None) -> Log:
        """The log after a position, oldest first. Looking at it is no operation."""
        log: Log = await self.inner.events(after, key=key, actor=actor)
        return log

    def watch(self, after: int = 0) -> AsyncIterator[Event]:
        events: AsyncIterator[Event] = self.inner.watch(after)
        return events

    async def settle(self, after: int = 0) -> None:
        """Complete the record from the store's log: calls whose answer was lost, and writes that others made meanwhile.

        Args:
            after: the log position at which the recording began.

        Raises:
            LogCompactedError: the log no longer reaches back that far.
        """
        self.tape.facts += settled(self.tape.facts, await self.inner.events(after), self.tape.now())


def _kind(write: Write) -> Kind:
    if write.append:
        return "append"
    if write.value is None:
        return "delete"
    return "write" if write.expect is ANY else "compare-and-set"


def _did(fact: Fact, event: Event, metadata: Mapping[str, Any] | None) -> None:
    """Note what a write came to."""
    fact.text, fact.encoding, fact.type_tag = event.value, event.encoding, (metadata or {}).get(TYPE)
    fact.replaced, fact.made, fact.seq = event.version_before, event.version, event.seq
    fact.saw = event.saw if event.saw is not None else fact.saw


def _refuse(facts: list[Fact], error: CommonboardError) -> None:
    for fact in facts:
        fact.ok = False
        if not isinstance(error, ConflictError):
            fact.note = type(error).__name__
        elif fact.key == error.key:
            fact.replaced = error.found_version
        if isinstance(error, ConflictError):
            fact.kind = "compare-and-set"


class RecordedStore(_Recorded):
    """Anybody's five-method store with a recorder around it. It offers what the store inside offers, and no more.

    Each write is marked in its metadata, and the mark is taken out again of what readers get; so it is known which write a
    read saw. Which of two writes came first is concluded from that and from real time alone, as `history` says. That rests
    on two things: each call of the store takes effect at one moment between its call and its answer, and nobody else writes.
    Where what was read does not fit that, the versions of the key are not known.

    Attributes:
        inner: the store inside.
        history: what happened so far.
    """

    def __init__(self, inner: Any, tape: Tape) -> None:
        super().__init__(inner, tape)
        for name in ("set_with_expiry", "compare_and_set"):
            if callable(getattr(inner, name, None)):
                setattr(self, name, getattr(self, f"_{name}"))

    async def get(self, key: str) -> Any:
        fact = self.tape.begin("read", key, versioned=False)
        found, mark = unmarked(await self._call("get", key))
        if found is None:
            fact.shown = (Shown(key, None, None),)
        else:
            fact.carries(getattr(found, "value", None), getattr(found, "metadata", None))
            fact.shown = (Shown(key, mark, fact.text, fact.encoding, fact.type_tag),)
        self.tape.answer(fact)
        self.tape.see(key, fact.number)
        return found

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        fact, marked = self._write("write", key, value, metadata)
        await self._call("set", key, value, marked)
        self._wrote(fact)

    async def _set_with_expiry(
        self, key: str, value: str, expires_at_turn: int, metadata: Mapping[str, Any] | None = None
    ) -> None:
        fact, marked = self._write("write", key, value, metadata)
        await self._call("set_with_expiry", key, value, expires_at_turn, marked)
        self._wrote(fact)

    async def _compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        fact, marked = self._write("compare-and-set", key, value, metadata)
        fact.expected = expected
        fact.ok = bool(await self._call("compare_and_set", key, expected, value, marked))
        self._wrote(fact)
        return fact.ok

    async def delete(self, key: str) -> None:
        fact, _ = self._write("delete", key, None, None)
        await self._call("delete", key)
        self._wrote(fact)

    async def clear(self) -> None:
        fact, _ = self._write("delete", "", None, None)
        fact.note = "clear"
        await self._call("clear")
        self._wrote(fact)

    async def list(self) -> Any:
        fact = self.tape.begin("list", "", versioned=False)
        found = await self._call("list")
        if not isinstance(found, Iterable):
            fact.forgotten = True
            return found
        pairs = [unmarked(entry) for entry in found]
        keys = [(str(entry.key), mark, entry) for entry, mark in pairs if hasattr(entry, "key") and hasattr(entry, "value")]
        fact.shown = tuple(shown(key, mark, entry) for key, mark, entry in keys)
        fact.text, fact.encoding = canonical_json([key for key, _, _ in keys]), "json"
        self.tape.answer(fact)
        seen = (MemoryEntry(key, "", version=fact.number) for key, _, _ in keys)
        self.tape.see_all("", Page(seen, floor=fact.number))
        return [entry for entry, _ in pairs]

    def _write(self, kind: Kind, key: Any, text: Any, metadata: Any) -> tuple[Fact, dict[str, Any]]:
        if metadata is not None and not isinstance(metadata, Mapping):
            raise UnstorableValueError(f"metadata must be a mapping of text to JSON values, not {type(metadata).__name__}")
        facts = dict(metadata or {})
        fact = self.tape.begin(kind, key, facts.get("agent"), versioned=False)
        fact.carries(text if isinstance(text, str) else None, facts)
        fact.mark = self.tape.mark()
        number, fact.knows = self.tape.saw(fact.key)
        fact.rests_on = None if number is None else self.tape.facts[number]
        return fact, facts | {MARK: fact.mark}

    def _wrote(self, fact: Fact) -> None:
        self.tape.answer(fact)
        if fact.ok:
            self.tape.wrote(fact.key, fact.number)

    async def _call(self, method: str, *args: Any) -> Any:
        made = getattr(self.inner, method)(*args)
        if not inspect.isawaitable(made):
            raise StoreShapeError(
                f"{type(self.inner).__name__}.{method} is not async: it returned {type(made).__name__}; "
                f"write `async def {method}`"
            )
        return await made


Recorded = RecordedStore | RecordedBuiltInStore


def record(store: Any, *, clock: Clock = time.perf_counter, name: str | None = None) -> Recorded:
    """A recorder around a store: use it in the store's place, and ask it for its `.history`.

    Every call that is answered becomes an operation: when it was called and when it returned, in one order of whole numbers
    and in seconds since the first call; who called, as far as that is known; what was read or written; and the versions.
    A write whose caller got no answer (it was cancelled, or an error says not what happened) has `acknowledged=False`; if
    nobody knows whether it happened, it has no version either. A look without an answer is left out: it told nobody anything.

    Args:
        store: any object with the five methods, or a built-in store.
        clock: gives seconds that never run backwards.
        name: what the marks of this recorder begin with; random unless given, since it must be new for each recording.

    Raises:
        StoreShapeError: the store lacks a method.
        InvalidArgumentError: the store is recorded already.

    >>> import asyncio
    >>> from commonboard.memory import SharedMemory
    >>> from commonboard.recording import acting
    >>> from commonboard.stores import InMemoryStore
    >>> recorded = record(InMemoryStore())
    >>> async def main():
    ...     web = SharedMemory(recorded).agent("web")
    ...     with acting("web"):
    ...         await web.shared.update("count", lambda n: (n or 0) + 1)
    >>> asyncio.run(main())
    >>> [(op.agent, op.kind, op.saw, op.replaced, op.made) for op in recorded.history]
    [('web', 'read', 0, None, None), ('web', 'compare-and-set', 0, 0, 1)]
    """
    check_store(store)
    if isinstance(store, _Recorded):
        raise InvalidArgumentError("the store is recorded already; ask it for its .history")
    tape = Tape(clock, name)
    return RecordedBuiltInStore(store, tape) if is_built_in(store) else RecordedStore(store, tape)
