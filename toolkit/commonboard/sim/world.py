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

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from commonboard.entry import Event, Write
from commonboard.errors import InvalidArgumentError, SimulationError
from commonboard.history import GIVEN, Operation
from commonboard.policies import RETRY, ConflictPolicy, Keep, Reject, Version, ask
from commonboard.sim.asks import Site
from commonboard.values import ENCODING, MARKERS, TYPE, decode, encode

Seen = frozenset[str]
"""The dots of the writes that a value rests on, its own included."""


@dataclass(slots=True)
class World:
    """How the agents' copies of the board hang together.

    Args:
        replicas: how many copies there are; agents are given to them in turn. 1 means one store for all.

    Raises:
        InvalidArgumentError: there is less than one replica.
    """

    replicas: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.replicas, bool) or not isinstance(self.replicas, int) or self.replicas < 1:
            raise InvalidArgumentError(f"replicas must be a whole number of at least 1, not {self.replicas!r}")


@dataclass(slots=True)
class Sibling:
    """One value of a key on a replica, with what it has seen.

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
    seen: Seen
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

    def same_value(self, other: Sibling) -> bool:
        return (self.text, self.metadata.get(ENCODING)) == (other.text, other.metadata.get(ENCODING))


@dataclass(slots=True, eq=False)
class Message:
    """One write on its way to one replica."""

    source: str
    target: Replica
    key: str
    sibling: Sibling
    dot: str

    @property
    def label(self) -> str:
        return f"deliver {self.dot} {self.key} to {self.target.replica}"


@dataclass(slots=True)
class Network:
    """What the replicas share: the messages on their way, and every write ever made, for finding a common base."""

    policy: ConflictPolicy
    replicas: list[Replica] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    writes: dict[str, list[Sibling]] = field(default_factory=dict)

    def base(self, key: str, one: Sibling, other: Sibling) -> Sibling | None:
        """The newest write that both have seen, or `None` where there is none or more than one."""
        both = one.seen & other.seen
        newest = next((write for write in reversed(self.writes.get(key, [])) if write.live[0] in both), None)
        return newest if newest is not None and both <= newest.seen else None

    def apart(self, key: str, replica: Replica) -> str:
        """The first other replica that has seen the same writes of a key and holds something else; empty if there is none."""
        here = _state(replica.siblings.get(key, []))
        for other in self.replicas:
            there = _state(other.siblings.get(key, []))
            if other is not replica and there[0] == here[0] and there[1] != here[1]:
                return other.replica
        return ""

    def unresolved(self) -> int:
        """How many keys have more than one value, on the replica with the most."""
        return max((sum(len(s) > 1 for s in replica.siblings.values()) for replica in self.replicas), default=0)

    def siblings(self) -> dict[str, list[Sibling]]:
        """All values of each key on the first replica, the one that is shown last; empty where there is one store."""
        first = self.replicas[0].siblings if self.replicas else {}
        return {key: sorted(siblings, key=lambda s: s.order) for key, siblings in first.items()}


class Replica(Site):
    """One copy: a board of its own, whose writes go to the others, and where theirs arrive."""

    replica: str

    def __init__(self, name: str, network: Network) -> None:
        super().__init__()
        self.replica = name
        self._network = network
        self._count = 0
        self._stamp = 0
        self.siblings: dict[str, list[Sibling]] = {}
        network.replicas.append(self)

    def given(self, op: Operation) -> None:
        """What was there before the agents began: every replica has it, and all have seen it."""
        entry, _ = self.board.at(op.key)
        assert entry is not None
        self._stamp = 1
        dot = f"{GIVEN}:1"
        given = Sibling(entry.value, dict(entry.metadata), entry.created_at, GIVEN, frozenset({dot}), 1, (dot,))
        self.siblings[op.key] = [given]
        if self is self._network.replicas[0]:
            self._network.writes.setdefault(op.key, []).append(given)

    def wrote(self, op: Operation, event: Event) -> None:
        self._count += 1
        self._stamp += 1
        op.dot = f"{self.replica}:{self._count}"
        entry, _ = self.board.at(event.key)
        siblings = sorted(self.siblings.get(event.key, []), key=lambda s: s.order)
        replaced = siblings.pop() if siblings else None
        seen = (replaced.seen if replaced else frozenset()) | {op.dot}
        metadata = dict(entry.metadata) if entry is not None else {}
        actor = event.actor or op.agent
        made = Sibling(event.value, metadata, event.created_at, actor, seen, self._stamp, (op.dot,))
        self.siblings[event.key] = [*siblings, made]
        network = self._network
        network.writes.setdefault(event.key, []).append(made)
        for other in network.replicas:
            if other is not self:
                network.messages.append(Message(self.replica, other, event.key, made, op.dot))

    def arrive(self, message: Message, now: datetime) -> Operation:
        """Settle an arriving value with what is there; gives the record of what came of it."""
        key, theirs = message.key, message.sibling
        here = sorted(self.siblings.get(key, []), key=lambda s: s.order)
        self._stamp = max(self._stamp, theirs.stamp)
        note, made = "nothing new", None
        dropped, live = tuple[str, ...](), tuple[str, ...]()
        if not any(s.seen >= theirs.seen for s in here):
            note, dropped = self._take_in(key, here, theirs)
            made = self._show(key, here[-1] if here else None, now)
            live = () if made is None else self.shown(key).live
            if other := self._network.apart(key, self):
                note += f"; disagrees with {other}, which has seen the same writes"
        entry, _ = self.board.at(key)
        metadata: dict[str, Any] = dict(entry.metadata) if entry is not None else {}
        return Operation(
            -1,
            self.replica,
            "merge",
            key,
            replica=self.replica,
            text=entry.value if entry is not None else None,
            encoding=metadata.get(ENCODING),
            type_tag=metadata.get(TYPE),
            made=made,
            source=message.source,
            dot=message.dot,
            dropped=dropped,
            live=live,
            note=note,
        )

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
        versions = [None if s is None else self._version(key, s) for s in (base, mine, theirs)]
        answer = _now(ask(policy, versions[0], versions[1], versions[2]))  # type: ignore[arg-type]
        if answer is RETRY or isinstance(answer, Reject):
            return None, "kept both", ()
        seen = mine.seen | theirs.seen
        made_of = tuple(sorted((*mine.writes, *theirs.writes), key=lambda s: s.order))
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
        return made, f"kept {won.actor}'s and dropped {lost.actor}'s", gone

    def _version(self, key: str, sibling: Sibling) -> Version:
        value = None if sibling.text is None else decode(sibling.text, sibling.metadata, key)
        return Version(
            self._network.policy.lift(value, sibling.text),
            None,
            sibling.actor,
            sibling.stamp,
        )

    def shown(self, key: str) -> Sibling:
        """The sibling that local reads see: the greatest."""
        return max(self.siblings[key], key=lambda s: s.order)

    def _show(self, key: str, before: Sibling | None, now: datetime) -> int | None:
        """Make the greatest sibling what local reads see, as an import: it is no new write. Gives the version that it made."""
        top = self.shown(key)
        if before is not None and top.live == before.live and top.same_value(before):
            return None
        write = Write(key, top.text, top.metadata, actor=top.actor, operation="import", created_at=top.created_at)
        changes = self.board.plan((write,), (), now)
        self.board.apply(changes)
        return changes[0][2].version if changes else None


def _state(siblings: list[Sibling]) -> tuple[Seen, list[tuple[str | None, str | None]]]:
    """What has been seen of a key, and what there is of it: for telling whether two replicas agree."""
    seen = frozenset[str]().union(*(s.seen for s in siblings))
    return seen, [(s.text, s.metadata.get(ENCODING)) for s in sorted(siblings, key=lambda s: s.order)]


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
