"""What a store is: five async methods, two optional ones, and what the built-in stores add.

Anybody's object with the five methods is a store. A policy that needs more than a store offers is refused at the call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from commonboard.entry import Event, Log, MemoryEntry, Page, Read, Reading, Write
from commonboard.errors import StoreShapeError

REQUIRED = ("get", "set", "list", "delete", "clear")
OPTIONAL = ("compare_and_set", "set_with_expiry")


@runtime_checkable
class MemoryStore(Protocol):
    """The five methods that make an object a store. Values are text; keys are opaque text."""

    def get(self, key: str) -> Awaitable[MemoryEntry | None]:
        """The entry, or `None`."""

    def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> Awaitable[Any]:
        """Create or overwrite; `created_at` is kept on overwrite."""

    def list(self) -> Awaitable[Iterable[MemoryEntry]]:
        """All entries, first created first."""

    def delete(self, key: str) -> Awaitable[Any]:
        """Remove the entry; nothing if there is none."""

    def clear(self) -> Awaitable[Any]:
        """Remove all entries."""


@runtime_checkable
class BuiltInStore(Protocol):
    """What every built-in store offers on top: versions, one log, and commits that are all or nothing."""

    async def get(self, key: str) -> MemoryEntry | None: ...
    async def look(self, key: str) -> Reading:
        """The entry and its version; where there is no entry, the version of its absence."""

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None: ...
    async def set_with_expiry(
        self, key: str, value: str, expires_at_turn: int, metadata: Mapping[str, Any] | None = None
    ) -> None: ...
    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool: ...
    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        """All of the writes or none, if every expectation holds and nothing in `reads` has changed."""

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page: ...
    async def delete(self, key: str) -> None: ...
    async def clear(self) -> None: ...
    async def events(self, after: int = 0, *, key: str | None = None, actor: str | None = None) -> Log: ...
    def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """The events after a log position, and then each new one as it happens."""


def check_store(store: Any) -> None:
    """Refuse an object that is not a store.

    Raises:
        StoreShapeError: naming the methods that are missing.
    """
    missing = [name for name in REQUIRED if not callable(getattr(store, name, None))]
    if isinstance(store, type):
        raise StoreShapeError(f"{store.__name__} is a class, not a store; make one with {store.__name__}()")
    if missing:
        raise StoreShapeError(
            f"{type(store).__name__} is not a memory store: it lacks {', '.join(missing)}; "
            f"a store has five async methods: {', '.join(REQUIRED)}"
        )


def is_built_in(store: Any) -> bool:
    """Whether the store keeps versions and a log, and commits all or nothing."""
    return callable(getattr(store, "commit", None)) and callable(getattr(store, "look", None))
