"""Stores whose calls take a while, so that they overlap; a test opens gates to say when a call happens and when it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.helpers import FiveMethods, WithCompareAndSet

from commonboard import MemoryEntry


class Paused(FiveMethods):
    """The five methods, with a pause before and after each effect."""

    async def get(self, key: str) -> MemoryEntry | None:
        await asyncio.sleep(0)
        found = await super().get(key)
        await asyncio.sleep(0)
        return found

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        await asyncio.sleep(0)
        await super().set(key, value, metadata)
        await asyncio.sleep(0)


class PausedWithCompareAndSet(Paused, WithCompareAndSet):
    """The same, and `compare_and_set`, which happens at one moment between two pauses."""

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        await asyncio.sleep(0)
        done = await super().compare_and_set(key, expected, value, metadata)
        await asyncio.sleep(0)
        return done


class Gated(WithCompareAndSet):
    """Each write and delete of a text in `gates` happens at once, and returns when its gate is opened."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.gates = {text: asyncio.Event() for text in texts}
        self.lost: set[str] = set()

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        await super().set(key, value, metadata)
        await self._gate(value)

    async def delete(self, key: str) -> None:
        await super().delete(key)
        await self._gate("delete")

    async def _gate(self, text: str) -> None:
        if text in self.gates:
            await self.gates[text].wait()
        if text in self.lost:
            raise ConnectionError("the answer was lost")
