"""How many runs a second `compare` makes, beside `simulate` alone, with and without an executor. Run by hand:

    PYTHONPATH=toolkit python tests/benchmarks/bench_compare.py

`simulate` alone makes the same runs and counts nothing; its speed is 1, and the others are told as ratios to it, so that a busy
machine matters less. Processes are started before the clock is. loky is measured if it is installed.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import commonboard as cb
from commonboard.compare import compare

SEEDS, ROUNDS = 400, 3
SCENARIO = cb.scenarios.counter(agents=3, increments=2, seconds=10)
POLICIES: list[Any] = [cb.LastWriterWins(), cb.Optimistic()]
RUNS = SEEDS * len(POLICIES)


def alone() -> None:
    for policy in POLICIES:
        for seed in range(SEEDS):
            cb.simulate(SCENARIO, policy=policy, seed=seed)


def with_executor(executor: Executor | None) -> Callable[[], None]:
    def task() -> None:
        compare(SCENARIO, POLICIES, seeds=SEEDS, executor=executor)

    return task


def runs_a_second(task: Callable[[], None]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return RUNS / min(times)


def main() -> None:
    os.environ["CI"] = "true"  # no progress bar
    workers = min(2, os.cpu_count() or 1)
    with ExitStack() as stack:
        spawned = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
        executors: dict[str, Any] = {
            f"compare, {workers} threads": stack.enter_context(ThreadPoolExecutor(workers)),
            f"compare, {workers} processes (spawn)": stack.enter_context(spawned),
        }
        try:
            executors[f"compare, {workers} processes (loky)"] = importlib.import_module("loky").get_reusable_executor(workers)
        except ImportError:
            print("loky is not installed, so it is left out")
        base = runs_a_second(alone)
        print(f"{'what':<36}{'runs/s':>10}{'ratio to simulate alone':>26}")
        print(f"{'simulate alone':<36}{base:>10,.0f}{1:>26.2f}")
        for name, executor in {"compare": None, **executors}.items():
            task = with_executor(executor)
            task()  # starts the processes
            speed = runs_a_second(task)
            print(f"{name:<36}{speed:>10,.0f}{speed / base:>26.2f}")


if __name__ == "__main__":
    main()
