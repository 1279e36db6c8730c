"""From facts to a history: moments become whole numbers, writes get the versions that are certain, operations their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, product

from commonboard.history import GIVEN, WRITES, History, Operation
from commonboard.recording.certain import BEFORE, Cluster, KeyOrder, Segments, Span
from commonboard.recording.facts import Fact, Moment, Recording, Shown
from commonboard.recording.order import Placed, in_order

_LOOKS = ("read", "list")


@dataclass(slots=True)
class Told:
    """A history, and how it was come by.

    Attributes:
        history: what happened.
        doubts: why some versions are not known.
        operations: by fact, the operation that it became.
        numbers: by moment, its whole number.
    """

    history: History
    doubts: list[str] = field(default_factory=list)
    operations: dict[Fact, Operation] = field(default_factory=dict)
    numbers: dict[Moment, int] = field(default_factory=dict)


def tell(recordings: Sequence[Recording], agents: Iterable[str] = (), moments: Iterable[Moment] = ()) -> Told:
    """The history that the facts tell, of one recorder or of several around the same store.

    Args:
        agents: the names of the lanes, in order.
        moments: further moments to number.
    """
    return _Teller(recordings, agents, moments).told()


def histories(recordings: Sequence[Recording], agents: Iterable[str] = (), limit: int = 1000) -> Iterator[Told]:
    """One history for each order of overlapping writes that the facts allow, at most `limit`."""
    teller = _Teller(recordings, agents, ())
    keys = list(teller.keys.values())
    for chosen in islice(product(*(islice(key.orders(limit), limit + 1) for key in keys)), limit):
        for key, segments in zip(keys, chosen, strict=True):
            key.number(segments)
        yield teller.told(dict(zip(teller.keys, chosen, strict=True)))


class _Teller:
    def __init__(self, recordings: Sequence[Recording], agents: Iterable[str], moments: Iterable[Moment]) -> None:
        self._agents = list(agents)
        facts = [fact for recording in recordings for fact in recording.facts if not fact.forgotten]
        self._facts = [fact for fact in facts if fact.answered is not None or fact.kind not in _LOOKS]
        every = {moment for fact in self._facts for moment in (fact.called, fact.answered) if moment is not None}
        begins = {fact.called for fact in self._facts}
        self._numbers = _numbered(every.union(moments), begins)
        self._last = len(self._numbers) + 1
        self._origin = min((moment.seconds for moment in every), default=0.0)
        self._until = max((moment.seconds for moment in every), default=0.0)
        self._erased = {(fact.key, fact.made) for fact in self._facts if fact.versioned and not fact.knows}
        self.keys = self._key_orders()

    def _key_orders(self) -> dict[str, KeyOrder]:
        """The keys of a store without versions."""
        writes: dict[str, list[Span]] = {}
        looks: dict[str, list[Span]] = {}
        lists, clears = [], []
        for fact in self._facts:
            if fact.versioned or not fact.ok:
                continue
            span = Span(fact, self._numbers[fact.called], self._number(fact.answered))
            if fact.kind in WRITES:
                if fact.note == "clear":
                    clears.append(span)
                else:
                    writes.setdefault(fact.key, []).append(span)
            elif fact.kind == "list":
                lists.append((span, {shown.key: shown for shown in fact.shown}))
            elif fact.kind == "read":
                span.shown = fact.shown[0]
                looks.setdefault(fact.key, []).append(span)
        listed = (key for _, shown in lists for key in shown)
        orders = {}
        for key in dict.fromkeys([*writes, *looks, *listed]):
            mine = [*writes.get(key, []), *clears]
            for span, shown in lists:
                looks.setdefault(key, []).append(Span(span.fact, span.begin, span.end, shown.get(key, Shown(key, None, None))))
            orders[key] = KeyOrder(key, sorted(mine, key=lambda one: one.begin), looks.get(key, []))
        return orders

    def _number(self, moment: Moment | None) -> int | None:
        return None if moment is None else self._numbers[moment]

    # --- operations ---

    def told(self, segments: dict[str, Segments] | None = None) -> Told:
        """The history; in the order that `segments` gives for each key, if any."""
        found: list[Placed] = []
        operations: dict[Fact, Operation] = {}
        for fact in self._facts:
            for op, version in self._operations(fact):
                operations[fact] = op
                found.append(Placed(op, fact.seq, version, fact))
        given = [before for key in self.keys.values() if (before := self._given(key)) is not None]
        given += self._given_versions()
        orders = {key: segments[key] if segments else order.segments for key, order in self.keys.items()}
        ops = [*given, *(placed.operation for placed in in_order(found, orders, self.keys))]
        for index, op in enumerate(ops):
            op.index = index
        doubts = [key.doubt for key in self.keys.values() if key.doubt]
        return Told(History(ops, self._agents), doubts, operations, self._numbers)

    def _operations(self, fact: Fact) -> Iterator[tuple[Operation, int | None]]:
        """The operations that a fact stands for, each with the version that it saw or made on a store that told it."""
        if fact.hidden:
            return
        if fact.versioned:
            op = self._operation(fact, fact.key)
            op.saw, op.replaced, op.made = fact.saw, fact.replaced, fact.made if fact.knows else None
            if fact.kind == "read" and (fact.key, fact.saw) in self._erased:
                op.saw = None
            yield op, fact.made if fact.kind in WRITES else fact.saw
        elif fact.note == "clear":
            for key, order in self.keys.items():
                cluster = order.clusters.get(fact)
                if cluster is None or not cluster.empty:
                    yield self._write(fact, key, order, cluster), None
        elif fact.kind in WRITES:
            mine = self.keys.get(fact.key)
            cluster = None if mine is None else mine.clusters.get(fact)
            if cluster is None or not cluster.empty:
                yield self._write(fact, fact.key, mine, cluster), None
        else:
            op = self._operation(fact, fact.key)
            if fact.kind == "read":
                op.saw = self._read(fact)
            yield op, None

    def _operation(self, fact: Fact, key: str) -> Operation:
        op = Operation(-1, fact.agent, fact.kind, key, fact.text, fact.encoding, fact.type_tag)
        op.ok, op.reason, op.note, op.tokens = fact.ok, fact.reason, fact.note, fact.tokens
        op.transaction = fact.transaction
        op.begin, op.began_at = self._numbers[fact.called], fact.called.seconds - self._origin
        answered = fact.answered
        op.acknowledged = answered is not None or fact.kind == "think"
        op.end = self._last if answered is None else self._numbers[answered]
        op.ended_at = (self._until if answered is None else answered.seconds) - self._origin
        return op

    def _write(self, fact: Fact, key: str, order: KeyOrder | None, cluster: Cluster | None) -> Operation:
        op = self._operation(fact, key)
        op.saw = None if fact.rests_on is None else self._version(fact.rests_on, key)
        if order is None or cluster is None or not fact.ok or cluster.made is None:
            return op
        op.replaced, op.made = cluster.made - 1, cluster.made if self._is_known(fact, key) else None
        if fact.kind == "compare-and-set" and fact.rests_on is None:
            op.saw = op.replaced  # whoever names the text that must be there rests on it
        return op

    def _is_known(self, fact: Fact, key: str) -> bool:
        """Whether it is known what the caller of a write had seen; if not, its version is not told, so no check is misled."""
        if fact.kind == "compare-and-set" and fact.rests_on is None:
            return True
        return fact.knows and (fact.rests_on is None or self._version(fact.rests_on, key) is not None)

    def _version(self, fact: Fact, key: str) -> int | None:
        """The version of a key that a fact saw or made, if that is certain."""
        order = self.keys.get(key)
        cluster = None if order is None else order.clusters.get(fact)
        return None if cluster is None else cluster.version

    def _read(self, fact: Fact) -> int | None:
        """The version that a read saw, if it is certain and the write that made it has it."""
        cluster = self.keys[fact.key].clusters.get(fact)
        write = None if cluster is None or cluster.made is None else cluster.write
        return None if write is not None and not self._is_known(write.fact, fact.key) else self._version(fact, fact.key)

    def _given(self, order: KeyOrder) -> Operation | None:
        """What was there before, if it was seen."""
        before = order.before
        if before.version is None or before.text is None:
            return None
        return _before(order.key, before.text, *before.markers, before.version)

    def _given_versions(self) -> Iterator[Operation]:
        """The same on a store that tells versions: what was read, and was there before the first write of the record."""
        first: dict[str, int] = {}
        for fact in self._facts:
            if fact.versioned and fact.made is not None and fact.replaced is not None:
                first[fact.key] = min(first.get(fact.key, fact.replaced), fact.replaced)
        read: dict[str, dict[int, Fact]] = {}
        for fact in self._facts:
            if fact.versioned and fact.kind == "read" and fact.saw is not None and fact.saw <= first.get(fact.key, fact.saw):
                read.setdefault(fact.key, {})[fact.saw] = fact
        for key, seen in read.items():
            (version, fact), *more = seen.items()
            if not more and fact.text is not None and version == first.get(key, version):
                yield _before(key, fact.text, fact.encoding, fact.type_tag, version)


def _before(key: str, text: str, encoding: str | None, type_tag: str | None, version: int) -> Operation:
    op = Operation(-1, GIVEN, "write", key, text, encoding, type_tag)
    op.replaced, op.made, op.begin, op.end = version - 1, version, BEFORE, BEFORE
    return op


def _numbered(moments: Iterable[Moment], begins: set[Moment]) -> dict[Moment, int]:
    """Whole numbers for moments. Of what two recorders note at the same time, calls come before answers: they overlapped."""
    numbers: dict[Moment, int] = {}
    ordered = sorted(moments, key=lambda moment: (moment.seconds, moment.recorder, moment.tick))
    for _, together in groupby(ordered, key=lambda moment: moment.seconds):
        queues = [list(queue)[::-1] for _, queue in groupby(together, key=lambda moment: moment.recorder)]
        while queues:
            queue = next((queue for queue in queues if queue[-1] in begins), queues[0])
            numbers[queue.pop()] = len(numbers)
            queues = [queue for queue in queues if queue]
    return numbers
