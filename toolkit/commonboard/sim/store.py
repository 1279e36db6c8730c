"""The base store of a simulation: the in-memory store, with a choice before each operation and a record after it.

Choices lie here, where code meets the base store. A decorator around it, or a compare-and-set made by hand out of `get`
and `set`, is ordinary code above it, so its races are found too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Any

from commonboard.entry import ANY, Event, MemoryEntry, Page, Read, Reading, Write, check_key
from commonboard.errors import ConflictError, SimulationError
from commonboard.handle import Sightings
from commonboard.history import GIVEN, Kind, Operation
from commonboard.sim.loop import AGENT, SimLoop
from commonboard.stores.in_memory import InMemoryStore
from commonboard.values import ENCODING, TYPE, canonical_json, own_copy

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""When every simulation begins."""


@dataclass(slots=True, eq=False)
class Waiting:
    """An operation that an agent waits for: it happens when it is chosen."""

    agent: str
    what: str
    key: str
    future: asyncio.Future[None]
    ready: Callable[[], bool] | None = None

    @property
    def label(self) -> str:
        return f"{self.agent} {self.what} {self.key}"


class Recorder:
    """What all stores of one simulation share: the loop, the waiting operations, and the record of what happened.

    Args:
        loop: the simulation's loop.
        agents: the agents' names, in order.
    """

    def __init__(self, loop: SimLoop, agents: Iterable[str]) -> None:
        self.loop = loop
        self.waiting: dict[str, list[Waiting]] = {name: [] for name in agents}
        self.watching: list[Waiting] = []
        self.operations: list[Operation] = []
        self.events: list[Event] = []
        self._sightings: dict[str, Sightings] = {}
        self.moment = 0
        self.closed = False

    def possible(self, first: str) -> list[Waiting]:
        """What could happen next, the boring choice first: what `first` waits for, then the others in order."""
        found = list(self.waiting[first]) if first else []
        for name, waiting in self.waiting.items():
            if waiting and name != first:
                found += waiting
        if self.watching:
            found += [w for w in self.watching if w.ready is not None and w.ready()]
        return found

    def now(self) -> datetime:
        """The virtual time as a date."""
        return EPOCH + timedelta(seconds=self.loop.time())

    def tick(self) -> int:
        """The next point on the line on which operations begin and end."""
        self.moment += 1
        return self.moment

    async def chosen(self, what: str, key: str, ready: Callable[[], bool] | None = None) -> tuple[int, float]:
        """Wait until this operation is chosen; gives when it was called, as moment and in virtual seconds."""
        self.check_open()
        agent, called = AGENT.get(), (self.tick(), self.loop.time())
        queue = self.waiting.get(agent)
        if queue is None:
            raise SimulationError(
                f"{what} {key!r} was called by no agent: a task or a callback in a context of its own must be a copy of the "
                "agent's (contextvars.copy_context())"
            )
        waiting = Waiting(agent, what, key, self.loop.create_future(), ready)
        if ready is not None:
            queue = self.watching
        queue.append(waiting)
        try:
            await waiting.future
        finally:
            queue.remove(waiting)
        self.check_open()
        return called

    def check_open(self) -> None:
        """Cancel whoever goes on after the run is over: its cleaning up must not be part of the run."""
        if self.closed:
            raise asyncio.CancelledError("the run is over")

    def sightings(self) -> Sightings:
        """What the agent that is running saw through `get` and `list`."""
        return self._sightings.setdefault(AGENT.get(), Sightings())

    def record(self, called: tuple[int, float], kind: Kind, key: str, agent: str | None = None, **facts: Any) -> Operation:
        """Note an operation that has just happened, of the agent that is running unless another is named."""
        self.moment = moment = self.moment + 1
        op = Operation(len(self.operations), agent or AGENT.get(), kind, key, **facts)
        op.begin, op.began_at = called
        op.end, op.ended_at = moment, self.loop.time()
        self.operations.append(op)
        return op


