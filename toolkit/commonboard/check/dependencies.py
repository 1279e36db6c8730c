"""The graph of what must come before what between the transactions of a history.

T1 comes before T2 where T2 replaced or saw what T1 wrote, and where T1 saw what T2 replaced. In a transaction of one operation, a
write that says what its writer `saw` is a read of that too, so that an update is {read, write}.

The versions are recorded, so every edge is a fact of the history (Adya, 1999): nobody has to search for an order of the
versions, and there are about as many edges as the history has looks and writes, whatever the order they happened in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from commonboard.check.graph import FREE, PRW, REALTIME, RW, SESSION, WR, WW, Graph, Step
from commonboard.check.observed import Observed, Places
from commonboard.check.transactions import Transactions, Unit, transactions
from commonboard.history import WRITES, Operation


class LostUpdate(NamedTuple):
    """A write over what its transaction had not seen, though it had looked at the key.

    Attributes:
        look: the place where it looked: a read, or the write itself where that says what its writer saw.
        base: what it had seen.
        victim: the write that it replaced unseen.
        write: the write.
    """

    look: int
    base: Places
    victim: int
    write: int


@dataclass(slots=True)
class Dependencies:
    """The transactions, the graph between them, and what is wrong already without a cycle.

    Attributes:
        transactions: the transactions.
        graph: the edges.
        lost: lost updates.
        aborted_reads: reads of what was rolled back, or undone by a crash, with that write.
        intermediate: reads of what its own transaction wrote over, with that write.
        misread: reads and writes of a transaction that disagree with a write of its own, with that write.
    """

    transactions: Transactions
    graph: Graph
    lost: list[LostUpdate] = field(default_factory=list)
    aborted_reads: list[tuple[int, int]] = field(default_factory=list)
    intermediate: list[tuple[int, int]] = field(default_factory=list)
    misread: list[tuple[int, int]] = field(default_factory=list)

    @property
    def observed(self) -> Observed:
        """What each operation saw, replaced and made."""
        return self.transactions.observed

    @property
    def of(self) -> list[int]:
        """By place of an operation, the number of its transaction."""
        return self.transactions.of

    @property
    def members(self) -> list[list[int]]:
        """By transaction, the places of its operations."""
        return self.transactions.members

    @property
    def operations(self) -> Sequence[Operation]:
        """The operations of the history."""
        return self.observed.operations

    def counts(self, place: int) -> bool:
        """Whether an operation is a look: a read, a list, or a write outside a transaction that says what its writer saw."""
        op = self.operations[place]
        return op.transaction is None or op.kind not in WRITES

    def reasons(self, step: Step) -> Iterator[tuple[int, int]]:
        """The operations that make an edge: one of each transaction, the write that was seen or replaced last."""
        source, target, kind = step
        seen, after, of = self.observed.saw, self.observed.after, self.of
        looks = [place for place in self.members[target if kind == WR else source] if self.counts(place)]
        if kind == WW:
            found = ((w, s) for w in self.members[source] for s in after[w] if of[s] == target)
            yield from found
        elif kind == WR:
            yield from ((place, w) for place in looks for w in seen[place] or () if of[w] == source)
            listed = {listing.place: listing for listing in self.observed.listings}
            for place in looks:
                yield from ((place, w) for w in (listed[place].rests_on if place in listed else ()) if of[w] == source)
        elif kind == RW:
            for place in looks:
                yield from ((place, s) for s in self.overwritten(place) if of[s] == target)
        elif kind == PRW:
            for listing in self.observed.listings:
                if of[listing.place] == source:
                    later = self.observed.changes[listing.prefix][listing.number :]
                    yield from ((listing.place, w) for w in later if of[w] == target)
        else:
            yield self.members[source][-1], self.members[target][0]

    def overwritten(self, place: int) -> Iterator[int]:
        """The writes that took the place of what a look found."""
        seen = self.observed.saw[place]
        rows = [self.observed.after[write] for write in seen or ()]
        if seen == () and self.operations[place].kind != "list":
            rows.append(self.observed.first.get(self.operations[place].key, ()))
        for row in rows:
            yield from (write for write in row if self.is_settled(self.of[place], write, row))

    def is_settled(self, number: int, write: int, row: Places) -> bool:
        """Whether a write that took the place of what a transaction saw says anything, if the transaction's own did so too.

        Two updates made at once on two replicas have not seen each other. That is an anomaly if one of them was dropped; if both
        are kept, it depends on what they mean: those of a CRDT are.
        """
        after = self.observed.after
        own = [mine for mine in row if self.of[mine] == number]
        return all(mine == write or write in after[mine] or mine in after[write] for mine in own)


def dependencies(observed: Observed, unit: Unit = "transaction", realtime: bool = False) -> Dependencies:
    """The dependency graph between the transactions of a history.

    Args:
        observed: what each operation saw, replaced and made.
        unit: what is taken as one transaction: `transaction`, or all the work of an `agent`.
        realtime: whether a transaction that ended before another began must come before it.
    """
    groups = transactions(observed, unit)
    found = Dependencies(groups, Graph(len(groups.members)))
    builder = _Builder(found)
    for number, places in enumerate(groups.members):
        if not groups.aborted[number]:
            builder.add(number, places)
    _listed(found)
    for numbers in groups.by_agent():
        for earlier, later in groups.precedence(numbers):
            found.graph.add(earlier, later, SESSION)
    if realtime:
        for earlier, later in groups.precedence(range(len(groups.members))):
            found.graph.add(earlier, later, REALTIME)
    return found


class _Builder:
    """Adds the edges that each transaction's looks and writes make, and notes what is wrong with them."""

    def __init__(self, found: Dependencies) -> None:
        self._found = found
        self._observed = found.observed
        self._of = found.of
        self._after = found.observed.after
        self._numbers = found.observed.number
        self._targets, self._kinds = found.graph.targets, found.graph.kinds
        self._overwritten = found.transactions.overwritten

    def add(self, number: int, places: list[int]) -> None:
        """Add the edges of one transaction, operation by operation."""
        observed, numbers = self._observed, self._numbers
        looked: dict[str, tuple[int, Places]] = {}
        own: dict[str, int] = {}
        for place in places:
            op, seen = observed.operations[place], observed.saw[place]
            key, is_write = op.key, numbers[place] >= 0
            if seen is not None and (not is_write or op.transaction is None):
                self._look(number, place, seen)
                if op.kind == "list":
                    looked.update((observed.operations[write].key, (place, (write,))) for write in seen)
                else:
                    if not seen:
                        self._before(number, observed.first.get(key, ()))
                    if own and not is_write:
                        self._check_own(place, own.get(key))
                    looked[key] = (place, seen)
            if is_write:
                self._wrote(number, place)
                look = looked.get(key)
                if look is not None:  # who never looked writes blindly, also over what it wrote itself
                    if look[1] != observed.replaced[place]:
                        self._check_lost(place, look)
                    looked[key] = (place, (place,))
                own[key] = place

    def _look(self, number: int, place: int, seen: Places) -> None:
        of, numbers, lost, overwritten = self._of, self._numbers, self._observed.lost, self._overwritten
        for write in seen:
            writer = of[write]
            if writer != number:
                if numbers[write] < 0 or write in lost:
                    self._found.aborted_reads.append((place, write))
                else:
                    self._targets[writer].append(number)
                    self._kinds[writer].append(WR)
                if overwritten[write]:
                    self._found.intermediate.append((place, write))
                    later = tuple(later for later in self._after[write] if of[later] != writer)  # that one is told so
                    self._before(number, later)
                    continue
            elif write > place:
                self._found.misread.append((place, write))
            self._before(number, self._after[write])

    def _before(self, number: int, row: Places) -> None:
        """A transaction comes before the writes that took the place of what it saw."""
        for later in row:
            other = self._of[later]
            if other != number and (len(row) == 1 or self._found.is_settled(number, later, row)):
                self._targets[number].append(other)
                self._kinds[number].append(RW)

    def _wrote(self, number: int, place: int) -> None:
        for later in self._after[place]:
            other = self._of[later]
            if other != number:
                self._targets[number].append(other)
                self._kinds[number].append(WW)
            elif later < place:  # in the end, its later write comes before its earlier one
                self._found.misread.append((place, later))

    def _check_own(self, place: int, own: int | None) -> None:
        """A transaction must see its own writes."""
        if own is not None and not self._observed.covers(place, own):
            self._found.misread.append((place, own))

    def _check_lost(self, place: int, look: tuple[int, Places]) -> None:
        """Whether a write took the place of one that its transaction had not seen."""
        where, base = look
        knew = self._observed.covers if base == (where,) else self._observed.had_seen
        for victim in self._observed.replaced[place]:
            if self._of[victim] != self._of[place] and not knew(where, victim):
                self._found.lost.append(LostUpdate(where, base, victim, place))


def _listed(found: Dependencies) -> None:
    """Edges of lists: on what was created and deleted before; and before all that is created or deleted later."""
    of, graph = found.of, found.graph
    rows: dict[str, list[int]] = {}
    for listing in found.observed.listings:
        number = of[listing.place]
        if found.transactions.aborted[number]:
            continue
        for write in listing.rests_on:
            if of[write] != number:
                graph.add(of[write], number, WR)
        if listing.prefix not in rows:
            rows[listing.prefix] = _row(found, found.observed.changes[listing.prefix])
        if listing.number < len(rows[listing.prefix]):
            graph.add(number, rows[listing.prefix][listing.number], PRW)


def _row(found: Dependencies, writes: Iterable[int]) -> list[int]:
    """A helper node for each write, which leads to its transaction and to the next helper."""
    row: list[int] = []
    for write in writes:
        node = found.graph.node()
        found.graph.add(node, found.of[write], FREE)
        if row:
            found.graph.add(row[-1], node, FREE)
        row.append(node)
    return row
