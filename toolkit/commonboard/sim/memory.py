"""The memory of a simulation: thinking takes virtual time, and each `update` is noted with what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from commonboard.entry import MemoryEntry, Write
from commonboard.errors import ConflictError, NotAdmittedError
from commonboard.handle import AgentMemory, Sightings
from commonboard.history import Operation
from commonboard.memory import SharedMemory
from commonboard.policies import ConflictPolicy
from commonboard.sim.looks import NotedLooks
from commonboard.sim.loop import AGENT
from commonboard.sim.store import Recorder
from commonboard.transactions import Looks


@dataclass(slots=True)
class UpdateCall:
    """One call of `update`: whose, where, and what came of it.

    A history has its reads and writes; only the call knows which of them belong together, and how it ended.

    Attributes:
        agent, key: whose it is, and the full key.
        begin: when it was called: the `begin` of its first read.
        own_policy: whether the call set a policy of its own, which the run's policy then has no say in.
        outcome: `wrote`; `stood` where the policy let theirs stand; `refused` where the agent was told so by a
            `ConflictError` or a `NotAdmittedError`; `cancelled`; `failed` for any other error.
        operation: the write that it made, if it made one; not known on a store that keeps no versions.
    """

    agent: str
    key: str
    begin: int
    own_policy: bool
    outcome: Literal["wrote", "stood", "refused", "cancelled", "failed"] = "failed"
    operation: Operation | None = None


class SimMemory(SharedMemory):
    """The memory that agents of a simulation share.

    Args:
        recorder: the simulation's record.
        store: the store, or what was made around it.
        policy, turn: as for a `SharedMemory`.
        calls: where calls of `update` are noted; the same list for all memories of a simulation.
    """

    def __init__(self, recorder: Recorder, store: Any, policy: ConflictPolicy, turn: int, calls: list[UpdateCall]) -> None:
        super().__init__(store, policy=policy, turn=turn, incarnation="1")
        self._recorder = recorder
        self._calls = calls
        self._committed: MemoryEntry | None = None

    async def _think(self, actor: str, seconds: float, tokens: int) -> None:
        recorder = self._recorder
        recorder.check_open()
        cost = f"{seconds:g} s" + (f", {tokens} tokens" if tokens else "")
        recorder.loop.reach(actor)
        op = recorder.record((recorder.tick(), recorder.loop.now), "think", "", agent=actor, note=cost, tokens=tokens)
        try:
            await asyncio.sleep(seconds)
        finally:
            op.ended_at = max(op.began_at, recorder.loop.clock())

    def _looks(self, me: AgentMemory, number: int) -> Looks:
        first_life = me.replica == f"{me.name}~1"
        return NotedLooks(f"{me.name if first_life else me.replica}#{number}", AGENT.get() or me.name, self._recorder)

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
        agent = AGENT.get() or actor
        call = UpdateCall(agent, key, self._recorder.moment + 1, policy is not None)
        self._calls.append(call)
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
        if self._in_parts or (entry is not None and entry is self._committed):
            call.outcome, call.operation = "wrote", self._written(agent, key, entry)
        else:
            call.outcome = "stood"
        return entry

    async def _commit(self, write: Write, value: Any, metadata: dict[str, Any], sightings: Sightings) -> MemoryEntry:
        self._committed = await super()._commit(write, value, metadata, sightings)
        return self._committed

    def _written(self, agent: str, key: str, entry: MemoryEntry | None) -> Operation | None:
        """The operation that made an entry; `None` where the store keeps no versions."""
        version = None if entry is None else entry.version
        for op in reversed(self._recorder.operations if version is not None else []):
            if op.is_write and (op.agent, op.key, op.made) == (agent, key, version):
                return op
        return None
