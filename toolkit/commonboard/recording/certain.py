"""In which order the writes of one key happened, on a store that does not tell: as far as that is certain, and no further.

Each call took effect at one moment between its call and its answer. By its mark, a look says which write it saw. So a write
and the looks that saw it belong together: no other write came in between. Call that a block. If anything of one block was
answered before something of another was called, the whole first block came before the second. These are all the orders that
the record enforces (Gibbons and Korach, "Testing shared memories", 1997): whatever it leaves open may have been either way.

A compare-and-set that succeeded says also what was there before it; where only one write can have put that there, the two
are one block.

Versions are counted along the order: a write whose place in it is certain has one, another has none. What was there before
the record has version 0 if it was nothing, and 1 if it was something.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise, product

from commonboard.recording.facts import Fact, Shown

BEFORE = -1
"""The moment of all that was there before."""


@dataclass(slots=True, eq=False)
class Span:
    """A call that a key was part of: when, in whole numbers; `end` is `None` where there was no answer.

    Attributes:
        shown: for a look, what it showed of this key.
    """

    fact: Fact
    begin: int
    end: int | None
    shown: Shown | None = None


@dataclass(slots=True, eq=False)
class Cluster:
    """One write, or what was there before; with the looks that saw it.

    Attributes:
        write: the write; `None` for what was there before.
        text: what it left: `None` for nothing.
        known: whether the text is known, as it is of every write.
        end: when it was answered, or first seen; infinite if neither.
        first_end, last_begin: of it and its looks together: when the first was answered, when the last was called.
        next: what certainly replaced it.
        version: the version of what is there after it, if that is certain.
        made: the same, if it is certain that the write made it.
        empty: whether it changed nothing: the delete of what was not there.
        markers: the encoding and the type of what was there before.
    """

    write: Span | None
    text: str | None
    known: bool = True
    begin: int = BEFORE
    end: float = BEFORE
    first_end: float = BEFORE
    last_begin: int = BEFORE
    looks: list[Span] = field(default_factory=list)
    next: Cluster | None = None
    version: int | None = None
    made: int | None = None
    empty: bool = False
    markers: tuple[str | None, str | None] = (None, None)

    def attach(self, look: Span) -> None:
        self.looks.append(look)
        self.first_end = min(self.first_end, look.end or 0)
        self.last_begin = max(self.last_begin, look.begin)


@dataclass(slots=True, eq=False)
class Block:
    """Clusters of which each certainly follows on the one before."""

    clusters: list[Cluster]
    first_end: float = 0.0
    last_begin: int = BEFORE

    def __post_init__(self) -> None:
        self.first_end = min(cluster.first_end for cluster in self.clusters)
        self.last_begin = max(cluster.last_begin for cluster in self.clusters)

    def precedes(self, other: Block) -> bool:
        """Whether real time says so."""
        return self.first_end < other.last_begin


class Unclear(Exception):
    """What was read does not fit any order, or somebody wrote around the recorder."""


Segments = list[list[Block]]
"""All of a segment came before all of the next; in a segment of several blocks the order is not wholly known."""


class KeyOrder:
    """What is certain of one key.

    Args:
        key: the key.
        writes: the calls that may have changed it, in the order of their calls.
        looks: the answered looks at it.

    Attributes:
        doubt: why some versions are not known; empty if all are.
        before: what was there before.
        clusters: by fact, what a write made or a look saw, where that is known.
        segments: the order.
    """

    def __init__(self, key: str, writes: Sequence[Span], looks: Sequence[Span]) -> None:
        self.key = key
        self.doubt = ""
        self.before = Cluster(None, None, known=False)
        self.clusters: dict[Fact, Cluster] = {}
        self.segments: Segments = []
        try:
            self._see(writes, looks)
            self.segments = _segments(self._blocks())
        except Unclear as why:
            self.doubt = f"{why}, so the versions of {key!r} are not known"
            self.clusters.clear()
            return
        self.number(self.segments)

    # --- who saw what ---

    def _see(self, writes: Sequence[Span], looks: Sequence[Span]) -> None:
        every = [Cluster(w, w.fact.text, True, w.begin, _end(w), _end(w), w.begin) for w in writes]
        marks = {cluster.write.fact.mark: cluster for cluster in every if cluster.write is not None}
        for look in looks:
            shown = look.shown
            if shown is not None and shown.text is not None:
                self._attach(look, marks[shown.mark] if shown.mark in marks else self._outside(shown))
        done = _Done(writes)
        makers = [cluster for cluster in every if cluster.text is None]
        for look in looks:
            if look.shown is not None and look.shown.text is None:
                self._see_nothing(look, makers, done)
        happened = [c for c in every if c.write is not None and (c.write.end is not None or c.looks)]
        self.clusters |= {c.write.fact: c for c in happened if c.write is not None}
        self._chain(happened, done)

    def _attach(self, look: Span, cluster: Cluster) -> None:
        if cluster.begin > (look.end or 0):
            raise Unclear(f"{look.fact.agent} read what was only written afterwards")
        cluster.attach(look)
        cluster.end = min(cluster.end, look.end or 0)
        self.clusters[look.fact] = cluster

    def _outside(self, shown: Shown) -> Cluster:
        """What no recorded write made was there before; more than one such thing means that others write."""
        before = self.before
        if before.known and before.text != shown.text:
            raise Unclear("what was read was written by nobody in the record")
        before.text, before.known, before.markers = shown.text, True, (shown.encoding, shown.type_tag)
        return before

    def _see_nothing(self, look: Span, makers: Iterable[Cluster], done: _Done) -> None:
        before = self.before
        possible = [before] if before.text is None else []
        possible += makers
        found = [c for c in possible if c.begin <= (look.end or 0) and c.end >= done.last_begin(look.begin)]
        if not found:
            raise Unclear(f"{look.fact.agent} found nothing, and nobody had deleted it")
        if len(found) == 1:
            before.known = before.known or found[0] is before
            self._attach(look, found[0])

    def _chain(self, happened: Sequence[Cluster], done: _Done) -> None:
        """Tie each compare-and-set to the write that it replaced, where only one can be meant."""
        by_text: dict[str | None, list[Cluster]] = {}
        for cluster in happened:
            by_text.setdefault(cluster.text, []).append(cluster)
        for cluster in happened:
            span = cluster.write
            if span is None or span.fact.kind != "compare-and-set" or span.end is None:
                continue
            text, before = span.fact.expected, self.before
            possible = by_text.get(text, []) + ([before] if not before.known or before.text == text else [])
            since = done.last_begin(span.begin)
            found = [c for c in possible if c is not cluster and c.begin <= span.end and c.end >= since]
            if not found:
                raise Unclear(f"{span.fact.agent} replaced what was written by nobody in the record")
            if len(found) == 1:
                (replaced,) = found
                if replaced.next is not None:
                    raise Unclear(f"two compare-and-sets replaced the same write, the second by {span.fact.agent}")
                replaced.next = cluster
                if replaced is before:
                    before.text, before.known = text, True

    def _blocks(self) -> list[Block]:
        every = [self.before, *(c for fact, c in self.clusters.items() if c.write is not None and c.write.fact is fact)]
        follows = {cluster.next for cluster in every if cluster.next is not None}
        blocks = []
        for cluster in every:
            if cluster not in follows:
                chain = [cluster]
                while (after := chain[-1].next) is not None:
                    if after.first_end < chain[-1].last_begin:
                        raise Unclear("what was read fits no order of the writes")
                    chain.append(after)
                blocks.append(Block(chain))
        if sum(len(block.clusters) for block in blocks) != len(every):
            raise Unclear("each of some compare-and-sets replaced what another of them wrote")
        return blocks

    # --- versions ---

    def number(self, segments: Segments) -> None:
        """Give each write whose place is certain its version.

        A delete counts only where something was there; where that is not known, it gets no version of its own.
        """
        version, there = (1 if self.before.text is not None else 0), self.before.text is not None
        sure = self.before.known
        self.doubt = ""
        for segment in segments:
            if len(segment) > 1:
                self._number_apart(segment, version)
                version += sum(len(block.clusters) for block in segment)
                last = [block.clusters[-1].text is not None for block in segment]
                there, sure = any(last), all(last) or not any(last)
                continue
            for cluster in segment[0].clusters:
                if cluster.write is None:
                    cluster.version = version
                    continue
                counts = cluster.text is not None or (sure and there)
                version += counts
                cluster.version, cluster.made, cluster.empty = version, version if counts else None, sure and not counts
                if not counts and not sure:
                    self.doubt = f"{cluster.write.fact.agent} deleted {self.key!r}, and nobody knows whether anything was there"
                there, sure = cluster.text is not None, True

    def _number_apart(self, segment: list[Block], version: int) -> None:
        after = _reach(segment)
        unsure: dict[str, None] = {}
        for place, block in enumerate(segment):
            before = [other for number, other in enumerate(segment) if after[number] >> place & 1]
            certain = len(before) + after[place].bit_count() == len(segment) - 1
            at = version + sum(len(other.clusters) for other in before)
            for number, cluster in enumerate(block.clusters, 1):
                sure = certain and cluster.text is not None
                cluster.version = cluster.made = at + number if sure else None
                cluster.empty = False
                if not sure and cluster.write is not None:
                    unsure[cluster.write.fact.agent] = None
        if unsure:
            who = " and ".join(unsure)
            self.doubt = f"{who} wrote {self.key!r} at the same time, and nothing tells in which order"

    def orders(self, limit: int) -> Iterator[Segments]:
        """The orders that may have been, one at a time, each with one block a segment: all, or more than `limit` of them."""
        choices = [list(islice(_extensions(segment, _reach(segment)), limit + 1)) for segment in self.segments]
        for chosen in product(*choices):
            yield [[block] for order in chosen for block in order]


class _Done:
    """For a moment, when the last call of a write began that was answered by then: what it replaced is gone since."""

    def __init__(self, writes: Iterable[Span]) -> None:
        answered = sorted((w.end, w.begin) for w in writes if w.end is not None and w.fact.ok)
        self._ends = [end for end, _ in answered]
        self._begins = list(accumulate((begin for _, begin in answered), max))

    def last_begin(self, moment: int) -> int:
        place = bisect_left(self._ends, moment)
        return self._begins[place - 1] if place else BEFORE


def _end(write: Span) -> float:
    return float("inf") if write.end is None else write.end


def _segments(blocks: list[Block]) -> Segments:
    """The blocks in an order that fits, cut where all before certainly came before all after.

    Two blocks of which real time says that one came first have sums of `first_end` and `last_begin` in that order, unless
    it also says the opposite.
    """
    blocks.sort(key=lambda block: block.first_end + block.last_begin)
    _check_order(blocks)
    segments: Segments = []
    latest_end = list(accumulate((block.first_end for block in blocks), max))
    earliest_begin = list(accumulate((block.last_begin for block in reversed(blocks)), min))[::-1]
    start = 0
    for place in range(1, len(blocks) + 1):
        if place == len(blocks) or latest_end[place - 1] < earliest_begin[place]:
            segments += _split(blocks[start:place])
            start = place
    return segments


def _split(segment: list[Block]) -> Segments:
    """Cut further where one comes before another only by way of a third."""
    after = _reach(segment)
    parts: Segments = [[]]
    for place, block in enumerate(segment):
        parts[-1].append(block)
        rest = (1 << len(segment)) - (2 << place)
        if rest and all(after[number] & rest == rest for number in range(place + 1)):
            parts.append([])
    return parts


def _check_order(blocks: list[Block]) -> None:
    """Whether no two blocks each came before the other.

    Of a block with `first_end < last_begin` it is certain that it was there all that time; so no other may have been there
    at the same time, nor both have begun and ended within.
    """
    held = sorted((block.first_end, block.last_begin) for block in blocks if block.first_end < block.last_begin)
    if any(later[0] < earlier[1] for earlier, later in pairwise(held)):
        raise Unclear("what was read fits no order of the writes")
    starts = [start for start, _ in held]
    for block in blocks:
        if block.first_end >= block.last_begin:
            place = bisect_left(starts, block.last_begin) - 1
            if place >= 0 and block.first_end < held[place][1]:
                raise Unclear("what was read fits no order of the writes")


def _reach(segment: list[Block]) -> list[int]:
    """For each block, as bits, which others certainly came after it. A block precedes only blocks that stand after it."""
    after = [0] * len(segment)
    for place in range(len(segment) - 1, -1, -1):
        for later in range(place + 1, len(segment)):
            if not after[place] >> later & 1 and segment[place].precedes(segment[later]):
                after[place] |= 1 << later | after[later]
    return after


def _extensions(segment: list[Block], after: list[int]) -> Iterator[list[Block]]:
    if len(segment) < 2:
        yield list(segment)
        return
    for place, block in enumerate(segment):
        if any(bits >> place & 1 for bits in after):
            continue
        rest = [number for number in range(len(segment)) if number != place]
        fewer = [sum((after[number] >> old & 1) << new for new, old in enumerate(rest)) for number in rest]
        for order in _extensions([segment[number] for number in rest], fewer):
            yield [block, *order]
