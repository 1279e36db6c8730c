"""The handle that an agent works with: its own keys, and the shared block."""

from __future__ import annotations

import asyncio
import inspect
import warnings
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from commonboard.entry import ANY, Event, Expectation, MemoryEntry, Page, under
from commonboard.errors import ConflictError, InvalidArgumentError, NameNotAllowedError
from commonboard.values import as_schema

if TYPE_CHECKING:
    from commonboard.memory import SharedMemory
    from commonboard.transactions import Transaction

T = TypeVar("T")
SHARED = "shared"
RESERVED = ("__oma_checkpoint__", "__oma_approval__", "__commonboard__")


def check_agent_name(name: Any) -> None:
    """Refuse a name that cannot head an agent's keys.

    Raises:
        NameNotAllowedError: it is empty, holds a `/`, or is reserved.
    """
    if not isinstance(name, str) or not name:
        raise NameNotAllowedError(f"an agent's name is non-empty text such as 'web', not {name!r}")
    if "/" in name:
        raise NameNotAllowedError(
            f"an agent's name cannot hold a '/', which separates it from its keys: {name!r}; use '-' instead"
        )
    if name == SHARED or name in RESERVED:
        raise NameNotAllowedError(f"{name!r} is the name of a reserved namespace; give the agent another name")


class ShortKeyWarning(UserWarning):
    """A read named a key without its namespace, and found nothing."""


def warn_short_key(key: str, name: str) -> None:
    """Say that a read takes the full key, where that is the likely mistake."""
    warnings.warn(
        f"there is no entry {key!r}: reads take the full key, such as '{name}/{key}' or 'shared/{key}'",
        ShortKeyWarning,
        stacklevel=3,
    )


class Sightings:
    """Which version of each key an agent saw last, so that each of its writes can say what it rested on.

    Where an agent runs several tasks at once, each remembers what it read itself; what a task has not read, the agent's
    other tasks may have read for it (`await asyncio.gather(me.value("x"), me.value("y"))`).
    """

    def __init__(self) -> None:
        self._agent: dict[str, int] = {}
        self._listings: dict[str, int] = {}
        self._of_task: ContextVar[tuple[weakref.ref[asyncio.Task[Any]] | None, dict[str, int]] | None] = ContextVar(
            "sightings", default=None
        )

    def see(self, key: str, version: int | None) -> None:
        if version is not None:
            self._agent[key] = version
            self._mine()[key] = version

    def see_all(self, prefix: str, page: Page) -> None:
        """A whole listing: it shows every key under the prefix, also those that are not there."""
        shown = {entry.key: entry.version for entry in page} | page.gone
        for key, version in self._agent.items():
            if version < page.floor and key not in shown and under(prefix, key):
                shown[key] = page.floor  # it went, and its tombstone too
        for key, seen in shown.items():
            self.see(key, seen)
        self._listings[prefix] = page.floor

    def saw(self, key: str) -> int | None:
        """The version seen last, or `None` if the agent never looked."""
        mine = self._mine()
        if key in mine:
            return mine[key]
        if key in self._agent:
            return self._agent[key]
        return max((floor for prefix, floor in self._listings.items() if under(prefix, key)), default=None)

    def made(self, key: str, version: int | None) -> None:
        """The agent wrote the key: if it had ever looked, it now knows this version."""
        if self.saw(key) is not None:
            self.see(key, version)

    def _mine(self) -> dict[str, int]:
        task = asyncio.current_task()
        owner = None if task is None else weakref.ref(task)  # a task holds its context, so this must not hold the task
        held = self._of_task.get()
        if held is not None and held[0] == owner:
            return held[1]
        fresh = dict(held[1]) if held is not None else {}
        self._of_task.set((owner, fresh))
        return fresh


