"""What many tests need: a way to run an async one, stores that can do little, and all that can be seen of a store."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Coroutine, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from commonboard import MemoryEntry

T = TypeVar("T")
SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
"""Beside the checkout: what other projects recorded. It is not part of the project, so tests skip where it is missing."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run an async test on an event loop of its own."""
    return asyncio.run(main)


class FiveMethods:
    """The least that is a store: a dict, and the five methods."""

    def __init__(self) -> None:
        self.entries: dict[str, MemoryEntry] = {}

    async def get(self, key: str) -> MemoryEntry | None:
        return deepcopy(self.entries.get(key))

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        self._put(key, value, metadata)

    async def list(self) -> list[MemoryEntry]:
        return deepcopy(list(self.entries.values()))

    async def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    async def clear(self) -> None:
        self.entries.clear()

    def _put(self, key: str, value: str, metadata: Mapping[str, Any] | None, expires_at_turn: int | None = None) -> None:
        old = self.entries.get(key)
        created = old.created_at if old is not None else datetime.now(UTC)
        self.entries[key] = MemoryEntry(key, value, deepcopy(dict(metadata or {})), created, None, expires_at_turn)


class WithExpiry(FiveMethods):
    """The five methods and `set_with_expiry`."""

    async def set_with_expiry(self, key: str, value: str, turn: int, metadata: Mapping[str, Any] | None = None) -> None:
        self._put(key, value, metadata, turn)


class WithCompareAndSet(FiveMethods):
    """The five methods and `compare_and_set`."""

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        found = self.entries.get(key)
        if (None if found is None else found.value) != expected:
            return False
        self._put(key, value, metadata)
        return True


class WithBoth(WithExpiry, WithCompareAndSet):
    """All seven methods, and still no versions and no log."""


async def everything(store: Any) -> Any:
    """All that can be seen of a store, to compare with after something was refused."""
    entries = await store.list()
    if not hasattr(store, "events"):
        return list(entries)
    return list(entries), entries.position, entries.floor, entries.gone, list(await store.events())


def python(code: str, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start this Python on a piece of code, in a process of its own, with what it prints on a pipe."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment, **options)
