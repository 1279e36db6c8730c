"""One simulation while it runs: it steps the loop, lets one thing after the other happen, and looks at what came of it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonboard.entry import Log, Page
from commonboard.errors import SimulationError
from commonboard.handle import AgentMemory
from commonboard.history import History, Operation
from commonboard.policies import ConflictPolicy
from commonboard.sim.asks import Ask, Begin, Site
from commonboard.sim.choices import Choices
from commonboard.sim.crew import begun
from commonboard.sim.faults import AgentCrash, Choice, Heal, Message
from commonboard.sim.foreign import Gate, made_store
from commonboard.sim.given import Given, given_writes
from commonboard.sim.ledger import records_of
from commonboard.sim.lives import LIFE, FreshMemory, MortalLoop
from commonboard.sim.loop import AGENT, Endless, SimLoop, Stepping, Timer
from commonboard.sim.memory import SimMemory, UpdateCall
from commonboard.sim.network import Network, Way
from commonboard.sim.result import Run
from commonboard.sim.store import Recorder, SimStore, Waiting
from commonboard.sim.trouble import Trouble, died, stuck
from commonboard.sim.world import World
from commonboard.values import decoded


@dataclass(frozen=True, slots=True)
class _TimePasses:
    label: str = "time passes"


TIME_PASSES = _TimePasses()


@dataclass(frozen=True, slots=True)
class Happening:
    """An operation that an agent waits for, in one of several ways in which it can happen."""

    waiting: Waiting
    way: Way
    label: str

    @property
    def agent(self) -> str:
        return self.waiting.agent


@dataclass(slots=True)
class _Performed:
    """An operation as the network performs it: in place of the bare one while it happens."""

    network: Network
    place: int
    way: Way
    ask: Ask

    def perform(self, site: Site | None, agent: str, now: Any, records: list[Operation]) -> Any:
        return self.network.perform(self.place, self.way, self.ask, now, records)


@dataclass(slots=True)
class _Ends:
    """What the agents came to; as in a `Run`."""

    outcome: str = "finished"
    troubles: list[Trouble] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)
    seconds: float = 0.0


def order(last: str, agents: Iterable[str]) -> list[str]:
    """The agents, the one that acted last before the others: to go on with it is the boring choice."""
    names = list(agents)
    return [last, *[name for name in names if name != last]] if last else names


class Simulation:
    """One run while it runs."""

    def __init__(
        self,
        crew: dict[str, Callable[[Any], Any]],
        policy: ConflictPolicy,
        choices: Choices,
        given: Given,
        store: Callable[..., Any] | None,
        world: World,
        turn: int,
        max_operations: int,
        max_steps: int,
    ) -> None:
        self._crew = crew
        self._policy = policy
        self._choices = choices
        self._budget = self._max_operations = max_operations
        loop = MortalLoop if world.agent_crashes else SimLoop
        self._loop = loop(max_steps, choices.timing == "free")  # type: ignore[abstract]  # what is missing is refused by name in loop.py
        self._recorder = Recorder(self._loop, crew)
        self._places = {name: place for place, name in enumerate(crew)}
        self._network = Network(world, policy, list(crew))
        self._network.free = self._loop.free
        self._mortal = bool(world.agent_crashes)
        self._one_way_each = world.visibility == "sticky" and not world.lost_answers
        if world.replicas > 1 and store is not None:
            raise SimulationError("store= and world=World(replicas=…) cannot be used together; replicas are stores of their own")
        bases = [SimStore(self._recorder, site) for site in self._network.sites]
        self._stores = [(base, made_store(store, base, self._recorder)) for base in bases]
        if world.lost_answers and isinstance(self._stores[0][1], Gate):
            raise SimulationError("a store of another make answers by itself, so that no answer can be lost; leave store= out")
        self._calls: list[UpdateCall] = []
        memory = FreshMemory if world.may_fork else SimMemory
        self._memories = [memory(self._recorder, made, policy, turn, self._calls) for _, made in self._stores]
        self._given = given_writes(given, self._recorder.now())
        choices.belong_to(*crew, *(part for write in self._given for part in (write.key, write.value)))
        if not world.is_plain:
            choices.belong_to(repr(world))
        self._main: dict[str, asyncio.Task[Any]] = {}

    def run(self) -> Run:
        ends = _Ends()
        with Stepping(self._loop):
            try:
                self._give()
                self._loop.begin()
                self._note(self._network.begin())
                self._start()
                self._drive(ends)
            except KeyboardInterrupt as interrupt:
                interrupt.add_note(f"interrupted: {self._interrupted(interrupt)}")
                raise
            finally:
                self._recorder.closed = True
                self._look_back(ends)
                self._loop.wind_up()
            boards = {base.site.replica or "": self._board(base, store) for base, store in self._stores}
        return self._result(ends, boards)

    def _start(self) -> None:
        coroutines: dict[str, Coroutine[Any, Any, Any]] = {}
        try:
            for name in self._crew:
                coroutines[name] = self._begun(name)
        except BaseException:
            for coroutine in coroutines.values():
                coroutine.close()
            raise
        for name, coroutine in coroutines.items():
            self._run(name, coroutine)

    def _begun(self, name: str) -> Coroutine[Any, Any, Any]:
        memory = self._memories[self._network.home(self._places[name])]
        return begun(name, self._crew[name], AgentMemory(memory, name, str(self._network.life(name))))

    def _run(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        context = contextvars.copy_context()
        context.run(AGENT.set, name)
        context.run(LIFE.set, self._network.life(name))
        if self._choices.late_starts:
            coroutine = self._when_chosen(coroutine, self._network.sites[self._network.home(self._places[name])])
        self._main[name] = self._loop.create_task(coroutine, context=context, name=name)

    async def _when_chosen(self, coroutine: Coroutine[Any, Any, Any], site: Site) -> Any:
        try:
            await self._recorder.asked(Begin(), site)
        except BaseException:
            coroutine.close()
            raise
        return await coroutine

    def _drive(self, ends: _Ends) -> None:
        """Run what can run, then choose what happens next, until nothing is left."""
        loop, recorder, network = self._loop, self._recorder, self._network
        running, last, acted = list(self._main.values()), "", ""
        try:
            while True:
                loop.run_ready()
                if running[0].done():
                    running = [task for task in running if not task.done()] or running[:1]
                over = running[0].done()
                possible = self._possible(last, over)
                if not possible:
                    if over:
                        self._meet("at the end", lambda: network.finish(recorder.now()))
                    else:
                        ends.outcome = "deadlock"
                        ends.troubles += [stuck(name, task) for name, task in self._main.items() if not task.done()]
                    return
                if self._budget <= 0 and not over:
                    self._choices.cut = self._max_operations
                    raise Endless(acted, f"max_operations={self._max_operations:,}")
                self._budget -= 1
                chosen = self._choices.choose(possible)
                if isinstance(chosen, (Waiting, Happening)):
                    last = acted = chosen.agent
                    self._happen(chosen)
                elif isinstance(chosen, Timer):
                    acted = chosen.agent
                    loop.fire(chosen)
                elif chosen is TIME_PASSES:
                    acted = self._let_time_pass()
                else:
                    self._take(chosen)
                    if isinstance(chosen, AgentCrash):
                        running = list(self._main.values())
        except Endless as endless:
            ends.outcome = "endless"
            left = {name: task for name, task in self._main.items() if not task.done()}
            guilty = [endless.agent] if endless.agent in left else list(left)
            ends.troubles += [stuck(name, left[name], endless.limit) for name in guilty]

    def _possible(self, last: str, over: bool) -> list[Any]:
        """What could happen next, the boring choice first: what `last` waits for, then the others in order, messages, faults."""
        found: list[Any] = []
        if not over:
            timers = self._loop.timers() if self._loop.free else {}
            queues = self._recorder.waiting
            for name in order(last, queues):
                if self._one_way_each:
                    found += [waiting for waiting in queues[name] if waiting.ready]
                else:
                    for waiting in queues[name]:
                        found += self._ways(waiting)
                if timers:
                    found += timers.get(name, ())
        self._network.clock = self._loop.now
        offered = self._network.choices(over, self._running() if self._mortal else None)
        if not found and self._may_wait(offered, over):
            messages = sum(isinstance(each, Message) for each in offered)
            return [*offered[:messages], TIME_PASSES, *offered[messages:]]
        if not found and all(each.is_fault for each in offered):
            return []  # nobody waits for a fault
        return found + offered

    def _may_wait(self, offered: Sequence[Choice], over: bool) -> bool:
        """Whether time may pass, when no agent has anything to do: to the next timer, or until a message may arrive."""
        due = None if self._loop.free or (over and offered) else self._network.due()
        if due is not None and due > self._loop.now:
            return True
        return not over and not self._loop.free and self._loop.next_timer() is not None

    def _ways(self, waiting: Waiting) -> list[Any]:
        """The ways in which an operation can happen now, where there may be several."""
        place = self._places[waiting.agent]
        ways = self._network.ways(place, waiting.ask)
        return [Happening(waiting, way, self._label(waiting, way, ways[0])) for way in ways]

    def _label(self, waiting: Waiting, way: Way, boring: Way) -> str:
        there = "" if way.site == boring.site else f" at {self._network.sites[way.site].replica}"
        return f"{waiting.label}{there}{' and gets no answer' if way.lost else ''}"

    def _running(self) -> list[int]:
        return [place for name, place in self._places.items() if not self._main[name].done()]

    def _happen(self, chosen: Waiting | Happening) -> None:
        """Let the operation that an agent waits for happen, as the network performs it."""
        waiting = chosen if isinstance(chosen, Waiting) else chosen.waiting
        place, ask = self._places[waiting.agent], waiting.ask
        way = Way(self._network.home(place)) if isinstance(chosen, Waiting) else chosen.way
        if waiting.site is not None:
            waiting.site = self._network.sites[way.site]
        waiting.ask = _Performed(self._network, place, way, ask)  # type: ignore[assignment]
        try:
            self._recorder.happen(waiting)
        finally:
            waiting.ask = ask  # whoever watches the choices looks at it afterwards

    def _let_time_pass(self) -> str:
        """Let time pass to the next timer, or until a message may arrive; says whose the timer is."""
        timer, due = self._loop.next_timer(), self._network.due()
        if due is not None and due > self._loop.now and (timer is None or due < timer):
            self._loop.now = due
            return ""
        return self._loop.advance()

    def _take(self, choice: Choice) -> None:
        """Let something happen that no agent does."""
        network, recorder = self._network, self._recorder
        if isinstance(choice, Message) and self._loop.free:
            self._loop.now = max(self._loop.now, choice.due)
        blocked = 0
        if isinstance(choice, Heal):
            everything = [waiting for queue in recorder.waiting.values() for waiting in queue]
            blocked = sum(not network.ways(self._places[waiting.agent], waiting.ask) for waiting in everything)
        self._meet(choice.label, lambda: network.take(choice, recorder.now(), blocked))
        if isinstance(choice, AgentCrash):
            self._restart(choice.agent)

    def _restart(self, name: str) -> None:
        """An agent has crashed: nothing of it runs any more, and it begins anew."""
        assert isinstance(self._loop, MortalLoop)
        self._loop.kill(name, self._network.life(name) - 1)
        self._recorder.waiting[name].clear()
        self._recorder._sightings.pop(name, None)
        self._run(name, self._begun(name))

    def _meet(self, what: str, happens: Callable[[], list[Operation]]) -> None:
        """Note what happens between replicas, where the policy may raise."""
        try:
            records = happens()
        except Exception as error:
            error.add_note(f"the policy raised this when replicas met ({what}); replay={self._choices.token!r}")
            raise
        self._note(records)

    def _note(self, records: list[Operation]) -> None:
        for op in records:
            self._recorder.note(op, (self._recorder.tick(), self._loop.now))

    def _give(self) -> None:
        """Put in what is there before the agents begin."""
        for write in self._given:
            store = self._stores[0][1]
            if isinstance(store, Gate):
                self._at_once(store.give(write))
                continue
            for op in self._network.give([write], self._recorder.now()):
                self._recorder.note(op, (self._recorder.tick(), 0.0))

    def _board(self, base: SimStore, store: Any) -> Page:
        entries = self._at_once(store.entries()) if isinstance(store, Gate) else base.entries()
        return Page(decoded(entry) for entry in entries)

    def _at_once(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """What a store of another make gives, before or after the agents' time."""
        task = self._loop.create_task(coroutine)
        try:
            self._loop.run_ready()
            while not task.done() and self._loop.next_timer() is not None:
                self._loop.advance()
                self._loop.run_ready()
        except Endless as endless:
            raise SimulationError(str(stuck("the store", task, endless.limit))) from None
        if not task.done():
            raise SimulationError(str(stuck("the store", task)))
        return task.result()

    def _interrupted(self, interrupt: BaseException) -> str:
        for task in self._loop.tasks:
            if task.done() and not task.cancelled() and task.exception() is interrupt:
                return str(died(task.agent, interrupt))
        return "between two steps"

    def _look_back(self, ends: _Ends) -> None:
        """What the agents came to, before what is left is cancelled."""
        ends.seconds = self._loop.now
        for name, task in self._main.items():
            if task.done():
                error = asyncio.CancelledError("the agent was cancelled") if task.cancelled() else task.exception()
                if error is None:
                    ends.results[name] = task.result()
                else:
                    ends.errors[name] = error
                    ends.troubles.append(died(name, error))
        mains = set(self._main.values())
        for left in self._loop.tasks:
            if left not in mains and left.done() and not left.cancelled() and left._log_traceback:
                unseen = left.exception()
                if unseen is not None:
                    ends.troubles.append(died(left.agent, unseen, "a task that it started and never awaited"))
        for agent, complaint in self._loop.complaints:
            if "exception" in complaint:
                where = "a callback" if "handle" in complaint else "a future that nobody awaited"
                ends.troubles.append(died(agent, complaint["exception"], where))
        if ends.outcome == "finished" and ends.troubles:
            ends.outcome = "failed"

    def _result(self, ends: _Ends, boards: dict[str, Page]) -> Run:
        recorder = self._recorder
        network = self._network
        replicas, copies, lost = network.world.names, network.copies(), network.lost()
        history = History(recorder.operations, list(self._crew), replicas)
        return Run(
            agents=list(self._crew),
            policy=self._policy.name,
            seed=None,
            choices=self._choices,
            outcome=ends.outcome,
            troubles=ends.troubles,
            results=ends.results,
            errors=ends.errors,
            history=history,
            log=Log(recorder.events),
            board=next(iter(boards.values())),
            boards=boards if replicas else {},
            seconds=ends.seconds,
            tokens=sum(op.tokens for op in history),
            retries=sum(not op.ok for op in history),
            unresolved=network.unresolved(),
            siblings=next(iter(copies.values()), {}),
            calls=self._calls,
            copies=copies,
            faults=network.book.faults,
            unaccounted=records_of(lost, history),
            crossings=list(self._loop.crossings),
        )
