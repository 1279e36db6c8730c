"""In which order operations stand in a history: one in which they may have taken effect, by all that is known of them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from commonboard.entry import under
from commonboard.history import WRITES, Operation
from commonboard.recording.certain import KeyOrder, Segments
from commonboard.recording.facts import Fact


@dataclass(slots=True, eq=False)
class Placed:
    """An operation on its way into the history.

    Attributes:
        operation: the operation.
        seq: what the store's log says of its place.
        version: the version that it saw or made, on a store that told it.
        fact: what it comes from.
        after: how many others must come before it and have not.
        before: those that must come after it.
    """

    operation: Operation
    seq: int | None
    version: int | None
    fact: Fact
    after: int = 0
    before: list[Placed] = field(default_factory=list)

    def precede(self, other: Placed) -> None:
        self.before.append(other)
        other.after += 1


def in_order(found: Sequence[Placed], segments: Mapping[str, Segments], keys: Mapping[str, KeyOrder]) -> list[Placed]:
    """The operations in the order of their effects: a write before those that saw it, and they before the next write.

    Where several orders fit, whatever returned first comes first. Where none does, since the store does not behave like one
    place, real time alone counts.
    """
    _by_log([placed for placed in found if placed.fact.versioned])
    of_fact: dict[tuple[Fact, str], Placed] = {}
    lists = {placed.fact: placed for placed in found if placed.operation.kind == "list"}
    for placed in found:
        of_fact[placed.fact, placed.operation.key] = placed
    for key, order in segments.items():
        _by_segments(key, order, of_fact, lists)
    return _sorted(found)


def _by_log(found: Sequence[Placed]) -> None:
    """On a store that tells versions and log positions."""
    writes = sorted((p for p in found if p.operation.kind in WRITES and p.seq is not None), key=lambda p: p.seq or 0)
    for one, other in pairwise(writes):
        one.precede(other)
    made: dict[tuple[str, int], Placed] = {}
    following: dict[tuple[str, int], Placed] = {}
    newest: dict[str, Placed] = {}
    for write in writes:
        key = write.operation.key
        made[key, write.version or 0] = write
        before = newest.get(key)
        following[key, (before.version or 0) if before is not None else write.operation.replaced or 0] = write
        newest[key] = write
    for placed in found:
        op = placed.operation
        if op.kind == "read" and placed.version is not None:
            _between(placed, made.get((op.key, placed.version)), following.get((op.key, placed.version)))
        elif op.kind == "list" and placed.seq is not None:
            mine = [write for write in writes if under(op.key, write.operation.key)]
            older = [write for write in mine if (write.seq or 0) <= placed.seq]
            _between(placed, older[-1] if older else None, mine[len(older)] if len(older) < len(mine) else None)


def _between(placed: Placed, before: Placed | None, after: Placed | None) -> None:
    if before is not None:
        before.precede(placed)
    if after is not None:
        placed.precede(after)


def _by_segments(key: str, segments: Segments, of_fact: Mapping[tuple[Fact, str], Placed], lists: Mapping[Fact, Placed]) -> None:
    """On a store without versions: each write after all of the segment before, and each look right after its write."""
    earlier: list[Placed] = []
    for segment in segments:
        everything: list[Placed] = []
        for block in segment:
            last = earlier
            for cluster in block.clusters:
                write = None if cluster.write is None else of_fact.get((cluster.write.fact, key))
                seen = [of_fact.get((look.fact, key)) or lists.get(look.fact) for look in cluster.looks]
                looks = [look for look in seen if look is not None]
                for one in last if write is not None else ():
                    one.precede(write)  # type: ignore[arg-type]
                for look in looks if write is not None else ():
                    write.precede(look)  # type: ignore[union-attr]
                mine = [*([write] if write is not None else []), *looks]
                last = mine or last
                everything += mine
        earlier = everything or earlier


def _sorted(found: Sequence[Placed]) -> list[Placed]:
    by_end = sorted(found, key=lambda placed: placed.operation.end)
    by_begin = sorted(found, key=lambda placed: placed.operation.begin)
    place = {placed: number for number, placed in enumerate(by_end)}
    done: set[Placed] = set()
    ready: list[int] = []
    ordered: list[Placed] = []
    first = called = 0
    waiting: set[Placed] = set()
    while first < len(by_end):
        if by_end[first] in done:
            first += 1
            continue
        while called < len(by_begin) and by_begin[called].operation.begin <= by_end[first].operation.end:
            one = by_begin[called]
            called += 1
            if one.after == 0:
                heapq.heappush(ready, place[one])
            else:
                waiting.add(one)
        chosen = by_end[heapq.heappop(ready)] if ready else by_end[first]
        if chosen in done:
            continue
        waiting.discard(chosen)
        done.add(chosen)
        ordered.append(chosen)
        for later in chosen.before:
            later.after -= 1
            if later.after == 0 and later in waiting:
                waiting.discard(later)
                heapq.heappush(ready, place[later])
    return ordered
