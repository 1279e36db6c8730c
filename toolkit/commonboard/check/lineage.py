"""Lineage: which versions a written value rested on, and who read a value that was withdrawn later.

A history says what an agent had read before it wrote, and not what it made of it. So a value *rests on* the newest version of
each key that its writer had read, or listed, before; that version rests on what its own writer had read; and so on. That comes
close to why-provenance (Buneman et al., 2001): the value may depend on less of what its writer had read. An older version of a
key that the writer had read too, and remembers, is left out.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from commonboard.check.observed import Observed, observed
from commonboard.check.subject import judged
from commonboard.entry import Viewable
from commonboard.errors import InvalidArgumentError
from commonboard.history import Operation

_Life = tuple[str, int]  # an agent, and how often it had crashed before


@dataclass(frozen=True, slots=True)
class Ancestor:
    """One version that a value rested on, or the value itself at depth 0.

    Attributes:
        depth: how many steps from the value.
        key, version, writer: what it is, and who wrote it.
        written_at_virtual_s: when it was written.
        value: the value; `None` for a delete.
        is_deleted: whether it is a delete.
        reader, read_at_virtual_s: who read it on the way to the value, and when; `None` for the value itself.
        is_repeated: whether it stands further up already, with what it rested on.
        operation: the write's number in the history.
    """

    depth: int
    key: str
    version: int | None
    writer: str
    written_at_virtual_s: float
    value: Any
    is_deleted: bool
    reader: str | None
    read_at_virtual_s: float | None
    is_repeated: bool
    operation: int


class Lineage(Viewable, list[Ancestor]):
    """What a value rested on, as a tree: each version, and under it, one step further in, what it rested on."""

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * row.depth}{_line(row)}" for row in self)

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Reader:
    """An agent that knew a withdrawn value, and one thing that it wrote after.

    Attributes:
        agent: who.
        steps: 1 if it read the value itself, 2 if it read what such an agent wrote after, and so on.
        read_key, read_version, read_at_virtual_s: what it read, and when.
        wrote_key, wrote_version, wrote_at_virtual_s: what it wrote after; `None` if it wrote nothing.
        knew: whether it had seen by then that the value was withdrawn; `None` if it wrote nothing.
    """

    agent: str
    steps: int
    read_key: str
    read_version: int | None
    read_at_virtual_s: float
    wrote_key: str | None
    wrote_version: int | None
    wrote_at_virtual_s: float | None
    knew: bool | None


class Readers(Viewable, list[Reader]):
    """Who knew a withdrawn value, and what they wrote after.

    Attributes:
        withdrawn: the write that was withdrawn.
        withdrawn_by: the write that took its place, or the delete.
        has_reads: whether the history has reads; a log has none, so that nobody can tell.
    """

    def __init__(self, rows: Iterable[Reader], withdrawn: Operation, withdrawn_by: Operation, has_reads: bool = True) -> None:
        super().__init__(rows)
        self.has_reads = has_reads
        self.withdrawn = withdrawn
        self.withdrawn_by = withdrawn_by

    @property
    def sentence(self) -> str:
        """What was withdrawn, by whom, and whether anybody had read it."""
        old, new = self.withdrawn, self.withdrawn_by
        how = "deleted" if new.text is None else "replaced"
        head = f"{_named(old)}, by {old.agent} at {old.ended_at:g} s, was {how} by {new.agent} at {new.ended_at:g} s; "
        nobody = "nobody had read it." if self.has_reads else "a log has no reads, so nobody can tell who had read it."
        return head + ("these had read it:" if self else nobody)

    def _repr_html_(self) -> str:
        return told_above(self.sentence, self)

    def __str__(self) -> str:
        lines = [self.sentence]
        for row in self:
            wrote = "wrote nothing after"
            if row.wrote_key is not None:
                knew = "knowing that it was withdrawn" if row.knew else "not knowing that it was withdrawn"
                wrote = f"wrote version {row.wrote_version} of {row.wrote_key} at {row.wrote_at_virtual_s:g} s, {knew}"
            read = f"read version {row.read_version} of {row.read_key} at {row.read_at_virtual_s:g} s"
            lines.append(f"{'  ' * row.steps}{row.agent} {read} and {wrote}")
        return "\n".join(lines)

    __repr__ = __str__


def lineage(subject: Any, what: str | Operation, version: int | None = None) -> Lineage:
    """What a written value rested on.

    Args:
        subject: a `Run` or a `History`. A log has no reads: there, a write rests on what its writer had seen of that key.
        what: the write, or a full key.
        version: for a key, which version; the newest unless given.

    Raises:
        TypeError: the subject is none of these.
        InvalidArgumentError: nobody wrote that.

    >>> import commonboard as cb
    >>> async def web(me):
    ...     await me.write("found", "churn is up")
    ...     found = await me.value("web/found")
    ...     await me.write("report", found.upper())
    >>> print(lineage(cb.simulate(web), "web/report"))
    version 1 of web/report, by web at 0 s: 'CHURN IS UP'
      version 1 of web/found, by web at 0 s, read by web at 0 s: 'churn is up'
    """
    seen = observed(judged(subject, "lineage").history)
    looks = looks_by_agent(seen)
    told: set[int] = set()
    rows: list[Ancestor] = []
    todo: list[tuple[int, int, int | None]] = [(0, write_of(seen, what, version), None)]
    while todo:
        depth, write, look = todo.pop()
        op, read = seen.operations[write], None if look is None else seen.operations[look]
        at = None if read is None else read.ended_at
        who = None if read is None else read.agent
        again = write in told
        made = (op.key, op.made, op.agent, op.ended_at, op.value, op.text is None)
        rows.append(Ancestor(depth, *made, who, at, again, op.index))
        if not again:
            told.add(write)
            todo += [(depth + 1, before, place) for before, place in reversed(rests_on(seen, looks, write).items())]
    return Lineage(rows)


def who_read(subject: Any, what: str | Operation, version: int | None = None) -> Readers:
    """Who read a value that was deleted or replaced later, and what they wrote after; and who read that, and so on.

    Args:
        subject: a `Run` or a `History`; a log has no reads, so nobody is found in it.
        what: the write that was withdrawn, or a full key.
        version: for a key, which version; unless given, the newest value that was withdrawn.

    Raises:
        TypeError: the subject is none of these.
        InvalidArgumentError: nobody wrote that, or it was never withdrawn.
    """
    given = judged(subject, "who_read")
    seen = observed(given.history)
    if isinstance(what, str) and version is None:
        gone = [place for place in seen.writes.get(what, []) if seen.after[place] and seen.operations[place].text is not None]
        withdrawn = gone[-1] if gone else write_of(seen, what, None)
    else:
        withdrawn = write_of(seen, what, version)
    op = seen.operations[withdrawn]
    if not seen.after[withdrawn]:
        raise InvalidArgumentError(f"{_named(op)} was not withdrawn: nobody deleted or replaced it")
    return Readers(_Spread(seen, withdrawn).rows(), op, seen.operations[seen.after[withdrawn][0]], given.has_reads)


class _Spread:
    """Follows a withdrawn value from who read it to what they wrote, and on."""

    def __init__(self, seen: Observed, withdrawn: int) -> None:
        self._seen = seen
        self._key = seen.operations[withdrawn].key
        self._withdrawn = withdrawn
        self._steps = {withdrawn: 0}
        # By agent and life, since one that crashed begins anew, knowing nothing: steps, the read, what was read.
        self._knows: dict[_Life, tuple[int, int, int]] = {}
        self._was_told: dict[_Life, bool] = {}
        self._wrote: dict[_Life, list[tuple[int, bool]]] = {}

    def rows(self) -> list[Reader]:
        """A row for each agent and each of its writes; those that read the value itself first."""
        writer = self._seen.operations[self._withdrawn].agent
        for place, op in enumerate(self._seen.operations):
            who = op.agent, self._seen.life(place)
            if op.agent != writer and op.kind in ("read", "list"):
                self._look(place, op, who)
            elif self._seen.number[place] >= 0 and who in self._knows:
                self._steps.setdefault(place, self._knows[who][0])
                self._wrote[who].append((place, self._was_told.get(who, False)))
        rows = []
        for who, (steps, look, read) in sorted(self._knows.items(), key=lambda item: item[1]):
            later: list[tuple[int | None, bool | None]] = [*self._wrote[who]] or [(None, None)]
            rows += [self._row(who[0], steps, look, read, write, knew) for write, knew in later]
        return rows

    def _look(self, place: int, op: Operation, who: _Life) -> None:
        looks = self._seen.saw[place] or ()
        for write in looks:
            if self._seen.operations[write].key == self._key and self._withdrawn not in looks:
                rests = place if op.kind == "read" else write
                self._was_told[who] = self._was_told.get(who, False) or self._seen.covers(rests, self._withdrawn)
            if write in self._steps and who not in self._knows:
                self._knows[who] = (self._steps[write] + 1, place, write)
                self._wrote[who] = []

    def _row(self, agent: str, steps: int, look: int, read: int, write: int | None, knew: bool | None) -> Reader:
        ops = self._seen.operations
        what, wrote = ops[read], None if write is None else ops[write]
        known = (agent, steps, what.key, what.made, ops[look].ended_at)
        if wrote is None:
            return Reader(*known, None, None, None, None)
        return Reader(*known, wrote.key, wrote.made, wrote.ended_at, knew)


def looks_by_agent(seen: Observed) -> dict[str, list[int]]:
    """The places of each agent's looks: its reads, its lists, and its writes that say what it had seen."""
    looks: dict[str, list[int]] = {}
    for place, op in enumerate(seen.operations):
        if seen.saw[place] is not None and op.kind != "merge":
            looks.setdefault(op.agent, []).append(place)
    return looks