class Namespace:
    """The keys under one name, as one agent may change them. `key` is short here: the name comes in front of it."""

    def __init__(self, memory: SharedMemory, actor: str, name: str, sightings: Sightings, replica: str) -> None:
        self._memory = memory
        self._actor = actor
        self._name = name
        self._sightings = sightings
        self._replica = replica

    def __repr__(self) -> str:
        return f"<{self._name}/… as changed by {self._actor}>"

    def __getattr__(self, name: str) -> Any:
        if name in ("read", "value", "list"):
            raise AttributeError(f"{name} takes the full key, and stands on the agent's own handle: me.{name}('{self._name}/…')")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def key(self, key: str) -> str:
        """The full key."""
        if not isinstance(key, str) or not key:
            raise NameNotAllowedError(f"a key under {self._name!r} is non-empty text, not {key!r}")
        return f"{self._name}/{key}"

    async def write(
        self,
        key: str,
        value: Any,
        *,
        schema: Any = None,
        reason: str | None = None,
        metadata: Any = None,
        expect: Expectation = ANY,
    ) -> MemoryEntry:
        """Overwrite, blindly unless `expect` says otherwise. A policy never touches it.

        Args:
            key: the key, without the namespace.
            value: any JSON value, or a CRDT.
            schema: a pydantic model or any type; what it puts out is stored.
            reason: why, for the log.
            metadata: plain JSON facts to keep beside the value.
            expect: `ABSENT`, the version that must be there, or the exact stored text.

        Returns:
            The new entry.

        Raises:
            ConflictError: the expectation does not hold. Nothing was written.
            SchemaError, UnstorableValueError: the value cannot be stored. Nothing was written.
        """
        return await self._memory._write(
            self._actor,
            self.key(key),
            value,
            schema=schema,
            reason=reason,
            metadata=metadata,
            expect=expect,
            sightings=self._sightings,
        )

    async def write_expiring(self, key: str, value: Any, ttl_turns: int, *, reason: str | None = None) -> MemoryEntry:
        """Overwrite, and hide the entry after `ttl_turns` turns (1: it can be read in this turn only).

        Raises:
            TurnError: `ttl_turns` is not a whole number of at least 1.
        """
        return await self._memory._write(
            self._actor, self.key(key), value, reason=reason, ttl_turns=ttl_turns, expires=True, sightings=self._sightings
        )

    async def update(
        self, key: str, change: Callable[[Any], Any], policy: Any = None, *, schema: Any = None, reason: str | None = None
    ) -> MemoryEntry | None:
        """Read, change, write: under the policy of the call, else of the memory.

        Args:
            key: the key, without the namespace.
            change: takes the value that is there (`None` if there is none), gives the new one; plain or async.
            policy: a `ConflictPolicy`, or a function of `(base, mine, theirs)`.
            schema, reason: as for `write`.

        Returns:
            The entry that stands afterwards.

        Raises:
            ConflictError: the policy rejected the change, or the attempts ran out. Nothing was written.
            NotAdmittedError: the policy does not let this agent make this change.
            CapabilityError: the store cannot carry the policy.
        """
        return await self._memory._update(
            self._actor,
            self.key(key),
            change,
            policy,
            schema=schema,
            reason=reason,
            sightings=self._sightings,
            replica=self._replica,
        )

    async def append(self, key: str, item: Any, *, reason: str | None = None) -> MemoryEntry:
        """Add one item to the list at the key (a new list if there is none), in one atomic step.

        Raises:
            UnstorableValueError: what is there is not a list.
            CapabilityError: the store can do it neither in one step nor by compare-and-set.
        """
        return await self._memory._append(self._actor, self.key(key), item, reason=reason, sightings=self._sightings)

    async def compare_and_set(self, key: str, expected: Any, value: Any, *, reason: str | None = None) -> bool:
        """Write `value` if the value there is exactly `expected` (`None`: if there is no entry); says whether it did.

        Values are compared, not versions: a change from A to B and back to A goes unnoticed. `write(expect=version)` notices.
        """
        return await self._memory._compare_and_set(
            self._actor, self.key(key), expected, value, reason=reason, sightings=self._sightings
        )

    async def delete(self, key: str, *, reason: str | None = None, expect: Expectation = ANY) -> None:
        """Remove the entry; nothing if there is none. The log keeps who and why."""
        await self._memory._delete(self._actor, self.key(key), reason=reason, expect=expect, sightings=self._sightings)


