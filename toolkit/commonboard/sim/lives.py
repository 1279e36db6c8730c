"""Agents that stop where they are: nothing of them runs any more, not even what would clean up after them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

from commonboard.sim.loop import AGENT, SimLoop
from commonboard.sim.memory import SimMemory

LIFE: contextvars.ContextVar[int] = contextvars.ContextVar("commonboard_life", default=1)
"""Which life of its agent some code belongs to. Tasks that an agent starts inherit it."""


class MortalLoop(SimLoop):
    """A loop whose agents can crash: what a dead life of an agent waits for never wakes it.

    Its coroutines are kept, since to let go of one would run its `finally`; when the run is over, they are cancelled with all
    that is left, as in any run.
    """

    def __init__(self, max_steps: int, free: bool = False) -> None:
        super().__init__(max_steps, free)
        self._dead: set[tuple[str, int]] = set()

    def kill(self, agent: str, life: int) -> None:
        """From now on nothing of this life of an agent runs."""
        self._dead.add((agent, life))
        for _, _, handle in self._timers:
            if self._is_dead(handle._context):  # type: ignore[attr-defined]
                handle.cancel()

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        if context is not None and self._dead and self._is_dead(context):
            handle = asyncio.Handle(callback, args, self, context)
            handle.cancel()
            return handle
        return super().call_soon(callback, *args, context=context)

    def wind_up(self) -> None:
        """The run is over: the dead may clean up now, as everybody does."""
        self._dead.clear()
        super().wind_up()

    def _is_dead(self, context: contextvars.Context) -> bool:
        return (context.get(AGENT, ""), context.get(LIFE, 1)) in self._dead


class FreshMemory(SimMemory):
    """A memory whose agents take a new CRDT replica id for each update.

    An id names the changes of one line of states. Where an agent may find a state without its own last change (another
    replica's, or one that a crash brought back), a second change under the same id would get the name of the first.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._updates: dict[str, int] = {}

    async def _update(self, *args: Any, replica: str, **options: Any) -> Any:
        number = self._updates[replica] = self._updates.get(replica, 0) + 1
        return await super()._update(*args, replica=f"{replica}.u{number}", **options)
