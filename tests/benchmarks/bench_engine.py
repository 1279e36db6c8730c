"""How many operations a second the simulator does, beside a plain loop and simpy, all in one run. Run by hand:

    PYTHONPATH=toolkit python tests/benchmarks/bench_engine.py

The work is the same for all: ten agents, each of which again and again reads a counter and writes it plus one, with a
pause in between where another may come in. One event is one read or one write. The ratio is to a plain loop that reads
and writes without anybody else. `--profile` prints where `simulate` spends its time instead.
"""

from __future__ import annotations

import asyncio
import cProfile
import gc
import importlib
import pstats
import sys
import time
from collections.abc import Callable
from typing import Any

import commonboard as cb
from commonboard.sim.loop import SimLoop, Stepping

AGENTS, INCREMENTS, ROUNDS = 10, 100, 5
EVENTS = 2 * AGENTS * INCREMENTS
try:
    simpy: Any = importlib.import_module("simpy")
except ImportError:
    simpy = None


def plain() -> None:
    board = {"count": 0}
    for _ in range(AGENTS * INCREMENTS):
        seen = board["count"]
        board["count"] = seen + 1


def bare_loop() -> None:
    """The event loop alone: tasks that pause where the others have an operation; no choices, no record."""
    board = {"count": 0}

    async def agent() -> None:
        for _ in range(INCREMENTS):
            await asyncio.sleep(0)
            seen = board["count"]
            await asyncio.sleep(0)
            board["count"] = seen + 1

    loop = SimLoop(10 * EVENTS)
    with Stepping(loop):
        for _ in range(AGENTS):
            _ = loop.create_task(agent())
        loop.run_ready()


def real_loop() -> None:
    """The same on asyncio's own loop."""
    board = {"count": 0}

    async def agent() -> None:
        for _ in range(INCREMENTS):
            await asyncio.sleep(0)
            seen = board["count"]
            await asyncio.sleep(0)
            board["count"] = seen + 1

    async def main() -> None:
        await asyncio.gather(*(agent() for _ in range(AGENTS)))

    with asyncio.Runner() as runner:
        runner.run(main())


def with_simpy() -> None:
    environment, board = simpy.Environment(), {"count": 0}

    def agent() -> Any:
        for _ in range(INCREMENTS):
            yield environment.timeout(1)
            seen = board["count"]
            yield environment.timeout(1)
            board["count"] = seen + 1

    for _ in range(AGENTS):
        environment.process(agent())
    environment.run()


async def reads_and_writes(me: cb.AgentMemory) -> None:
    for _ in range(INCREMENTS):
        seen = await me.value("shared/count")
        await me.shared.write("count", seen + 1)


async def updates(me: cb.AgentMemory) -> None:
    for _ in range(INCREMENTS):
        await me.shared.update("count", lambda found: found + 1)


def simulated(agent: Callable[[cb.AgentMemory], Any], policy: Any, check: bool = False) -> None:
    made = cb.simulate([agent] * AGENTS, policy=policy, seed=1, given={"shared/count": 0})
    assert made.ok
    if check:
        assert cb.no_lost_updates(made).holds is False


TASKS: dict[str, Callable[[], None]] = {
    "plain loop": plain,
    "asyncio, sleep(0)": real_loop,
    "SimLoop alone, sleep(0)": bare_loop,
    "simulate: value and write": lambda: simulated(reads_and_writes, cb.LastWriterWins()),
    "simulate: update, last writer wins": lambda: simulated(updates, cb.LastWriterWins()),
    "  and no_lost_updates": lambda: simulated(updates, cb.LastWriterWins(), check=True),
}


def events_a_second(task: Callable[[], None]) -> float:
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return EVENTS / min(times)


def main() -> None:
    if "--profile" in sys.argv:
        with cProfile.Profile() as profile:
            for _ in range(ROUNDS):
                TASKS["simulate: value and write"]()
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)
        return
    tasks = TASKS | ({"simpy, timeout(1)": with_simpy} if simpy else {})
    speeds = {name: events_a_second(task) for name, task in tasks.items()}
    print(f"{'what':<38}{'events/s':>12}{'ratio to the plain loop':>26}")
    for name, speed in speeds.items():
        print(f"{name:<38}{speed:>12,.0f}{'1 / ' + format(speeds['plain loop'] / speed, ',.1f'):>26}")
    small = cb.scenarios.counter(increments=2)
    start = time.perf_counter()
    for seed in range(500):
        cb.simulate(small, policy=cb.LastWriterWins(), seed=seed)
    print(f"whole runs of 2 agents × 2 increments: {500 / (time.perf_counter() - start):,.0f} a second")


if __name__ == "__main__":
    main()