def rests_on(seen: Observed, looks: dict[str, list[int]], write: int) -> dict[int, int]:
    """The writes that a write rests on: of each key the newest that its writer had seen; with the place where it saw it."""
    newest: dict[str, dict[int, int]] = {}
    life = seen.life(write)
    before = [place for place in looks.get(seen.operations[write].agent, []) if place <= write and seen.life(place) == life]
    for place in reversed(before):
        here: dict[str, dict[int, int]] = {}
        for found in seen.saw[place] or ():
            here.setdefault(seen.operations[found].key, {})[found] = place
        for key, found_there in here.items():
            newest.setdefault(key, found_there)
    pairs = [pair for found_there in newest.values() for pair in found_there.items() if pair[0] != write]
    return dict(sorted(pairs, key=lambda pair: (pair[1], pair[0])))


def write_of(seen: Observed, what: str | Operation, version: int | None) -> int:
    """The place of a write that a caller named.

    Raises:
        InvalidArgumentError: nobody wrote that, or several writes go by that number.
    """
    if isinstance(what, Operation):
        found = [place for place in seen.writes.get(what.key, []) if seen.operations[place] == what]
        if not found:
            raise InvalidArgumentError(f"this operation is no write of this history: {what}")
        return found[0]
    places = seen.writes.get(what, [])
    if not places:
        raise InvalidArgumentError(f"nobody wrote {what!r}; written were {', '.join(map(repr, seen.writes)) or 'no keys at all'}")
    if version is None:
        return places[-1]
    found = [place for place in places if seen.operations[place].made == version]
    if len(found) != 1:
        how = "was made on several replicas; give the operation instead" if found else "was never made"
        raise InvalidArgumentError(f"version {version!r} of {what!r} {how}")
    return found[0]


def _named(op: Operation) -> str:
    return f"version {op.made} of {op.key}"


def told_above(sentence: str, table: Any) -> str:
    """HTML: a sentence, and the table under it if it has rows."""
    rows = importlib.import_module("commonboard.show").html(table) if table else ""
    return f"<p><b>{html.escape(sentence)}</b></p>{rows}"


def _line(row: Ancestor) -> str:
    read = "" if row.reader is None else f", read by {row.reader} at {row.read_at_virtual_s:g} s"
    what = "deleted" if row.is_deleted else short(row.value)
    if row.is_repeated:
        what = "see above"
    return f"version {row.version} of {row.key}, by {row.writer} at {row.written_at_virtual_s:g} s{read}: {what}"


def short(value: Any) -> str:
    """A value in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
