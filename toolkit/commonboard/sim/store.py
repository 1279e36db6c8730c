"""The base store of a simulation: each call waits until it is chosen, happens, and is recorded.

Choices lie here, where code meets the base store. A decorator around it, or a compare-and-set made by hand out of `get`
and `set`, is ordinary code above it, so its races are found too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from commonboard.entry import ABSENT, Event, Log, MemoryEntry, Page, Read, Reading, Write, check_key
from commonboard.errors import ConflictError, InvalidWriteError, SimulationError
from commonboard.handle import Sightings
from commonboard.history import GIVEN, Kind, Operation
from commonboard.rule import check_expiry, check_value
from commonboard.sim.asks import Ask, Clear, Commit, Follow, List, Look, Site, kind_of
from commonboard.sim.loop import AGENT, SimLoop
from commonboard.values import TYPE, own_copy

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""When every simulation begins."""


@dataclass(slots=True, eq=False)
class Waiting:
    """An operation that an agent waits for: it happens when it is chosen.

    Attributes:
        agent: whose it is.
        ask: what it is.
        site: where it happens; `None` in a store of another make.
        future: where the answer goes.
        called: when it was called, as moment and in virtual seconds.
    """

    agent: str
    ask: Ask
    site: Site | None
    future: asyncio.Future[Any]
    called: tuple[int, float]

    @property
    def label(self) -> str:
        return f"{self.agent} {self.ask.what} {self.ask.key}"

    @property
    def ready(self) -> bool:
        """Whether it can happen now; only who follows the log may have to wait for news."""
        ask = self.ask
        return type(ask) is not Follow or (self.site is not None and ask.ready(self.site))


class Recorder:
    """What all stores of one simulation share: the loop, the waiting operations, and the record of what happened.

    Args:
        loop: the simulation's loop.
        agents: the agents' names, in order.
    """

    def __init__(self, loop: SimLoop, agents: Iterable[str]) -> None:
        self.loop = loop
        self.waiting: dict[str, list[Waiting]] = {name: [] for name in agents}
        self.operations: list[Operation] = []
        self.events: list[Event] = []
        self._sightings: dict[str, Sightings] = {}
        self.moment = 0
        self.closed = False

    def now(self) -> datetime:
        """The virtual time as a date; where time is free it stands still, since a stamp would tell who came first."""
        return EPOCH if self.loop.free else EPOCH + timedelta(seconds=self.loop.now)

    def tick(self) -> int:
        """The next point on the line on which operations begin and end."""
        self.moment += 1
        return self.moment

    async def asked(self, ask: Ask, site: Site | None) -> Any:
        """Wait until this operation is chosen and has happened; gives its answer, or raises what it raised."""
        self.check_open()
        agent = AGENT.get()
        queue = self.waiting.get(agent)
        if queue is None:
            raise SimulationError(
                f"{ask.what} {ask.key!r} was called by no agent: a task or a callback in a context of its own must be a copy of "
                "the agent's (contextvars.copy_context())"
            )
        waiting = Waiting(agent, ask, site, self.loop.create_future(), (self.tick(), self.loop.now))
        queue.append(waiting)
        try:
            answer = await waiting.future
        finally:
            if waiting in queue:
                queue.remove(waiting)
        self.check_open()
        return answer

    def happen(self, waiting: Waiting) -> None:
        """Let it happen, note it, and give the agent its answer."""
        self.loop.reach(waiting.agent)
        self.waiting[waiting.agent].remove(waiting)
        records: list[Operation] = []
        site, answer, error = waiting.site, None, None
        try:
            answer = waiting.ask.perform(site, waiting.agent, self.now(), records)  # type: ignore[arg-type]
        except Exception as raised:
            error = raised
        for op in records:
            self.note(op, waiting.called)
        if error is not None:
            waiting.future.set_exception(error)
        else:
            waiting.future.set_result(answer)
        made = sum([op.is_write for op in records])
        if made and site is not None:
            self.events += site.board.log[-made:]

    def check_open(self) -> None:
        """Cancel whoever goes on after the run is over: its cleaning up must not be part of the run."""
        if self.closed:
            raise asyncio.CancelledError("the run is over")

    def sightings(self) -> Sightings:
        """What the agent that is running saw through `get` and `list`."""
        return self._sightings.setdefault(AGENT.get(), Sightings())

    def note(self, op: Operation, called: tuple[int, float]) -> None:
        """Put an operation that has just happened into the history."""
        self.moment = moment = self.moment + 1
        op.index = len(self.operations)
        op.begin, op.began_at = called
        op.end, op.ended_at = moment, self.loop.now
        self.operations.append(op)

    def record(self, called: tuple[int, float], kind: Kind, key: str, agent: str | None = None, **facts: Any) -> Operation:
        """Note an operation that has just happened, of the agent that is running unless another is named."""
        op = Operation(-1, agent or AGENT.get(), kind, key, **facts)
        self.note(op, called)
        return op


