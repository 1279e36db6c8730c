"""What each operation of a history saw, replaced and made, as places of writes in the history.

A version's number says which write made it only on one store; between replicas a write is known by its dot. Here both
become one thing, the place of the write in the history, so that the checks need not tell them apart. Nothing is guessed:
what the history does not say is a doubt, and a check that finds nothing wrong is then `Unknown`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from commonboard.history import GIVEN, History, Operation

WORLDLY = frozenset(("think", "merge", "fault"))
"""Kinds of operations that are no agent's work on the board."""
Places = tuple[int, ...]
"""Places of writes in the history; none at all stands for what was there before the first of them."""


class Listing(NamedTuple):
    """A list, as a look at which keys there are under a prefix.

    Attributes:
        prefix: the prefix that was listed.
        number: how many creations and deletes of keys under the prefix had happened.
    """

    prefix: str
    number: int


@dataclass(slots=True)
class Observed:
    """A history, with what each of its operations saw; lists have an item for each operation.

    Attributes:
        operations: the operations.
        replicated: whether there are several replicas.
        saw: the writes that are in what a look found, or that a write's author had looked at; `None` where nobody looked.
        replaced: the writes that a write took the place of.
        after: the writes that took a write's place, or that a policy put in its place.
        first: by key, the writes that took no other's place.
        writes: by key, its writes: on one store in the order of their versions, else in the order in which they happened.
        number: a write's place among the writes of its key.
        seen: between replicas, the numbers of all writes that what was read or made rests on, as bits.
        knew: between replicas, the same for what a write's author had looked at.
        lost: writes that a crash undid, and that no other replica had.
        crashes: by agent, the places where it crashed and began anew, knowing nothing.
        listings: by place, the lists, where there is one store.
        changes: by listed prefix, the writes that created or deleted a key under it.
        garbage: reads of what nobody wrote, with what is wrong with them.
        doubts: what the history does not say, one sentence of each sort.
    """

    operations: Sequence[Operation]
    replicated: bool = False
    saw: list[Places | None] = field(default_factory=list)
    replaced: list[Places] = field(default_factory=list)
    after: list[Places] = field(default_factory=list)
    first: dict[str, Places] = field(default_factory=dict)
    writes: dict[str, list[int]] = field(default_factory=dict)
    number: list[int] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)
    knew: dict[int, int] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    crashes: dict[str, list[int]] = field(default_factory=dict)
    listings: dict[int, Listing] = field(default_factory=dict)
    changes: dict[str, list[int]] = field(default_factory=dict)
    garbage: list[tuple[int, str]] = field(default_factory=list)
    doubts: dict[str, str] = field(default_factory=dict)

    def covers(self, place: int, write: int) -> bool:
        """Whether what the operation at `place` read or made rests on a write of the same key, or on one that came after it."""
        if self.replicated:
            return bool(self.seen.get(place, 0) >> self.number[write] & 1)
        if self.operations[place].is_write:
            return self.number[write] <= self.number[place]
        looks = self.saw[place]
        return bool(looks) and looks is not None and self.number[write] <= self.number[looks[0]]

    def had_seen(self, look: int, write: int) -> bool:
        """Whether who looked, by a read or as the author of a write, then knew of a write of the same key, or of a later one."""
        if self.replicated:
            return bool((self.knew if self.number[look] >= 0 else self.seen).get(look, 0) >> self.number[write] & 1)
        return any(self.number[write] <= self.number[found] for found in self.saw[look] or ())

    def life(self, place: int) -> int:
        """In which of its lives an operation's agent did it: 0 before its first crash."""
        return bisect_right(self.crashes.get(self.operations[place].agent, ()), place)

    def named(self, place: int) -> str:
        """What a write made, in words: `version 2 of shared/x`, or `shared/x (replica-1:3)`."""
        op = self.operations[place]
        return f"{op.key} ({op.dot or GIVEN})" if self.replicated else f"version {op.made} of {op.key}"


def observed(history: History) -> Observed:
    """What each operation of a history saw, replaced and made."""
    if history.replicas or any(op.replica is not None for op in history):
        from commonboard.check.replicated import between_replicas

        return between_replicas(list(history))
    from commonboard.check.one_store import on_one_store

    return on_one_store(list(history))


def blank(operations: list[Operation], replicated: bool) -> Observed:
    """An `Observed` of which nothing is known yet."""
    size = len(operations)
    found = Observed(operations, replicated, [None] * size, [()] * size, [()] * size, number=[-1] * size)
    for place, op in enumerate(operations):
        if op.fault == "agent crash":
            found.crashes.setdefault(op.agent, []).append(place)
    return found
