"""Prints the verdicts on a few programs, for comparing processes. Needs nothing but the library."""

from __future__ import annotations

import asyncio
from typing import Any

import commonboard as cb


def counter(times: int) -> Any:
    async def counter(me: cb.AgentMemory) -> None:
        for _ in range(times):
            await me.shared.update("n", lambda found: (found or 0) + 1)

    return counter


async def tasks(me: cb.AgentMemory) -> None:
    names = {f"{me.name} {number}" for number in range(3)}
    await asyncio.wait({asyncio.create_task(me.shared.append("log", name)) for name in sorted(names)})


async def lists(me: cb.AgentMemory) -> None:
    there = {entry.key for entry in await me.list("shared")}
    for key in sorted(there):
        await me.write(key.replace("/", " "), len(there))


async def polls(me: cb.AgentMemory) -> None:
    seen = {"nothing", "yet"}
    while not await me.value("shared/ready"):
        seen = {*seen}
    await me.shared.write("found by", me.name)


async def sets(me: cb.AgentMemory) -> None:
    await me.shared.write("ready", True)


BOARD: dict[str, set[str]] = {}


async def shares(me: cb.AgentMemory) -> None:
    await me.write("met", len(BOARD.setdefault("met", set()) & {"a", "b"}))


PROGRAMS: dict[str, Any] = {
    "counters": {"a": counter(2), "b": counter(1), "c": counter(1)},
    "tasks": {"a": tasks, "b": counter(1)},
    "lists": {"a": lists, "b": counter(1), "c": counter(2)},
    "polls": {"a": polls, "b": polls, "sets": sets},
    "shares": {"a": shares, "b": shares},
    "research": cb.scenarios.research_crew,
    "claim": cb.scenarios.claim_the_task,
}

if __name__ == "__main__":
    for name, agents in PROGRAMS.items():
        for policy in (cb.LastWriterWins(), cb.Optimistic()):
            for reduction in ("auto",) if name == "polls" else ("auto", "sleep sets", "none"):
                verdict = cb.explore(agents, policy=policy, reduction=reduction, budget=120, samples=5)
                print(f"{name}, {policy.name}, {reduction}: {verdict}")
