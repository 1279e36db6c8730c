"""Replicas: each agent works on a copy of its own, and copies tell each other what was written.

Every write gets a dot, such as `replica-1:3`, and the version vector of all that it replaced. Where an arriving value
and the one that is there have not seen each other, they are siblings, and the policy settles them: `RETRY` and `Reject`
mean keep both, since both writes were acknowledged and nobody is waiting. A resolution is no new write: its vector is
the join of the two. Two equal vectors with unequal values are the mark of a merge that is not commutative.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from commonboard.entry import Event, Write
from commonboard.errors import SimulationError
from commonboard.history import GIVEN, Operation
from commonboard.policies import RETRY, ConflictPolicy, Keep, Reject, Version, ask
from commonboard.sim.store import Recorder, SimStore
from commonboard.values import ENCODING, TYPE, decode, encode

Vector = dict[str, int]


@dataclass(slots=True)
class World:
    """How the agents' copies of the board hang together.

    Args:
        replicas: how many copies there are; agents are given to them in turn. 1 means one store for all.
    """

    replicas: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.replicas, bool) or not isinstance(self.replicas, int) or self.replicas < 1:
            raise ValueError(f"replicas must be a whole number of at least 1, not {self.replicas!r}")


@dataclass(slots=True)
class Sibling:
    """One value of a key on a replica, with what it has seen.

    Attributes:
        text, metadata, created_at: as in an entry; the text is `None` for a delete.
        vector: the version vector of all that this value has replaced, itself included.
        stamp: a Lamport time, greater than all that the writer's replica had seen; ties are told apart by the actor.
        live: the dots of the writes whose effect is in the value.
    """

    text: str | None
    metadata: dict[str, Any]
    created_at: datetime
    actor: str
    vector: Vector
    stamp: int
    live: tuple[str, ...]

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
        seen = [w for w in self.writes.get(key, []) if covers(one.vector, w.vector) and covers(other.vector, w.vector)]
        newest = [w for w in seen if not any(v is not w and covers(v.vector, w.vector) for v in seen)]
        return newest[0] if len(newest) == 1 else None

    def unresolved(self) -> int:
        """How many keys have more than one value, on the replica with the most."""
        return max((sum(len(s) > 1 for s in replica.siblings.values()) for replica in self.replicas), default=0)


class Replica(SimStore):
    """One copy: a store of its own, whose writes go to the others, and where theirs arrive."""

    replica: str

    def __init__(self, recorder: Recorder, name: str, network: Network) -> None:
        super().__init__(recorder, name)
        self._network = network
        self._count = 0
        self._stamp = 0
        self.siblings: dict[str, list[Sibling]] = {}
        network.replicas.append(self)

    def give(self, write: Write) -> Operation:
        """Put in what was there before the agents began: every replica has it, and all have seen it."""
        op = super().give(write)
        entry, _ = self._board.at(op.key)
        assert entry is not None
        self._stamp = 1
        given = Sibling(entry.value, dict(entry.metadata), entry.created_at, GIVEN, {GIVEN: 1}, 1, (f"{GIVEN}:1",))
        self.siblings[op.key] = [given]
        if self is self._network.replicas[0]:
            self._network.writes.setdefault(op.key, []).append(given)
        return op

    def _wrote(self, op: Operation, event: Event) -> None:
        self._count += 1
        self._stamp += 1
        op.dot = f"{self.replica}:{self._count}"
        entry, _ = self._board.at(event.key)
        siblings = sorted(self.siblings.get(event.key, []), key=lambda s: s.order)
        replaced = siblings.pop() if siblings else None
        vector = {**(replaced.vector if replaced else {}), self.replica: self._count}
        metadata = dict(entry.metadata) if entry is not None else {}
        actor = event.actor or op.agent
        made = Sibling(event.value, metadata, event.created_at, actor, vector, self._stamp, (op.dot,))
        self.siblings[event.key] = [*siblings, made]
        network = self._network
        network.writes.setdefault(event.key, []).append(made)
        for other in network.replicas:
            if other is not self:
                network.messages.append(Message(self.replica, other, event.key, made, op.dot))

    def arrive(self, message: Message) -> None:
        """Settle an arriving value with what is there, and note what came of it."""
        key, theirs = message.key, message.sibling
        here = sorted(self.siblings.get(key, []), key=lambda s: s.order)
        self._stamp = max(self._stamp, theirs.stamp)
        twin = next((s for s in here if covers(s.vector, theirs.vector)), None)
        dropped: tuple[str, ...] = ()
        if twin is not None:
            differs = twin.vector == theirs.vector and not twin.same_value(theirs)
            note = "disagrees: equal version vectors, unequal values" if differs else "nothing new"
        else:
            older = [s for s in here if covers(theirs.vector, s.vector)]
            note, apart = "newer", []
            for rival in (s for s in here if s not in older):
                settled, note, gone = self._settle(key, rival, theirs)
                dropped += gone
                if settled is None:
                    apart.append(rival)
                else:
                    theirs = settled
            self.siblings[key] = [*apart, theirs]
            self._show(key)
        entry, version = self._board.at(key)
        metadata: dict[str, Any] = dict(entry.metadata) if entry is not None else {}
        moment = (self._recorder.tick(), self._recorder.loop.time())
        self._record(
            moment,
            "merge",
            key,
            agent=self.replica,
            text=entry.value if entry is not None else None,
            encoding=metadata.get(ENCODING),
            type_tag=metadata.get(TYPE),
            made=version,
            source=message.source,
            dot=message.dot,
            dropped=dropped,
            note=note,
        )

    def _settle(self, key: str, mine: Sibling, theirs: Sibling) -> tuple[Sibling | None, str, tuple[str, ...]]:
        """What becomes of two siblings (`None`: both stay), in words, and the dots of the writes that it leaves out."""
        policy, base = self._network.policy, self._network.base(key, mine, theirs)
        versions = [None if s is None else self._version(key, s) for s in (base, mine, theirs)]
        answer = _now(ask(policy, versions[0], versions[1], versions[2]))  # type: ignore[arg-type]
        if answer is RETRY or isinstance(answer, Reject):
            return None, "kept both", ()
        vector = {name: max(mine.vector.get(name, 0), theirs.vector.get(name, 0)) for name in sorted({*mine.vector, *theirs.vector})}
        later = max(mine, theirs, key=lambda s: s.order)
        if isinstance(answer, Keep):
            text, markers = encode(answer.value)
            live = tuple(sorted({*mine.live, *theirs.live}))
            metadata = {**later.metadata, **markers}
            made = Sibling(text, metadata, min(mine.created_at, theirs.created_at), later.actor, vector, later.stamp, live)
            return made, "made of both", ()
        won, lost = (mine, theirs) if answer is versions[1] else (theirs, mine)
        made = Sibling(won.text, won.metadata, won.created_at, won.actor, vector, won.stamp, won.live)
        gone = tuple(dot for dot in lost.live if dot not in won.live and not dot.startswith(f"{GIVEN}:"))
        return made, f"kept {won.actor}'s, dropped {lost.actor}'s", gone

    def _version(self, key: str, sibling: Sibling) -> Version:
        value = None if sibling.text is None else decode(sibling.text, sibling.metadata, key)
        return Version(self._network.policy.lift(value, "1" if sibling.actor == GIVEN else sibling.live[0]), None, sibling.actor, sibling.stamp)

    def _show(self, key: str) -> None:
        """Make the greatest sibling what local reads see, as an import: it is no new write."""
        top = max(self.siblings[key], key=lambda s: s.order)
        actor = top.actor
        write = Write(key, top.text, top.metadata, actor=actor, operation="import", created_at=top.created_at)
        self._board.apply(self._board.plan((write,), (), self._recorder.now()))
        for follower in self._followers:
            follower.set()


def covers(one: Vector, other: Vector) -> bool:
    """Whether the first vector has seen all that the second has."""
    return all(one.get(name, 0) >= count for name, count in other.items())


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


