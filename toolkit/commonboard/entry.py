"""The nouns: what a store keeps, what a write asks for, what an event records.

A `MemoryEntry` is what a read gives. A `Write` is one wish, with what it expects to find. An `Event` is one thing that
happened. Nothing else passes between agents, stores and checks. Stores copy entries on the way in and out, so that
nothing aliases what is stored; events are tuples, because the log that hands them out must not be changed through them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from commonboard.errors import InvalidKeyError

Operation_ = Literal["insert", "replace", "delete", "restore", "import"]


class _Expectation:
    """A named constant; `ANY` and `ABSENT` are its only two instances."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


ANY: Final = _Expectation("ANY")
"""Expect nothing: the write is blind."""
ABSENT: Final = _Expectation("ABSENT")
"""Expect that the key has no entry."""

Expectation = _Expectation | int | str
"""What a write expects to find: `ANY`, `ABSENT`, a version (`int`) or an exact stored text (`str`)."""


class Viewable:
    """Gives results their table, their HTML and their text, which `commonboard.show` draws; it is loaded when first asked for."""

    __slots__ = ()

    def to_frame(self) -> Any:
        """The same as a pandas `DataFrame`, one row an item."""
        return importlib.import_module("commonboard.show").frame(self)

    def _repr_html_(self) -> str:
        return str(importlib.import_module("commonboard.show").html(self))

    def __str__(self) -> str:
        return str(importlib.import_module("commonboard.show").text(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


@dataclass(slots=True)
class MemoryEntry:
    """One key of the board, as it was when it was read.

    Attributes:
        key: the full key, such as `"shared/open_questions"`.
        value: the stored text in a store; the Python value again when read through a memory.
        metadata: plain JSON facts about the entry; `metadata["agent"]` is the writer.
        created_at: when the key was created (UTC); overwriting keeps it.
        version: the key's version, which only grows; `None` from a store that keeps none.
        expires_at_turn: the turn from which a memory hides the entry; `None` means never.
    """

    key: str
    value: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    version: int | None = None
    expires_at_turn: int | None = None

    def __repr__(self) -> str:
        known = [f"version={self.version}"] if self.version is not None else []
        known += [f"by={self.actor!r}"] if self.actor is not None else []
        known += [f"expires_at_turn={self.expires_at_turn}"] if self.expires_at_turn is not None else []
        return f"MemoryEntry({', '.join([repr(self.key), repr(self.value), *known])})"

    @property
    def actor(self) -> str | None:
        """Who wrote it, if the metadata say so."""
        agent = self.metadata.get("agent")
        return agent if isinstance(agent, str) else None


@dataclass(slots=True)
class Write:
    """One wish to change one key.

    Attributes:
        key: the full key.
        value: the text to store; `None` deletes the key. With `append=True`, one item as JSON text.
        metadata: replaces the entry's metadata whole; `None` means none.
        expect: what must be there: `ANY`, `ABSENT`, a version (`int`) or an exact text (`str`).
        actor, reason, turn: who, why, in which turn; for the log.
        saw: the version that the writer had read before, `None` if none. It is recorded, never enforced.
        expires_at_turn: the turn from which the entry is hidden; `None` clears an earlier expiry.
        append: add the value to the list that is stored there, in one step, instead of replacing it.
        operation: `"restore"` or `"import"` where the write is one; the rule names the rest itself.
        created_at: the creation time to keep, for a restore or an import.
    """

    key: str
    value: str | None
    metadata: Mapping[str, Any] | None = None
    expect: Expectation = ANY
    actor: str | None = None
    reason: str | None = None
    turn: int | None = None
    saw: int | None = None
    expires_at_turn: int | None = None
    append: bool = False
    operation: Literal["restore", "import"] | None = None
    created_at: datetime | None = None


class Event(NamedTuple):
    """One thing that happened to one key. The log is a list of these, and nothing is ever changed in it.

    Attributes:
        seq: its place in the store's log; it only grows.
        operation: `insert`, `replace`, `delete`, `restore` or `import`.
        key: the full key.
        value: the text stored by it; `None` for a delete. The old value is the previous event's.
        encoding: `"json"` where the text is JSON, else `None`.
        version_before: the version that was there (the version of absence where there was no entry).
        version: the version it made.
        saw: the version that the writer had read before it wrote, if any.
        actor, reason, turn: who, why, in which turn.
        at: when (UTC).
        created_at: when the key was created (UTC).
    """

    seq: int
    operation: Operation_
    key: str
    value: str | None
    encoding: str | None
    version_before: int
    version: int
    saw: int | None
    actor: str | None
    reason: str | None
    turn: int | None
    at: datetime
    created_at: datetime


@dataclass(slots=True)
class Reading:
    """What one look at a key found: the entry or `None`, and the version, which absence has too."""

    entry: MemoryEntry | None
    version: int | None


@dataclass(frozen=True, slots=True)
class KeyUnchanged:
    """For `commit(reads=…)`: the key must still be at this version."""

    key: str
    version: int


@dataclass(frozen=True, slots=True)
class PrefixUnchanged:
    """For `commit(reads=…)`: no event after log position `after` may touch a key under the prefix."""

    prefix: str
    after: int


Read = KeyUnchanged | PrefixUnchanged


class Page(Viewable, list[MemoryEntry]):
    """The entries that `list` found, first created first.

    Attributes:
        cursor: give it as `after=` for the next page; `None` when there is none.
        position: the log position at which the list was taken.
    """

    def __init__(
        self,
        entries: Iterable[MemoryEntry] = (),
        *,
        cursor: str | None = None,
        position: int = 0,
        floor: int = 0,
        gone: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(entries)
        self.cursor = cursor
        self.position = position
        self.floor = floor
        self.gone = dict(gone or {})


class Log(Viewable, list[Event]):
    """A stretch of a store's log, oldest first."""


class LogicalClock:
    """A clock that ticks once per look, so that a lesson prints the same on every machine.

    >>> clock = LogicalClock()
    >>> clock().isoformat(), clock().isoformat()
    ('2026-01-01T00:00:00+00:00', '2026-01-01T00:00:01+00:00')
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC), step_seconds: float = 1.0) -> None:
        self._next = start
        self._step = timedelta(seconds=step_seconds)

    def __repr__(self) -> str:
        return f"LogicalClock(next={self._next.isoformat()})"

    def __call__(self) -> datetime:
        now = self._next
        self._next = now + self._step
        return now


utc_now: Final[Callable[[], datetime]] = partial(datetime.now, UTC)
"""The wall clock, in UTC: what a store uses unless it is given another `clock=`."""


def check_text(text: Any, what: str) -> None:
    """Refuse text that some store could not keep: a NUL, or half of a surrogate pair.

    Raises:
        InvalidKeyError: naming the character and its place.
    """
    if type(text) is str and text.isascii() and "\0" not in text:
        return
    if not isinstance(text, str):
        raise InvalidKeyError(f"{what} must be text (str), not {type(text).__name__}: {text!r:.80}")
    if "\0" in text:
        raise InvalidKeyError(f"{what} holds a NUL character at position {text.index(chr(0))}: no store can keep it; remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidKeyError(
            f"{what} holds half of a surrogate pair (U+{ord(text[error.start]):04X}) at position {error.start}, which is no "
            "character; decode the text again with errors='replace'"
        ) from None


def check_key(key: Any) -> None:
    """Refuse what cannot be a key: anything but non-empty text without NUL and without lone surrogates."""
    if type(key) is str and key.isascii() and "\0" not in key and key:
        return
    check_text(key, "the key")
    if not key:
        raise InvalidKeyError("the key is empty; a key is text such as 'shared/open_questions'")


def under(prefix: str, key: str) -> bool:
    """Whether the key lies under the prefix, by whole segments.

    >>> under("web", "web/notes"), under("web", "website/notes"), under("", "anything")
    (True, False, True)
    """
    if not prefix or key == prefix:
        return True
    return key.startswith(prefix if prefix.endswith("/") else prefix + "/")
