"""How many complete schedules a second an exploration tries, and what it leaves out, beside detangle. Run by hand:

    PYTHONPATH=toolkit python tests/benchmarks/bench_explore.py

Two agents, two increments each, on one key: 70 interleavings, in 34 classes. The agents read and write without looking, so
that every interleaving is complete. Learning what two agents do takes most of that time; the row of three agents (34,650
interleavings) shows the search itself. detangle (a deterministic asyncio loop with depth-first search, without reduction)
runs the same agents on a dictionary, with a pause where ours have an operation on the store; it keeps no history. Where it
is not installed, its rows are left out.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import commonboard as cb
from commonboard.explorer.learn import Learner
from commonboard.explorer.moves import Moves
from commonboard.explorer.program import program_of
from commonboard.explorer.search import Judge, classes, exhaust
from commonboard.sim.network import first_world
from commonboard.sim.store import EPOCH

ROUNDS = 5
try:
    detangle: Any = importlib.import_module("detangle")
except ImportError:
    detangle = None


async def counter(me: cb.AgentMemory, key: str = "count", times: int = 2) -> None:
    for _ in range(times):
        await me.shared.update(key, lambda found: (found or 0) + 1)


def graph(crew: dict[str, Any]) -> Moves:
    program = program_of((crew,), cb.LastWriterWins(), None, None, None, 0, "free")
    learner = Learner(program.crew, program.policy, program.turn)
    return Moves(learner, first_world(program.world, program.policy, list(program.crew), program.given, EPOCH))


def bare(sleeping: bool, agents: str = "ab") -> int:
    """The engine alone, from nothing: learning what the agents do, and each schedule with its operations recorded."""
    moves = graph(dict.fromkeys(agents, counter))
    return sum(schedule is not None for schedule in classes(moves, sleeping))


def public(reduction: Any) -> int:
    verdict = cb.explore(counter, counter, policy=cb.LastWriterWins(), reduction=reduction, progress=False)
    assert verdict.explored is not None
    assert verdict.holds is False
    return verdict.explored.completed or verdict.explored.interleavings or 0


def with_detangle() -> int:
    async def main() -> None:
        board = {"count": 0}

        async def agent() -> None:
            for _ in range(2):
                await asyncio.sleep(0)
                seen = board["count"]
                await asyncio.sleep(0)
                board["count"] = seen + 1

        await asyncio.gather(agent(), agent())

    stats = detangle.explore(main, runs=100_000, strategy=detangle.DFS(max_delays=50), database=False)
    return int(stats.runs)


def a_second(task: Callable[[], int]) -> tuple[int, float]:
    best, schedules = float("inf"), 0
    for _ in range(ROUNDS):
        gc.collect()
        start = time.perf_counter()
        schedules = task()
        best = min(best, time.perf_counter() - start)
    return schedules, schedules / best


def main() -> None:
    tasks: dict[str, Callable[[], int]] = {
        "engine alone, every interleaving": partial(bare, False),
        "engine alone, sleep sets": partial(bare, True),
        "engine alone, 3 agents, all": partial(bare, False, "abc"),
        "explore, states merged": partial(public, "states"),
        "explore, sleep sets": partial(public, "sleep sets"),
        "explore, every schedule run anew": partial(public, "none"),
    }
    if detangle is not None:
        tasks["detangle, depth first"] = with_detangle
    print(f"{'2 agents x 2 increments':<38}{'schedules':>12}{'a second':>12}")
    for name, task in tasks.items():
        schedules, speed = a_second(task)
        print(f"{name:<38}{schedules:>12,}{speed:>12,.0f}")
    print(f"\n{'whole programs, states merged':<38}{'states':>12}{'interleavings':>16}{'seconds':>10}")
    x, y = partial(counter, key="x"), partial(counter, key="y")
    for name, crew in {
        "3 agents x 2, one key": {"a": counter, "b": counter, "c": counter},
        "4 agents x 2, two keys": {"a": x, "b": x, "c": y, "d": y},
    }.items():
        start = time.perf_counter()
        census = exhaust(graph(crew), Judge(), 1_000_000, lambda done: None)
        print(f"{name:<38}{census.states:>12,}{census.interleavings:>16,}{time.perf_counter() - start:>10.2f}")


if __name__ == "__main__":
    main()
