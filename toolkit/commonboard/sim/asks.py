"""What agents ask of a store, as data: it is known before it happens, and can happen on any copy of the board.

An agent's call becomes an `Ask` and waits. Whoever drives the simulation chooses one, lets it happen on a `Site`, and
hands the answer to the agent. So a search knows what each agent would do next, whether two of these operations touch the
same thing, and can try both orders on copies of the board.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from commonboard.entry import ANY, Event, Page, PrefixUnchanged, Read, Reading, Write, under
from commonboard.errors import CapabilityError, ConflictError
from commonboard.history import Kind, Operation
from commonboard.rule import Board
from commonboard.stores.in_memory import page_of
from commonboard.transactions import TRANSACTION
from commonboard.values import ENCODING, TYPE, canonical_json


class Footprint(NamedTuple):
    """What an operation touches: two operations of which one writes what the other touches do not commute.

    Attributes:
        keys: the keys it looks at or writes.
        writes: whether it may write them; an operation that expects something may.
        prefixes: the prefixes that it lists, or that it expects to be as they were listed.
        log: whether it follows the log, or touches every key.
    """

    keys: tuple[str, ...] = ()
    writes: bool = False
    prefixes: tuple[str, ...] = ()
    log: bool = False


class Site:
    """One copy of the board, as the operations of a simulation change it.

    Attributes:
        board: its entries and its log.
        replica: its name, where there are several.
        clears: how often everything was deleted.
    """

    replica: str | None = None

    def __init__(self, board: Board | None = None) -> None:
        self.board = board or Board.empty()
        self.clears = 0

    def copy(self) -> Site:
        """A copy that changes apart from this one."""
        copied = Site(self.board.copy())
        copied.clears = self.clears
        return copied

    def wrote(self, op: Operation, event: Event) -> None:
        """Called after each write; a replica tells the others of it."""

    def given(self, op: Operation) -> None:
        """Called for each entry that is there before the agents begin."""

    def versions_under(self, prefix: str) -> dict[str, int]:
        """The versions of all entries and tombstones under the prefix: each change under it changes one of them."""
        board = self.board
        versions = {key: entry.version or 0 for key, entry in board.entries.items() if under(prefix, key)}
        return versions | {key: version for key, version in board.gone.items() if under(prefix, key)}


class ListPosition(int):
    """The log position of a list, which also knows what was under its prefix by then.

    A write that rests on the list, or on a part of it, is judged by that: it depends on nothing outside its own prefix, while a
    position in the log depends on all that anybody wrote.

    Attributes:
        prefix: the prefix that was listed.
        versions: the version of every key under it that had one.
        floor: the version of all other keys; it grows when the board is cleared and forgets the versions of what was there.
    """

    prefix: str
    versions: dict[str, int]
    floor: int

    @classmethod
    def of(cls, site: Site, prefix: str) -> ListPosition:
        """Where a list of the prefix would be taken now."""
        position = cls(site.board.seq)
        position.prefix, position.versions, position.floor = prefix, site.versions_under(prefix), site.board.floor
        return position

    def covers(self, prefix: str) -> bool:
        """Whether it knows all that was under the prefix."""
        return under(self.prefix, prefix)

    def changed(self, site: Site, prefix: str) -> str | None:
        """A key under the prefix that has changed since, or the prefix itself where nobody can tell which; else `None`."""
        then = {key: version for key, version in self.versions.items() if under(prefix, key)}
        now = site.versions_under(prefix)
        changed = [key for key in then | now if then.get(key) != now.get(key)]
        return min(changed, default=None) if changed or site.board.floor == self.floor else prefix


@dataclass(slots=True)
class Look:
    """The entry at a key, and its version."""

    key: str
    what = "reads"

    @property
    def footprint(self) -> Footprint:
        return Footprint((self.key,))

    def perform(self, site: Site, agent: str, now: datetime, records: list[Operation]) -> Reading:
        reading = site.board.look(self.key)
        op = Operation(-1, agent, "read", self.key)
        op.saw, op.replica = reading.version, site.replica
        if reading.entry is not None:
            metadata = reading.entry.metadata
            op.text, op.encoding, op.type_tag = reading.entry.value, metadata.get(ENCODING), metadata.get(TYPE)
        records.append(op)
        return reading


@dataclass(slots=True)
class Commit:
    """Writes that happen together or not at all.

    Attributes:
        writes, reads: as for a store's `commit`.
        what: the verb for a label.
        kind: what the history calls it; by the write itself where `None`.
        saw: what a caller of the five methods had seen of the key before, as far as its own reads tell.
        transaction: the transaction that it ends, if it does.
    """

    writes: tuple[Write, ...]
    reads: tuple[Read, ...]
    what: str
    kind: Kind | None = None
    saw: int | None = None
    transaction: str | None = field(default_factory=TRANSACTION.get)

    @property
    def key(self) -> str:
        return " ".join([write.key for write in self.writes])

    @property
    def footprint(self) -> Footprint:
        prefixes = tuple([read.prefix for read in self.reads if isinstance(read, PrefixUnchanged)])
        plain = any(isinstance(read, PrefixUnchanged) and not _knows(read) for read in self.reads)
        read_keys = tuple([read.key for read in self.reads if not isinstance(read, PrefixUnchanged)])
        return Footprint((*(w.key for w in self.writes), *read_keys), True, prefixes, plain)

    def perform(self, site: Site, agent: str, now: datetime, records: list[Operation]) -> list[Event]:
        board, writes = site.board, self.writes
        try:
            changes = board.plan(writes, self._to_check(site), now)
        except ConflictError as refused:
            for write in writes:
                found = refused.found_version if write.key == refused.key else None
                records.append(_refused(site, agent, write, found))
                records[-1].transaction = self.transaction
            raise
        board.apply(changes)
        wishes, events = iter(writes), []
        for _, _, event in changes:
            write = next(wishes)
            while write.key != event.key or (write.value is None) != (event.value is None):
                write = next(wishes)  # the delete of what was not there made no event
            op = wrote(site, agent, self.kind or kind_of(write), event, write.metadata)
            if self.saw is not None:
                op.saw = self.saw
            op.transaction = self.transaction
            records.append(op)
            events.append(event)
        return events

    def _to_check(self, site: Site) -> Iterable[Read]:
        for read in self.reads:
            if isinstance(read, PrefixUnchanged) and isinstance(read.after, ListPosition) and _knows(read):
                changed = read.after.changed(site, read.prefix)
                if changed is not None:
                    what = f"something under the prefix {read.prefix!r} changed after it was listed"
                    raise site.board.changed(changed, what, read.after.versions.get(changed, read.after.floor))
            else:
                yield read


def _knows(read: PrefixUnchanged) -> bool:
    """Whether its position knows what was under the prefix, so that the log need not be asked."""
    return isinstance(read.after, ListPosition) and read.after.covers(read.prefix)


@dataclass(slots=True)
class Clear:
    """Delete everything."""

    what = "clears"
    key = "everything"
    footprint = Footprint((), True, ("",), True)

    def perform(self, site: Site, agent: str, now: datetime, records: list[Operation]) -> None:
        board = site.board
        changes = board.plan([Write(key, None) for key in board.entries], (), now)
        board.apply(changes)
        board.raise_floor()
        site.clears += 1
        records += [wrote(site, agent, "delete", event, None) for _, _, event in changes]


@dataclass(slots=True)
class List:
    """The entries under a prefix.

    The snapshot of a transaction is not noted as a list: it shows more than the transaction looks at, and who only reads one key
    has nothing to do with the others. The transaction notes its own looks.
    """

    key: str
    limit: int | None = None
    after: str | None = None
    transaction: str | None = field(default_factory=TRANSACTION.get)
    what = "lists"

    @property
    def footprint(self) -> Footprint:
        return Footprint((), False, (self.key,), self.limit is not None or self.after is not None)

    def perform(self, site: Site, agent: str, now: datetime, records: list[Operation]) -> Page:
        page = page_of(site.board, self.key, self.limit, self.after)
        page.position = ListPosition.of(site, self.key)
        if self.transaction is not None:
            if site.replica is not None:
                raise CapabilityError(
                    f"{agent} cannot begin a transaction on {site.replica}: it is one of several copies of the board, and none "
                    "can promise anything for the others; use one store, World(replicas=1)"
                )
            return page
        text = canonical_json([entry.key for entry in page])
        records.append(Operation(-1, agent, "list", self.key, text, "json", replica=site.replica))
        records[-1].note = "one page" if self.limit is not None or self.after is not None else ""
        return page


@dataclass(slots=True)
class Follow:
    """The events after a log position; it waits until there is one, unless told otherwise."""

    after: int
    waits: bool = True
    what = "watches"
    key = "the log"
    footprint = Footprint((), False, ("",), True)

    def ready(self, site: Site) -> bool:
        return not self.waits or site.board.seq > self.after

    def perform(self, site: Site, agent: str, now: datetime, records: list[Operation]) -> list[Event]:
        return site.board.since(self.after)


@dataclass(slots=True)
class Begin:
    """Leave to begin, where agents may begin late: what an agent does before its first operation is then a step of its own."""

    what = "begins"
    key = "its work"
    footprint = Footprint()

    def perform(self, site: Site, agent: str, now: datetime, records: list[Operation]) -> None:
        pass


@dataclass(slots=True)
class Turn:
    """Leave to call a store of another make: nobody knows what it touches."""

    what: str
    key: str
    footprint: Footprint = field(default=Footprint((), True, ("",), True), repr=False)

    def perform(self, site: Site | None, agent: str, now: datetime, records: list[Operation]) -> None:
        pass


Ask = Look | Commit | Clear | List | Follow | Begin | Turn


def wrote(site: Site, agent: str, kind: Kind, event: Event, metadata: Mapping[str, Any] | None) -> Operation:
    """The record of a write that happened; a replica then tells the others."""
    tag = metadata.get(TYPE) if metadata else None
    op = Operation(-1, agent, kind, event.key, event.value, event.encoding, tag)
    op.saw, op.replaced, op.made, op.reason = event.saw, event.version_before, event.version, event.reason
    op.replica = site.replica
    site.wrote(op, event)
    return op


def _refused(site: Site, agent: str, write: Write, found: int | None) -> Operation:
    metadata = write.metadata or {}
    op = Operation(-1, agent, "compare-and-set", write.key, write.value, metadata.get(ENCODING), metadata.get(TYPE))
    op.saw, op.replaced, op.ok, op.reason, op.replica = write.saw, found, False, write.reason, site.replica
    return op


def kind_of(write: Write) -> Kind:
    """What the history calls a write."""
    if write.append:
        return "append"
    if write.value is None:
        return "delete"
    return "write" if write.expect is ANY else "compare-and-set"
