"""Results as pandas tables: one row an item, a type that fits for each column, and the columns there even when empty.

`frame` dispatches on the type of its argument. A module further down adds its own results with `frame.register(Class)`.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from commonboard.entry import Event, Log, MemoryEntry, Page
from commonboard.errors import CommonboardError, CorruptValueError
from commonboard.history import History, Operation
from commonboard.values import ENCODING, decode

if TYPE_CHECKING:
    import pandas as pd

Column = tuple[str, str, list[Any]]
"""Name, type (`int` allows missing ones; `text`, `float`, `bool`, `time`, `object`), values."""

_TYPES = {"int": "Int64", "float": "float64", "bool": "bool", "object": "object", "text": "str"}


class NoTableError(CommonboardError, TypeError):
    """Nobody has said what the table of this object looks like."""


@singledispatch
def frame(obj: Any) -> pd.DataFrame:
    """The object as a pandas `DataFrame`, one row an item.

    Knows a `Page` (key, value, version, writer, created, expires_at_turn), a `Log` (seq, time, turn, actor, operation, key,
    value, version_before, version, saw, reason), a `History` (one row an operation; virtual times in seconds, in columns whose
    names end in `_s`), and any list of dataclasses or named tuples, whose fields are the columns.
    Versions and turns are nullable integers (`Int64`); values are Python values again.

    Raises:
        NoTableError: it is none of these; `frame.register(Class)` teaches it another.
    """
    if isinstance(obj, Sequence) and not isinstance(obj, str | bytes):
        names = field_names(obj)
        if names:
            return table(_columns_of(obj, names))
    raise NoTableError(
        f"no table is known for a {type(obj).__name__}; give a page, a log, a history or a list of dataclasses, "
        "or teach it with commonboard.show.frame.register"
    )


@frame.register(Page)
def _(page: Page) -> pd.DataFrame:
    return table(
        [
            ("key", "text", [entry.key for entry in page]),
            ("value", "object", [entry_value(entry) for entry in page]),
            ("version", "int", [entry.version for entry in page]),
            ("writer", "text", [entry.actor for entry in page]),
            ("created", "time", [entry.created_at for entry in page]),
            ("expires_at_turn", "int", [entry.expires_at_turn for entry in page]),
        ]
    )


@frame.register(Log)
def _(log: Log) -> pd.DataFrame:
    return table(
        [
            ("seq", "int", [event.seq for event in log]),
            ("time", "time", [event.at for event in log]),
            ("turn", "int", [event.turn for event in log]),
            ("actor", "text", [event.actor for event in log]),
            ("operation", "text", [event.operation for event in log]),
            ("key", "text", [event.key for event in log]),
            ("value", "object", [event_value(event) for event in log]),
            ("version_before", "int", [event.version_before for event in log]),
            ("version", "int", [event.version for event in log]),
            ("saw", "int", [event.saw for event in log]),
            ("reason", "text", [event.reason for event in log]),
        ]
    )


@frame.register(History)
def _(history: History) -> pd.DataFrame:
    def column(name: str) -> list[Any]:
        return [getattr(op, name) for op in history]

    return table(
        [
            ("operation", "int", column("index")),
            ("agent", "text", column("agent")),
            ("kind", "text", column("kind")),
            ("key", "text", [op.key or None for op in history]),
            ("value", "object", [operation_value(op) for op in history]),
            ("saw", "int", column("saw")),
            ("replaced", "int", column("replaced")),
            ("made", "int", column("made")),
            ("ok", "bool", column("ok")),
            ("began_at_s", "float", column("began_at")),
            ("ended_at_s", "float", column("ended_at")),
            ("replica", "text", column("replica")),
            ("source", "text", column("source")),
            ("note", "text", [op.note or None for op in history]),
            ("reason", "text", column("reason")),
            ("tokens", "int", column("tokens")),
        ]
    )


def table(columns: Iterable[Column]) -> pd.DataFrame:
    """A `DataFrame` of columns with types."""
    import pandas as pd

    made: dict[str, pd.Series[Any]] = {}
    for name, kind, values in columns:
        if kind == "time":
            made[name] = pd.Series(pd.to_datetime(values, utc=True), dtype="datetime64[us, UTC]")
        else:
            made[name] = pd.Series(values, dtype=_TYPES[kind])
    return pd.DataFrame(made)


def entry_value(entry: MemoryEntry) -> Any:
    """The Python value of an entry, whether it comes from a store (as text) or from a memory (decoded already)."""
    if not isinstance(entry.value, str):
        return entry.value
    return _decoded(entry.value, entry.metadata, entry.key)


def event_value(event: Event) -> Any:
    """The Python value of an event, `None` for a delete."""
    return None if event.value is None else _decoded(event.value, {ENCODING: event.encoding}, event.key)


def operation_value(op: Operation) -> Any:
    """The Python value of an operation, `None` where there was none."""
    try:
        return op.value
    except CorruptValueError:
        return op.text


def field_names(items: Any) -> list[str]:
    """The fields of the dataclasses or named tuples in a list; of an empty one, those that its class promises."""
    kind = type(items[0]) if len(items) else _promised(type(items))
    if kind is None:
        return []
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return list(getattr(kind, "_fields", ()))


def _promised(kind: type[Any]) -> type[Any] | None:
    """`Step` for a class Steps(list[Step], …)."""
    for base in getattr(kind, "__orig_bases__", ()):
        for argument in typing.get_args(base):
            if isinstance(argument, type):
                return argument
    return None


def _columns_of(items: Sequence[Any], names: list[str]) -> list[Column]:
    columns: list[Column] = []
    for name in names:
        values = [getattr(item, name) for item in items]
        columns.append((name, _type_of(values), values))
    return columns


def _type_of(values: list[Any]) -> str:
    there = [value for value in values if value is not None]
    if there and len(there) == len(values) and all(isinstance(value, bool) for value in there):
        return "bool"
    if there and all(isinstance(value, int) and not isinstance(value, bool) for value in there):
        return "int"
    if there and all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        return "float"
    return "text" if there and all(isinstance(value, str) for value in there) else "object"


def _decoded(text: str, metadata: Any, key: str) -> Any:
    # A table shows a corrupt entry too, as the text that is there; and a string that was decoded already stays what it is.
    try:
        return decode(text, metadata, key)
    except CorruptValueError:
        return text


__all__ = ["NoTableError", "entry_value", "event_value", "field_names", "frame", "operation_value", "table"]
