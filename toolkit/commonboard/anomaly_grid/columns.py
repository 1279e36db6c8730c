"""The columns of the grid: eight ways of working on one board, so that one program of agents runs in all of them.

An agent of a row is written against `Way`: it looks, changes one key, writes, does several things together, and notes what it
saw. A column says what these come to: under which policy, on how many copies, by a loop of compare-and-set, or as a transaction.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from commonboard.handle import AgentMemory
from commonboard.policies import ConflictPolicy, LastWriterWins, Merge, Optimistic, SingleWriter
from commonboard.sim import World
from commonboard.values import plain

Job = Callable[["Way"], Awaitable[Any]]
"""What an agent of a row does, whatever the column."""
Change = Callable[[Any], Any]

OWNER = "owner"


class TakenBack(Exception):
    """Ends a transaction that takes back what it began."""


class Way:
    """How an agent works on the board: with `update` under the column's policy, one key at a time.

    Args:
        me: the agent's handle.
        name: on whose behalf; the agent's own unless given.
    """

    def __init__(self, me: AgentMemory, name: str = "") -> None:
        self.me = me
        self.name = name or me.name

    async def see(self, key: str, default: Any = None) -> Any:
        """The value at `shared/<key>`, as plain data."""
        return plain(await self.me.value(f"shared/{key}", default))

    async def keys(self, prefix: str) -> list[str]:
        """The keys under `shared/<prefix>`."""
        return [entry.key for entry in await self.me.list(f"shared/{prefix}")]

    async def change(self, key: str, change: Change) -> Any:
        """Read, change and write one key; gives the value that stands afterwards."""
        entry = await self.me.shared.update(key, change)
        return None if entry is None else plain(entry.value)

    async def write(self, key: str, value: Any) -> None:
        """Put a value there, whatever there was."""
        await self.change(key, lambda found: value)

    async def take_back(self, key: str, value: Any) -> None:
        """Undo a write: by hand, unless the column can do it."""
        await self.write(key, value)

    async def together(self, work: Job) -> Any:
        """Do several things that are meant as one; gives what the work returns."""
        return await work(self)

    async def note(self, *seen: Any) -> None:
        """Write down what was seen, so that the final board tells."""
        await self.me.shared.write(f"{self.name} saw", list(seen))


class Blind(Way):
    """Writes without looking."""

    async def write(self, key: str, value: Any) -> None:
        await self.me.shared.write(key, value)


class ByValue(Way):
    """Changes a key by a loop of compare-and-set, which compares values."""

    async def change(self, key: str, change: Change) -> Any:
        while True:
            found = await self.see(key)
            made = await _now(change(found))
            if await self.me.shared.compare_and_set(key, found, made):
                return made


class InSnapshot(Way):
    """Does what is meant as one as one transaction, and anything else as a transaction of its own."""

    isolation: Literal["snapshot", "serializable"] = "snapshot"

    async def together(self, work: Job) -> Any:
        try:
            return await self.me.transact(lambda tx: work(_Inside(tx, self.name)), isolation=self.isolation)
        except TakenBack:
            return None

    async def change(self, key: str, change: Change) -> Any:
        return await self.together(lambda way: way.change(key, change))


class InSerial(InSnapshot):
    """The same, serializable."""

    isolation = "serializable"


class _Inside(Blind):
    """Inside a transaction."""

    async def change(self, key: str, change: Change) -> Any:
        made = await _now(change(await self.see(key)))
        await self.write(key, made)
        return made

    async def take_back(self, key: str, value: Any) -> None:
        raise TakenBack


async def _now(made: Any) -> Any:
    return await made if inspect.isawaitable(made) else made


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: what the matrix calls it.
        way: how its agents work.
        policy: the policy, given the row's CRDT class.
        copies: how many copies of the board there are; each operation may happen at any of them.
        has_owner: whether one agent does the work of all, one after another.
        sentence: what it is.
    """

    name: str
    way: type[Way]
    sentence: str
    policy: Callable[[type[Any]], ConflictPolicy] = field(default=lambda crdt: Optimistic())
    copies: int = 1
    has_owner: bool = False

    def worlds(self, **faults: Any) -> list[World]:
        """The worlds, narrow and wide, with what else may go wrong: what happens in one may happen in each that follows.

        In the narrow one agents stay with their copy, so there is less to try before a witness is found.
        """
        if self.copies == 1:
            return [World(**faults)]
        return [World(self.copies, visibility=visibility, **faults) for visibility in ("sticky", "eventual")]

    def agents(self, jobs: Mapping[str, Job], readers: tuple[str, ...]) -> dict[str, Callable[[AgentMemory], Any]]:
        """The agents that do these jobs in this way.

        Args:
            jobs: what each agent does, by its name.
            readers: which of them only look, and so need no owner.
        """
        own = {name: self._agent(job) for name, job in jobs.items() if not self.has_owner or name in readers}
        if not self.has_owner:
            return own
        asking = tuple((name, job) for name, job in jobs.items() if name not in readers)
        return {OWNER: _owner(asking, self.way), **dict.fromkeys([name for name, _ in asking], _asks), **own}

    def _agent(self, job: Job) -> Callable[[AgentMemory], Any]:
        way = self.way

        async def agent(me: AgentMemory) -> None:
            await job(way(me))

        return agent


async def _asks(me: AgentMemory) -> None:
    await me.shared.append("inbox", me.name)


def _owner(jobs: tuple[tuple[str, Job], ...], way: type[Way]) -> Callable[[AgentMemory], Any]:
    """The one who writes: follows the inbox, and does all that an agent asks for before it looks again."""

    async def owner(me: AgentMemory) -> None:
        waiting = dict(jobs)
        async for event in me.watch():  # a handle of its own has no watch; and a poll would fill the pictures
            if event.key == "shared/inbox" and event.actor in waiting:
                await waiting.pop(event.actor)(way(me, event.actor))
            if not waiting:
                return

    return owner


COLUMNS: tuple[Column, ...] = (
    Column(
        "last writer wins, one copy",
        Blind,
        "Agents write without looking whether anything has changed; the last write stays.",
        lambda crdt: LastWriterWins(),
    ),
    Column(
        "last writer wins, replicas",
        Blind,
        "Two copies tell each other of writes; of two that have not seen each other, the greater (stamp, actor) stays.",
        lambda crdt: LastWriterWins(),
        copies=2,
    ),
    Column(
        "compare-and-set by value",
        ByValue,
        "A write succeeds only if the key still holds the value that was read; else the change runs again.",
    ),
    Column(
        "compare-and-set by version",
        Way,
        "A write succeeds only if the key still has the version that was read; else the change runs again.",
    ),
    Column(
        "CRDT, replicas",
        Way,
        "Two copies tell each other of writes; what has not seen each other is merged as a CRDT that fits.",
        Merge,
        copies=2,
    ),
    Column(
        "single writer",
        Way,
        "Agents ask one owner, who does their work, one after another; everybody may read at any time.",
        lambda crdt: SingleWriter(OWNER),
        has_owner=True,
    ),
    Column(
        "snapshot transactions",
        InSnapshot,
        "What is meant as one is one transaction: it reads from a snapshot, and of two that write one key the first wins.",
    ),
    Column(
        "serializable transactions",
        InSerial,
        "What is meant as one is one transaction, and nothing that it read or listed may have changed when it commits.",
    ),
)
