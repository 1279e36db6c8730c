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
        graph: the edges that come of what was seen and replaced.
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
            for place, writes in self._listed(looks, before=True):
                yield from ((place, w) for w in writes if of[w] == source)
        elif kind == RW:
            for place in looks:
                yield from ((place, s) for s in self.overwritten(place) if of[s] == target)
        elif kind == PRW:
            for place, writes in self._listed(looks, before=False):
                yield from ((place, w) for w in writes if of[w] == target)
        else:
            yield self.members[source][-1], self.members[target][0]

    def _listed(self, looks: Iterable[int], before: bool) -> Iterator[tuple[int, Iterable[int]]]:
        """The lists among some looks, with what came and went under the prefix before each (the last first), or after it."""
        for place in looks:
            if (listing := self.observed.listings.get(place)) is not None:
                changes = self.observed.changes[listing.prefix]
                places = range(listing.number - 1, -1, -1) if before else range(listing.number, len(changes))
                yield place, map(changes.__getitem__, places)

    def order(self, realtime: bool) -> Iterator[tuple[int, int, int]]:
        """The edges that come of the time at which something was done: source, target, kind.

        Args:
            realtime: whether a transaction that ended before another began must come before it, whoever did it.
        """
        for numbers in self.transactions.by_agent():
            yield from ((earlier, later, SESSION) for earlier, later in self.transactions.precedence(numbers))
        if realtime:
            everything = range(len(self.members))
            yield from ((earlier, later, REALTIME) for earlier, later in self.transactions.precedence(everything))

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


def dependencies(observed: Observed, unit: Unit = "transaction") -> Dependencies:
    """The dependency graph between the transactions of a history.

    Args:
        observed: what each operation saw, replaced and made.
        unit: what is taken as one transaction: `transaction`, or all the work of an `agent`.
    """
    groups = transactions(observed, unit)
    found = Dependencies(groups, Graph(len(groups.members)))
    builder = _Builder(found)
    for number, places in enumerate(groups.members):
        if not groups.aborted[number]:
            builder.add(number, places)
    _listed(found)
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
    """Edges of lists: after all that was created and deleted before, and before all that is created or deleted later."""
    graph = found.graph
    rows: dict[str, tuple[list[int], list[int]]] = {}
    for place, (prefix, done) in found.observed.listings.items():
        number = found.of[place]
        if not found.transactions.aborted[number]:
            if prefix not in rows:
                changed = [found.of[write] for write in found.observed.changes[prefix]]
                rows[prefix] = _row(graph, changed, before=True), _row(graph, changed, before=False)
            before, after = rows[prefix]
            if done:
                graph.add(before[done - 1], number, FREE)
            if done < len(after):
                graph.add(number, after[done], PRW)


def _row(graph: Graph, numbers: Iterable[int], before: bool) -> list[int]:
    """A helper node for each of some transactions, which leads to the next helper.

    Args:
        graph: where.
        numbers: the transactions.
        before: whether each transaction leads to its helper, as what was seen by what follows; else the helper leads to it.
    """
    row: list[int] = []
    for number in numbers:
        node = graph.node()
        if before:
            graph.add(number, node, WR)
        else:
            graph.add(node, number, FREE)
        if row:
            graph.add(row[-1], node, FREE)
        row.append(node)
    return row
