"""How fast `InMemoryStore.set` is, with its version and its event, beside LangGraph's store, which keeps neither. Run by hand:

    PYTHONPATH=toolkit python tests/benchmarks/bench_in_memory.py

Rounds are interleaved, each with fresh stores after a collection, so that the garbage collector and a busy machine meet
all alike. Prints the median of each, and the ratio to LangGraph's: 1.5 means that ours sets 1.5 times as many. A plain dict
behind async methods shows what the calls alone cost. Without langgraph-checkpoint only our own numbers are printed.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from commonboard import InMemoryStore, SharedMemory

ROUNDS = 9
SETS = 20_000
KEYS = [f"key/{number % 1000}" for number in range(SETS)]
TEXT = "x" * 100
try:
    langgraph: Any = importlib.import_module("langgraph.store.memory")
except ImportError:
    langgraph = None


class PlainDict:
    """No versions, no events, no copies, no checks."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[str, Any]] = {}

    async def set(self, key: str, value: str, metadata: Any = None) -> None:
        self._entries[key] = (value, metadata)


async def ours() -> None:
    store = InMemoryStore()
    for key in KEYS:
        await store.set(key, TEXT)


async def ours_with_metadata() -> None:
    store = InMemoryStore()
    for key in KEYS:
        await store.set(key, TEXT, {"agent": "web"})


async def through_a_memory() -> None:
    me = SharedMemory().agent("web")
    for key in KEYS:
        await me.write(key, TEXT)


async def plain_dict() -> None:
    store = PlainDict()
    for key in KEYS:
        await store.set(key, TEXT)


async def langgraphs() -> None:
    store = langgraph.InMemoryStore()
    for key in KEYS:
        await store.aput(("shared",), key, {"value": TEXT})


TASKS: dict[str, Callable[[], Awaitable[None]]] = {
    "InMemoryStore.set": ours,
    "InMemoryStore.set with metadata": ours_with_metadata,
    "AgentMemory.write": through_a_memory,
    "a dict behind async methods": plain_dict,
}
if langgraph is not None:
    TASKS["LangGraph InMemoryStore.aput"] = langgraphs


def once(loop: asyncio.AbstractEventLoop, task: Callable[[], Awaitable[None]]) -> float:
    """Sets a second, in one round with a fresh store."""
    gc.collect()
    start = time.perf_counter()
    loop.run_until_complete(task())
    return SETS / (time.perf_counter() - start)


def main() -> None:
    loop = asyncio.new_event_loop()
    rounds: dict[str, list[float]] = {name: [] for name in TASKS}
    for _ in range(ROUNDS):
        for name, task in TASKS.items():
            rounds[name].append(once(loop, task))
    loop.close()
    theirs = rounds.get("LangGraph InMemoryStore.aput")
    print(
        f"{'':<34}{'sets/s':>10}"
        + ("   ratio (least and most of the rounds)" if theirs else "   (langgraph-checkpoint is not installed)")
    )
    for name, rates in rounds.items():
        ratios = [mine / other for mine, other in zip(rates, theirs, strict=True)] if theirs else []
        beside = f"{statistics.median(ratios):8.2f}  ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""
        print(f"{name:<34}{statistics.median(rates):10,.0f}{beside}")


if __name__ == "__main__":
    main()
