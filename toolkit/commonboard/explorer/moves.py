"""The graph that a search walks: states, and the moves from each to the next.

A state is the board (or the world of replicas) and, for each agent, its node in the tree of what it does. Both are numbers:
equal boards get one number, equal answers lead to one node. So what one move does is worked out once, and from then
on looked up; in most programs many interleavings pass through few states.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from commonboard.entry import under
from commonboard.explorer.learn import Answer, Learner, Node
from commonboard.history import Operation
from commonboard.sim.asks import Footprint
from commonboard.sim.faults import AgentCrash, Choice, Heal, Message
from commonboard.sim.network import Network, Way
from commonboard.sim.store import EPOCH


class Restart(Exception):
    """Somebody lists, or follows the log, which nobody had done so far: what counts as equal has to be told anew."""


State = tuple[int, ...]
"""The number of the world, and the number of each agent's node."""


class Move(NamedTuple):
    """Something that can happen next.

    Attributes:
        place: the agent, by its place in the crew; -1 for what no agent does.
        slot: which of its waiting operations, its timers coming last.
        way: which of the ways in which the operation can happen.
        choice: what happens between replicas, or to an agent.
    """

    place: int
    slot: int
    way: int = 0
    choice: Choice | None = None


class Step(NamedTuple):
    """What a move does: the state after it, and the operations that the history notes."""

    state: State
    records: tuple[Operation, ...]


@dataclass(slots=True)
class Options:
    """All that can happen in a state.

    Attributes:
        agents: each agent's moves, in the order in which a simulation offers them.
        world: the moves between replicas.
        over: whether every agent has come to its end.
    """

    agents: list[list[Move]]
    world: list[Move]
    over: bool

    def offered(self, first: int, world: list[Move] | None = None) -> list[Move]:
        """The moves as a simulation offers them when agent number `first` acted last (-1: nobody has).

        Args:
            first: the agent.
            world: what no agent does, in another order than here.
        """
        found = list(self.agents[first]) if first >= 0 else []
        for place, moves in enumerate(self.agents):
            if place != first:
                found += moves
        return found + (self.world if world is None else world)


