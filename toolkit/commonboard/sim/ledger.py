"""What is owed to agents: which acknowledged writes nobody has knowingly replaced, and what each agent saw where.

A version number counts what one copy of the board has shown, so it says nothing on another copy. Where an agent's operations
happen at several replicas, what it saw at one is therefore put into the numbers of the other before its write is judged
there: an expectation holds if the other replica shows nothing that the agent has not seen, and the new write rests on all that
the agent saw. So a client of an eventually consistent store hands in the context of its read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from commonboard.entry import KeyUnchanged, Read, Write, under
from commonboard.history import WRITES, Operation
from commonboard.sim.asks import Ask, Commit, Site
from commonboard.sim.replicas import Replica, Seen


class Owed(NamedTuple):
    """A write that was acknowledged: by its dot between replicas, by key and version on one store."""

    key: str
    dot: str | None
    version: int = 0
    deleted: bool = False


def records_of(owed: Iterable[Owed], operations: Iterable[Operation]) -> list[Operation]:
    """The records of these writes."""
    names = {one.dot if one.dot is not None else (one.key, one.version) for one in owed}
    if not names:
        return []
    writes = (op for op in operations if op.kind in WRITES)
    return [op for op in writes if (op.dot if op.dot is not None else (op.key, op.made)) in names]


class Sight(NamedTuple):
    """What an agent saw of a key: on which copy, which writes were in it, and which it rested on."""

    site: int
    live: tuple[str, ...] = ()
    seen: Seen = frozenset()


IMPOSSIBLE = -1
"""A version that no key has: for an expectation that cannot hold."""


@dataclass(slots=True)
class Ledger:
    """The book that a world keeps.

    Attributes:
        owed: acknowledged writes that nobody who had seen them has replaced. Who replaces without ever having looked replaces
            on purpose: what is there is then only superseded.
        sights: for each agent, what it saw under which version; only where there are replicas.
        lists: at which copy each agent listed last; only where there are replicas.
    """

    owed: set[Owed] = field(default_factory=set)
    sights: dict[str, dict[tuple[str, int], Sight]] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Ledger:
        """A book of its own."""
        return Ledger(set(self.owed), {agent: dict(seen) for agent, seen in self.sights.items()}, dict(self.lists))

    def key(self) -> Hashable:
        """All of it as a value."""
        return (
            frozenset(self.owed),
            frozenset((agent, what, sight) for agent, seen in self.sights.items() for what, sight in seen.items()),
            frozenset(self.lists.items()),
        )

    def forget(self, agent: str) -> None:
        """The agent begins anew, and has seen nothing."""
        self.sights.pop(agent, None)
        self.lists.pop(agent, None)

    def enter(self, agent: str, place: int, site: Site, records: Sequence[Operation], over: dict[str, tuple[str, ...]]) -> None:
        """Note what an agent saw, and what its writes replaced; `over` says which writes were in what each new one replaced.

        What a write rests on from another replica, its `contexts`, must be in `over` too, under the write's key.
        """
        for op in records:
            if op.kind in WRITES and op.ok and op.made is not None:
                if isinstance(site, Replica):
                    _see_past_crashes(op, site)
                self._replaced(agent, op, over)
                if op.acknowledged:
                    self.owed.add(Owed(op.key, op.dot) if op.dot else Owed(op.key, None, op.made, op.text is None))
            if isinstance(site, Replica):
                self._see(agent, place, site, op)

    def _replaced(self, agent: str, op: Operation, over: dict[str, tuple[str, ...]]) -> None:
        if op.dot is None:
            if op.saw is None or op.replaced is None or op.saw >= op.replaced:
                known = [Owed(op.key, None, op.replaced or 0, deleted) for deleted in (False, True)]
                self.owed.difference_update(known)
            return
        live = over[op.dot]
        if op.saw is not None and op.saw != op.replaced:
            sight = self.sights.get(agent, {}).get((op.key, op.saw), Sight(-1))
            live = tuple(dot for dot in live if dot in sight.live)
        self.owed.difference_update(Owed(op.key, dot) for dot in (*live, *over.get(op.key, ())))

    def _see(self, agent: str, place: int, site: Replica, op: Operation) -> None:
        version = op.saw if op.kind == "read" else op.made if op.ok else op.replaced
        if version is not None:
            self.sights.setdefault(agent, {})[op.key, version] = sight_of(site, place, op.key)

    def listed(self, agent: str, place: int, site: Replica, prefix: str) -> None:
        """Note that an agent saw all that is under a prefix."""
        self.lists[agent] = place
        seen = self.sights.setdefault(agent, {})
        for key, entry in site.board.entries.items():
            if under(prefix, key) and entry.version is not None:
                seen[key, entry.version] = sight_of(site, place, key)

    def translated(self, ask: Ask, agent: str, place: int, site: Replica) -> Ask:
        """The same operation in the numbers of this replica."""
        if not isinstance(ask, Commit):
            return ask
        writes = tuple(self._write(write, agent, place, site) for write in ask.writes)
        reads = tuple(self._read(read, agent, place, site) for read in ask.reads)
        saw = None if ask.saw is None else self._saw(agent, place, site, writes[0].key, ask.saw)
        return replace(ask, writes=writes, reads=reads, saw=saw)

    def _write(self, write: Write, agent: str, place: int, site: Replica) -> Write:
        expect, saw = write.expect, write.saw
        if isinstance(expect, int) and not isinstance(expect, bool):
            expect = self._expected(agent, place, site, write.key, expect)
        if saw is not None:
            saw = self._saw(agent, place, site, write.key, saw)
        return replace(write, expect=expect, saw=saw)

    def _read(self, read: Read, agent: str, place: int, site: Replica) -> Read:
        if isinstance(read, KeyUnchanged):
            return KeyUnchanged(read.key, self._expected(agent, place, site, read.key, read.version))
        return read

    def _expected(self, agent: str, place: int, site: Replica, key: str, version: int) -> int:
        sight = self.sights.get(agent, {}).get((key, version))
        if sight is None or sight.site == place:
            return version
        return site.board.at(key)[1] if sight.seen.issuperset(sight_of(site, place, key).live) else IMPOSSIBLE

    def contexts(self, ask: Ask, agent: str, place: int) -> dict[str, Sight]:
        """What the writes of an operation rest on that the agent saw at other replicas, by key."""
        found = {}
        for write in ask.writes if isinstance(ask, Commit) else ():
            version = write.expect if isinstance(write.expect, int) else ask.saw if write.saw is None else write.saw  # type: ignore[union-attr]
            sight = None if version is None else self.sights.get(agent, {}).get((write.key, version))
            if sight is not None and sight.site != place:
                found[write.key] = sight
        return found

    def _saw(self, agent: str, place: int, site: Replica, key: str, version: int) -> int:
        seen = self.sights.get(agent, {})
        sight = seen.get((key, version))
        if sight is None or sight.site == place:
            return version
        current = site.board.at(key)[1]
        if sight.seen.issuperset(sight_of(site, place, key).live):
            return current
        older = [number for (k, number), one in seen.items() if k == key and one.site == place and number < current]
        return max(older, default=0)

    def lost(self, sites: Iterable[Site]) -> list[Owed]:
        """What is owed and is in no value on any copy of the board."""
        copies = list(sites)
        return sorted(one for one in self.owed if not any(_is_there(one, site) for site in copies))


def _see_past_crashes(op: Operation, site: Replica) -> None:
    """Who had seen what a replica then forgot has nothing more to see there: the write loses nothing by it."""
    while op.saw is not None and op.replaced is not None and op.saw < op.replaced and (op.key, op.saw + 1) in site.forgotten:
        op.saw += 1


def sight_of(site: Replica, place: int, key: str) -> Sight:
    """What a replica shows of a key now."""
    if not site.siblings.get(key):
        return Sight(place)
    shown = site.shown(key)
    return Sight(place, shown.live, shown.seen)


def _is_there(one: Owed, site: Site) -> bool:
    if isinstance(site, Replica):
        return any(one.dot in sibling.live for sibling in site.siblings.get(one.key, []))
    entry, version = site.board.at(one.key)
    # `clear` forgets tombstones, and nothing is there all the same.
    return version == one.version or (one.deleted and entry is None and one.key not in site.board.gone)
