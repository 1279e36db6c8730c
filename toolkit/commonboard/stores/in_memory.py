"""The default store: a dict and the rule."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from commonboard.entry import (
    ABSENT,
    Event,
    Log,
    MemoryEntry,
    Page,
    Read,
    Reading,
    Write,
    check_key,
    check_text,
    under,
    utc_now,
)
from commonboard.errors import ConflictError, InvalidArgumentError, InvalidKeyError, InvalidWriteError
from commonboard.rule import Board, Change, check_expiry, check_value, settle
from commonboard.values import own_copy

Clock = Callable[[], datetime]


class InMemoryStore:
    """A store in this process: a dict, the rule and a log. Nothing outlives the object.

    No call waits for anything, so each is one atomic step, whichever event loop it is used from; `watch` wakes
    followers in other loops of the same thread. Use it from one thread.

    Args:
        clock: what the time is; `LogicalClock()` makes a lesson print the same everywhere.
    """

    def __init__(self, *, clock: Clock = utc_now) -> None:
        self._board = Board.empty()
        self._clock = clock
        self._followers: list[asyncio.Event] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._board.entries)} entries, {self._board.seq} events)"

    async def get(self, key: str) -> MemoryEntry | None:
        """The entry, or `None`. It never aliases what is stored."""
        check_key(key)
        return self._now().look(key).entry

    async def look(self, key: str) -> Reading:
        """The entry and its version; where there is no entry, the version of its absence."""
        check_key(key)
        return self._now().look(key)

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Create or overwrite, blindly. Keeps `created_at`, replaces the metadata, clears an earlier expiry."""
        self._put(Write(key, value, metadata))

    async def set_with_expiry(
        self, key: str, value: str, expires_at_turn: int, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """As `set`, with the turn from which a memory hides the entry. The store itself never hides or deletes it."""
        check_expiry(expires_at_turn, key)
        self._put(Write(key, value, metadata, expires_at_turn=expires_at_turn))

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """Overwrite if the stored text is exactly `expected` (`None`: if there is no entry); says whether it did.

        It compares texts, so it does not notice that a text changed and changed back (ABA); a `commit` that expects a
        version does.
        """
        if expected is not None and not isinstance(expected, str):
            raise InvalidWriteError(
                f"compare_and_set expects a stored text, or None for no entry, not {expected!r:.80}; commit expects versions"
            )
        try:
            self._put(Write(key, value, metadata, ABSENT if expected is None else expected))
        except ConflictError:
            return False
        return True

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        """All of the writes or none.

        Returns:
            One event for each write that changed something.

        Raises:
            ConflictError: an expectation does not hold, or something in `reads` has changed. Nothing was written.
        """
        changes = self._to_change().plan(writes, reads, self._clock())
        self._make_so(changes)
        return [event for _, _, event in changes]

    async def delete(self, key: str) -> None:
        """Remove the entry; nothing if there is none. The log keeps a tombstone event."""
        self._make_so(self._to_change().plan((Write(key, None),), (), self._clock()))

    async def clear(self) -> None:
        """Remove every entry, with one delete event each; versions go on from where they were."""
        board = self._to_change()
        wipe = [Write(key, None) for key in board.entries]
        self._make_so(board.plan(wipe, (), self._clock()), forget=True)

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        """The entries under a prefix (whole segments), first created first.

        Args:
            prefix: `"web"` finds `web` and `web/notes`, never `website`; the empty prefix finds everything.
            limit: how many at the most; `None` for all.
            after: the `cursor` of the page before.
        """
        return page_of(self._now(), prefix, limit, after)

    async def events(self, after: int = 0, *, key: str | None = None, actor: str | None = None) -> Log:
        """The log after a position, oldest first; of one key or one actor if asked.

        Raises:
            LogCompactedError: events after that position are no longer kept.
        """
        found = self._now().since(after)
        return Log(e for e in found if (key is None or e.key == key) and (actor is None or e.actor == actor))

    async def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """The events after a log position, and then each new one as it happens; it ends when the loop over it does.

        Raises:
            LogCompactedError: the follower was too slow, and events it had not seen are no longer kept.
        """
        wake = _Wake()
        self._followers.append(wake)
        try:
            while True:
                wake.clear()
                news = await self.events(after)
                for event in news:
                    after = event.seq
                    yield event
                if not news:
                    await self._rest(wake)
        finally:
            self._followers.remove(wake)

    def _now(self) -> Board:
        """The board to read; a store with a file beneath it looks there first."""
        return self._board

    def _to_change(self) -> Board:
        """The board to plan a change on; a store that cannot be changed now refuses here."""
        return self._board

    def _put(self, write: Write) -> None:
        key, metadata = write.key, write.metadata
        check_key(key)
        check_value(write.value, key)
        if metadata is not None:
            write.actor = _actor(metadata)
        board = self._to_change()
        entry, version = board.at(key)
        change = settle(entry, version, write, board.seq + 1, self._clock())
        self._make_so((change,) if change is not None else ())

    def _make_so(self, changes: Sequence[Change], forget: bool = False) -> None:
        """Apply what was planned; a store that also keeps it elsewhere does so first."""
        self._board.apply(changes)
        if forget:
            self._board.raise_floor()
        if self._followers:
            self._wake()

    async def _rest(self, wake: asyncio.Event) -> None:
        """Until there may be news."""
        await wake.wait()

    def _wake(self) -> None:
        for follower in self._followers:
            follower.set()


class _Wake(asyncio.Event):
    """An event that may be set from another event loop of this thread, from none, and after its own loop was closed."""

    def set(self) -> None:
        loop = getattr(self, "_loop", None)  # None until somebody waits
        if loop is None or not loop.is_closed():
            super().set()


def page_of(board: Board, prefix: str, limit: int | None, after: str | None) -> Page:
    """What `list` gives for this board; the entries are copies."""
    check_text(prefix, "the prefix")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise InvalidArgumentError(f"limit must be a whole number of at least 0, or None for all, not {limit!r}")
    start = _position(after)
    found = (e for k, e in board.entries.items() if under(prefix, k) and board.born[k] > start)
    entries = list(found) if limit is None else list(islice(found, limit))
    more = limit is not None and next(found, None) is not None
    last = board.born[entries[-1].key] if entries else start
    return Page(
        map(own_copy, entries),
        cursor=_cursor(last) if more else None,
        position=board.seq,
        floor=board.floor,
        gone={key: version for key, version in board.gone.items() if under(prefix, key)},
    )


def _actor(metadata: Mapping[str, Any]) -> str | None:
    agent = metadata.get("agent") if type(metadata) is dict or isinstance(metadata, Mapping) else None
    return agent if isinstance(agent, str) else None


def _cursor(position: int) -> str:
    return base64.urlsafe_b64encode(f"cb1:{position}".encode()).decode()


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        tag, number = base64.urlsafe_b64decode(cursor.encode()).decode().split(":")
        if tag == "cb1":
            return int(number)
    except (AttributeError, ValueError, binascii.Error):
        pass
    raise InvalidKeyError(f"{cursor!r:.60} is not a cursor of this store; give the .cursor of the page before, or None")
