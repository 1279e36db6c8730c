"""What each operation saw, replaced and made, between replicas: a write is known by its dot.

A local version number stands for the dots that are live on that replica at that moment. The order of two writes of a key is
known where one was made over the other, and where the two met and the policy kept one of them. Elsewhere it is a doubt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from commonboard.check.observed import Observed, Places, blank
from commonboard.history import GIVEN, WRITES, Operation


class _Sight(NamedTuple):
    """What an agent saw of a key last: on which replica, the writes in it, and all that it rests on."""

    replica: str | None
    live: Places
    seen: int


@dataclass(slots=True)
class _Shown:
    """What a replica shows of a key: the local version, the writes in it, and all that it rests on, as bits."""

    version: int = 0
    live: Places = ()
    seen: int = 0
    has_siblings: bool = False


def between_replicas(operations: list[Operation]) -> Observed:
    """What each operation of a history between replicas saw, replaced and made."""
    reader = _Replicas(operations)
    for place, op in enumerate(operations):
        if op.kind == "merge":
            reader.merge(op)
        elif op.kind == "fault":
            reader.fault(op)
        elif op.kind == "list":
            reader.look_at_all(place, op)
        elif op.kind == "read":
            reader.look(place, op)
        elif op.kind in WRITES and op.ok:
            reader.write(place, op)
        elif op.kind in WRITES:
            reader.saw(op, op.key)
    reader.doubt_unordered()
    return reader.found


class _Replicas:
    """Follows each key on each replica, operation by operation."""

    def __init__(self, operations: list[Operation]) -> None:
        self.found = blank(operations, replicated=True)
        self._shown: dict[tuple[str | None, str], _Shown] = {}
        self._versions: dict[tuple[str | None, str, int | None], tuple[Places, int]] = {}
        self._sights: dict[str, dict[str, _Sight]] = {}
        self._dots: dict[str | None, int] = {}
        self._given: dict[str, int] = {}
        self._after: dict[int, dict[int, None]] = {}
        self._spread = {op.dot for op in operations if op.kind == "merge"}
        self._disagree = {op.key: None for op in operations if op.kind == "merge" and "disagrees" in op.note}
        for key in self._disagree:
            self._doubt("disagree", f"replicas that had seen the same writes of {key} held something else")

    def _doubt(self, sort: str, sentence: str) -> None:
        self.found.doubts.setdefault(sort, sentence)

    def _at(self, op: Operation, key: str = "") -> _Shown:
        return self._shown.setdefault((op.replica, key or op.key), _Shown())

    def write(self, place: int, op: Operation) -> None:
        """A write of an agent, or of what was there before, which every replica has."""
        found, shown = self.found, self._at(op)
        if op.made is None:
            self._doubt("no versions", f"the store keeps no versions, so nobody knows what {op.agent} made of {op.key}")
            return
        write = self._given.setdefault(op.key, place) if op.agent == GIVEN else place
        over = shown.live
        if op.saw is not None:
            found.saw[place], found.knew[place] = self._versions.get((op.replica, op.key, op.saw), ((), 0))
            sight = self._sights.get(op.agent, {}).get(op.key)
            if sight is not None and sight.replica != op.replica:
                # It looked at another replica, and hands in what it saw there: the write rests on both.
                found.saw[place], found.knew[place] = sight.live, sight.seen
                over = (*over, *(before for before in sight.live if before not in over))
                shown.seen |= sight.seen
        if write == place:
            self._dots[op.dot] = place
            writes = found.writes.setdefault(op.key, [])
            found.number[place] = len(writes)
            writes.append(place)
            found.replaced[place] = over
            for before in over:
                self._follows(before, place)
            if not over:
                found.first[op.key] = (*found.first.get(op.key, ()), place)
        shown.seen |= 1 << found.number[write]
        found.seen[place] = shown.seen
        self._show(op, shown, op.made, (write,))
        self.saw(op, op.key)

    def _show(self, op: Operation, shown: _Shown, version: int | None, live: Places) -> None:
        shown.version = shown.version if version is None else version
        shown.live = live
        self._versions[op.replica, op.key, shown.version] = live, shown.seen

    def saw(self, op: Operation, key: str) -> None:
        """An agent sees what a replica shows of a key: by a look, by a write of its own, by a refusal."""
        shown = self._at(op, key)
        self._sights.setdefault(op.agent, {})[key] = _Sight(op.replica, shown.live, shown.seen)

    def look(self, place: int, op: Operation) -> None:
        """A read: of what the replica shows at that moment."""
        shown = self._at(op)
        if op.saw is None:
            self._doubt("no version read", f"nobody knows which version of {op.key} {op.agent} read")
        elif op.saw != shown.version:
            self._doubt("missing", f"version {op.saw} of {op.key} on {op.replica}, which {op.agent} read, is not in the history")
        else:
            self.found.saw[place], self.found.seen[place] = shown.live, shown.seen
        self.saw(op, op.key)

    def look_at_all(self, place: int, op: Operation) -> None:
        """A list: a look at each key that it shows. Which keys it does not show, is not followed between replicas."""
        shown: list[str] = op.value or []
        self.found.saw[place] = tuple(write for key in shown for write in self._at(op, key).live)
        for key in shown:
            self.saw(op, key)
        told = f"{op.agent} listed {op.key or 'everything'} on a replica"
        self._doubt("list", f"{told}, and which keys were missing there is not judged")

    def fault(self, op: Operation) -> None:
        """A crash: an agent knows nothing any more; or a replica has forgotten a key, and shows what it was given."""
        if op.fault == "agent crash":
            self._sights.pop(op.agent, None)
        elif op.fault == "forgotten":
            shown, given = self._at(op), self._given.get(op.key) if op.live else None
            shown.seen, shown.has_siblings = 0 if given is None else 1 << self.found.number[given], False
            self._show(op, shown, op.made, () if given is None else (given,))
            self.found.lost.update(self._dots[dot] for dot in op.dropped if dot in self._dots and dot not in self._spread)

    def merge(self, op: Operation) -> None:
        """A write of another replica arrives, and the policy settles it."""
        shown, arrived = self._at(op), self._named(op.dot or "", op.key)
        if arrived is None:
            self._doubt("missing", f"the write {op.dot} of {op.key}, which reached {op.replica}, is not in the history")
            return
        kind = op.note.partition(";")[0]
        theirs = self.found.seen[arrived]
        live = tuple(write for dot in op.live if (write := self._named(dot, op.key)) is not None) or shown.live
        if kind == "kept both":
            shown.has_siblings = True
            if live != shown.live:
                shown.seen = _union(self.found.seen[write] for write in live)
        elif kind != "nothing new":
            shown.seen |= theirs
            shown.has_siblings = shown.has_siblings and kind != "newer"
            live = (arrived,) if kind == "newer" and op.made is None else live
        self._show(op, shown, op.made, live)
        if op.dropped and len(live) == 1 and not shown.has_siblings and op.key not in self._disagree:
            for dot in op.dropped:
                lost = self._named(dot, op.key)
                if lost is not None and lost != live[0]:
                    self._follows(lost, live[0])

    def _named(self, dot: str, key: str) -> int | None:
        return self._given.get(key) if dot.startswith(f"{GIVEN}:") else self._dots.get(dot)

    def _follows(self, before: int, write: int) -> None:
        self._after.setdefault(before, {})[write] = None
        self.found.after[before] = tuple(self._after[before])

    def doubt_unordered(self) -> None:
        """Doubt each key of whose writes the order is not known from first to last."""
        for key, writes in self.found.writes.items():
            waits = dict.fromkeys(writes, 0)
            for write in writes:
                for later in self.found.after[write]:
                    waits[later] += 1
            ready = [write for write in writes if not waits[write]]
            while len(ready) == 1:
                before = ready.pop()
                for later in self.found.after[before]:
                    waits[later] -= 1
                    ready += [later] if not waits[later] else []
            if ready or any(waits.values()):
                told = f"{key} was written on two replicas at once, and the history does not say which write comes first"
                self._doubt("unordered", told)


def _union(masks: Iterable[int]) -> int:
    seen = 0
    for mask in masks:
        seen |= mask
    return seen
