"""`commonboard show` and `commonboard log`: what is on a board that a program left behind, or is writing now."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from commonboard.cli.printing import fail, plainly, say, say_json, show_table, without
from commonboard.errors import CommonboardError

if TYPE_CHECKING:
    from commonboard.entry import Event, MemoryEntry
    from commonboard.memory import SharedMemory

Result = TypeVar("Result")

Board = Annotated[str, typer.Argument(metavar="FILE", help="The file of a FileStore; it may be in use.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON, with whole values, for scripts.")]


class UnknownStoreError(CommonboardError, ValueError):
    """A place that no store of this version opens."""


def show(
    file: Board,
    key: Annotated[str, typer.Option(metavar="KEY", help="This key alone, with its whole value.")] = "",
    prefix: Annotated[str, typer.Option(metavar="PREFIX", help="The keys beneath it: `web` finds `web/findings`.")] = "",
    actor: Annotated[str, typer.Option(metavar="NAME", help="What this agent wrote last.")] = "",
    json: Json = False,
) -> None:
    """Print the board: every key with its value, its version and who wrote it. Nothing is changed.

    Exit codes: 0 it was printed, 1 the file is no board or the key is not there, 2 called wrongly.

    *Example:* `commonboard show board.json --prefix shared`
    """
    from commonboard.entry import Page
    from commonboard.show.tables import tabled

    with plainly():
        memory = open_board(file)
        page = run(memory.list(prefix))
        kept = [entry for entry in page if key in ("", entry.key) and actor in ("", entry.actor)]
        if key and not kept:
            raise fail(f"{file} has no key {key!r}" + (f" that {actor!r} wrote" if actor else ""), 1)
        if actor and not kept and not json:
            raise _nobody(file, actor, [entry.actor for entry in page])
        if json:
            say_json([_entry(entry) for entry in kept])
        elif key:
            say(_whole(kept[0].value))
        else:
            show_table(tabled(Page(kept)))


def log(
    file: Board,
    key: Annotated[str, typer.Option(metavar="KEY", help="The events of this key.")] = "",
    actor: Annotated[str, typer.Option(metavar="NAME", help="The events of this agent.")] = "",
    json: Json = False,
) -> None:
    """Print the log: who wrote what, why, and which version they had seen. Nothing is changed.

    A writer that saw version 1 and made version 3 wrote over something that it had not read.

    Exit codes: 0 it was printed, 1 the file is no board or has no such event, 2 called wrongly.

    *Example:* `commonboard log board.json --key shared/open_questions`
    """
    from commonboard.show.tables import tabled

    with plainly():
        events = run(open_board(file).log(key=key or None, actor=actor or None))
        if key and not actor and not events:
            raise fail(f"{file} has no event of the key {key!r}; `commonboard show {file}` tells which keys there are", 1)
        if actor and not events and not json:
            raise _nobody(file, actor, [event.actor for event in run(open_board(file).log(key=key or None))])
        if json:
            say_json([_event(event) for event in events])
        else:
            table = tabled(events)
            show_table(without(table, "turn") if len({event.turn for event in events}) < 2 else table)


def _nobody(file: str, actor: str, writers: list[str | None]) -> typer.Exit:
    names = ", ".join(repr(name) for name in dict.fromkeys(writers) if name)
    return fail(f"{actor!r} wrote nothing of this in {file}; {f'there is something by {names}' if names else 'nobody did'}", 1)


def open_board(place: str) -> SharedMemory:
    """A memory over a store, for reading only.

    Args:
        place: the path of a file; later also the address of another store.

    Raises:
        UnknownStoreError: no store of this version is at such an address, or the file is of another kind.
        StoreFileError: the file is no board.
    """
    # FileStore reads one kind of file. What is of another kind is told by its name here, not as JSON that is broken.
    from commonboard.memory import SharedMemory
    from commonboard.stores import FileStore

    scheme, found, _ = place.partition("://")
    if found and scheme != "file":
        raise UnknownStoreError(f"no store of this version opens {scheme}:// addresses; give the path of a FileStore's file")
    path = place.removeprefix("file://")
    if not os.path.exists(path):
        raise UnknownStoreError(f"there is no file {path}; give the path that the program gave to FileStore")
    if _begins_with(path, b"SQLite format 3\0"):
        raise UnknownStoreError(f"{path} is an SQLite database, and this version opens the JSON file of a FileStore alone")
    return SharedMemory(FileStore(path, readonly=True))


def run(reading: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine gives. No other loop runs in a command."""
    with asyncio.Runner() as runner:
        return runner.run(reading)


def _begins_with(path: str, start: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False  # the store says what is wrong with it


def _whole(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False, indent=2)


def _plain(value: Any) -> Any:
    from commonboard.show.brief import plain

    return plain(value)


def _entry(entry: MemoryEntry) -> dict[str, Any]:
    return {
        "key": entry.key,
        "value": _plain(entry.value),
        "version": entry.version,
        "writer": entry.actor,
        "created_at": entry.created_at.isoformat(),
        "expires_at_turn": entry.expires_at_turn,
        "metadata": dict(entry.metadata),
    }


def _event(event: Event) -> dict[str, Any]:
    from commonboard.show.frames import event_value

    times = {"at": event.at.isoformat(), "created_at": event.created_at.isoformat()}
    kept = {name: value for name, value in event._asdict().items() if name not in ("value", "encoding", *times)}
    return {**kept, "value": _plain(event_value(event)), **times}