class SimStore:
    """The store that agents of a simulation work on.

    Args:
        recorder: the simulation's record.
        site: the copy of the board that it works on.
    """

    def __init__(self, recorder: Recorder, site: Site) -> None:
        self._recorder = recorder
        self.site = site

    def __repr__(self) -> str:
        return f"SimStore({len(self.site.board.entries)} entries)"

    async def get(self, key: str) -> MemoryEntry | None:
        reading = await self.look(key)
        self._recorder.sightings().see(key, reading.version)
        return reading.entry

    async def look(self, key: str) -> Reading:
        check_key(key)
        reading: Reading = await self._asked(Look(key))
        return reading

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        await self._put(Write(key, value, metadata), "writes")

    async def set_with_expiry(
        self, key: str, value: str, expires_at_turn: int, metadata: Mapping[str, Any] | None = None
    ) -> None:
        check_expiry(expires_at_turn, key)
        await self._put(Write(key, value, metadata, expires_at_turn=expires_at_turn), "writes")

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        if expected is not None and not isinstance(expected, str):
            raise InvalidWriteError(
                f"compare_and_set expects a stored text, or None for no entry, not {expected!r:.80}; commit expects versions"
            )
        try:
            await self._put(Write(key, value, metadata, ABSENT if expected is None else expected), "compare-and-sets")
        except ConflictError:
            return False
        return True

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        what = " ".join([f"{kind_of(write)}s" for write in writes if isinstance(write, Write)])
        events: list[Event] = await self._asked(Commit(writes, tuple(reads), what))
        return events

    async def delete(self, key: str) -> None:
        check_key(key)
        await self._write(Write(key, None), "deletes")

    async def clear(self) -> None:
        await self._asked(Clear())

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        page: Page = await self._asked(List(prefix, limit, after))
        if limit is None and after is None:
            self._recorder.sightings().see_all(prefix, page)
        return page

    async def events(self, after: int = 0, *, key: str | None = None, actor: str | None = None) -> Log:
        found = await self._asked(Follow(after, waits=False))
        return Log(e for e in found if (key is None or e.key == key) and (actor is None or e.actor == actor))

    async def watch(self, after: int = 0) -> AsyncIterator[Event]:
        while True:
            for event in await self._asked(Follow(after)):
                after = event.seq
                yield event

    async def _asked(self, ask: Ask) -> Any:
        return await self._recorder.asked(ask, self.site)

    async def _put(self, write: Write, what: str) -> None:
        check_key(write.key)
        check_value(write.value, write.key)
        agent = (write.metadata or {}).get("agent")
        write.actor = agent if isinstance(agent, str) else None
        await self._write(write, what)

    async def _write(self, write: Write, what: str) -> None:
        """One write of the five methods: they say not what their caller saw, so the `get` before it counts."""
        sightings = self._recorder.sightings()
        kind: Kind = "compare-and-set" if what == "compare-and-sets" else "delete" if write.value is None else "write"
        for event in await self._asked(Commit((write,), (), what, kind, sightings.saw(write.key))):
            sightings.made(event.key, event.version)

    def give(self, write: Write) -> None:
        """Put in what was there before the agents began."""
        site, recorder = self.site, self._recorder
        changes = site.board.plan((write,), (), recorder.now())
        site.board.apply(changes)
        (event,) = (event for _, _, event in changes)
        op = Operation(-1, GIVEN, "write", event.key, event.value, event.encoding, (write.metadata or {}).get(TYPE))
        op.replaced, op.made, op.replica = event.version_before, event.version, site.replica
        recorder.note(op, (recorder.tick(), 0.0))
        site.given(op)

    def entries(self) -> Iterable[MemoryEntry]:
        """Copies of all entries, as stored."""
        return map(own_copy, list(self.site.board.entries.values()))