class Moves:
    """The graph of one program.

    Args:
        learner: what its agents do.
        world: the world before they begin, with what they are given.
        owed: whether it matters which acknowledged writes are still owed, since the check asks for that.
    """

    def __init__(self, learner: Learner, world: Network, owed: bool = False) -> None:
        self.learner = learner
        self._owed = owed
        self.worlds: list[Network] = []
        self._numbers: dict[Hashable, int] = {}
        self._knew = (len(learner.listed), learner.positions)
        self._asks: dict[tuple[int, int, int, int], tuple[int, int, tuple[Operation, ...]]] = {}
        self._choices: dict[tuple[int, Choice, int], tuple[int, tuple[Operation, ...]]] = {}
        self._ways: dict[tuple[int, int, int], list[Way]] = {}
        self._finished: dict[int, tuple[int, tuple[Operation, ...]]] = {}
        self._offers: dict[tuple[int, bool, tuple[int, ...] | None], list[Choice]] = {}
        self._first = world

    def start(self) -> State:
        """The state before anything has happened."""
        roots = [self.learner.root(place).number for place in range(len(self.learner.crew))]
        self._check()
        return (self._number(self._first), *roots)

    def node(self, state: State, place: int) -> Node:
        """Where an agent is."""
        return self.learner.nodes[state[place + 1]]

    def nodes(self, state: State) -> list[Node]:
        """Where the agents are."""
        nodes = self.learner.nodes
        return [nodes[number] for number in state[1:]]

    def world(self, state: State) -> Network:
        """The board, or the replicas; not to be changed."""
        return self.worlds[state[0]]

    def options(self, state: State) -> Options:
        """All that can happen next."""
        nodes = self.nodes(state)
        over = all(node.done for node in nodes)
        agents: list[list[Move]] = [[] for _ in nodes]
        if not over:
            for place, node in enumerate(nodes):
                moves = agents[place]
                for slot in range(len(node.asks)):
                    moves += [Move(place, slot, way) for way in range(len(self._ways_of(state[0], node, slot)))]
                moves += [Move(place, len(node.asks) + timer) for timer in range(node.timers)]
        offered = self._offered(state, over)
        if not any(agents) and all(choice.is_fault for choice in offered):
            offered = []  # nobody waits for a fault
        return Options(agents, [Move(-1, 0, 0, choice) for choice in offered], over)

    def step(self, state: State, move: Move) -> Step:
        """What a move does.

        Raises:
            Restart: it showed that the states so far were told apart too coarsely.
        """
        if move.choice is not None:
            return self._happen(state, move.choice)
        world, node = state[0], self.node(state, move.place)
        key = (world, node.number, move.slot, move.way)
        known = self._asks.get(key)
        if known is None:
            known = self._asks[key] = self._ask(world, node, move)
            self._check()
        after, child, records = known
        place = move.place + 1
        return Step((after, *state[1:place], child, *state[place + 1 :]), records)

    def is_fault(self, state: State, move: Move) -> bool:
        """Whether it is a fault, rather than something that has to happen sooner or later."""
        if move.choice is not None:
            return move.choice.is_fault
        node = self.node(state, move.place)
        return move.slot < len(node.asks) and bool(self._ways_of(state[0], node, move.slot)[move.way].lost)

    def _over(self, state: State) -> bool:
        return all(node.done for node in self.nodes(state))

    def finish(self, state: State) -> Step:
        """What happens when every agent has come to its end and nothing is under way: replicas hand over what they have."""
        known = self._finished.get(state[0])
        if known is None:
            world = self.worlds[state[0]].copy()
            records = tuple(world.finish(EPOCH))
            known = self._finished[state[0]] = (self._number(world) if records else state[0], records)
        return Step((known[0], *state[1:]), known[1])

    def touches(self, state: State, move: Move) -> tuple[int, Footprint | None]:
        """Which copy of the board a move touches (-1: all), and what there; `None`: everything. No copy: nothing (-2)."""
        if move.choice is not None:
            return (move.choice.site if isinstance(move.choice, Message) else -1), None
        node = self.node(state, move.place)
        if move.slot >= len(node.asks):
            return -2, None
        way = self._ways_of(state[0], node, move.slot)[move.way]
        return way.site, node.asks[move.slot].footprint

    def _ask(self, number: int, node: Node, move: Move) -> tuple[int, int, tuple[Operation, ...]]:
        if move.slot >= len(node.asks):
            child = self.learner.after(node, move.slot, Answer())
            return number, child.number, tuple(child.thoughts)
        ask, way = node.asks[move.slot], self._ways_of(number, node, move.slot)[move.way]
        world = self.worlds[number]
        world = world.copy() if world.changes(ask, way) else world
        records: list[Operation] = []
        try:
            answer = Answer(world.perform(node.place, way, ask, EPOCH, records))
        except Exception as error:
            answer = Answer(error=error)
        child = self.learner.after(node, move.slot, answer)
        return self._number(world), child.number, (*records, *child.thoughts)

    def _happen(self, state: State, choice: Choice) -> Step:
        blocked = self._blocked(state) if isinstance(choice, Heal) else 0
        key = (state[0], choice, blocked)
        known = self._choices.get(key)
        if known is None:
            world = self.worlds[state[0]].copy()
            records = tuple(world.take(choice, EPOCH, blocked))
            known = self._choices[key] = (self._number(world), records)
        after, records = known
        numbers = list(state[1:])
        if isinstance(choice, AgentCrash):
            node = self.node(state, choice.agent_place)
            numbers[choice.agent_place] = self.learner.root(choice.agent_place, node.incarnation + 1).number
            self._check()
        return Step((after, *numbers), records)

    def offers(self, state: State, world: Network) -> list[Move]:
        """What no agent does, in the order in which this world offers it; the world is equal to the state's."""
        moves = self.options(state).world
        if len(moves) < 2:
            return moves
        choices = world.choices(self._over(state), self._running(state))
        return [Move(-1, 0, 0, choice) for choice in choices]

    def retrace(self, world: Network, state: State, move: Move) -> None:
        """Let a move happen in this world, which is equal to the state's."""
        if move.choice is not None:
            world.take(move.choice, EPOCH, self._blocked(state) if isinstance(move.choice, Heal) else 0)
            return
        node = self.node(state, move.place)
        if move.slot < len(node.asks) and (len(world.sites) > 1 or world.book.left):
            ask = node.asks[move.slot]
            with contextlib.suppress(Exception):  # what it raises, its agent was told
                world.perform(node.place, self._ways_of(state[0], node, move.slot)[move.way], ask, EPOCH, [])

    def _running(self, state: State) -> tuple[int, ...] | None:
        if self.worlds[state[0]].book.left.get("agent crash"):
            return tuple(node.place for node in self.nodes(state) if not node.done)
        return None

    def _blocked(self, state: State) -> int:
        """How many operations wait, though their agents could go on but for a partition."""
        waiting = [(node, slot) for node in self.nodes(state) if not node.done for slot in range(len(node.asks))]
        return sum(not self._ways_of(state[0], node, slot) for node, slot in waiting)

    def _ways_of(self, world: int, node: Node, slot: int) -> list[Way]:
        key = (world, node.number, slot)
        ways = self._ways.get(key)
        if ways is None:
            ways = self._ways[key] = self.worlds[world].ways(node.place, node.asks[slot])
        return ways

    def _offered(self, state: State, over: bool) -> list[Choice]:
        world, running = self.worlds[state[0]], self._running(state)
        key = (state[0], over, running)
        offers = self._offers.get(key)
        if offers is None:
            offers = self._offers[key] = world.choices(over, running)
        return offers

    def _number(self, world: Network) -> int:
        learner = self.learner
        key = world.key(order=bool(learner.listed), positions=learner.positions, owed=self._owed)
        number = self._numbers.setdefault(key, len(self.worlds))
        if number == len(self.worlds):
            self.worlds.append(world)
        return number

    def _check(self) -> None:
        if (len(self.learner.listed), self.learner.positions) != self._knew:
            raise Restart


def conflict(one: Footprint, other: Footprint, listed: dict[str, None]) -> bool:
    """Whether two operations on one copy of the board may give something else in the other order.

    An operation that expects something counts as a write, whether it succeeds or not. Where a prefix is listed, two writes
    under it conflict, since the list shows which key was created first.
    """
    if not (one.writes or other.writes):
        return False
    if one.log or other.log:
        return True
    keys = set(other.keys)
    if any(key in keys for key in one.keys):
        return True
    if _lists(one, other) or _lists(other, one):
        return True
    return one.writes and other.writes and any(_all_under(prefix, one, other) for prefix in listed)


def _lists(one: Footprint, other: Footprint) -> bool:
    return other.writes and any(under(prefix, key) for prefix in one.prefixes for key in other.keys)


def _all_under(prefix: str, one: Footprint, other: Footprint) -> bool:
    return any(under(prefix, key) for key in one.keys) and any(under(prefix, key) for key in other.keys)
