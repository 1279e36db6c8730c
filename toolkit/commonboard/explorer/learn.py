"""What agents do, learnt once: a tree for each agent, with a branch for every answer that it was ever given.

An agent is a deterministic program, so all that it will do next follows from the answers that it has received. A node of
the tree stands for one such sequence of answers, and knows what the agent waits for there. Its code runs only to learn a
new node, alone, fed with the answers on the way; after that, a search takes a step by looking it up. That is what makes
it cheap to try every interleaving, and it is why two runs in which every agent has seen the same can be treated as one.

It holds only where agents share nothing but the board. `trust` looks whether they do.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from commonboard.entry import Event, Page, Reading
from commonboard.errors import ConflictError
from commonboard.explorer.spinning import local_state
from commonboard.handle import AgentMemory
from commonboard.history import Operation
from commonboard.policies import ConflictPolicy
from commonboard.sim.asks import Ask, Commit, Follow, List, Site
from commonboard.sim.crew import begun
from commonboard.sim.lives import FreshMemory
from commonboard.sim.loop import AGENT, Endless, SimLoop, Stepping
from commonboard.sim.memory import SimMemory, UpdateCall
from commonboard.sim.store import Recorder, SimStore
from commonboard.sim.trouble import Trouble, died, is_told, stuck
from commonboard.values import canonical_json, own_copy


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation gave, or what it raised."""

    value: Any = None
    error: Exception | None = None

    def fresh(self) -> Any:
        """The value again, in objects of its own: agents may change what they are given."""
        value = self.value
        if isinstance(value, Reading):
            return Reading(own_copy(value.entry), value.version)
        if isinstance(value, Page):
            page = Page(map(own_copy, value), cursor=value.cursor, floor=value.floor, gone=value.gone)
            page.position = value.position
            return page
        return list(value) if isinstance(value, list) else value

    def fresh_error(self) -> Exception:
        """The error again, without the traceback and the notes of the last time."""
        error = copy.copy(self.error)
        assert error is not None
        error.__traceback__, error.__context__, error.__cause__ = None, None, None
        if isinstance(error, ConflictError):
            error.found = own_copy(error.found)
        return error

    def seen(self, positions: bool) -> Hashable:
        """All of it that an agent can see. Its place in the log only where somebody follows the log: `positions`."""
        value, error = self.value, self.error
        if error is not None:
            found = getattr(error, "found", None)
            return type(error).__name__, str(error), getattr(error, "found_version", None), _entry(found)
        if isinstance(value, Reading):
            return value.version, _entry(value.entry)
        if isinstance(value, Page):
            place = (int(value.position), value.cursor) if positions else None
            return tuple(map(_entry, value)), value.floor, tuple(sorted(value.gone.items())), place
        if isinstance(value, list):
            return tuple(_event(event, positions) for event in value)
        return None


_NOTHING = Answer()


def _entry(entry: Any) -> Hashable:
    if entry is None:
        return None
    return entry.key, entry.value, canonical_json(dict(entry.metadata)), entry.version, entry.expires_at_turn


def _event(event: Event, positions: bool) -> Hashable:
    return event[1:11] + (event.seq,) if positions else event[1:11]


@dataclass(slots=True, eq=False)
class Node:
    """An agent that has received a certain sequence of answers.

    Attributes:
        number: its place among all nodes.
        place: which agent it is, by its place in the crew.
        incarnation: how often the agent began before.
        parent, slot, answer: the answer that led here, to what of the parent's waiting operations; `None` at the root.
        asks: the operations that the agent waits for.
        timers: how many timers it waits for; their slots come after those of the operations.
        done: whether it has come to its end.
        trouble: what went wrong, if something did.
        told: whether it ended because it was refused, and was told so by a `ConflictError` or a `NotAdmittedError`.
        paused: whether a timer fired on the way here: the agent let others come in.
        thoughts: what it noted on the way here.
        unseen: what went wrong in a task that nobody has awaited yet: a failure, if nobody ever does.
        children: the nodes that follow, by slot and by what could be seen of the answer.
        depth: how many answers it has received.
    """

    number: int
    place: int
    incarnation: int
    parent: Node | None = None
    slot: int = 0
    answer: Answer = _NOTHING
    asks: list[Ask] = field(default_factory=list)
    timers: int = 0
    done: bool = False
    trouble: Trouble | None = None
    told: bool = False
    unseen: Trouble | None = None
    paused: bool = False
    thoughts: list[Operation] = field(default_factory=list)
    children: dict[Hashable, Node] = field(default_factory=dict)
    depth: int = 0

    @property
    def is_local(self) -> bool:
        """Whether all it can do is to let its one timer fire: that commutes with whatever the others do."""
        return not self.asks and self.timers == 1 and not self.done

    def path(self) -> list[Node]:
        """The nodes from the root to this one."""
        nodes, node = [], self
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return [node, *reversed(nodes)]


class Diverged(Exception):
    """An agent that was given the same answers again did something else: it depends on more than them."""


