"""Stores for lessons: the drawer of page 05, one whose calls take uneven time, and a board at the end of a bad line."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from commonboard.entry import Event, LogicalClock, MemoryEntry, Read, Reading, Write
from commonboard.errors import OutcomeUnknownError
from commonboard.stores import InMemoryStore

FATES = ("it goes well", "the request is lost", "the answer is lost")
"""What a bad line can do with a write."""


class Drawer:
    """The drawer of page 05, mended: five methods around a dict. No versions, no log, no way to refuse; and nothing waits."""

    def __init__(self) -> None:
        self.kept: dict[str, MemoryEntry] = {}

    async def get(self, key: str) -> MemoryEntry | None:
        return deepcopy(self.kept.get(key))

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        self.kept[key] = MemoryEntry(key, value, deepcopy(dict(metadata or {})))

    async def list(self) -> list[MemoryEntry]:
        return deepcopy(list(self.kept.values()))

    async def delete(self, key: str) -> None:
        self.kept.pop(key, None)

    async def clear(self) -> None:
        self.kept.clear()


class UnevenDrawer(Drawer):
    """A drawer whose calls take now longer, now shorter, in rounds of the event loop; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    async def get(self, key: str) -> MemoryEntry | None:
        await self._pause()
        return await super().get(key)

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        await self._pause()
        await super().set(key, value, metadata)

    async def _pause(self) -> None:
        for _ in range(self._random.randrange(30)):
            await asyncio.sleep(0)


class BadLine(InMemoryStore):
    """A board at the end of a line that loses some requests and some answers. Whoever wrote cannot tell which.

    Args:
        fates: what becomes of each write, in order; the rest go well.
    """

    def __init__(self, fates: Iterable[str]) -> None:
        super().__init__(clock=LogicalClock())
        self._fates = list(fates)

    async def look(self, key: str) -> Reading:
        await asyncio.sleep(0)
        return await super().look(key)

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        """Raises `OutcomeUnknownError` where the request or the answer is lost."""
        await asyncio.sleep(0)
        fate = self._fates.pop(0) if self._fates else FATES[0]
        events = [] if fate == FATES[1] else await super().commit(*writes, reads=reads)
        if fate != FATES[0]:
            raise OutcomeUnknownError("the line went dead; nobody knows whether this was written")
        return events
