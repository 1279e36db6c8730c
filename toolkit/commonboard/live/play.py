"""Agents while they run on a real event loop: how they are started, waited for and stopped, and the memory that they share."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from commonboard.entry import MemoryEntry, Write
from commonboard.errors import ConflictError, NotAdmittedError
from commonboard.handle import AgentMemory, Sightings
from commonboard.history import Kind
from commonboard.memory import SharedMemory
from commonboard.policies import ConflictPolicy
from commonboard.recording.facts import CALLER, Fact, Moment, Tape
from commonboard.recording.stores import Recorded
from commonboard.sim.crew import begun
from commonboard.sim.trouble import Trouble, died, stuck
from commonboard.transactions import Looks
from commonboard.values import canonical_json

GRACE_S = 5.0
"""How long agents that were cancelled may take to clean up, in real seconds."""


@dataclass(slots=True, eq=False)
class UpdateNote:
    """One call of `update`, as an `UpdateCall` tells it, with facts in place of operations."""

    agent: str
    key: str
    called: Moment
    own_policy: bool
    outcome: Literal["wrote", "stood", "refused", "cancelled", "failed"] = "failed"
    fact: Fact | None = None


@dataclass(slots=True)
class Ends:
    """What agents came to."""

    outcome: str = "finished"
    troubles: list[Trouble] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)


class TapedLooks(Looks):
    """Notes what a transaction looks at, as a simulation does: at the moment of its snapshot, which is itself no operation.

    Args:
        name: the transaction's name.
        agent: whose it is.
        tape: the record.
    """

    def __init__(self, name: str, agent: str, tape: Tape) -> None:
        super().__init__(name)
        self._agent = agent
        self._tape = tape
        self._snapshot: Fact | None = None

    def taken(self) -> None:
        self._snapshot = self._tape.newest  # nothing waits between the answer of the store and this
        if self._snapshot is not None:
            self._snapshot.forgotten = True

    def read(self, key: str, entry: MemoryEntry | None, version: int) -> None:
        fact = self._note("read", key)
        fact.saw = version
        if entry is not None:
            fact.carries(entry.value, entry.metadata)

    def listed(self, prefix: str, keys: list[str]) -> None:
        fact = self._note("list", prefix)
        fact.text, fact.encoding = canonical_json(keys), "json"
        fact.seq = None if self._snapshot is None else self._snapshot.seq

    def _note(self, kind: Kind, key: str) -> Fact:
        snapshot = self._snapshot
        fact = self._tape.begin(kind, key, self._agent, None if snapshot is None else snapshot.called)
        fact.answered = None if snapshot is None else snapshot.answered
        fact.transaction = self.name
        return fact


class LiveMemory(SharedMemory):
    """The memory that agents share when they run for real.

    Args:
        recorded: the store, recorded.
        policy, turn: as for a `SharedMemory`.
        pace: how many real seconds a second of thinking lasts.
    """

    def __init__(self, recorded: Recorded, policy: ConflictPolicy, turn: int | str, pace: float) -> None:
        super().__init__(recorded, policy=policy, turn=turn)
        self.calls: list[UpdateNote] = []
        self._tape = recorded.tape
        self._pace = pace
        self._committed: tuple[MemoryEntry | None, Fact | None] = (None, None)

    async def _think(self, actor: str, seconds: float, tokens: int) -> None:
        fact = self._tape.begin("think", "", actor)
        fact.note, fact.tokens = f"{seconds:g} s" + (f", {tokens} tokens" if tokens else ""), tokens
        try:
            await asyncio.sleep(seconds * self._pace)
        finally:
            self._tape.answer(fact)

    def _looks(self, me: AgentMemory, number: int) -> Looks:
        agent = CALLER.get() or me.name
        return TapedLooks(f"{agent}#{number}", agent, self._tape)

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
        call = UpdateNote(CALLER.get() or actor, key, self._tape.now(), policy is not None)
        self.calls.append(call)
        try:
            entry = await super()._update(
                actor, key, change, policy, schema=schema, reason=reason, sightings=sightings, replica=replica
            )
        except (ConflictError, NotAdmittedError):
            call.outcome = "refused"
            raise
        except asyncio.CancelledError:
            call.outcome = "cancelled"
            raise
        # Nothing waits between a commit and the end of its update. Where theirs stood, the entry is one that was read.
        committed, fact = self._committed
        if entry is not None and entry is committed:
            call.outcome, call.fact = "wrote", fact
        else:
            call.outcome = "wrote" if self._in_parts else "stood"
        return entry

    async def _commit(self, write: Write, value: Any, metadata: dict[str, Any], sightings: Sightings) -> MemoryEntry:
        entry = await super()._commit(write, value, metadata, sightings)
        self._committed = (entry, self._tape.newest)
        return entry


async def play(crew: Mapping[str, Callable[[Any], Any]], memory: SharedMemory, timeout_s: float | None) -> Ends:
    """Run agents at once, until all have come to their end or the time is up.

    An agent that raises does not stop the others. Those that are left when the time is up are cancelled. If this is
    cancelled itself, so are they.

    Raises:
        AgentError: one of them is not an async function of its handle. None was started.
    """
    tasks = _started(crew, memory)
    ends = Ends()
    try:
        _, left = await asyncio.wait(tasks.values(), timeout=timeout_s)
        late = [name for name, task in tasks.items() if task in left]
        ends.troubles = [stuck(name, tasks[name], f"timeout_s={timeout_s:g}") for name in late]
    finally:
        stubborn = await _stopped([task for task in tasks.values() if not task.done()])
    for name, task in tasks.items():
        if name in late:
            continue
        error = asyncio.CancelledError("it was cancelled") if task.cancelled() else task.exception()
        if error is None:
            ends.results[name] = task.result()
        else:
            ends.errors[name] = error
            ends.troubles.append(died(name, error))
    ends.troubles += [Trouble(task.get_name(), "goes on although it was cancelled") for task in stubborn]
    ends.outcome = "endless" if late else "failed" if ends.errors else "finished"
    return ends


def _started(crew: Mapping[str, Callable[[Any], Any]], memory: SharedMemory) -> dict[str, asyncio.Task[Any]]:
    coroutines: dict[str, Any] = {}
    try:
        for name, fn in crew.items():
            coroutines[name] = begun(name, fn, memory.agent(name))
    except BaseException:
        for coroutine in coroutines.values():
            coroutine.close()
        raise
    tasks = {}
    for name, coroutine in coroutines.items():
        context = contextvars.copy_context()
        context.run(CALLER.set, name)
        tasks[name] = asyncio.get_running_loop().create_task(coroutine, name=name, context=context)
    return tasks


async def _stopped(tasks: list[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
    """Cancel tasks and let them clean up; gives those that go on all the same."""
    for task in tasks:
        task.cancel()
    if not tasks:
        return []
    done, stubborn = await asyncio.wait(tasks, timeout=GRACE_S)
    for task in done:
        if not task.cancelled():
            task.exception()  # asked for, so that asyncio does not complain that nobody did
    return [task for task in tasks if task in stubborn]