class Solo:
    """One agent that runs alone, on answers that were worked out elsewhere."""

    def __init__(self, learner: Learner, place: int, incarnation: int) -> None:
        self.loop = SimLoop(learner.max_steps, free=True)  # type: ignore[abstract]  # what is missing is refused by name
        self.name = list(learner.crew)[place]
        self.recorder = Recorder(self.loop, learner.crew)
        self.calls: list[UpdateCall] = []
        store = SimStore(self.recorder, Site())
        kind = FreshMemory if learner.may_fork else SimMemory
        memory = kind(self.recorder, store, copy.deepcopy(learner.policy), learner.turn, self.calls)
        with Stepping(self.loop, guarded=False):
            coroutine = begun(self.name, learner.crew[self.name], AgentMemory(memory, self.name, str(incarnation + 1)))
            context = contextvars.copy_context()
            context.run(AGENT.set, self.name)
            self.main = self.loop.create_task(coroutine, context=context, name=self.name)
            self.endless = self._run()

    def take(self, steps: list[tuple[int, Answer]]) -> int:
        """Go on with answers to its waiting operations, each by its slot; gives how much it had noted before the last."""
        waiting, before = self.recorder.waiting[self.name], 0
        with Stepping(self.loop, guarded=False):
            for slot, answer in steps:
                before = len(self.recorder.operations)
                if slot >= len(waiting) + len(self.timers()):
                    raise Diverged
                if slot >= len(waiting):
                    self.loop.fire(self.timers()[slot - len(waiting)])
                else:
                    asked = waiting.pop(slot)
                    self.loop.reach(self.name)
                    if answer.error is not None:
                        asked.future.set_exception(answer.fresh_error())
                    else:
                        asked.future.set_result(answer.fresh())
                self.endless = self._run()
        return before

    def timers(self) -> list[Any]:
        return self.loop.timers().get(self.name, [])

    @property
    def asked_the_time(self) -> bool:
        """Whether the agent looked at its clock, which no frame shows."""
        return self.loop.asked_the_time

    def state(self) -> Hashable:
        """Where its tasks are, what they hold, and what its timers are for; `None` where it cannot be told."""
        found = local_state(self.main, self.loop.tasks)
        if found is None:
            return None
        return found, tuple([getattr(timer.handle._callback, "__qualname__", "") for timer in self.timers()])

    def unseen(self) -> Trouble | None:
        """What went wrong in a task that nobody has awaited, or in a callback."""
        for task in self.loop.tasks:
            if task is not self.main and task.done() and not task.cancelled() and task._log_traceback:
                error = task._exception  # to ask for it would be to await it
                assert error is not None
                return died(self.name, error, "a task that it started and never awaited")
        complaints = [complaint["exception"] for _, complaint in self.loop.complaints if "exception" in complaint]
        return died(self.name, complaints[0], "a callback") if complaints else None

    def _run(self) -> Endless | None:
        try:
            self.loop.run_ready()
        except Endless as endless:
            return endless
        return None

    def close(self) -> None:
        """Drop it."""
        self.recorder.closed = True
        with Stepping(self.loop, guarded=False):
            self.loop.wind_up()


