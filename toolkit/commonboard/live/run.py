"""`run_live`: the agents of a simulation, on the running event loop and a real store."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from commonboard.entry import Event, Log, Page
from commonboard.errors import CapabilityError, InvalidArgumentError, LogCompactedError
from commonboard.history import GIVEN
from commonboard.live.play import Ends, LiveMemory, UpdateNote, play
from commonboard.live.processes import PROBE, Job, in_processes, packed
from commonboard.live.result import LiveRun
from commonboard.policies import ConflictPolicy, Optimistic, as_policy
from commonboard.recording.facts import Clock, Recording, acting
from commonboard.recording.settling import settled
from commonboard.recording.stores import Recorded, record
from commonboard.recording.telling import Told, tell
from commonboard.sim.crew import named_agents
from commonboard.sim.given import Given, given_writes
from commonboard.sim.memory import UpdateCall
from commonboard.sim.scenario import Scenario
from commonboard.stores.file import FileStore
from commonboard.stores.in_memory import InMemoryStore
from commonboard.stores.port import port
from commonboard.stores.protocol import is_built_in


async def run_live(
    *agents: Any,
    store: Any = None,
    policy: Any = None,
    given: Given | None = None,
    processes: int = 1,
    timeout_s: float | None = 60.0,
    turn: int | str = 0,
    pace: float = 0.0,
    clock: Clock = time.perf_counter,
) -> LiveRun:
    """Run agents concurrently for real, and give everything that happened: `await cb.run_live(…)`.

    They are the agents that `simulate` takes, and the result has what its result has. But the order is what the event loop, the
    store and the machine make of it: no seed chooses it, and it need not come again. Other code on the event loop goes on.

    An agent that raises ends in `errors`, and the others go on. When the time is up, the agents that are left are cancelled.

    With several processes, each runs some of the agents, which then share nothing but the store: what else they share in Python,
    each has a copy of. Agents travel by cloudpickle, so those of a notebook can. The clock of the history is one for all
    processes of a machine (`time.perf_counter`; on Linux the kernel's monotonic clock).

    Args:
        agents: a dict of name to async function, a `Scenario`, or the functions themselves.
        store: a store, or a function without arguments that opens one, which is then closed at the end. A fresh
            `InMemoryStore` if none is given. Several processes need such a function, and one that can be pickled, such as
            `functools.partial(MyStore, path)`.
        policy: what `update` does on a conflict; `Optimistic()` unless given.
        given: what is written before the agents begin; what else the store holds stays there.
        processes: in how many processes.
        timeout_s: how many real seconds the agents may take; `None` for as long as they like, in one process.
        turn: the turn that the memory begins with, or `"shared"` to keep it in the store.
        pace: how many real seconds a second of `me.think` lasts: 0 lets the others go on and takes no time, 1 is real time, 0.001
            makes a thought of 30 seconds last 30 milliseconds. With 0 long thoughts and short ones are alike.
        clock: gives seconds that never run backwards; only in one process.

    Raises:
        AgentError: an agent is not an async function of one argument, or a name is not allowed.
        CapabilityError: several processes cannot share this store.
        LiveRunError: something cannot travel to another process, or a process died; it names what, and why.
        InvalidArgumentError, PolicyError: an argument is not as above.

    >>> import asyncio
    >>> async def counter(me):
    ...     await me.shared.update("count", lambda n: (n or 0) + 1)
    >>> asyncio.run(run_live(counter, counter)).value("shared/count")
    2
    """
    scenario = agents[0] if len(agents) == 1 and isinstance(agents[0], Scenario) else None
    crew = named_agents(scenario.agents if scenario else agents[0] if len(agents) == 1 else agents)
    given = scenario.given if given is None and scenario is not None else given
    _check_numbers(processes, timeout_s, pace, clock)
    settled_by = Optimistic() if policy is None else as_policy(policy)
    writes = given_writes(given or {}, datetime.now(UTC))
    job = Job(store, settled_by, turn, pace, timeout_s or 0.0)
    if processes > 1:
        _check_shareable(store)
        pickled = packed(crew, job)  # before anything is written
    opened, ours = await _opened(store)
    try:
        if processes > 1:
            _check_not_alone(opened)
        live = _Live(crew, settled_by, scenario, record(opened, clock=clock), turn, pace)
        await live.give(writes)
        if processes > 1:
            await live.share(pickled, min(processes, len(crew)), job)
        else:
            await live.alone(timeout_s)
        return await live.result()
    finally:
        if ours:
            await _closed(opened)


@dataclass(slots=True)
class _Live:
    """One live run while it runs."""

    crew: Mapping[str, Callable[[Any], Any]]
    policy: ConflictPolicy
    scenario: Scenario | None
    recorded: Recorded
    turn: int | str
    pace: float
    processes: int = 1
    ends: Ends = field(default_factory=Ends)
    notes: list[UpdateNote] = field(default_factory=list)
    recordings: list[Recording] = field(default_factory=list)
    before: int = 0
    begun: int = 0

    async def give(self, writes: Sequence[Any]) -> None:
        self.before = await self._position()
        with acting(GIVEN):
            for write in writes:
                await port(self.recorded).commit(write)
        self.begun = await self._position()

    async def alone(self, timeout_s: float | None) -> None:
        memory = LiveMemory(self.recorded, self.policy, self.turn, self.pace)
        self.ends = await play(self.crew, memory, timeout_s)
        self.notes = memory.calls

    async def share(self, pickled: Mapping[str, bytes], processes: int, job: Job) -> None:
        self.processes = processes
        for part in await in_processes(pickled, processes, job, self.recorded.inner):
            self.recordings.append(part.recording)
            self.notes += part.notes
            self.ends.troubles += part.ends.troubles
            self.ends.results |= part.ends.results
            self.ends.errors |= part.ends.errors
            if "endless" in (part.ends.outcome, self.ends.outcome):
                self.ends.outcome = "endless"
            elif part.ends.outcome != "finished":
                self.ends.outcome = part.ends.outcome
        results, errors = self.ends.results, self.ends.errors  # in the order of the agents again
        self.ends.results = {name: results[name] for name in self.crew if name in results}
        self.ends.errors = {name: errors[name] for name in self.crew if name in errors}

    async def result(self) -> LiveRun:
        board = await self._board()
        events, doubts = await self._events()
        self.recordings.insert(0, self.recorded.recording)
        facts = [fact for recording in self.recordings for fact in recording.facts]
        if is_built_in(self.recorded):
            self.recordings.append(Recording("log", settled(facts, events, self.recorded.tape.now())))
        told = tell(self.recordings, self.crew, [note.called for note in self.notes])
        ends, history = self.ends, told.history
        return LiveRun(
            agents=list(self.crew),
            policy=self.policy.name,
            store=type(self.recorded.inner).__name__,
            outcome=ends.outcome,
            troubles=ends.troubles,
            results=ends.results,
            errors=ends.errors,
            history=history,
            doubts=told.doubts + doubts,
            log=Log(event for event in events if event.seq > self.begun),
            board=board,
            seconds=max((op.ended_at for op in history), default=0.0),
            tokens=sum(op.tokens for op in history),
            retries=sum(op.kind == "compare-and-set" and not op.ok for op in history),
            calls=[_call(note, told) for note in sorted(self.notes, key=lambda note: told.numbers[note.called])],
            scenario=self.scenario,
            processes=self.processes,
            recordings=self.recordings,
        )

    async def _board(self) -> Page:
        """What is there at the end. That it was seen is evidence of which write came last, and no operation of anybody."""
        with acting(GIVEN):
            memory = LiveMemory(self.recorded, self.policy, self.turn, self.pace)
            first = len(self.recorded.tape.facts)
            board = await memory.list()
        for fact in self.recorded.tape.facts[first:]:
            fact.hidden = fact.agent == GIVEN
        return board

    async def _position(self) -> int:
        if not is_built_in(self.recorded):
            return 0
        return int((await self.recorded.inner.list("", 0)).position)

    async def _events(self) -> tuple[list[Event], list[str]]:
        if not is_built_in(self.recorded):
            return [], []
        try:
            return [event for event in await self.recorded.inner.events(self.before) if event.key != PROBE], []
        except LogCompactedError as error:
            return [], [f"the store's log no longer tells all of the run: {error}"]


def _call(note: UpdateNote, told: Told) -> UpdateCall:
    op = None if note.fact is None else told.operations.get(note.fact)
    return UpdateCall(note.agent, note.key, told.numbers[note.called], note.own_policy, note.outcome, op)


def _check_numbers(processes: Any, timeout_s: Any, pace: Any, clock: Clock) -> None:
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise InvalidArgumentError(f"processes= is a whole number of at least 1, not {processes!r}")
    if timeout_s is not None and (isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not timeout_s > 0):
        raise InvalidArgumentError(f"timeout_s= is a number of real seconds above 0, or None, not {timeout_s!r}")
    if isinstance(pace, bool) or not isinstance(pace, (int, float)) or not 0 <= pace < float("inf"):
        raise InvalidArgumentError(f"pace= is how many real seconds a second of thinking lasts, 0 or more, not {pace!r}")
    if processes > 1 and timeout_s is None:
        raise InvalidArgumentError("several processes need a timeout_s=, so that none is left behind")
    if processes > 1 and clock is not time.perf_counter:
        raise InvalidArgumentError("clock= is for one process; several share the machine's own clock")


def _is_factory(store: Any) -> bool:
    return isinstance(store, type) or (callable(store) and not hasattr(store, "get"))


def _check_shareable(store: Any) -> None:
    if not _is_factory(store):
        name = "the default store" if store is None else type(store).__name__
        raise CapabilityError(
            f"{name} is open in this process only; for several processes give a function that opens the store in each of them, "
            "such as functools.partial(MyStore, path), of a store that many processes can have open"
        )
    target = store
    while hasattr(target, "func"):
        target = target.func
    if isinstance(target, type) and issubclass(target, (InMemoryStore, FileStore)):
        raise _not_shared(target.__name__)


def _check_not_alone(store: Any) -> None:
    if isinstance(store, (InMemoryStore, FileStore)):
        raise _not_shared(type(store).__name__)


def _not_shared(name: str) -> CapabilityError:
    why = "one process at a time has its file open" if name == FileStore.__name__ else "it lives in the memory of one process"
    return CapabilityError(f"several processes cannot share {name}: {why}; use a store made for many, or processes=1")


async def _opened(store: Any) -> tuple[Any, bool]:
    """The store, and whether it is ours to close."""
    if store is None:
        return InMemoryStore(), True
    if not _is_factory(store):
        return store, False
    made = store()
    return (await made if inspect.isawaitable(made) else made), True


async def _closed(store: Any) -> None:
    close = getattr(store, "aclose", None) or getattr(store, "close", None)
    if close is not None:
        made = close()
        if inspect.isawaitable(made):
            await made
