"""`simulate`: run agents once, deterministically, and keep everything that happened."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonboard.entry import Log, Page, Viewable
from commonboard.errors import InvalidArgumentError, SimulationError
from commonboard.history import GIVEN, History
from commonboard.policies import ConflictPolicy, Optimistic, as_policy
from commonboard.sim.asks import Site
from commonboard.sim.choices import TAGS, Choices, Listed, Replay, seeded
from commonboard.sim.crew import begun, named_agents
from commonboard.sim.foreign import Gate, made_store
from commonboard.sim.given import Given, given_writes
from commonboard.sim.loop import AGENT, Endless, SimLoop, Stepping, Timer
from commonboard.sim.memory import SimMemory, UpdateCall
from commonboard.sim.scenario import Scenario
from commonboard.sim.store import Recorder, SimStore, Waiting
from commonboard.sim.trouble import Trouble, died, stuck
from commonboard.sim.world import Message, Network, Replica, Sibling, World
from commonboard.values import decoded, plain


@dataclass(slots=True)
class Run(Viewable):
    """What came of one simulated run.

    Attributes:
        agents: the agents' names, in order.
        policy: the name of the policy.
        seed: the seed, or `None` if there was none.
        choices: the list of choices that the run took; its `token` is short for it.
        outcome: `"finished"`, `"failed"` (an agent raised), `"deadlock"` or `"endless"`.
        troubles: what went wrong with which agent, where, and what it waits for.
        results: what each agent returned.
        errors: what each agent raised.
        history: every operation on the store, with the versions it saw and made.
        log: the store's log: the writes.
        board: the entries at the end (of the first replica, where there are several).
        boards: the entries at the end by replica; empty where there is one store.
        seconds: virtual seconds that the run took.
        tokens: tokens that the agents spent thinking.
        retries: writes that were refused because something had changed.
        unresolved: keys that still have more than one value, on the replica with the most.
        siblings: all values of each key on the first replica, the one that is shown last; empty where there is one store.
        calls: every call of `update`, with what came of it.
        scenario: the scenario that ran, if it was one.
    """

    agents: list[str]
    policy: str
    seed: int | str | None
    choices: Choices
    outcome: str
    troubles: list[Trouble]
    results: dict[str, Any]
    errors: dict[str, BaseException]
    history: History
    log: Log
    board: Page
    boards: dict[str, Page] = field(default_factory=dict)
    seconds: float = 0.0
    tokens: int = 0
    retries: int = 0
    unresolved: int = 0
    siblings: dict[str, list[Sibling]] = field(default_factory=dict)
    calls: list[UpdateCall] = field(default_factory=list)
    scenario: Scenario | None = None

    @property
    def token(self) -> str:
        """Give it as `replay=` to run exactly this again."""
        return self.choices.token

    @property
    def ok(self) -> bool:
        """Whether every agent came to its end."""
        return self.outcome == "finished"

    @property
    def state(self) -> dict[str, Any]:
        """The final values by full key, as plain data."""
        return {entry.key: plain(entry.value) for entry in self.board}

    def value(self, key: str, default: Any = None) -> Any:
        """The final value at a full key, or the default."""
        return self.state.get(key, default)

    @property
    def lost(self) -> list[Any]:
        """The scenario's intents that are not in the final state; empty where no scenario ran."""
        return [] if self.scenario is None else self.scenario.lost(self.state)

    def spacetime(self, highlight: Iterable[Any] = (), caption: str = "") -> Any:
        """The space-time picture; unless told otherwise, it tells the first lost update if there is one."""
        import importlib

        return importlib.import_module("commonboard.show").run_picture(self, list(highlight), caption)

    def stepper(self) -> Any:
        """A slider that steps through the run, with the board beside the picture."""
        import importlib

        return importlib.import_module("commonboard.show").stepper(self)

    def __str__(self) -> str:
        who = ", ".join(self.agents)
        how = "no seed" if self.seed is None else f"seed {self.seed}"
        kinds = [op.kind for op in self.history if op.agent != GIVEN]
        operations = sum(kind not in ("think", "merge") for kind in kinds)
        lines = [
            f"Run of {who} under {self.policy}, {how}: {self.outcome} after {self.seconds:g} virtual s, "
            f"{operations} operations on the store, {self.retries} of them refused"
        ]
        lines += [f"  {trouble}" for trouble in self.troubles]
        if self.unresolved:
            lines.append(f"  {self.unresolved} key(s) still have more than one value")
        if self.seed is None or len(self.choices) <= 100:
            lines.append(f"  replay={self.token!r}")
        return "\n".join(lines)

    __repr__ = __str__