class Learner:
    """The trees of all agents of one program.

    Args:
        crew: the agents by name.
        policy: what `update` does on a conflict.
        turn: the turn that the memory begins with.
        may_fork: whether an agent may find a state without its own last change, so that it needs a new CRDT id for each.
        max_steps: how many steps of the event loop an agent may take before it is called endless.

    Attributes:
        nodes: all nodes, by number.
        listed: the prefixes that somebody lists: there it shows which key was created first.
        positions: whether somebody follows the log, so that it shows what was written before what.
        spins: whether an agent repeats itself while nothing changes, so that its tree has become a graph with cycles.
    """

    def __init__(
        self,
        crew: dict[str, Callable[[Any], Any]],
        policy: ConflictPolicy,
        turn: int,
        may_fork: bool = False,
        max_steps: int = 300_000,
    ) -> None:
        self.crew, self.policy, self.turn = crew, policy, turn
        self.may_fork, self.max_steps = may_fork, max_steps
        self.nodes: list[Node] = []
        self.listed: dict[str, None] = {}
        self.positions = False
        self.spins = False
        self._roots: dict[tuple[int, int], Node] = {}
        self._live: dict[int, Solo] = {}

    def root(self, place: int, incarnation: int = 0) -> Node:
        """An agent before it has received anything."""
        node = self._roots.get((place, incarnation))
        if node is None:
            node = self._roots[place, incarnation] = self._node(Solo(self, place, incarnation), place, incarnation)
        return node

    def after(self, node: Node, slot: int, answer: Answer) -> Node:
        """The agent after one more answer."""
        key = (slot, answer.seen(self.positions))
        child = node.children.get(key)
        if child is None:
            solo, steps = self._at(node)
            before = solo.take([*steps, (slot, answer)])
            child = self._node(solo, node.place, node.incarnation, node, slot, answer, before)
            node.children[key] = child = self._same_as_before(child)
        return child

    def again(self) -> Learner:
        """A learner of the same program that knows already what is listed, and whether the log is followed."""
        fresh = Learner(self.crew, self.policy, self.turn, self.may_fork, self.max_steps)
        fresh.listed, fresh.positions = self.listed, self.positions
        return fresh

    def close(self) -> None:
        """Drop the agents that are still running."""
        for solo in self._live.values():
            solo.close()
        self._live.clear()

    def _at(self, node: Node) -> tuple[Solo, list[tuple[int, Answer]]]:
        """The agent where it was left at this node, or anew, with the steps that it takes to get there."""
        solo = self._live.pop(node.number, None)
        if solo is not None:
            return solo, []
        return Solo(self, node.place, node.incarnation), [(step.slot, step.answer) for step in node.path()[1:]]

    def _node(
        self,
        solo: Solo,
        place: int,
        incarnation: int,
        parent: Node | None = None,
        slot: int = 0,
        answer: Answer = _NOTHING,
        before: int = 0,
    ) -> Node:
        node = Node(len(self.nodes), place, incarnation, parent, slot, answer)
        self.nodes.append(node)
        node.depth = parent.depth + 1 if parent is not None else 0
        node.thoughts = solo.recorder.operations[before:]
        main = solo.main
        node.done = main.done()
        if solo.endless is not None:
            node.trouble = stuck(solo.name, main, solo.endless.limit)
        else:
            # What an agent has begun and not awaited goes on when it has ended, as long as the others do.
            node.asks = [waiting.ask for waiting in solo.recorder.waiting[solo.name]]
            node.timers = len(solo.timers())
            node.paused = parent is not None and (slot >= len(parent.asks) or (parent.paused and parent.is_local))
            node.unseen = solo.unseen()
            self._notice(node.asks)
            if node.done:
                self._ended(node, solo)
            elif not node.asks and not node.timers:
                node.trouble = stuck(solo.name, main)
        if node.trouble is not None or not (node.asks or node.timers):
            solo.close()
        else:
            self._keep(node, solo)
        return node

    def _ended(self, node: Node, solo: Solo) -> None:
        error = asyncio.CancelledError("the agent was cancelled") if solo.main.cancelled() else solo.main.exception()
        if error is not None:
            node.trouble, node.told = died(solo.name, error), is_told(error)

    def _keep(self, node: Node, solo: Solo) -> None:
        if len(self._live) >= 1_000:
            self._live.pop(next(iter(self._live))).close()
        self._live[node.number] = solo

    def _notice(self, asks: list[Ask]) -> None:
        for ask in asks:
            if isinstance(ask, List):
                self.listed[ask.key] = None
            if isinstance(ask, Commit):
                self.listed.update(dict.fromkeys(ask.footprint.prefixes))
            self.positions = self.positions or isinstance(ask, Follow) or ask.footprint.log

    def _same_as_before(self, node: Node) -> Node:
        """An agent that has twice done the same, seen the same and come back to the same place is where it was before."""
        path = node.path() if node.depth > 1 and not node.done else []
        for length in range(1, min(node.depth // 2, _LONGEST_CIRCLE) + 1 if path else 0):
            before, last, once_more = path[-length - 1], path[-2 * length : -length], path[-length:]
            if all(map(_same_step, last, once_more)) and _changes_nothing(once_more) and self._are_equal(before, node):
                self.spins = True
                self._live.pop(node.number).close()
                return before
        return node

    def _are_equal(self, one: Node, other: Node) -> bool:
        """Whether an agent is in the same state at both; not, where that cannot be told."""
        state = self._state(one)
        return state is not None and state == self._state(other)

    def _state(self, node: Node) -> Hashable:
        """The agent's state at a node. Its frames are only read out where somebody asks: it takes longer than to run it."""
        solo, steps = self._at(node)
        if steps:
            solo.take(steps)
        self._keep(node, solo)
        return None if solo.asked_the_time else solo.state()


_LONGEST_CIRCLE = 12
"""How many answers a circle may have that is looked for."""


def _same_step(one: Node, other: Node) -> bool:
    """Whether an agent asked the same on the way to both nodes, and saw the same."""
    return _asked(one) == _asked(other) and one.answer.seen(True) == other.answer.seen(True)


def _asked(node: Node) -> tuple[int, str, str]:
    assert node.parent is not None
    ask = node.parent.asks[node.slot] if node.slot < len(node.parent.asks) else None
    return (node.slot, "", "") if ask is None else (node.slot, ask.what, ask.key)


def _changes_nothing(nodes: list[Node]) -> bool:
    """Whether on the way no write of this agent happened."""
    return all(
        node.parent is None
        or node.slot >= len(node.parent.asks)
        or not node.parent.asks[node.slot].footprint.writes
        or isinstance(node.answer.error, ConflictError)
        for node in nodes
    )
