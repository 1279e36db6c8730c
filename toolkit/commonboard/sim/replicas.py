"""Replicas: each agent works on a copy of its own, and copies tell each other what was written.

Every write gets a dot, such as `replica-1:3`, and remembers the dots of all the writes that it rests on. Where an arriving
value and the one that is there have not seen each other, they are siblings, and the policy settles them: `RETRY` and
`Reject` mean keep both, since both writes were acknowledged and nobody is waiting. A resolution is no new write: it has seen
what the two have seen. Two replicas that have seen the same and hold unequal values are the mark of a merge that is not
commutative.

What a value has seen is kept as a set of dots. A version vector is the short form of such a set and can only say "all of
this replica's writes up to its third"; but whoever writes over one of two siblings has not seen the other.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from commonboard.entry import Event, Write
from commonboard.errors import SimulationError
from commonboard.history import GIVEN, Operation
from commonboard.policies import RETRY, ConflictPolicy, Keep, Reject, Version, ask
from commonboard.sim.asks import Site
from commonboard.sim.states import board_key, facts_key
from commonboard.values import ENCODING, MARKERS, TYPE, decode, encode

if TYPE_CHECKING:
    from commonboard.sim.network import Network

Seen = frozenset[str]
"""The dots of the writes that a value rests on, its own included."""


@dataclass(slots=True)
class Sibling:
    """One value of a key on a replica, with what it has seen. Nothing in it is ever changed, so copies of a world share it.

    Attributes:
        text, metadata, created_at: as in an entry; the text is `None` for a delete.
        seen: the dots of all the writes that this value rests on, its own included.
        stamp: a Lamport time, greater than all that the writer's replica had seen; ties are told apart by the actor.
        live: the dots of the writes whose effect is in the value.
        made_of: for a resolution, the writes that it settled; empty for a write.
    """

    text: str | None
    metadata: dict[str, Any]
    created_at: datetime
    actor: str
    seen: Seen = field(repr=False)  # a set prints in another order in another process
    stamp: int
    live: tuple[str, ...]
    made_of: tuple[Sibling, ...] = ()

    @property
    def writes(self) -> tuple[Sibling, ...]:
        """The writes behind it: itself, unless it is a resolution."""
        return self.made_of or (self,)

    @property
    def order(self) -> tuple[int, str]:
        return self.stamp, self.actor

    @property
    def dot(self) -> str:
        """The name of the write; of the newest one in it, for a resolution."""
        return next((write.live[0] for write in reversed(self.writes) if write.live[0] in self.live), self.live[0])

    def same_value(self, other: Sibling) -> bool:
        return (self.text, self.metadata.get(ENCODING)) == (other.text, other.metadata.get(ENCODING))

    def key(self) -> Hashable:
        """All of it that matters from now on, as a value; when it was made does not."""
        made_of = tuple(write.key() for write in self.made_of)
        return self.text, facts_key(self.metadata), self.actor, self.seen, self.stamp, self.live, made_of


class Single(Site):
    """The only copy of the board."""

    def copied(self, network: Network) -> Single:
        """A copy in another world."""
        made = Single(self.board.copy())
        made.clears = self.clears
        return made

    def key(self, order: bool, positions: bool) -> Hashable:
        """All of it that matters from now on, as a value; see `Network.key`."""
        return board_key(self.board, order, positions), self.clears


class Replica(Site):
    """One copy: a board of its own, whose writes go to the others, and where theirs arrive.

    Attributes:
        place: its place among the replicas, from 0.
        life: how often it began, from 1: a replica that crashed comes back under a new incarnation, so that no dot is used twice.
        count: how many writes it has made in this life.
        stamp: its Lamport time.
        siblings: all values of each key.
        start: what it was given before the agents began.
        forgotten: the keys and versions with which it came back from a crash.
    """

    replica: str

    def __init__(self, name: str, place: int, network: Network) -> None:
        super().__init__()
        self.replica = name
        self.place = place
        self._network = network
        self.life = 1
        self.count = 0
        self.stamp = 0
        self.siblings: dict[str, list[Sibling]] = {}
        self.start: dict[str, Sibling] = {}
        self.forgotten: frozenset[tuple[str, int]] = frozenset()

    def copied(self, network: Network) -> Replica:
        """A copy in another world."""
        made = Replica(self.replica, self.place, network)
        made.board, made.clears = self.board.copy(), self.clears
        made.life, made.count, made.stamp = self.life, self.count, self.stamp
        made.siblings, made.start = dict(self.siblings), self.start  # the lists in it are replaced, never changed
        made.forgotten = self.forgotten
        return made

    def key(self, order: bool, positions: bool) -> Hashable:
        """All of it that matters from now on, as a value; see `Network.key`."""
        siblings = tuple(
            (key, tuple(sibling.key() for sibling in in_order(found))) for key, found in sorted(self.siblings.items()) if found
        )
        lives = self.life, self.count, self.stamp, self.forgotten
        return board_key(self.board, order, positions), self.clears, lives, siblings

    @property
    def name(self) -> str:
        """What its dots begin with: its name, and its incarnation unless it is the first."""
        return self.replica if self.life == 1 else f"{self.replica}~{self.life}"

    def given(self, op: Operation) -> None:
        """What was there before the agents began: every replica has it, and all have seen it."""
        entry, _ = self.board.at(op.key)
        assert entry is not None
        self.stamp = 1
        dot = f"{GIVEN}:1"
        given = Sibling(entry.value, dict(entry.metadata), entry.created_at, GIVEN, frozenset({dot}), 1, (dot,))
        self.siblings[op.key] = [given]
        self.start = {**self.start, op.key: given}
        if self.place == 0:
            self._network.remember(op.key, given)

    def wrote(self, op: Operation, event: Event) -> None:
        self.count += 1
        op.dot = f"{self.name}:{self.count}"
        entry, _ = self.board.at(event.key)
        siblings = in_order(self.siblings.get(event.key, []))
        replaced = siblings.pop() if siblings else None
        seen = (replaced.seen if replaced else frozenset()) | {op.dot}
        if context := self._network.contexts.get(event.key):
            seen |= context.seen
            siblings = [left for sibling in siblings for left in self._without(event.key, sibling, seen)]
        metadata = dict(entry.metadata) if entry is not None else {}
        actor = event.actor or op.agent
        stamp = self._network.stamp(self, event.key, actor)
        made = Sibling(event.value, metadata, event.created_at, actor, seen, stamp, (op.dot,))
        self.siblings[event.key] = [*siblings, made]
        self._network.send(self, event.key, made, replaced.live if replaced else ())

    def arrive(self, key: str, theirs: Sibling, source: str, now: datetime) -> Operation:
        """Settle an arriving value with what is there; gives the record of what came of it."""
        here = in_order(self.siblings.get(key, []))
        self.stamp = max(self.stamp, theirs.stamp) if not self._network.has_clocks else self.stamp
        note, made = "nothing new", None
        dropped, live = tuple[str, ...](), tuple[str, ...]()
        if self.lacks(key, theirs):
            note, dropped = self._take_in(key, here, theirs)
            made = self._show(key, here[-1] if here else None, now)
            live = () if made is None else self.shown(key).live
            if other := self._network.apart(key, self):
                note += f"; disagrees with {other}, which has seen the same writes"
        op = self.record("merge", key)
        op.made, op.source, op.dot, op.dropped, op.live, op.note = made, source, theirs.dot, dropped, live, note
        return op

    def lacks(self, key: str, theirs: Sibling) -> bool:
        """Whether a value says something that this replica has not seen."""
        return not any(sibling.seen >= theirs.seen for sibling in self.siblings.get(key, []))

    def record(self, kind: Any, key: str) -> Operation:
        """The record of something that this replica did, with what it shows of a key now."""
        entry, _ = self.board.at(key)
        metadata: dict[str, Any] = dict(entry.metadata) if entry is not None else {}
        op = Operation(-1, self.replica, kind, key, replica=self.replica)
        op.text, op.encoding, op.type_tag = entry.value if entry is not None else None, metadata.get(ENCODING), metadata.get(TYPE)
        return op

    def forget(self, now: datetime) -> list[Operation]:
        """Go back to what was given; gives a record for each key that had something else. No version is used twice."""
        records = []
        for key, siblings in sorted(self.siblings.items()):
            start = self.start.get(key)
            if siblings == ([] if start is None else [start]):
                continue
            dots = tuple(dot for sibling in in_order(siblings) for dot in sibling.live)
            self.siblings[key] = [] if start is None else [start]
            made = self._put(key, start, now)
            op = self.record("fault", key)
            op.fault, op.made, op.dropped = "forgotten", made, dots
            op.live = () if start is None else start.live
            op.note = "forgot it" if start is None else "forgot all but what was given"
            records.append(op)
            self.forgotten |= {(key, made)} if made is not None else frozenset()
        self.stamp = 1 if self.start else 0
        return records

    def restart(self) -> None:
        """Begin a new life: nothing in it is named as anything before."""
        self.life, self.count = self.life + 1, 0

    def _take_in(self, key: str, here: list[Sibling], theirs: Sibling) -> tuple[str, tuple[str, ...]]:
        """Put an arriving value among the siblings; gives what became of it, and the dots of the writes left out."""
        note, apart = "newer", list[Sibling]()
        dropped: tuple[str, ...] = ()
        for rival in [left for sibling in here for left in self._without(key, sibling, theirs.seen)]:
            settled, note, gone = self._settle(key, rival, theirs)
            dropped += gone
            if settled is None:
                apart.append(rival)
            else:
                theirs = settled
        self.siblings[key] = [*apart, theirs]
        return note, dropped

    def _without(self, key: str, sibling: Sibling, seen: Seen) -> list[Sibling]:
        """What is left of a sibling when somebody has written over some of the writes behind it.

        A resolution is then made anew from the others, since it may owe its value to what is gone.
        """
        left = [write for write in sibling.writes if write.live[0] not in seen]
        if len(left) == len(sibling.writes):
            return [sibling]
        settled: list[Sibling] = []
        for write in left:
            apart = []
            for other in settled:
                both, _, _ = self._settle(key, other, write)
                if both is None:
                    apart.append(other)
                else:
                    write = both
            settled = [*apart, write]
        return settled

    def _settle(self, key: str, mine: Sibling, theirs: Sibling) -> tuple[Sibling | None, str, tuple[str, ...]]:
        """What becomes of two siblings (`None`: both stay), in words, and the dots of the writes that it leaves out."""
        policy, base = self._network.policy, self._network.base(key, mine, theirs)
        versions = [None if s is None else _version(policy, key, s) for s in (base, mine, theirs)]
        answer = _now(ask(policy, versions[0], versions[1], versions[2]))  # type: ignore[arg-type]
        if answer is RETRY or isinstance(answer, Reject):
            return None, "kept both", ()
        seen = mine.seen | theirs.seen
        made_of = tuple(in_order([*mine.writes, *theirs.writes]))
        later = max(mine, theirs, key=lambda s: s.order)
        if isinstance(answer, Keep):
            text, markers = encode(answer.value)
            live = tuple(sorted({*mine.live, *theirs.live}))
            metadata = {name: fact for name, fact in later.metadata.items() if name not in MARKERS} | markers
            made = Sibling(text, metadata, min(mine.created_at, theirs.created_at), later.actor, seen, later.stamp, live, made_of)
            return made, "made of both", ()
        won, lost = (mine, theirs) if answer is versions[1] else (theirs, mine)
        made = Sibling(won.text, won.metadata, won.created_at, won.actor, seen, won.stamp, won.live, made_of)
        gone = tuple(dot for dot in lost.live if dot not in won.live)
        same = won.actor == lost.actor
        kept = f"one write of {won.actor} and dropped another" if same else f"{won.actor}'s and dropped {lost.actor}'s"
        return made, f"kept {kept}", gone

    def shown(self, key: str) -> Sibling:
        """The sibling that local reads see: the greatest."""
        return max(self.siblings[key], key=lambda s: s.order)

    def _show(self, key: str, before: Sibling | None, now: datetime) -> int | None:
        """Make the greatest sibling what local reads see, as an import: it is no new write. Gives the version that it made."""
        top = self.shown(key)
        if before is not None and top.live == before.live and top.same_value(before):
            return None
        return self._put(key, top, now)

    def _put(self, key: str, top: Sibling | None, now: datetime) -> int | None:
        write = Write(key, None)
        if top is not None:
            write = Write(key, top.text, top.metadata, actor=top.actor, operation="import", created_at=top.created_at)
        changes = self.board.plan((write,), (), now)
        self.board.apply(changes)
        return changes[0][2].version if changes else None


def in_order(siblings: list[Sibling]) -> list[Sibling]:
    """By stamp, and where these are equal by actor: the last is the one that reads see."""
    return sorted(siblings, key=lambda s: s.order)


def state_of(siblings: list[Sibling]) -> tuple[Seen, list[tuple[str | None, str | None]]]:
    """What has been seen of a key, and what there is of it: for telling whether two replicas agree."""
    seen = frozenset[str]().union(*(s.seen for s in siblings))
    return seen, [(s.text, s.metadata.get(ENCODING)) for s in in_order(siblings)]


def _version(policy: ConflictPolicy, key: str, sibling: Sibling) -> Version:
    value = None if sibling.text is None else decode(sibling.text, sibling.metadata, key)
    return Version(policy.lift(value, sibling.text), None, sibling.actor, sibling.stamp)


def _now(coroutine: Any) -> Any:
    """Run a coroutine that must not wait."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise SimulationError(
        "the policy's resolve waited for something while two replicas met, where nobody waits; "
        "let it decide at once, or use it on one store"
    )
