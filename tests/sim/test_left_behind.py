"""What a run leaves in memory when it is over: its result, and nothing that waits for the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import commonboard as cb


def test_agents_are_dropped_at_once_when_a_run_is_over() -> None:
    kept: list[weakref.ref[Any]] = []

    async def job(me: cb.AgentMemory) -> None:
        await me.value("shared/n")
        await asyncio.Event().wait()

    async def agent(me: cb.AgentMemory) -> None:
        kept.append(weakref.ref(me))
        kept.append(weakref.ref(asyncio.create_task(job(me))))
        await me.shared.update("n", lambda n: (n or 0) + 1)

    gc.collect()
    gc.disable()
    try:
        run = cb.simulate({"web": agent, "docs": agent}, policy=cb.LastWriterWins(), seed=1)
        assert run.ok
        assert [ref() for ref in kept] == [None] * 4
    finally:
        gc.enable()
