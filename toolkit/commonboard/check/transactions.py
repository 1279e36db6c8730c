"""Transactions of a history: which operations belong together, and which of them came before others in time.

A transaction is what carries the same `transaction` of one agent; an operation without one is a transaction of its own. Or all
of an agent's work is one, or of each of its lives, if it crashed. A transaction that wanted to write, and of which no write
happened, was aborted: nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from commonboard.check.observed import WORLDLY, Observed
from commonboard.history import GIVEN, WRITES

Unit = Literal["transaction", "agent"]


@dataclass(slots=True)
class Transactions:
    """The transactions of a history, numbered in the order in which they began.

    Attributes:
        observed: what each operation saw.
        of: by place of an operation, the number of its transaction; -1 for a thought or a merge.
        members: by transaction, the places of its operations.
        begins, ends: by transaction, when its first operation was called, and when its last one returned.
        aborted: by transaction, whether it was aborted.
        overwritten: by place of a write, whether its own transaction wrote the key again later.
        torn: a write that happened and one that did not, of one transaction.
    """

    observed: Observed
    of: list[int] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    aborted: bytearray = field(default_factory=bytearray)
    overwritten: bytearray = field(default_factory=bytearray)
    torn: list[tuple[int, int]] = field(default_factory=list)

    def by_agent(self) -> Iterator[list[int]]:
        """The transactions of each agent that has several; an agent that crashed began anew."""
        agents: dict[tuple[str, int], list[int]] = {}
        for number, places in enumerate(self.members):
            life = self.observed.life(places[0]) if self.observed.crashes else 0
            agents.setdefault((self.observed.operations[places[0]].agent, life), []).append(number)
        return (numbers for (agent, _), numbers in agents.items() if agent != GIVEN and len(numbers) > 1)

    def precedence(self, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Pairs of transactions of which one ended before the other began; none that follows from others by way of a third."""
        spans = sorted((self.begins[number], self.ends[number], number) for number in numbers if not self.aborted[number])
        if all(one[1] < other[0] for one, other in pairwise(spans)):
            return ((one[2], other[2]) for one, other in pairwise(spans))
        return _overlapping(spans)


def _overlapping(spans: list[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """The same where some overlap: each waits for the last that had ended, those that nobody else had waited for."""
    running: list[tuple[int, int]] = []
    last: dict[int, None] = {}
    waited: dict[int, tuple[int, ...]] = {}
    for begin, end, number in spans:
        over = sorted(each for each in running if each[0] < begin)
        if over:
            running = [each for each in running if each[0] >= begin]
            for _, ended in over:
                for earlier in waited.pop(ended):
                    last.pop(earlier, None)
                last[ended] = None
        waited[number] = tuple(last)
        yield from ((earlier, number) for earlier in waited[number])
        running.append((end, number))


def transactions(observed: Observed, unit: Unit) -> Transactions:
    """The transactions of a history.

    Args:
        observed: what each operation saw.
        unit: what is taken as one transaction: `transaction`, or all the work of an `agent`.
    """
    found = Transactions(observed)
    of, members, begins, ends = found.of, found.members, found.begins, found.ends
    numbers: dict[str, dict[str | int | None, int]] = {}
    failed: dict[int, int] = {}
    for place, op in enumerate(observed.operations):
        kind = op.kind
        if kind in WORLDLY or (observed.number[place] < 0 and op.agent == GIVEN):
            of.append(-1)
            continue
        number = len(members)
        if unit == "agent" or op.transaction is not None:
            part = op.transaction if unit == "transaction" else observed.life(place) if observed.crashes else 0
            number = numbers.setdefault(op.agent, {}).setdefault(part, number)
        of.append(number)
        if number == len(members):
            members.append([place])
            begins.append(op.begin)
            ends.append(op.end)
        else:
            members[number].append(place)
            if op.begin < begins[number]:
                begins[number] = op.begin
            if op.end > ends[number]:
                ends[number] = op.end
        if not op.ok and kind in WRITES:
            failed.setdefault(number, place)
    found.aborted = bytearray(len(members))
    for number, place in failed.items():
        ops = [observed.operations[member] for member in members[number]]
        done = next((member for member, op in zip(members[number], ops, strict=True) if op.ok and op.kind in WRITES), None)
        if done is None:
            found.aborted[number] = True
        elif unit == "transaction":  # what an agent was refused, it may have done again
            found.torn.append((done, place))
    if unit == "agent":
        found.torn += _torn_by_crashes(found)
    _mark_overwritten(found)
    return found


def _torn_by_crashes(found: Transactions) -> Iterator[tuple[int, int]]:
    """Work that a crash cut off: its agent, begun anew, wrote a key that it had not come to before."""
    observed = found.observed
    lives: dict[str, list[int]] = {}
    for number, places in enumerate(found.members):
        if observed.operations[places[0]].agent in observed.crashes:
            lives.setdefault(observed.operations[places[0]].agent, []).append(number)
    for numbers in lives.values():
        for earlier, later in pairwise(numbers):
            done, anew = ([p for p in found.members[number] if observed.number[p] >= 0] for number in (earlier, later))
            keys = {observed.operations[place].key for place in done}
            missing = next((place for place in anew if observed.operations[place].key not in keys), None)
            if done and missing is not None:
                yield done[-1], missing


def _mark_overwritten(found: Transactions) -> None:
    found.overwritten = bytearray(len(found.of))
    for places in found.members:
        if len(places) > 1:
            last: dict[str, int] = {}
            for place in places:
                if found.observed.number[place] >= 0:
                    key = found.observed.operations[place].key
                    if key in last:
                        found.overwritten[last[key]] = True
                    last[key] = place