class SimStore(InMemoryStore):
    """The store that agents of a simulation work on.

    Args:
        recorder: the simulation's record.
        replica: its name, where there are several.
    """

    def __init__(self, recorder: Recorder, replica: str | None = None) -> None:
        super().__init__(clock=recorder.now)
        self._recorder = recorder
        self.replica = replica

    async def get(self, key: str) -> MemoryEntry | None:
        reading = await self.look(key)
        self._recorder.sightings().see(key, reading.version)
        return reading.entry

    async def look(self, key: str) -> Reading:
        check_key(key)
        called = await self._recorder.chosen("reads", key)
        reading = self._board.look(key)
        entry = reading.entry
        op = self._recorder.record(called, "read", key)
        op.saw, op.replica = reading.version, self.replica
        if entry is not None:
            op.text, op.encoding, op.type_tag = entry.value, entry.metadata.get(ENCODING), entry.metadata.get(TYPE)
        return reading

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        called = await self._recorder.chosen("writes", key)
        await super().set(key, value, metadata)
        self._record_call(called, "write", self._board.log[-1], metadata)

    async def set_with_expiry(
        self, key: str, value: str, expires_at_turn: int, metadata: Mapping[str, Any] | None = None
    ) -> None:
        called = await self._recorder.chosen("writes", key)
        await super().set_with_expiry(key, value, expires_at_turn, metadata)
        self._record_call(called, "write", self._board.log[-1], metadata)

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        called = await self._recorder.chosen("compare-and-sets", key)
        done = await super().compare_and_set(key, expected, value, metadata)
        if done:
            self._record_call(called, "compare-and-set", self._board.log[-1], metadata)
        else:
            self._record_refused(called, Write(key, value, metadata), self._board.at(key)[1])
        return done

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        called = await self._recorder.chosen(" ".join(map(_verb, writes)), " ".join(map(_KEY, writes)))
        try:
            changes = self._board.plan(writes, reads, self._recorder.now())
        except ConflictError as refused:
            for write in writes:
                self._record_refused(called, write, refused.found_version if write.key == refused.key else None)
            raise
        self._board.apply(changes)
        wishes, events = iter(writes), []
        for _, _, event in changes:
            write = next(wishes)
            while write.key != event.key or (write.value is None) != (event.value is None):
                write = next(wishes)  # the delete of what was not there made no event
            self._record_event(called, _kind(write), event, write.metadata)
            events.append(event)
        return events

    async def delete(self, key: str) -> None:
        called = await self._recorder.chosen("deletes", key)
        before = self._board.seq
        await super().delete(key)
        for event in self._board.since(before):
            self._record_call(called, "delete", event, None)

    async def clear(self) -> None:
        called = await self._recorder.chosen("clears", "everything")
        before = self._board.seq
        await super().clear()
        for event in self._board.since(before):
            self._record_event(called, "delete", event, None)

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        called = await self._recorder.chosen("lists", prefix)
        page = await super().list(prefix, limit, after)
        self._record(called, "list", prefix, text=canonical_json([entry.key for entry in page]), encoding="json")
        if limit is None and after is None:
            self._recorder.sightings().see_all(prefix, page)
        return page

    async def watch(self, after: int = 0) -> AsyncIterator[Event]:
        while True:
            await self._recorder.chosen("watches", "the log", partial(self._has_news, after))
            for event in self._board.since(after):
                after = event.seq
                yield event

    def _record(self, called: tuple[int, float], kind: Kind, key: str, **facts: Any) -> Operation:
        return self._recorder.record(called, kind, key, replica=self.replica, **facts)

    def _record_call(self, called: tuple[int, float], kind: Kind, event: Event, metadata: Mapping[str, Any] | None) -> None:
        """As for a commit; but a decorator of five methods says not what its caller saw, so the `get` before it counts."""
        sightings = self._recorder.sightings()
        self._record_event(called, kind, event, metadata, sightings.saw(event.key))
        sightings.made(event.key, event.version)

    def _record_event(
        self,
        called: tuple[int, float],
        kind: Kind,
        event: Event,
        metadata: Mapping[str, Any] | None,
        seen: int | None = None,
    ) -> None:
        self._recorder.events.append(event)
        op = self._recorder.record(called, kind, event.key)
        op.text, op.encoding, op.type_tag = event.value, event.encoding, metadata.get(TYPE) if metadata else None
        op.saw, op.replaced, op.made = event.saw if seen is None else seen, event.version_before, event.version
        op.reason, op.replica = event.reason, self.replica
        self._wrote(op, event)

    def _record_refused(self, called: tuple[int, float], write: Write, found: int | None) -> None:
        metadata = write.metadata or {}
        self._record(
            called,
            "compare-and-set",
            write.key,
            text=write.value,
            encoding=metadata.get(ENCODING),
            type_tag=metadata.get(TYPE),
            saw=write.saw,
            replaced=found,
            ok=False,
            reason=write.reason,
        )

    def give(self, write: Write) -> Operation:
        """Put in what was there before the agents began."""
        changes = self._board.plan((write,), (), self._recorder.now())
        self._board.apply(changes)
        moment = (self._recorder.tick(), 0.0)
        (event,) = (event for _, _, event in changes)
        metadata = write.metadata or {}
        return self._record(
            moment,
            "write",
            event.key,
            agent=GIVEN,
            text=event.value,
            encoding=event.encoding,
            type_tag=metadata.get(TYPE),
            replaced=event.version_before,
            made=event.version,
        )

    def _has_news(self, after: int) -> bool:
        return self._board.seq > after

    def entries(self) -> Iterable[MemoryEntry]:
        """Copies of all entries, as stored."""
        return map(own_copy, list(self._board.entries.values()))

    def _wrote(self, op: Operation, event: Event) -> None:
        """Called after each write; a replica tells the others of it."""


_KEY = attrgetter("key")


def _verb(write: Write) -> str:
    return f"{_kind(write)}s"


def _kind(write: Write) -> Kind:
    if write.append:
        return "append"
    if write.value is None:
        return "delete"
    return "write" if write.expect is ANY else "compare-and-set"