def simulate(
    *agents: Any,
    policy: Any = None,
    seed: int | str | None = 0,
    timing: str = "exact",
    replay: str | Sequence[int] | None = None,
    given: Given | None = None,
    store: Callable[..., Any] | None = None,
    world: World | None = None,
    turn: int = 0,
    max_operations: int = 20_000,
    max_steps: int = 300_000,
) -> Run:
    """Run agents concurrently, in virtual time, and give everything that happened. The same arguments give the same run.

    Args:
        agents: a dict of name to async function, a `Scenario`, or the functions themselves, which are then named after
            themselves (`counter-1`, `counter-2` where one is given twice).
        policy: what `update` does on a conflict, and what settles siblings between replicas; `Optimistic()` unless given.
        seed: which of the possible orders to take; `None` for the boring one, in which an agent goes on as long as it can.
        timing: `"exact"`: delays last as long as they say, and time passes only when everybody waits. `"free"`: a delay is a
            lower bound, as in `explore`; any timer may be the next to fire, whatever the others wait for.
        replay: the token of an earlier run, to have exactly that again; or a list of choices, with boring ones after its end.
        given: what the board holds before: `{full key: value}`, or entries such as `await memory.list()` gives.
        store: a factory: of one argument, the simulation's own store, for a decorator around it; of none, for a store of
            another make, each of whose calls is then one step.
        world: `World(replicas=2)` gives the agents copies that tell each other of their writes.
        turn: the turn that the memory begins with.
        max_operations: how many operations on the store, and how many rounds of waiting, before a run is called endless.
        max_steps: how many steps of the event loop before it is.

    Raises:
        AgentError: an agent is not an async function of one argument, or a name is not allowed.
        PolicyError: the policy is none, or gave an answer that is none.
        ReplayError: the token, or the list of choices, does not belong to this program.
        SimulationError: the store, or the policy between replicas, cannot be simulated.

    >>> async def counter(me):
    ...     await me.shared.update("count", lambda n: (n or 0) + 1)
    >>> simulate(counter, counter, seed=1).value("shared/count")
    2
    """
    scenario = agents[0] if len(agents) == 1 and isinstance(agents[0], Scenario) else None
    crew = named_agents(scenario.agents if scenario else agents[0] if len(agents) == 1 else agents)
    if given is None and scenario is not None:
        given = scenario.given
    replayed = None if replay is None else Replay(replay) if isinstance(replay, str) else Listed(replay)
    if world is not None and not isinstance(world, World):
        raise InvalidArgumentError(f"world= takes a World, such as cb.World(replicas=2), not {world!r:.60}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, str))):
        raise InvalidArgumentError(f"a seed is a whole number, a text, or None for the boring order, not {seed!r:.60}")
    if timing not in TAGS:
        raise InvalidArgumentError(f"timing is 'exact' or 'free', not {timing!r:.60}")
    if isinstance(replayed, Replay):
        timing = replayed.timing
    choices = Choices(replayed or (None if seed is None else seeded(seed)), timing)
    settled = Optimistic() if policy is None else as_policy(policy)
    simulation = _Simulation(crew, settled, choices, given or {}, store, world or World(), turn, max_operations, max_steps)
    run = simulation.run()
    run.seed, run.scenario = None if replayed else seed, scenario
    if replayed:
        replayed.check(choices)
    return run


@dataclass(frozen=True, slots=True)
class _TimePasses:
    label: str = "time passes"


TIME_PASSES = _TimePasses()


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


class _Simulation:
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
        self._loop = SimLoop(max_steps, choices.timing == "free")  # type: ignore[abstract]  # what is missing is refused by name in loop.py
        self._recorder = Recorder(self._loop, crew)
        self._network = Network(policy)
        if world.replicas > 1:
            if store is not None:
                raise SimulationError(
                    "store= and world=World(replicas=…) cannot be used together; replicas are stores of their own"
                )
            names = [f"replica-{number}" for number in range(1, world.replicas + 1)]
            sites: list[Site] = [Replica(name, self._network) for name in names]
        else:
            sites = [Site()]
        bases = [SimStore(self._recorder, site) for site in sites]
        self._stores = [(base, made_store(store, base, self._recorder)) for base in bases]
        self._calls: list[UpdateCall] = []
        self._memories = [SimMemory(self._recorder, made, policy, turn, self._calls) for _, made in self._stores]
        self._given = given_writes(given, self._recorder.now())
        choices.belong_to(*crew, *(part for write in self._given for part in (write.key, write.value)))
        self._main: dict[str, asyncio.Task[Any]] = {}

    def run(self) -> Run:
        ends = _Ends()
        with Stepping(self._loop):
            try:
                self._give()
                self._loop.begin()
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
            for place, (name, fn) in enumerate(self._crew.items()):
                coroutines[name] = begun(name, fn, self._memories[place % len(self._memories)].agent(name))
        except BaseException:
            for coroutine in coroutines.values():
                coroutine.close()
            raise
        for name, coroutine in coroutines.items():
            context = contextvars.copy_context()
            context.run(AGENT.set, name)
            self._main[name] = self._loop.create_task(coroutine, context=context, name=name)

    def _drive(self, ends: _Ends) -> None:
        """Run what can run, then choose what happens next, until nothing is left."""
        loop, recorder = self._loop, self._recorder
        running, last, acted = list(self._main.values()), "", ""
        try:
            while True:
                loop.run_ready()
                if running[0].done():
                    running = [task for task in running if not task.done()] or running[:1]
                over = running[0].done()
                possible = self._possible(last, over)
                if not possible:
                    if not over:
                        ends.outcome = "deadlock"
                        ends.troubles += [stuck(name, task) for name, task in self._main.items() if not task.done()]
                    return
                if self._budget <= 0 and not over:
                    raise Endless(acted, f"max_operations={self._max_operations:,}")
                self._budget -= 1
                chosen = self._choices.choose(possible)
                if isinstance(chosen, Waiting):
                    last = acted = chosen.agent
                    recorder.happen(chosen)
                elif isinstance(chosen, Message):
                    self._deliver(chosen)
                elif isinstance(chosen, Timer):
                    acted = chosen.agent
                    loop.fire(chosen)
                else:
                    acted = loop.advance()
        except Endless as endless:
            ends.outcome = "endless"
            left = {name: task for name, task in self._main.items() if not task.done()}
            guilty = [endless.agent] if endless.agent in left else list(left)
            ends.troubles += [stuck(name, left[name], endless.limit) for name in guilty]

    def _possible(self, last: str, over: bool) -> list[Any]:
        """What could happen next, the boring choice first: what `last` waits for, then the others in order, then messages."""
        found: list[Any] = []
        if not over:
            timers = self._loop.timers() if self._loop.free else {}
            for name in order(last, self._recorder.waiting):
                found += [waiting for waiting in self._recorder.waiting[name] if waiting.ready]
                if timers:
                    found += timers.get(name, ())
        passes = bool(found) or over or self._loop.free or self._loop.next_timer() is None
        found += self._network.messages
        return found if passes else [*found, TIME_PASSES]

    def _deliver(self, message: Message) -> None:
        self._network.messages.remove(message)
        called = (self._recorder.tick(), self._loop.now)
        try:
            self._recorder.note(message.target.arrive(message, self._recorder.now()), called)
        except Exception as error:
            error.add_note(f"the policy raised this when replicas met ({message.label}); replay={self._choices.token!r}")
            raise

    def _give(self) -> None:
        """Put in what is there before the agents begin."""
        for write in self._given:
            for base, store in self._stores:
                if isinstance(store, Gate):
                    self._at_once(store.give(write))
                else:
                    base.give(write)

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
        replicas = [base.site.replica for base, _ in self._stores if base.site.replica]
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
            unresolved=self._network.unresolved(),
            siblings=self._network.siblings(),
            calls=self._calls,
        )
