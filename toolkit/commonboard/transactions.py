"""Transactions: look at the board at one moment, work on a copy of what was there, hand in all changes as one step.

A transaction takes a snapshot when it begins: one `list`, so it shows one moment. It then works on a copy of that, which is
a store like any other, so that it reads its own writes and whatever an agent's handle can do, it can. At the end what has
changed on the copy is one `commit`, all or nothing. Nobody waits for anybody: who comes too late is refused (optimistic
concurrency control: Kung and Robinson, 1981).

What the commit rests on is the isolation. `snapshot`: no key that it writes has changed since; the first committer wins. Two
transactions may then each change what the other only read, which is write skew (Berenson et al., 1995). `serializable`: nor
has any key that it read, or anything under a prefix that it listed; it is then as if it had happened at the moment of the
commit, alone. One that writes nothing commits nothing: it saw one moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from commonboard.entry import (
    ANY,
    Event,
    KeyUnchanged,
    MemoryEntry,
    Page,
    PrefixUnchanged,
    Read,
    Reading,
    Write,
    check_text,
    under,
)
from commonboard.errors import ConflictError, InvalidArgumentError, TransactionError
from commonboard.handle import AgentMemory, Sightings
from commonboard.rule import Board
from commonboard.stores.in_memory import InMemoryStore

if TYPE_CHECKING:
    from commonboard.memory import SharedMemory
    from commonboard.stores.port import BuiltInPort

Isolation = Literal["snapshot", "serializable"]

TRANSACTION: ContextVar[str | None] = ContextVar("commonboard_transaction", default=None)
"""The transaction whose snapshot or commit a call of a store is; whoever records the call notes it."""

_NOT_YET = datetime(1970, 1, 1, tzinfo=UTC)


class Looks:
    """Told what a transaction looks at. Here nobody listens; a simulation notes it in its history.

    Args:
        name: the transaction's name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def begin(self) -> None:
        """The snapshot is about to be taken."""

    def taken(self) -> None:
        """The snapshot was taken."""

    def read(self, key: str, entry: MemoryEntry | None, version: int) -> None:
        """The transaction looked at a key for the first time; the entry and the version are those of the snapshot."""

    def listed(self, prefix: str, keys: list[str]) -> None:
        """The transaction listed a prefix for the first time; the keys are those of the snapshot."""


