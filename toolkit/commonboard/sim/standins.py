"""What stands in for a few parts of asyncio while a simulation is stepped, so that every run begins and goes alike.

`asyncio.as_completed` begins coroutines in the order of their addresses; here, in the order given. And a lock, an event or
a queue belongs for ever to the loop on which it was first waited for; here, it is free again when the run is over, so that
one which was made beside the agents serves the next run too.
"""

from __future__ import annotations

import asyncio
import asyncio.mixins
from collections.abc import Iterable
from typing import Any, Final


class Bound(list[Any]):
    """The locks, events and queues that belong to a simulation's loop."""

    def release(self, loop: Any) -> None:
        """Let them belong to no loop."""
        for thing in self:
            if thing._loop is loop:
                thing._loop = None
        self.clear()


class StandIns:
    """`with StandIns():` puts them in place, and everything back however it ends."""

    def __enter__(self) -> None:
        self._kept: tuple[Any, Any] = asyncio.as_completed, _MIXIN._get_loop
        asyncio.as_completed = _as_completed  # type: ignore[assignment]
        _MIXIN._get_loop = _get_loop

    def __exit__(self, *error: object) -> None:
        asyncio.as_completed, _MIXIN._get_loop = self._kept


_MIXIN: Final[Any] = asyncio.mixins._LoopBoundMixin
_AS_COMPLETED, _GET_LOOP = asyncio.as_completed, _MIXIN._get_loop


def _as_completed(awaitables: Iterable[Any], **options: Any) -> Any:
    if asyncio.isfuture(awaitables) or not isinstance(awaitables, Iterable):
        return _AS_COMPLETED(awaitables, **options)  # which refuses it
    return _AS_COMPLETED([asyncio.ensure_future(awaitable) for awaitable in awaitables], **options)


def _get_loop(thing: Any) -> Any:
    loop = _GET_LOOP(thing)
    bound = getattr(loop, "bound", None)
    if isinstance(bound, Bound) and thing not in bound:
        bound.append(thing)
    return loop
