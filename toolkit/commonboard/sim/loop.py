"""A deterministic event loop with virtual time, stepped by whoever made it.

Agents are ordinary asyncio code: tasks, gather, TaskGroup, locks, queues, timeouts and sleep are asyncio's own and run
on this loop unchanged. What is missing is the outside: no clock, no thread, no socket. Between two operations on the
store everything that can run does, in the order in which it became ready; then the owner of the loop chooses what
happens next. The loop can be stepped while another loop is running, so a simulation works in a notebook cell.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import heapq
import math
import sys
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn

from commonboard.sim.outside import Outside, refusal
from commonboard.sim.standins import Bound, StandIns
from commonboard.sim.trouble import is_plumbing

AGENT: contextvars.ContextVar[str] = contextvars.ContextVar("commonboard_agent", default="")
"""The agent whose code is running. Tasks that an agent starts inherit it."""


class Endless(Exception):
    """A budget ran out while this agent was running; `limit` says which."""

    def __init__(self, agent: str, limit: str) -> None:
        super().__init__(agent, limit)
        self.agent = agent
        self.limit = limit


class SimTask(asyncio.Task[Any]):
    """A task that hashes by its number: asyncio and agents keep tasks in sets, whose order must be the same in every run.

    Attributes:
        agent: whose it is.
        number: its place among the tasks of its loop.
    """

    def __init__(self, coro: Coroutine[Any, Any, Any], number: int, agent: str, **options: Any) -> None:
        self.agent = agent
        self.number = number
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self.number


class Timer(NamedTuple):
    """A timer that may fire.

    Attributes:
        agent: whose it is.
        when: when it is due, in virtual seconds by the agent's clock.
        number: its place among the timers of its loop.
        handle: what it calls.
    """

    agent: str
    when: float
    number: int
    handle: asyncio.TimerHandle

    @property
    def label(self) -> str:
        return f"{self.agent} has waited {self.when:g} s"


_WHEN = itemgetter(0, 1)


class SimLoop(asyncio.AbstractEventLoop):
    """The loop. `run_ready` runs what can run now; `advance` lets time pass to the next timer.

    Where time is free, a delay is a lower bound: each agent has a clock of its own, which `fire` moves on, and any timer may
    be the next. What has happened so far sets `now`, the time of the record.

    Args:
        max_steps: how many callbacks may run in all before `Endless` is raised.
        free: whether time is free.

    Attributes:
        now: virtual seconds since the agents began.
        asked_the_time: whether an agent looked at the clock.
        bound: the locks, events and queues that belong to it until it is wound up.
        crossings: which agent woke a task of which other agent itself, rather than through the store.
    """

    def __init__(self, max_steps: int, free: bool = False) -> None:
        self.free = free
        self.asked_the_time = False
        self.crossings: dict[str, None] = {}
        self._clocks: dict[str, float] = {}
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self.now = 0.0
        self._sequence = 0
        self._steps_left = self._max_steps = max_steps
        self._made = 0
        self._generators: list[weakref.ref[AsyncGenerator[Any, Any]]] = []
        self.tasks: list[SimTask] = []
        self.complaints: list[tuple[str, dict[str, Any]]] = []
        self.bound = Bound()

    def run_ready(self) -> None:
        """Run callbacks until none is ready.

        Raises:
            Endless: the budget of steps is spent.
        """
        ready = self._ready
        while ready:
            handle = ready.popleft()
            if handle.cancelled():
                continue
            self._steps_left -= 1
            if self._steps_left < 0:
                raise Endless(_agent_of(handle), f"max_steps={self._max_steps:,}")
            handle._run()
            del handle  # a traceback may keep this frame, and the frame must not keep the task

    def next_timer(self) -> float | None:
        """When the next timer is due, in virtual seconds; `None` if there is none."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        # A timer at infinity, as of sleep(inf), is never due.
        return self._timers[0][0] if self._timers and self._timers[0][0] < math.inf else None

    def advance(self) -> str:
        """Let time pass to the next timer, and make ready all that are due then; says whose the first of them is."""
        due = self.next_timer()
        assert due is not None  # the owner of the loop looks before
        whose = _agent_of(self._timers[0][2])
        self.now = max(self.now, due)
        while self._timers and self._timers[0][0] <= self.now:
            handle = heapq.heappop(self._timers)[2]
            if not handle.cancelled():
                self._ready.append(handle)
        return whose

    def time(self) -> float:
        """Virtual seconds since the agents began; by the agent's own clock, where time is free."""
        if not self.asked_the_time and not is_plumbing(sys._getframe(1).f_code.co_filename):
            self.asked_the_time = True  # asyncio looks at it for a timeout, of which nobody sees the time
        return self.clock()

    def clock(self) -> float:
        """The time, for the library's own use: to look at it is not to ask."""
        return self._clocks.get(AGENT.get(), 0.0) if self.free else self.now

    def timers(self) -> dict[str, list[Timer]]:
        """Where time is free: the timers that may fire next, by agent, the earliest first."""
        self._timers = [timer for timer in self._timers if not timer[2].cancelled()]
        found: dict[str, list[Timer]] = {}
        for when, number, handle in sorted(self._timers, key=_WHEN):
            if when < math.inf:
                agent = _agent_of(handle)
                found.setdefault(agent, []).append(Timer(agent, when, number, handle))
        return found

    def fire(self, timer: Timer) -> None:
        """Let one timer fire: its agent has waited at least so long."""
        self._timers.remove((timer.when, timer.number, timer.handle))
        heapq.heapify(self._timers)
        self._clocks[timer.agent] = max(self._clocks.get(timer.agent, 0.0), timer.when)
        self._ready.append(timer.handle)

    def reach(self, agent: str) -> None:
        """Something of this agent happens: no earlier than its own clock says, and no earlier than what happened before."""
        if self.free:
            self.now = max(self.now, self._clocks.get(agent, 0.0))

    def begin(self) -> None:
        """Now the agents begin: it is second 0."""
        self.now = 0.0
        self._clocks.clear()

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        if context is not None and (acting := AGENT.get()):
            woken = context.get(AGENT, "")
            if woken and woken != acting:
                self.crossings[f"{acting} wakes {woken}"] = None
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.clock() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        when = round(when, 9)  # so that three times 0.1 s are 0.3 s
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._sequence += 1
        heapq.heappush(self._timers, (when, self._sequence, handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:  # type: ignore[override]
        self._made += 1
        number = self._made
        context = options.get("context")
        agent = AGENT.get() if context is None else context.get(AGENT, "")
        options["name"] = options.get("name") or f"Task-{number}"  # asyncio goes on counting from run to run
        task = SimTask(coro, number, agent, loop=self, **options)
        self.tasks.append(task)
        return task

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep it for the run's result; nothing is printed."""
        handle = context.get("handle")
        self.complaints.append((AGENT.get() if handle is None else _agent_of(handle), context))

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Asked for by `TimerHandle.cancel`; a cancelled timer is dropped when its time comes."""

    def first_iteration(self, generator: AsyncGenerator[Any, Any]) -> None:
        """An async generator began: it must be closed on this loop."""
        self._generators.append(weakref.ref(generator))

    def finalize(self, generator: AsyncGenerator[Any, Any]) -> None:
        """An async generator was dropped before its end."""
        _ = self.create_task(generator.aclose())

    # Each loop over the tasks in a function of its own: a traceback may keep the frame of `wind_up`, which must keep no task.
    def _cancel_all(self) -> None:
        for task in self.tasks:
            task.cancel()

    def wind_up(self) -> None:
        """Cancel what is left, let it clean up, and drop what will not end."""
        self._cancel_all()
        self._steps_left = 100_000
        try:
            self.run_ready()
            for generator in filter(None, (ref() for ref in self._generators)):
                _ = self.create_task(generator.aclose())
            self.run_ready()
        except Endless:
            self._ready.clear()
        self._look_at_all()
        self.bound.release(self)
        self.tasks.clear()  # they hold what holds the loop; so all of it is dropped at once, and not when the collector comes

    def _look_at_all(self) -> None:
        for task in self.tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is dropped on purpose
            elif not task.cancelled():
                task.exception()  # seen: the run's result tells of it

    def __repr__(self) -> str:
        return f"SimLoop(t={self.now:g} s)"


class Stepping:
    """`with Stepping(loop):` makes the loop the running one, and puts the outer one back however it ends.

    From Python 3.14 on, one thread has one current task; so an outer task must be left while the inner loop runs.

    Args:
        loop: the loop.
        guarded: whether to refuse the outside while it runs; who steps many loops does that once for all.
    """

    def __init__(self, loop: SimLoop, guarded: bool = True) -> None:
        self._loop = loop
        self._outside = Outside(SimLoop) if guarded else None
        self._stand_ins = StandIns()

    def __enter__(self) -> None:
        self._outer = asyncio._get_running_loop()
        self._task = asyncio.current_task(self._outer) if self._outer is not None else None
        if self._outer is not None and self._task is not None:
            asyncio.tasks._leave_task(self._outer, self._task)
        # The collector would run finalizers at moments that depend on how much memory is in use.
        self._collects = gc.isenabled()
        gc.disable()
        if self._outside is not None:
            self._outside.__enter__()
        self._stand_ins.__enter__()
        self._agent = AGENT.set("")  # whoever steps it is none of its agents
        self._hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._loop.first_iteration, finalizer=self._loop.finalize)
        asyncio._set_running_loop(self._loop)

    def __exit__(self, *error: object) -> None:
        asyncio._set_running_loop(self._outer)
        sys.set_asyncgen_hooks(*self._hooks)
        AGENT.reset(self._agent)
        self._stand_ins.__exit__()
        if self._outside is not None:
            self._outside.__exit__()
        if self._collects:
            gc.enable()
        if self._outer is not None and self._task is not None:
            asyncio.tasks._enter_task(self._outer, self._task)


def _agent_of(handle: asyncio.Handle) -> str:
    return str(handle._context.get(AGENT, ""))  # type: ignore[attr-defined]


def _outside(name: str, what: str) -> Callable[..., NoReturn]:
    def refuse(self: SimLoop, *args: Any, **options: Any) -> NoReturn:
        raise refusal(what)

    refuse.__name__ = name
    return refuse


_OUTSIDE = {
    "a thread (to_thread, run_in_executor or call_soon_threadsafe)": (
        "run_in_executor",
        "call_soon_threadsafe",
        "set_default_executor",
    ),
    "the network": (
        "connect_accepted_socket",
        "create_connection",
        "create_datagram_endpoint",
        "create_server",
        "create_unix_connection",
        "create_unix_server",
        "getaddrinfo",
        "getnameinfo",
        "sendfile",
        "sock_accept",
        "sock_connect",
        "sock_recv",
        "sock_recv_into",
        "sock_recvfrom",
        "sock_recvfrom_into",
        "sock_sendall",
        "sock_sendfile",
        "sock_sendto",
        "start_tls",
    ),
    "a file or a socket to wait for": ("add_reader", "add_writer", "remove_reader", "remove_writer"),
    "a subprocess or a pipe": ("subprocess_exec", "subprocess_shell", "connect_read_pipe", "connect_write_pipe"),
    "a signal": ("add_signal_handler", "remove_signal_handler"),
}
_REASON = {name: what for what, names in _OUTSIDE.items() for name in names}
for _name, _method in vars(asyncio.AbstractEventLoop).items():
    if not _name.startswith("_") and getattr(SimLoop, _name) is _method:
        setattr(SimLoop, _name, _outside(_name, _REASON.get(_name, f"the event loop's {_name}()")))