class Draft(InMemoryStore):
    """A transaction's own copy of the board: its writes go here first, and it notes what was looked at.

    Args:
        page: the snapshot.
        prefixes: what of it the transaction may use.
        looks: told what is looked at.
        sightings: what the agent has seen, outside the transaction too.

    Attributes:
        over: why it can no longer be used; empty while it can.
        seen: the keys that were looked at, with their versions in the snapshot.
        listed: the prefixes that were listed.
    """

    def __init__(self, page: Page, prefixes: tuple[str, ...], looks: Looks, sightings: Sightings) -> None:
        super().__init__(clock=lambda: _NOT_YET)
        self.over = ""
        self.seen: dict[str, int] = {}
        self.listed: dict[str, None] = {}
        self._first = {entry.key: entry for entry in page if any(under(prefix, entry.key) for prefix in prefixes)}
        self._gone = page.gone
        self._floor = page.floor
        self._position = page.position
        self._prefixes = prefixes
        self._looks = looks
        self._sightings = sightings
        born = {key: place for place, key in enumerate(self._first, 1)}
        self._board = Board(dict(self._first), dict(page.gone), born, [], page.floor, len(born))

    def version(self, key: str) -> int:
        """The version that the snapshot shows, of an entry or of its absence."""
        entry = self._first.get(key)
        return self._gone.get(key, self._floor) if entry is None else entry.version or 0

    async def look(self, key: str) -> Reading:
        await _let_others_in()
        self._check(key, repr(key))
        self._see(key)
        return await super().look(key)

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        await _let_others_in()
        for write in writes:
            self._check(write.key, repr(write.key))
            idle = write.value is None and write.key not in self._board.entries
            if idle or write.append or write.expect is not ANY:
                self._see(write.key)  # what comes of it depends on what was there
        return await super().commit(*writes, reads=reads)

    def writes(self) -> list[Write]:
        """What the transaction changed: one write for each key, which rests on the version that the snapshot shows."""
        last = {event.key: event for event in self._board.log}
        found = []
        for key, event in last.items():
            entry, then = self._board.entries.get(key), self.version(key)
            if entry is None and key not in self._first:
                continue  # it came and went
            text, metadata = (None, None) if entry is None else (entry.value, entry.metadata)
            expires = None if entry is None else entry.expires_at_turn
            found.append(Write(key, text, metadata, then, event.actor, event.reason, event.turn, then, expires))
        return found

    def reads(self, writes: Iterable[Write]) -> list[Read]:
        """What the transaction looked at beside what it writes."""
        written = {write.key for write in writes}
        came_and_went = {event.key: self.version(event.key) for event in self._board.log}
        keys = [KeyUnchanged(key, version) for key, version in (self.seen | came_and_went).items() if key not in written]
        return [*keys, *(PrefixUnchanged(prefix, self._position) for prefix in self.listed)]

    def did(self, key: str) -> str:
        """What the transaction did with a key on which its commit rests."""
        if any(event.key == key for event in self._board.log):
            return "wrote"
        return "read" if key in self.seen else "listed"

    def _check(self, key: str, what: str) -> None:
        if self.over:
            raise TransactionError(f"the transaction {self._looks.name} {self.over}; begin another one with me.transaction()")
        if not any(under(prefix, key) for prefix in self._prefixes):
            shown = " and ".join(map(repr, self._prefixes))
            raise TransactionError(
                f"the transaction {self._looks.name} took a snapshot of {shown} only, so it knows nothing of {what}; "
                "give that to prefixes= too, or leave prefixes= out for the whole board"
            )

    def _see(self, key: str) -> None:
        then = self.version(key)
        if key not in self.seen and self._board.at(key)[1] == then:  # else it looks at its own write
            self.seen[key] = then
            self._looks.read(key, self._first.get(key), then)
            self._saw(key, then)

    def _saw(self, key: str, version: int) -> None:
        """The agent has seen this version; it may have seen a newer one beside the transaction."""
        known = self._sightings.saw(key)
        if known is None or known < version:
            self._sightings.see(key, version)

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        await _let_others_in()
        check_text(prefix, "the prefix")
        self._check(prefix, f"everything under {prefix!r}" if prefix else "the whole board")
        if prefix not in self.listed:
            self.listed[prefix] = None
            shown = [entry for key, entry in self._first.items() if under(prefix, key)]
            self._looks.listed(prefix, [entry.key for entry in shown])
            for entry in shown:
                self._saw(entry.key, entry.version or 0)
        return await super().list(prefix, limit, after)


async def _let_others_in() -> None:
    """Nothing of a transaction waits for anybody; so without this, a loop of looks would never end, and nobody could stop it."""
    await asyncio.sleep(0)


class TransactionMemory(AgentMemory):
    """What `async with me.transaction() as tx` gives: a handle like `me`, on the transaction's own copy of the board.

    Everything that `me` can do, `tx` can: `tx.read`, `tx.value` and `tx.list` take full keys, `tx.write` and its kin write under
    the agent's own name, `tx.shared` in the shared block. Reads see the snapshot, and the transaction's own writes. What was
    written bears no true `created_at` (it is 1970) before the commit, and an `update` finds nobody in its way, so that its policy
    has nothing to settle. Nothing happens on a copy but what the transaction does, so there is no `watch`.
    """

    def __init__(self, memory: SharedMemory, me: AgentMemory) -> None:
        super().__init__(memory, me.name, me.replica[len(me.name) + 1 :])
        self._me = me

    def __repr__(self) -> str:
        return f"<a transaction of {self.name}>"

    async def think(self, seconds: float = 0.0, tokens: int = 0) -> None:
        await self._me.think(seconds, tokens)

    def transaction(self, *, isolation: Any = "serializable", prefixes: Any = "") -> NoReturn:
        raise TransactionError("transactions do not nest: go on with the one that you are in")

    def watch(self, after: int = 0) -> NoReturn:
        raise TransactionError("a transaction sees one moment, so it has nothing to wait for: watch with the agent's own handle")


