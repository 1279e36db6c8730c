"""What a recorder notes while calls happen: one fact a call, with the moments at which it was made and answered.

Nothing is concluded here. `telling` makes a history of the facts, of one recorder or of several.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from commonboard.entry import MemoryEntry, Page
from commonboard.handle import Sightings, check_agent_name
from commonboard.history import Kind
from commonboard.transactions import TRANSACTION
from commonboard.values import ENCODING, TYPE

MARK: Final = "commonboardWrite"
"""Metadata marker: which write this is, as `"<recorder>:<number>"`. Readers behind a recorder never see it."""
UNKNOWN: Final = "unknown"
"""Who called, where nobody said so."""
CALLER: ContextVar[str | None] = ContextVar("commonboard_caller", default=None)
"""Whose code is running. Tasks that it starts inherit it."""


@contextmanager
def acting(agent: str) -> Iterator[None]:
    """What is called inside, and in tasks that are started inside, is recorded as this agent's.

    A store is not told who reads, so a recorder cannot know it by itself. `run_live` says it for its agents.

    Raises:
        NameNotAllowedError: no agent can have this name.
    """
    check_agent_name(agent)
    token = CALLER.set(agent)
    try:
        yield
    finally:
        CALLER.reset(token)


class Moment(NamedTuple):
    """When something was called or answered: by the clock, and its place among the moments of one recorder."""

    seconds: float
    tick: int
    recorder: str


class Shown(NamedTuple):
    """What a look showed of a key: the mark of the write that it came from, and the text (`None`: nothing was there)."""

    key: str
    mark: str | None
    text: str | None
    encoding: str | None = None
    type_tag: str | None = None


@dataclass(slots=True, eq=False)
class Fact:
    """One call, or one write of a call that made several.

    Attributes:
        agent, kind, key, text, encoding, type_tag, reason, note, tokens, ok: as for an `Operation`.
        number: its place among the facts of its recorder.
        called, answered: when; `answered` is `None` where the caller learnt nothing.
        versioned: whether the store told versions.
        saw, replaced, made: the versions that a store told, as for an `Operation`.
        seq: the place in the store's log of what a write did, or that a list was taken at.
        mark: what names a write on a store without versions.
        shown: what a look on such a store showed.
        rests_on: for a write on such a store, what its caller had seen of the key last; `None` if it never looked.
        knows: whether it is known what the caller had seen.
        expected: for a compare-and-set on such a store, the text that was there; `None`: nothing.
        transaction: the transaction whose snapshot or commit it is, if any.
        hidden: whether it is evidence, and no operation of anybody.
        forgotten: whether it was no operation after all.
    """

    agent: str
    kind: Kind
    key: str
    called: Moment
    number: int = 0
    text: str | None = None
    encoding: str | None = None
    type_tag: str | None = None
    answered: Moment | None = None
    ok: bool = True
    versioned: bool = True
    saw: int | None = None
    replaced: int | None = None
    made: int | None = None
    seq: int | None = None
    mark: str | None = None
    shown: tuple[Shown, ...] = ()
    rests_on: Fact | None = None
    knows: bool = True
    expected: str | None = None
    reason: str | None = None
    note: str = ""
    tokens: int = 0
    transaction: str | None = None
    hidden: bool = False
    forgotten: bool = False

    def carries(self, text: str | None, metadata: Mapping[str, Any] | None) -> None:
        """Note a value with its markers."""
        self.text = text
        self.encoding, self.type_tag = _markers(metadata)


Clock = Callable[[], float]


class Tape:
    """What one recorder has noted.

    Args:
        clock: gives seconds that never run backwards. `time.perf_counter` is one clock for all processes of a machine.
        name: the recorder's name; random unless given, since marks must not be those of an earlier recorder.
    """

    def __init__(self, clock: Clock = time.perf_counter, name: str | None = None) -> None:
        self.name = name or secrets.token_hex(4)
        self.facts: list[Fact] = []
        self.newest: Fact | None = None
        self._clock = clock
        self._ticks = itertools.count()
        self._marks = itertools.count(1)
        self._sightings: dict[str, Sightings] = {}
        self._alone = Sightings()
        self._looked: set[str] = set()
        self._listed = False

    def now(self) -> Moment:
        return Moment(self._clock(), next(self._ticks), self.name)

    def mark(self) -> str:
        """A name for the next write."""
        return f"{self.name}:{next(self._marks)}"

    def begin(self, kind: Kind, key: Any, actor: Any = None, called: Moment | None = None, versioned: bool = True) -> Fact:
        """Note that somebody calls. The agent is whose code is running, else who the write says that it is of."""
        agent = CALLER.get() or (actor if isinstance(actor, str) and actor else UNKNOWN)
        name, number = key if isinstance(key, str) else repr(key), len(self.facts)
        fact = Fact(agent, kind, name, called or self.now(), number, versioned=versioned)
        fact.transaction = TRANSACTION.get()
        self.facts.append(fact)
        return fact

    def answer(self, *facts: Fact) -> None:
        """Note that the caller has the answer."""
        moment = self.now()
        for fact in facts:
            fact.answered = moment
            self.newest = fact

    def see(self, key: str, number: int | None) -> None:
        """The running code looked at a key; `number` is the version, or stands for the look."""
        self._mine().see(key, number)
        if CALLER.get() is None:
            self._looked.add(key)

    def see_all(self, prefix: str, page: Page) -> None:
        """The running code listed everything under a prefix."""
        self._mine().see_all(prefix, page)
        if CALLER.get() is None:
            self._listed = True

    def saw(self, key: str) -> tuple[int | None, bool]:
        """What the running code saw of a key last, and whether that is known.

        Code of no agent saw what its own task saw. If only another task of no agent has looked, nobody can say.
        """
        if CALLER.get() is not None:
            return self._mine().saw(key), True
        mine = _of_this_task(self._alone)
        if key in mine:
            return mine[key], True
        return None, not (self._listed or key in self._looked)

    def wrote(self, key: str, number: int | None) -> None:
        """The running code wrote a key: if it had ever looked, it knows what is there now."""
        seen, _ = self.saw(key)
        if seen is not None:
            self._mine().see(key, number)

    def _mine(self) -> Sightings:
        agent = CALLER.get()
        return self._alone if agent is None else self._sightings.setdefault(agent, Sightings())


def _of_this_task(sightings: Sightings) -> dict[str, int]:
    try:
        return sightings._mine()
    except RuntimeError:  # no event loop runs here, so there is no task
        return {}


@dataclass(slots=True)
class Recording:
    """The facts of one recorder, as they travel between processes."""

    name: str
    facts: list[Fact] = field(default_factory=list)


def unmarked(entry: Any) -> tuple[Any, str | None]:
    """An entry as readers get it, and the mark that it carried. What carries none is handed on as it is."""
    metadata = getattr(entry, "metadata", None)
    if not isinstance(metadata, Mapping) or MARK not in metadata:
        return entry, None
    mark = metadata[MARK]
    rest = {name: fact for name, fact in metadata.items() if name != MARK}
    clean = MemoryEntry(entry.key, entry.value, rest)
    for name in ("created_at", "version", "expires_at_turn"):
        if getattr(entry, name, None) is not None:
            setattr(clean, name, getattr(entry, name))
    return clean, mark if isinstance(mark, str) else None


def shown(key: str, mark: str | None, entry: Any) -> Shown:
    """What an entry of a list shows."""
    return Shown(key, mark, entry.value, *_markers(getattr(entry, "metadata", None)))


def _markers(metadata: Any) -> tuple[str | None, str | None]:
    found = [metadata.get(name) for name in (ENCODING, TYPE)] if isinstance(metadata, Mapping) else [None, None]
    encoding, tag = (fact if isinstance(fact, str) else None for fact in found)
    return encoding, tag
