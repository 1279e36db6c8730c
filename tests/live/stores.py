"""Stores in one SQLite file, which several processes can have open; only for tests."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from commonboard import Event, Log, MemoryEntry, Page, Reading, Write
from commonboard.entry import Read, utc_now
from commonboard.rule import Board
from commonboard.stores.in_memory import page_of


def _opened(path: Path | str) -> sqlite3.Connection:
    # A store that nobody closed is closed by whichever thread happens to collect it.
    return sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)


class FiveInFile:
    """The five methods and `compare_and_set`."""

    def __init__(self, path: Path | str) -> None:
        self._db = _opened(path)
        self._db.execute("create table if not exists entries (key text primary key, value text, metadata text)")

    async def get(self, key: str) -> MemoryEntry | None:
        row = self._db.execute("select key, value, metadata from entries where key = ?", (key,)).fetchone()
        return None if row is None else MemoryEntry(row[0], row[1], json.loads(row[2]))

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        values = (key, value, json.dumps(dict(metadata or {})))
        self._db.execute("insert or replace into entries values (?, ?, ?)", values)

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        with self._db:
            self._db.execute("begin immediate")
            found = await self.get(key)
            if (None if found is None else found.value) != expected:
                return False
            await self.set(key, value, metadata)
            return True

    async def list(self) -> list[MemoryEntry]:
        rows = self._db.execute("select key, value, metadata from entries order by rowid").fetchall()
        return [MemoryEntry(key, value, json.loads(metadata)) for key, value, metadata in rows]

    async def delete(self, key: str) -> None:
        self._db.execute("delete from entries where key = ?", (key,))

    async def clear(self) -> None:
        self._db.execute("delete from entries")

    async def aclose(self) -> None:
        self._db.close()

    def __del__(self) -> None:
        self._db.close()  # whoever opened it to look has not always closed it


class BoardInFile:
    """What a built-in store offers, with the whole board in one row: slow, and right."""

    def __init__(self, path: Path | str) -> None:
        self._db = _opened(path)
        self._db.execute("create table if not exists board (id integer primary key, data blob)")

    def _board(self) -> Board:
        row = self._db.execute("select data from board").fetchone()
        return Board.empty() if row is None else pickle.loads(row[0])

    async def look(self, key: str) -> Reading:
        return self._board().look(key)

    async def get(self, key: str) -> MemoryEntry | None:
        return self._board().look(key).entry

    async def events(self, after: int = 0, *, key: str | None = None, actor: str | None = None) -> Log:
        return Log(self._board().since(after))

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        with self._db:
            self._db.execute("begin immediate")
            board = self._board()
            changes = board.plan(writes, reads, utc_now())
            board.apply(changes)
            self._db.execute("insert or replace into board values (1, ?)", (pickle.dumps(board),))
            return [event for _, _, event in changes]

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        await self.commit(Write(key, value, metadata))

    async def delete(self, key: str) -> None:
        await self.commit(Write(key, None))

    async def clear(self) -> None:
        for key in list(self._board().entries):
            await self.delete(key)

    async def list(self, prefix: str = "", limit: int | None = None, after: str | None = None) -> Page:
        return page_of(self._board(), prefix, limit, after)

    async def aclose(self) -> None:
        self._db.close()

    def __del__(self) -> None:
        self._db.close()  # whoever opened it to look has not always closed it


class OnlyHere:
    """Five methods on a dict: each process has one of its own."""

    def __init__(self) -> None:
        self.entries: dict[str, MemoryEntry] = {}

    async def get(self, key: str) -> MemoryEntry | None:
        return self.entries.get(key)

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        self.entries[key] = MemoryEntry(key, value, dict(metadata or {}))

    async def list(self) -> list[MemoryEntry]:
        return list(self.entries.values())

    async def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    async def clear(self) -> None:
        self.entries.clear()