class AgentMemory(Namespace):
    """What an agent is given: `me`. It writes under its own name; `me.shared` writes where everybody does.

    Attributes:
        name: the agent's name.
        replica: the id under which its CRDT changes are made, `name~incarnation`; never used twice.
        shared: the shared block.
    """

    def __init__(self, memory: SharedMemory, name: str, incarnation: str) -> None:
        check_agent_name(name)
        super().__init__(memory, name, name, Sightings(), f"{name}~{incarnation}")
        self.name = name
        self.replica = self._replica
        self.shared = Namespace(memory, name, SHARED, self._sightings, self._replica)
        self._begun = 0
        self._transactions: dict[asyncio.Task[Any] | None, str] = {}

    def __repr__(self) -> str:
        return f"AgentMemory({self.name!r})"

    async def read(self, key: str, *, schema: Any = None) -> MemoryEntry | None:
        """The entry at a full key such as `"shared/open_questions"`, or `None`. `entry.value` is the Python value.

        Args:
            key: the full key.
            schema: make the value an object of this pydantic model or type.
        """
        reading = await self._memory._look(key)
        self._sightings.see(key, reading.version)
        entry = self._memory._visible(reading.entry)
        if entry is None and "/" not in key and key not in RESERVED:
            warn_short_key(key, self.name)
        if entry is not None and schema is not None:
            entry.value = as_schema(entry.value, schema, key)
        return entry

    async def value(self, key: str, default: Any = None) -> Any:
        """The value at a full key, or the default."""
        entry = await self.read(key)
        return default if entry is None else entry.value

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        """The entries under a prefix (whole segments), first created first. See `SharedMemory.list`."""
        page = await self._memory.list(prefix, limit, after)
        if page.cursor is None and after is None:
            self._sightings.see_all(prefix, page)
        else:
            for entry in page:
                self._sightings.see(entry.key, entry.version)
        return page

    def transaction(
        self, *, isolation: Literal["snapshot", "serializable"] = "serializable", prefixes: str | Iterable[str] = ""
    ) -> Transaction:
        """Several reads and writes as one step: `async with me.transaction() as tx`.

        When the block begins, one look at the board takes a snapshot. `tx` is a handle like `me`: it reads from the snapshot,
        and what it has written itself. When the block ends, all its writes are committed together. If the block raises, or is
        cancelled, nothing is written.

        Args:
            isolation: what must still be as the snapshot shows it. `"snapshot"`: every key that is written, so the first
                committer wins, and write skew is possible. `"serializable"`: also every key that was read, and every prefix that
                was listed, so it is as if transactions ran one after the other.
            prefixes: what the snapshot shows, and the transaction may use: a prefix, or several; the whole board unless given.

        Raises:
            ConflictError: at the end of the block: something has changed. Nothing was written; run the whole block again, or let
                `transact` do so.
            TransactionError: it is used inside another transaction, after its end, or outside its prefixes.
            CapabilityError: the store cannot commit several keys as one step.

        A blind write counts too: if somebody else wrote that key after the snapshot, the transaction is refused. What has
        expired is told by the turn at the snapshot. `me` itself stays outside the transaction.

        >>> import asyncio
        >>> import commonboard as cb
        >>> async def main(me):
        ...     async with me.transaction() as tx:
        ...         balance = await tx.value("shared/savings", 0)
        ...         await tx.shared.write("savings", balance - 30)
        ...         await tx.shared.write("spent", 30)
        ...     return await me.value("shared/savings"), await me.value("shared/spent")
        >>> asyncio.run(main(cb.SharedMemory().agent("web")))
        (-30, 30)

        Source: snapshot isolation is Berenson et al., "A critique of ANSI SQL isolation levels" (1995).
        """
        self._begun += 1
        return self._memory._transaction(self, self._begun, isolation, prefixes)

    async def transact(
        self,
        work: Callable[[AgentMemory], Awaitable[T]],
        *,
        isolation: Literal["snapshot", "serializable"] = "serializable",
        prefixes: str | Iterable[str] = "",
        attempts: int = 20,
    ) -> T:
        """Do `work(tx)` as a transaction, and all of it again, on a new snapshot, whenever its commit is refused.

        Args:
            work: an async function of the transaction's handle. It may run several times, so it should do nothing but use that.
            isolation, prefixes: as for `transaction`.
            attempts: how many tries in all.

        Returns:
            What `work` returned the last time.

        Raises:
            ConflictError: the last try was refused too. Nothing was written.

        >>> import asyncio
        >>> import commonboard as cb
        >>> async def take(tx):
        ...     waiting = await tx.value("shared/waiting", ["a", "b"])
        ...     await tx.shared.write("waiting", waiting[1:])
        ...     return waiting[0]
        >>> asyncio.run(cb.SharedMemory().agent("web").transact(take))
        'a'
        """
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
            raise InvalidArgumentError(f"attempts must be a whole number of at least 1, not {attempts!r:.60}")
        if not callable(work):
            raise InvalidArgumentError(f"work is an async function of a transaction's handle, not {work!r:.60}")
        while True:
            attempts -= 1
            transaction = self.transaction(isolation=isolation, prefixes=prefixes)
            try:
                async with transaction as tx:
                    begun = work(tx)
                    if not inspect.isawaitable(begun):
                        raise InvalidArgumentError(f"work must be async, but calling it gave {begun!r:.60}; nothing was written")
                    return await begun
            except ConflictError:
                if not transaction.refused or attempts == 0:
                    raise

    async def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """The events after a log position, and then each new one as it happens: for an agent that waits for the others.

        Raises:
            CapabilityError: the store keeps no log.
            InvalidArgumentError: the position is not a whole number.
        """
        if isinstance(after, bool) or not isinstance(after, int):
            raise InvalidArgumentError(f"watch takes a position in the log, such as 0 or page.position, not {after!r:.60}")
        async for event in self._memory.watch(after):
            self._sightings.see(event.key, event.version)
            yield event

    async def think(self, seconds: float = 0.0, tokens: int = 0) -> None:
        """Spend time and tokens: virtual in a simulation, nothing otherwise.

        Args:
            seconds: virtual seconds, at least 0.
            tokens: how many tokens the thought costs, at least 0.
        """
        numbers = isinstance(seconds, (int, float)) and isinstance(tokens, int)
        if not numbers or not seconds >= 0 or not tokens >= 0 or seconds == float("inf"):
            raise ValueError(f"think takes at least 0 seconds and 0 tokens, not {seconds!r} and {tokens!r}")
        await self._memory._think(self.name, seconds, tokens)
