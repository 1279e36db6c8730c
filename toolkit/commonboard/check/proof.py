"""Cycles and other findings of `anomalies`, named in the field's words and told as a short proof."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from commonboard.check.dependencies import Dependencies, LostUpdate
from commonboard.check.graph import ANTI, PRW, REALTIME, RW, SESSION, WR, WW, Cycle, Step
from commonboard.check.transactions import Unit
from commonboard.check.verdict import Finding
from commonboard.history import GIVEN, Operation


class Reason(NamedTuple):
    """Why one transaction comes before another: an operation of each, and the sentence."""

    first: int
    second: int
    sentence: str


class Teller:
    """Tells what was found in one dependency graph.

    Args:
        found: the graph and its transactions.
        unit: what was taken as one transaction.
    """

    def __init__(self, found: Dependencies, unit: Unit) -> None:
        self._found = found
        self._unit = unit
        self._operations = found.operations

    def cycle(self, cycle: Cycle) -> Finding:
        """A cycle: who comes before whom and why, up to the contradiction."""
        cycle = _from_the_earliest(cycle)
        reasons = self._reasons(cycle)
        numbers = {step.source: f"T{place}" for place, step in enumerate(cycle, 1)}
        lines = [self._let(numbers)]
        for step, reason in zip(cycle, reasons, strict=True):
            lines.append(f"{numbers[step.source]} comes before {numbers[step.target]}, because {reason.sentence}.")
        many = "Each comes before the other" if len(cycle) == 2 else "So each comes before itself"
        lines.append(f"{many}: a contradiction.")
        places = [place for reason in reasons for place in (reason.first, reason.second)]
        return self._finding(self._name(cycle, reasons), " ".join(lines), places)

    def lost(self, lost: LostUpdate) -> Finding:
        """A lost update, which is a cycle of two: T2 replaced what T1 made, and had seen only what was there before."""
        look, base, victim, write = lost
        ops, named, of = self._operations, self._found.observed.named, self._found.of
        loser, winner = ops[victim], ops[write]
        seen = ops[base[0]] if base else None
        is_absent = ops[look].text is None if ops[look].kind == "read" else seen is None or seen.text is None
        is_same = seen is not None and (seen.text, seen.encoding) == (loser.text, loser.encoding) and seen.text is not None
        had_seen = f"had {'made' if base == (look,) else 'read'} {' and '.join(map(named, base))}"
        had_seen = f"saw that {winner.key} did not exist" if is_absent else had_seen
        sentence = (
            f"{self._let({of[victim]: 'T1', of[write]: 'T2'})} T1 comes before T2, because {winner.agent} replaced "
            f"{named(victim)}, which {loser.agent} {_made(loser)}. T2 comes before T1, because {winner.agent} {had_seen} and had "
            f"not seen {named(victim)}. Each comes before the other: a contradiction. What {loser.agent} {_made(loser)} is lost."
        )
        kind = "lost update"
        if winner.kind == "compare-and-set" and is_same:
            kind, sentence = "lost update (ABA)", f"{sentence} The value was the same again, so comparing values noticed nothing."
        elif is_absent:
            kind = "lost update (check-then-act)"
        return self._finding(kind, sentence, [look, victim, write])

    def scans(self) -> Iterable[Finding]:
        """What is wrong without a cycle."""
        ops, named = self._operations, self._found.observed.named
        for place, told in self._found.observed.garbage:
            yield Finding("garbage read", f"{ops[place].agent} {told}.", (ops[place],))
        for place, write in self._found.aborted_reads:
            end = "was undone by a crash" if ops[write].ok else "was rolled back"
            told = f"{ops[place].agent} read {named(write)}, which {ops[write].agent} had made and which {end}."
            yield Finding("aborted read", told, self._at([write, place]))
        for place, write in self._found.intermediate:
            last = next(w for w in reversed(self._own(write)) if ops[w].key == ops[write].key)
            told = f"{ops[place].agent} read {named(write)}, over which {ops[write].agent} then wrote {named(last)} itself."
            yield Finding("intermediate read", told, self._at([write, place, last]))
        for place, write in self._found.misread:
            how = "though before that it had made" if write < place else "which it made only later, as"
            told = f"{ops[place].agent} read version {ops[place].saw} of {ops[place].key}, {how} {named(write)} in the same work."
            if ops[place].is_write:
                told = f"{ops[place].agent} made {named(write)} and then in the same work {named(place)}, which comes before it."
            yield Finding("internal inconsistency", told, self._at([place, write]))
        for done, failed in self._found.transactions.torn:
            whole = self._what(self._found.of[done])
            told = f"Of {whole}, the write of {named(done)} happened, and that of {ops[failed].key} did not."
            yield Finding("torn multi-key update", told, self._at([done, failed]))

    def _reasons(self, cycle: Cycle) -> list[Reason]:
        """A reason for each step; where there are several, those about as few keys as possible."""
        choices = []
        for step in cycle:
            some = [pair for pair, _ in zip(self._found.reasons(step), range(50), strict=False)]
            choices.append((step, some))
        keys = {self._operations[pair[1]].key for pair in choices[0][1]}
        for _, some in choices:
            keys = {self._operations[pair[1]].key for pair in some} & keys

        def is_elsewhere(pair: tuple[int, int]) -> bool:
            return self._operations[pair[1]].key not in keys

        return [self._reason(step, *min(some, key=is_elsewhere)) for step, some in choices]

    def _reason(self, step: Step, place: int, write: int) -> Reason:
        ops, named = self._operations, self._found.observed.named
        one, other = ops[place], ops[write]
        if step.kind == WW:
            is_over = place in self._found.observed.replaced[write]
            how = f"{other.agent} replaced" if is_over else f"the policy kept what {other.agent} wrote and dropped"
            return Reason(place, write, f"{how} {named(place)}, which {one.agent} {_made(one)}")
        if step.kind == WR:
            if one.kind == "list" and write not in (self._found.observed.saw[place] or ()):
                return Reason(write, place, f"{one.agent} listed {one.key or 'everything'} after {other.agent} {_changed(other)}")
            saw = "listed" if one.kind == "list" else "read"
            return Reason(write, place, f"{one.agent} {saw} {named(write)}, which {other.agent} {_made(other)}")
        if step.kind == RW:
            saw = "listed" if one.kind == "list" else "read"
            missed = f"{named(write)}, which {other.agent} {_made(other)}"
            return Reason(place, write, f"{one.agent} {saw} {self._seen(place, other.key)}, and not yet {missed}")
        if step.kind == PRW:
            return Reason(place, write, f"{one.agent} listed {one.key or 'everything'} before {other.agent} {_changed(other)}")
        if step.kind == SESSION:
            return Reason(place, write, f"{one.agent} had ended the one before it began the other")
        return Reason(place, write, f"{one.agent} had ended it before {other.agent} began")

    def _seen(self, place: int, key: str) -> str:
        """What a look found of a key."""
        seen = [write for write in self._found.observed.saw[place] or () if self._operations[write].key == key]
        return " and ".join(map(self._found.observed.named, seen)) if seen else f"{key} before anybody wrote it"

    def _name(self, cycle: Cycle, reasons: list[Reason]) -> str:
        kinds = [step.kind for step in cycle]
        across = ""
        if REALTIME in kinds:
            if (name := self._name_in_time(cycle, reasons)) is not None:
                return name
            across = " across time"
        elif SESSION in kinds:
            across = " across sessions"
        return self._base_name(cycle, kinds, reasons) + across

    def _base_name(self, cycle: Cycle, kinds: list[int], reasons: list[Reason]) -> str:
        antis = sum(bool(kind & ANTI) for kind in kinds)
        keys = {self._operations[place].key for reason in reasons for place in (reason.first, reason.second)}
        if antis == 0:
            return "circular information flow" if WR in kinds else "dirty write"
        if PRW in kinds:
            return "phantom"
        if antis == 1:
            if len(cycle) == 2 and len(keys) == 1:
                return {WW: "lost update", WR: "non-repeatable read"}.get(min(kinds), "read skew")
            return "read skew"
        if not any(kind & ANTI and after & ANTI for kind, after in zip(kinds, kinds[1:] + kinds[:1], strict=True)):
            return "long fork"
        reads_only = any(not any(self._operations[place].is_write for place in self._found.members[s.source]) for s in cycle)
        return "read-only anomaly" if reads_only else "write skew"

    def _name_in_time(self, cycle: Cycle, reasons: list[Reason]) -> str | None:
        """The names that have to do with time, of cycles on one key."""
        if len({self._operations[r.second].key for r in reasons}) == 1:
            kinds = sorted(step.kind for step in cycle)
            if kinds == [RW, REALTIME]:
                return "stale read"
            if kinds == [WR, RW, REALTIME]:
                return "new-old inversion"
            if kinds == [WW, REALTIME] and self._found.observed.replicated:
                return "clock-skew loss"
        return None

    def _let(self, numbers: dict[int, str]) -> str:
        return f"Let {', '.join(f'{name} = {self._what(number)}' for number, name in numbers.items())}."

    def _what(self, number: int) -> str:
        places = self._found.members[number]
        op = self._operations[places[0]]
        if self._unit == "agent":
            life = self._found.observed.life(places[0])
            is_last = life == len(self._found.observed.crashes.get(op.agent, ()))
            when = f" before it crashed{' again' if life else ''}" if not is_last else " after it had crashed" if life else ""
            return "what was given" if op.agent == GIVEN else f"all that {op.agent} did{when}"
        if op.transaction is not None:
            return f"{op.agent}'s transaction {op.transaction}"
        if op.kind == "list":
            return f"{op.agent}'s list of {op.key or 'everything'}"
        if op.kind == "read":
            return f"{op.agent}'s read of {self._seen(places[0], op.key)}"
        return f"{op.agent}'s {'delete' if op.text is None else 'write'} of {self._found.observed.named(places[0])}"

    def _own(self, write: int) -> list[int]:
        return [place for place in self._found.members[self._found.of[write]] if self._operations[place].is_write]

    def _finding(self, kind: str, sentence: str, places: list[int]) -> Finding:
        operations = self._at(places)
        key = f" of {operations[0].key}"
        if all(op.key == operations[0].key for op in operations):  # the key once is enough
            head, of_it, rest = sentence.partition(key)
            sentence = head + of_it + re.sub(rf"{re.escape(key)}(?![\w/])", "", rest)
        return Finding(kind, sentence, operations)

    def _at(self, places: Iterable[int]) -> tuple[Operation, ...]:
        return tuple(self._operations[place] for place in sorted(set(places)))


def _from_the_earliest(cycle: Cycle) -> Cycle:
    start = min(range(len(cycle)), key=lambda place: cycle[place].source)
    return cycle[start:] + cycle[:start]


def _changed(op: Operation) -> str:
    return f"{'created' if op.text is not None else 'deleted'} {op.key}"


def _made(op: Operation) -> str:
    return "deleted" if op.text is None else "wrote"
