"""The network: the copies of the board, the messages between them, and every fault that may still happen.

All of it is plain data, so that a search can copy a world, step the copy, and see whether two worlds are the same. What may
happen is told as values (`ways` for the operations that agents wait for, `choices` for all else) which mean the same in any
equal world. `simulate` takes the same steps on the one world that it has. One store is a network of one copy.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import copy as shallow
from datetime import datetime
from typing import Any, NamedTuple

from commonboard.entry import PrefixUnchanged, Write
from commonboard.errors import OutcomeUnknownError
from commonboard.history import GIVEN, Operation
from commonboard.policies import ConflictPolicy
from commonboard.sim.asks import Ask, Begin, Clear, Commit, Follow, List, Site, Turn
from commonboard.sim.faults import Choice, FaultBook, Heal, Message, Partition
from commonboard.sim.given import Given, given_writes
from commonboard.sim.happenings import choices, take
from commonboard.sim.ledger import Ledger, Owed, Sight
from commonboard.sim.replicas import Replica, Sibling, Single, in_order, state_of
from commonboard.sim.states import messages_key, writes_key
from commonboard.sim.world import World
from commonboard.values import TYPE


class Way(NamedTuple):
    """One way in which a waiting operation can happen.

    Attributes:
        site: on which copy of the board, by its place.
        lost: whether its answer is lost.
    """

    site: int
    lost: bool = False


ONLY = [Way(0)]
FIRST_LOST = [Way(0), Way(0, True)]


class Network:
    """One world, as it is at some moment.

    Args:
        world: what may happen in it.
        policy: what settles siblings.
        agents: the agents' names, in order.

    Attributes:
        sites: the copies of the board: one `Single`, or several `Replica`s.
        messages: the messages on their way, in the order in which they were sent.
        writes: every write of each key, for finding a common base.
        book: the faults so far, and how many may still happen.
        cut: the partition, while there is one.
        parted: where two replicas had seen the same writes of a key and held something else.
        ledger: which acknowledged writes are owed.
        written: how many writes were made anywhere.
        lives, acted: by agent, how often it began, if more than once; and how many operations it has done since.
        contexts: while an operation happens, what its writes rest on from other replicas, by key.
        clock: the virtual second, for whoever drives it to set; the record's times alone depend on it where time is free.
        free: whether time is free.
    """

    def __init__(self, world: World, policy: ConflictPolicy, agents: Sequence[str] = ()) -> None:
        self.world = world
        self.policy = policy
        self.agents = tuple(agents)
        self.sites: list[Site] = [Single()]
        if world.replicas > 1:
            self.sites = [Replica(name, place, self) for place, name in enumerate(world.names)]
        self.messages: list[Message] = []
        self.writes: dict[str, tuple[Sibling, ...]] = {}
        self.cut: Partition | None = None
        self.book = FaultBook(world.limits)
        self.parted: set[tuple[str, str, str]] = set()
        self.ledger = Ledger()
        self.clock = 0.0
        self.free = True
        self.has_clocks = world.clock_skew is not None
        self.written = 0
        self.lives: dict[str, int] = {}
        self.acted: dict[str, int] = {}
        self._over: dict[str, tuple[str, ...]] = {}
        self.contexts: dict[str, Sight] = {}

    def copy(self) -> Network:
        """A world that changes apart from this one."""
        made = shallow(self)
        made.sites = [site.copied(made) for site in self.sites if isinstance(site, (Single, Replica))]
        made.messages, made.book = list(self.messages), self.book.copy()
        made.writes = dict(self.writes)
        made.parted, made.ledger = set(self.parted), self.ledger.copy()
        made.lives, made.acted, made._over = dict(self.lives), dict(self.acted), {}
        return made

    def key(self, order: bool = False, positions: bool = False, owed: bool = True) -> Hashable:
        """The state as a value: equal exactly where two worlds behave the same from now on, and owe the same.

        Left out are times, places in the log, and in which order independent things happened.

        Args:
            order: whether it matters in which order keys were created, since somebody lists.
            positions: whether places in the log matter, since somebody follows it.
            owed: whether it matters which writes are owed, as for `no_acknowledged_loss` alone. On one store without faults,
                this follows from the answers that the agents were given, so it is left out whatever is asked.
        """
        sites = tuple(site.key(order, positions) for site in self.sites if isinstance(site, (Single, Replica)))
        if len(sites) == 1 and not self.book.left:
            return sites
        # What agents saw at other replicas decides what their writes rest on; else it only decides what is owed.
        ledger = self.ledger.key() if owed or self.world.visibility == "eventual" else None
        idle = self.book.idle()
        acted = tuple(sorted(name for name, count in self.acted.items() if count)) if self.book.left.get("agent crash") else ()
        lives = tuple(sorted(self.lives.items()))
        left = tuple(self.book.left.items())
        return sites, ledger, messages_key(self), writes_key(self), left, self.cut, idle, acted, lives, frozenset(self.parted)

    # --- what agents ask -----------------------------------------------------------------------------------------------

    def ways(self, place: int, ask: Ask) -> list[Way]:
        """Where and how an agent's waiting operation may happen now, the boring way first; none where it has to wait.

        Args:
            place: the agent's place in the crew.
            ask: the operation.
        """
        can_be_lost = isinstance(ask, (Commit, Clear)) and self.book.left.get("lost answer")
        if len(self.sites) == 1:
            if isinstance(ask, Follow) and not ask.ready(self.sites[0]):
                return []
            return FIRST_LOST if can_be_lost else ONLY
        found = [site for site in self._reached(place, ask) if not isinstance(ask, Follow) or ask.ready(self.sites[site])]
        made = [Way(site) for site in found]
        return made + [Way(site, True) for site in found] if can_be_lost else made

    def _reached(self, place: int, ask: Ask) -> list[int]:
        """On which copies an operation may happen, the boring one first."""
        home, visibility = self.home(place), self.world.visibility
        if isinstance(ask, Begin):
            return [home]
        if visibility == "strong":
            return [] if self._is_between(home, 0) else [0]
        if visibility == "sticky" or isinstance(ask, (Follow, Turn)):
            return [home]
        if isinstance(ask, Commit) and any(isinstance(read, PrefixUnchanged) for read in ask.reads):
            listed = self.ledger.lists.get(self.agents[place], home)  # a list's position means nothing on another copy
            return [] if self._is_between(home, listed) else [listed]
        return [home, *(site for site in range(len(self.sites)) if site != home and not self._is_between(home, site))]

    def home(self, place: int) -> int:
        """The copy that an agent is given; the agents take them in turn."""
        return place % len(self.sites)

    def _is_between(self, one: int, other: int) -> bool:
        return self.cut is not None and one != other and self.cut.between(self.world.names[one], self.world.names[other])

    def perform(self, place: int, way: Way, ask: Ask, now: datetime, records: list[Operation]) -> Any:
        """Let an operation happen; gives its answer, or raises what it raises.

        Args:
            place: the agent's place in the crew.
            way: one of its `ways`.
            ask: the operation.
            now: the time.
            records: where its records are put.

        Raises:
            OutcomeUnknownError: its answer is lost.
        """
        agent, site, before = self.agents[place], self.sites[way.site], len(records)
        asked, answer, error = ask, None, None
        if self.world.visibility == "eventual" and isinstance(site, Replica):
            asked, self.contexts = self.ledger.translated(ask, agent, way.site, site), self.ledger.contexts(ask, agent, way.site)
        try:
            answer = asked.perform(site, agent, now, records)
        except Exception as raised:
            error = raised
        done = records[before:]
        for op in done:
            op.acknowledged = not way.lost
        if isinstance(asked, List) and isinstance(site, Replica):
            self.ledger.listed(agent, way.site, site, asked.key)
        if self.contexts:
            self._over |= {key: sight.live for key, sight in self.contexts.items()}
        self.ledger.enter(agent, way.site, site, done, self._over)
        self._over, self.contexts = {}, {}
        self.acted[agent] = self.acted.get(agent, 0) + 1
        if way.lost:
            raise self._lose(agent, site, asked, records)
        if error is not None:
            raise error
        return answer

    def changes(self, ask: Ask, way: Way) -> bool:
        """Whether an operation may change the world; if not, it may happen without a copy."""
        return len(self.sites) > 1 or way.lost or ask.footprint.writes or bool(self.book.left.get("agent crash"))

    def _lose(self, agent: str, site: Site, ask: Ask, records: list[Operation]) -> OutcomeUnknownError:
        op = self.book.record("lost answer", agent, f"{agent} {ask.what} {ask.key} and gets no answer", site.replica)
        op.key = ask.key
        records.append(op)
        self.book.touch(operations=1)
        return lost_answer(ask)

    # --- what a replica tells of its writes ----------------------------------------------------------------------------

    def stamp(self, replica: Replica, key: str, actor: str) -> int:
        """The stamp of a new write: more than all that its replica has seen, or what its clock says. No actor uses one twice."""
        self.written += 1
        clock = self.written + (self.world.clock_skew or {}).get(replica.replica, 0)
        stamp = clock if self.has_clocks else replica.stamp + 1
        while any(write.order == (stamp, actor) for write in self.writes.get(key, ())):
            stamp += 1
        if self.has_clocks:
            self.book.touch_skew(replica.replica)
        else:
            replica.stamp = stamp
        return stamp

    def remember(self, key: str, made: Sibling) -> None:
        """Keep a write, for finding a common base."""
        self.writes[key] = (*self.writes.get(key, ()), made)

    def send(self, replica: Replica, key: str, made: Sibling, over: tuple[str, ...]) -> None:
        """Tell the other replicas of a write; `over` is what was live in the value that it replaced."""
        self.remember(key, made)
        (dot,) = made.live
        self._over[dot] = over
        for place, name in enumerate(self.world.names):
            if name != replica.replica:
                due = self.clock + self.world.latency
                message = Message(replica.replica, name, dot, place, key, made, due)
                self.messages.append(message)
                if self.cut is not None and self.cut.stops(message.source, message.target):
                    self.book.touch_partition(messages=1)

    # --- what else may happen ------------------------------------------------------------------------------------------

    def choices(self, over: bool = False, running: Iterable[int] | None = None) -> list[Choice]:
        """What may happen beside the agents' operations: deliveries in the order of sending, the end of a partition, then faults.

        Args:
            over: whether all agents have come to their end: then a partition heals before all else, and none begins.
            running: the places of the agents that have not come to their end; all of them unless told.
        """
        return choices(self, over, running)

    def take(self, choice: Choice, now: datetime, blocked: int = 0) -> list[Operation]:
        """Let one of the `choices` happen; gives its records.

        Of an agent's crash, the world only takes note: whoever drives it starts the agent again.

        Args:
            choice: what.
            now: the time.
            blocked: for the end of a partition, how many operations of agents are waiting for it.
        """
        return take(self, choice, now, blocked)

    def due(self) -> float | None:
        """When the next message that nothing holds up may arrive, in virtual seconds; `None` if there is none."""
        held = self.cut.stops if self.cut is not None else lambda source, target: False
        return min((message.due for message in self.messages if not held(message.source, message.target)), default=None)

    def life(self, agent: str) -> int:
        """How often an agent began, from 1: its incarnation."""
        return self.lives.get(agent, 1)

    # --- beginning and end ---------------------------------------------------------------------------------------------

    def begin(self) -> list[Operation]:
        """What is wrong from the start; called once, before the agents begin."""
        skews = sorted((self.world.clock_skew or {}).items())
        told = [(name, f"the clock of {name} is {abs(skew)} {'ahead' if skew > 0 else 'behind'}") for name, skew in skews if skew]
        return [self.book.record("clock skew", name, what, name) for name, what in told]

    def give(self, writes: Iterable[Write], now: datetime) -> list[Operation]:
        """Put in what is there before the agents begin: on every copy the same."""
        records = []
        for write in writes:
            for site in self.sites:
                changes = site.board.plan((write,), (), now)
                site.board.apply(changes)
                event = changes[0][2]
                op = Operation(-1, GIVEN, "write", event.key, event.value, event.encoding, (write.metadata or {}).get(TYPE))
                op.replaced, op.made, op.replica = event.version_before, event.version, site.replica
                site.given(op)
                records.append(op)
        return records

    def finish(self, now: datetime) -> list[Operation]:
        """The end: the partition heals, all messages arrive, and each replica hands all it has to each other one, once."""
        records = [] if self.cut is None else take(self, Heal(self.cut.replica), now)
        # Not in the order of sending, which equal worlds need not share; but each channel remains a queue.
        self.messages.sort(key=lambda m: (m.source, m.target, m.dot if self.world.reorder else ""))
        while self.messages:
            records += take(self, self.messages[0], now)
        return records + self.anti_entropy(now)

    def anti_entropy(self, now: datetime) -> list[Operation]:
        """One round in which each replica hands all it has to each other one; gives records only of what changed something."""
        replicas = [site for site in self.sites if isinstance(site, Replica)]
        records = []
        for source in replicas:
            handed = [(key, s) for key, found in sorted(source.siblings.items()) for one in found for s in one.writes]
            for target in replicas:
                if target is not source:
                    news = ((key, sibling) for key, sibling in handed if target.lacks(key, sibling))
                    records += [target.arrive(key, sibling, source.replica, now) for key, sibling in news]
        return records

    # --- what a run and a search ask -----------------------------------------------------------------------------------

    def base(self, key: str, one: Sibling, other: Sibling) -> Sibling | None:
        """The newest write that both have seen, or `None` where there is none or more than one."""
        both = one.seen & other.seen
        return next((w for w in reversed(self.writes.get(key, ())) if w.live[0] in both and both <= w.seen), None)

    def apart(self, key: str, replica: Replica) -> str:
        """The first other replica that has seen the same writes of a key and holds something else; empty if there is none."""
        here = state_of(replica.siblings.get(key, []))
        for other in self.sites:
            assert isinstance(other, Replica)
            there = state_of(other.siblings.get(key, []))
            if other is not replica and there[0] == here[0] and there[1] != here[1]:
                self.parted.add((replica.replica, other.replica, key))
                return other.replica
        return ""

    def unresolved(self) -> int:
        """How many keys have more than one value, on the replica with the most."""
        return max((sum(len(s) > 1 for s in found.values()) for found in self.copies().values()), default=0)

    def copies(self) -> dict[str, dict[str, list[Sibling]]]:
        """All values of each key on each replica, the one that is shown last; empty where there is one store."""
        replicas = [site for site in self.sites if isinstance(site, Replica)]
        return {site.replica: {key: in_order(found) for key, found in site.siblings.items()} for site in replicas}

    def lost(self) -> list[Owed]:
        """The acknowledged writes that are in no value anywhere, and that nobody who had seen them replaced."""
        return self.ledger.lost(self.sites)


def lost_answer(ask: Ask) -> OutcomeUnknownError:
    """What the caller of an operation gets whose answer is lost."""
    told = (
        f"the answer to the agent that {ask.what} {ask.key!r} was lost: nobody knows whether it happened; read before you retry"
    )
    return OutcomeUnknownError(told, key=ask.key)


def first_world(world: World, policy: ConflictPolicy, crew: Sequence[str], given: Given, now: datetime) -> Network:
    """A world as it is before its agents begin, for a search."""
    made = Network(world, policy, crew)
    made.give(given_writes(given, now), now)
    made.begin()
    return made
