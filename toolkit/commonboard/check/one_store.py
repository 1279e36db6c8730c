"""What each operation saw, replaced and made, on one store: a write is known by its key and version.

Versions give the order of the writes of a key. A key without an entry has a version too; where no write of the history made it,
it stands for what was there before, or for the delete before it. A list shows each key as it was at that place in the history,
since operations stand in the order in which they took effect.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from commonboard.check.observed import Listing, Observed, Places, blank
from commonboard.history import GIVEN, WRITES, Operation


def on_one_store(operations: list[Operation]) -> Observed:
    """What each operation of a history of one store saw, replaced and made."""
    return _OneStore(operations).found


class _OneStore:
    """Reads a history of one store: first its writes, then its looks, then its lists."""

    def __init__(self, operations: list[Operation]) -> None:
        self.found = blank(operations, replicated=False)
        self._operations = operations
        self._made: dict[str, dict[int, int]] = {}
        self._alone: list[Places] = [()] * len(operations)
        self._rolled_back: dict[tuple[str, int], int] = {}
        self._attested: set[tuple[str, int | None]] | None = None
        self._read_writes()
        self._order_writes()
        self._read_looks()
        if any(op.kind == "list" for op in operations):
            self._read_lists()

    def _doubt(self, sort: str, sentence: str) -> None:
        self.found.doubts.setdefault(sort, sentence)

    def _read_writes(self) -> None:
        made = self._made
        for place, op in enumerate(self._operations):
            if op.kind not in WRITES:
                continue
            version = op.made
            if version is None:
                if op.ok and op.agent != GIVEN:
                    self._doubt("no versions", f"the store keeps no versions, so nobody knows what {op.agent} made of {op.key}")
            elif not op.ok:
                self._rolled_back[op.key, version] = place
            elif op.key not in made:
                made[op.key] = {version: place}
            elif made[op.key].setdefault(version, place) != place:
                self._doubt("made twice", f"version {version} of {op.key} was made twice, so nobody knows which one was read")

    def _order_writes(self) -> None:
        found, operations = self.found, self._operations
        for key, made in self._made.items():
            versions = list(made)
            if any(later < earlier for earlier, later in pairwise(versions)):
                versions.sort()
                made = self._made[key] = {version: made[version] for version in versions}
            places = found.writes[key] = list(made.values())
            alone = self._alone
            found.first[key] = before = alone[places[0]] = (places[0],)
            found.number[places[0]] = 0
            for number in range(1, len(places)):
                place = places[number]
                replaced, previous = operations[place].replaced, versions[number - 1]
                if replaced != previous and replaced is not None and not self._is_absence(places[number - 1], replaced):
                    who = operations[place].agent
                    self._doubt("missing", f"version {replaced} of {key}, which {who} replaced, is not in the history")
                found.number[place] = number
                found.replaced[place] = before
                found.after[before[0]] = before = alone[place] = (place,)

    def _is_absence(self, before: int, version: int) -> bool:
        """Whether a version can be that of the absence after a delete: it was raised when the board was cleared or compacted."""
        op = self._operations[before]
        return op.text is None and op.made is not None and version > op.made

    def _read_looks(self) -> None:
        saw, made, operations, alone = self.found.saw, self._made, self._operations, self._alone
        none: dict[int, int] = {}
        for place, op in enumerate(operations):
            version = op.saw
            if version is None:
                if op.kind == "read":
                    self._doubt("no version read", f"nobody knows which version of {op.key} {op.agent} read")
                continue
            if not op.ok:
                continue
            write = made.get(op.key, none).get(version)
            if write is None:
                saw[place] = self._elsewhere(place, op, version)
                continue
            saw[place] = alone[write]
            if op.kind == "read" and op.text is not None and op.text != operations[write].text:
                saw[place] = self._differs(place, op, version)

    def _elsewhere(self, place: int, op: Operation, version: int) -> Places | None:
        """What is meant by a version that no write made."""
        rolled_back = self._rolled_back.get((op.key, version))
        if rolled_back is not None:
            return (rolled_back,)
        versions = list(self._made.get(op.key, ()))
        number = bisect_right(versions, version)
        if number == 0:
            if versions and version < (self._operations[self.found.writes[op.key][0]].replaced or 0):
                self._doubt("missing", f"version {version} of {op.key}, which {op.agent} had read, is not in the history")
            return ()
        before = self.found.writes[op.key][number - 1]
        if self._is_absence(before, version) and (op.kind != "read" or op.text is None):
            return (before,)
        if op.kind != "read" or self._was_there(op.key, version):
            self._doubt("missing", f"version {version} of {op.key}, which {op.agent} had read, is not in the history")
        else:
            self.found.garbage.append((place, f"read version {version} of {op.key}, which nobody made"))
        return None

    def _was_there(self, key: str, version: int) -> bool:
        if self._attested is None:
            self._attested = {(op.key, op.replaced) for op in self._operations}
        return (key, version) in self._attested

    def _differs(self, place: int, op: Operation, version: int) -> Places | None:
        rolled_back = self._rolled_back.get((op.key, version))
        if rolled_back is not None and self._operations[rolled_back].text == op.text:
            return (rolled_back,)
        told = f"read {op.text} as version {version} of {op.key}, which is not what was written as that version"
        self.found.garbage.append((place, told))
        return None

    def _read_lists(self) -> None:
        found = self.found
        under_it = {op.key: _Prefix() for op in self._operations if op.kind == "list"}
        found.changes = {prefix: [] for prefix in under_it}
        for place, op in enumerate(self._operations):
            if op.kind == "list":
                self._read_list(place, op, under_it[op.key])
            elif op.is_write:
                for prefix in _prefixes(op.key):
                    if prefix in under_it and under_it[prefix].wrote(op, place):
                        found.changes[prefix].append(place)

    def _read_list(self, place: int, op: Operation, there: _Prefix) -> None:
        shown: list[str] = op.value or []
        # A transaction's list shows its snapshot, and may stand in the history after something that came later.
        is_late = op.transaction is not None and there.last_end > op.end
        if there.newest.keys() != set(shown) or is_late or op.note:
            told = f"the list of {op.key or 'everything'} by {op.agent} shows other keys than there were at that place"
            self._doubt("list", f"{told}, or may do so (one page of it does), and nobody knows what it rests on")
            return
        self.found.saw[place] = tuple(there.newest[key] for key in shown)
        self.found.listings[place] = Listing(op.key, len(self.found.changes[op.key]))


class _Prefix:
    """The keys that are there under a prefix, with the newest write of each; and when the last write of any ended."""

    def __init__(self) -> None:
        self.newest: dict[str, int] = {}
        self.last_end = 0

    def wrote(self, op: Operation, place: int) -> bool:
        """Note a write; says whether it created or deleted its key."""
        is_delete, was_there = op.text is None, op.key in self.newest
        self.last_end = max(self.last_end, op.end)
        if is_delete:
            self.newest.pop(op.key, None)
        else:
            self.newest[op.key] = place
        return is_delete == was_there


def _prefixes(key: str) -> list[str]:
    """Every prefix that the key lies under, as `list` may be asked for it."""
    cuts = [place for place, letter in enumerate(key) if letter == "/"]
    return list(dict.fromkeys(["", *(key[: cut + more] for cut in cuts for more in (0, 1)), key]))
