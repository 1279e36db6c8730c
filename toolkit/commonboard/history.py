"""What happened: a table of operations, each with the versions that it saw and made.

A history comes from a simulation, or from a store's own log. Checks judge it, views show it. Because every operation
carries versions, nothing about the order of events ever has to be guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from commonboard.entry import Event, Viewable, under
from commonboard.values import ENCODING, TYPE, decode

Kind = Literal["read", "list", "write", "compare-and-set", "append", "delete", "merge", "think", "fault"]
GIVEN = "given"
"""Who wrote what was there before the agents began; it has no lane."""
WRITES = ("write", "compare-and-set", "append", "delete")


@dataclass(slots=True)
class Operation:
    """One operation.

    Attributes:
        index: its place in the history.
        agent: who did it; the replica's name for a merge; for a fault, the replica or the agent concerned.
        kind: `read`, `list`, `write`, `compare-and-set`, `append`, `delete`, `merge`, `think` or `fault`.
        key: the full key, or the prefix of a list.
        text, encoding, type_tag: what was read or written, as stored; `value` is the Python value.
        saw: the version read; for a write, the version that its writer had read before, `None` if it never looked.
        replaced: for a write, the version that was there; for a refused one, the version that refused it.
        made: the version a write made, `None` if it made none.
        ok: `False` for a refused write.
        begin, end: when it was called and when it returned, on one line of whole numbers shared by all operations.
        began_at, ended_at: the same in virtual seconds (seconds since the first event, for a store's log).
        replica: the replica it worked on, where there are several.
        source: for a merge, the replica that the arriving value came from.
        dot: the name of the write among replicas, such as `replica-1:3`.
        dropped: for a merge, the dots of the writes that its result leaves out, though nobody had seen them.
        live: for a merge that changed what is shown, the dots of the writes that are in what is shown now.
        note: what a merge came to, what a thought cost, what a fault was, or that a list was `one page` of more.
        reason: why, as the writer said.
        tokens: what a thought cost.
        transaction: the transaction it is part of, if any.
        acknowledged: `False` for an operation whose caller never learnt what came of it.
        fault: for a fault, what kind: `drop`, `duplicate`, `partition`, `heal`, `crash`, `forgotten` (a value, in a crash),
            `agent crash`, `lost answer` or `clock skew`.
    """

    index: int
    agent: str
    kind: Kind
    key: str
    text: str | None = None
    encoding: str | None = None
    type_tag: str | None = None
    saw: int | None = None
    replaced: int | None = None
    made: int | None = None
    ok: bool = True
    begin: int = 0
    end: int = 0
    began_at: float = 0.0
    ended_at: float = 0.0
    replica: str | None = None
    source: str | None = None
    dot: str | None = None
    dropped: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    note: str = ""
    reason: str | None = None
    tokens: int = 0
    transaction: str | None = None
    acknowledged: bool = True
    fault: str = ""

    @property
    def value(self) -> Any:
        """The Python value that was read or written; `None` where there was none."""
        if self.text is None:
            return None
        return decode(
            self.text, {ENCODING: self.encoding, TYPE: self.type_tag} if self.type_tag else {ENCODING: self.encoding}, self.key
        )

    @property
    def is_write(self) -> bool:
        """Whether it is a write that happened."""
        return self.ok and self.kind in WRITES and self.made is not None

    def __str__(self) -> str:
        what = {"compare-and-set": "compare-and-sets"}.get(self.kind, self.kind + "s")
        where = f" {self.key}" if self.key else ""
        if self.kind == "fault":
            return f"t={self.began_at:g} s  {self.agent} fault: {self.note}{where}"
        if self.kind in ("think", "merge"):
            outcome = f" {self.note}" if self.kind == "think" else f": {self.note}"
        elif not self.ok:
            outcome = ": refused" + (f", version {self.replaced} is there" if self.replaced is not None else "")
        else:
            version = self.saw if self.kind == "read" else self.made
            outcome = "" if version is None else f" {'at' if self.kind == 'read' else 'as'} version {version}"
        return f"t={self.began_at:g} s  {self.agent} {what}{where}{outcome}"


@dataclass(slots=True)
class Cell:
    """One key of the board at some moment: the value, its version, and the operation that made it."""

    value: Any
    version: int
    made_by: Operation


class History(Sequence[Operation], Viewable):
    """Operations in the order in which they took effect.

    Attributes:
        agents: the names of the lanes, in order.
        replicas: the names of the replicas; empty where there is one store.
    """

    def __init__(self, operations: Iterable[Operation], agents: Iterable[str] = (), replicas: Iterable[str] = ()) -> None:
        self._operations = list(operations)
        self.replicas = list(replicas)
        known = dict.fromkeys(agents)
        acted = [op for op in self._operations if op.kind not in ("merge", "fault") and op.agent != GIVEN]
        known.update(dict.fromkeys(op.agent for op in acted))
        self.agents = list(known)

    @classmethod
    def from_log(cls, events: Iterable[Event]) -> History:
        """The history that a store's log tells: its writes, with the versions that the writers had seen.

        Reads leave no trace in a log, so a check of it knows less than a check of a simulation.
        """
        operations: list[Operation] = []
        first = None
        for place, event in enumerate(events):
            first = event.at if first is None else first
            seconds = (event.at - first).total_seconds()
            operations.append(
                Operation(
                    place,
                    event.actor or "unknown",
                    "delete" if event.operation == "delete" else "write",
                    event.key,
                    event.value,
                    event.encoding,
                    None,
                    event.saw,
                    event.version_before,
                    event.version,
                    True,
                    2 * place,
                    2 * place + 1,
                    seconds,
                    seconds,
                    reason=event.reason,
                )
            )
        return cls(operations)

    @overload
    def __getitem__(self, place: int) -> Operation: ...
    @overload
    def __getitem__(self, place: slice) -> list[Operation]: ...
    def __getitem__(self, place: int | slice) -> Operation | list[Operation]:
        return self._operations[place]

    def __len__(self) -> int:
        return len(self._operations)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations)

    def __repr__(self) -> str:
        lanes = ", ".join(self.agents)
        return f"History({len(self)} operation{'' if len(self) == 1 else 's'} by {lanes or 'nobody'})"

    def __str__(self) -> str:
        return "\n".join(map(str, self._operations))

    def writes(self, key: str | None = None) -> list[Operation]:
        """The writes that happened, of one key if asked."""
        return [op for op in self._operations if op.is_write and key in (None, op.key)]

    def under(self, prefix: str) -> History:
        """Only the operations on keys under a prefix (thoughts are left out)."""
        return History(
            [op for op in self._operations if op.kind != "think" and under(prefix, op.key)], self.agents, self.replicas
        )

    def board_at(self, place: int, replica: str | None = None) -> dict[str, Cell]:
        """The board after the operation at `place` (-1: before the first), on one replica if there are several."""
        cells: dict[str, Cell] = {}
        for op in self._operations[: place + 1]:
            if op.made is None or not op.ok or (replica is not None and op.replica != replica):
                continue
            if op.text is None:
                cells.pop(op.key, None)
            else:
                cells[op.key] = Cell(op.value, op.made, op)
        return cells

    def spacetime(self, highlight: Iterable[Operation] = (), caption: str = "") -> Any:
        """The space-time picture: a lane for each agent and for the store, time downward.

        Args:
            highlight: the operations to number and to draw thick, in the order of the story.
            caption: one sentence: who, what, why.
        """
        import importlib

        return importlib.import_module("commonboard.show").spacetime(self, highlight, caption)