class Transaction:
    """One transaction, as a block: `async with me.transaction() as tx`. See `AgentMemory.transaction`.

    Attributes:
        name: the agent's name and a number, such as `web#1`; in a simulation, its operations bear it.
        isolation: `"snapshot"` or `"serializable"`.
        prefixes: what its snapshot shows.
        refused: whether its commit was refused.
        events: what its commit did; empty until then.
    """

    def __init__(self, memory: SharedMemory, me: AgentMemory, isolation: Any, prefixes: Any, looks: Looks) -> None:
        if isolation not in ("snapshot", "serializable"):
            raise InvalidArgumentError(f"isolation is 'snapshot' or 'serializable', not {isolation!r:.60}")
        self.name = looks.name
        self.isolation: Isolation = isolation
        self.prefixes = _checked(prefixes)
        self.refused = False
        self.events: list[Event] = []
        self._memory = memory
        self._me = me
        self._looks = looks
        self._draft: Draft | None = None
        self._task: asyncio.Task[Any] | None = None

    def __repr__(self) -> str:
        return f"Transaction({self.name!r}, isolation={self.isolation!r})"

    async def __aenter__(self) -> AgentMemory:
        open_ones, self._task = self._me._transactions, asyncio.current_task()
        if self._draft is not None:
            raise TransactionError(f"the transaction {self.name} has begun already; begin another one with me.transaction()")
        if self._task in open_ones:
            raise TransactionError(
                f"{self._me.name!r} is in the transaction {open_ones[self._task]} already, and transactions do not nest: "
                "go on with that one"
            )
        memory = self._memory
        await memory._refresh_turn()
        self._looks.begin()
        token = TRANSACTION.set(self.name)
        try:
            page = await memory._port.list(_common(self.prefixes))
        finally:
            TRANSACTION.reset(token)
        self._looks.taken()
        self._draft = Draft(page, self.prefixes, self._looks, self._me._sightings)
        open_ones[self._task] = self.name
        return TransactionMemory(memory._over(self._draft), self._me)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        draft = self._draft
        assert draft is not None
        self._me._transactions.pop(self._task, None)
        draft.over = "is over" if error is None else "was discarded"
        writes = draft.writes() if error is None else []
        if not writes:
            return
        reads = draft.reads(writes) if self.isolation == "serializable" else []
        port: BuiltInPort = self._memory._port  # type: ignore[assignment]  # the memory has looked
        token = TRANSACTION.set(self.name)
        try:
            self.events = await port.commit(*writes, reads=reads)
        except ConflictError as conflict:
            refusal = conflict
        else:
            for event in self.events:
                self._me._sightings.made(event.key, event.version)
            return
        finally:
            TRANSACTION.reset(token)
        self.refused, draft.over = True, "was refused"
        raise self._refusal(draft, refusal)

    def _refusal(self, draft: Draft, refusal: ConflictError) -> ConflictError:
        key, then, found = refusal.key, draft.version(refusal.key), self._memory._visible(refusal.found)
        who = found.actor if found is not None else None
        now = f"version {refusal.found_version}{f' by {who}' if who else ''} now"
        told = f"{key!r}, which it {draft.did(key)}, has changed since its snapshot (version {then} then, {now})"
        if refusal.found_version == then:
            told = f"the store's log no longer reaches back to its snapshot, so nobody knows what changed under {key!r}"
        hint = ""
        if who == self._me.name:
            hint = f" ({who} wrote it beside this transaction, perhaps in another task; inside the block, write through it)"
        return ConflictError(
            f"the transaction {self.name} was refused: {told}; nothing was written: run the whole block again{hint}",
            key=key,
            expected=then,
            found=found,
            found_version=refusal.found_version,
            mine=refusal.mine,
        )


def _checked(prefixes: Any) -> tuple[str, ...]:
    given = (prefixes,) if isinstance(prefixes, str) else tuple(prefixes) if isinstance(prefixes, Iterable) else ()
    if not given:
        raise InvalidArgumentError(f"prefixes is a prefix such as 'shared', or several, not {prefixes!r:.60}")
    for prefix in given:
        check_text(prefix, "the prefix")
    return given


def _common(prefixes: tuple[str, ...]) -> str:
    """The longest prefix that covers them all: one list takes the snapshot, so that it shows one moment.

    >>> _common(("shared/tasks/1", "shared/tasks/2")), _common(("shared", "web"))
    ('shared/tasks', '')
    """
    if len(prefixes) == 1:
        return prefixes[0]
    common = []
    for segments in zip(*(prefix.split("/") for prefix in prefixes), strict=False):
        if len(set(segments)) > 1:
            break
        common.append(segments[0])
    return "/".join(common)
