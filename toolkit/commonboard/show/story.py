"""Operations in words: beside a mark, at the end of an arrow, as a sentence; and what each one did to the version before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from commonboard.history import GIVEN, Operation
from commonboard.show.brief import NOTHING, missing, text, told, value_of

Where = tuple[str | None, str]
"""A key on a replica (`None` where there is one store)."""


class Past(NamedTuple):
    """What an operation found: the operation that made the value before it, and the one that made what its writer had seen."""

    before: Operation | None
    seen: Operation | None


class Story:
    """A history with its past at hand: each operation knows what it replaced, and what its writer had seen.

    Args:
        history: all of it, so that a picture of a part still tells the truth.
    """

    def __init__(self, history: Iterable[Operation]) -> None:
        self.operations = list(history)
        self.past: list[Past] = []
        self._places: dict[int, int] = {}
        self._sentences: dict[int, str] = {}
        # In a simulation, the loss of an answer is an operation of its own.
        self._told_of_answers = any(op.fault == "lost answer" for op in self.operations)
        self._by_dot = {op.dot: op for op in self.operations if op.dot and op.kind not in ("merge", "fault")}
        newest: dict[Where, Operation] = {}
        made: dict[tuple[Where, int], Operation] = {}
        for place, op in enumerate(self.operations):
            where = (op.replica, op.key)
            seen = None if op.saw is None else made.get((where, op.saw))
            self.past.append(Past(newest.get(where), seen))
            self._places[id(op)] = place
            if op.made is not None and op.ok:
                newest[where] = made[where, op.made] = op

    def place(self, op: Operation) -> int | None:
        """Where the operation stands; one that is equal to it will do, since a check may hold copies."""
        place = self._places.get(id(op))
        if place is None and op in self.operations:
            place = self.operations.index(op)
        return place

    def before(self, place: int) -> Any:
        """The value that a write replaced, or `NOTHING`."""
        op, past = self.operations[place], self.past[place]
        return value_of(past.before) if past.before is not None and op.made is not None and op.ok else NOTHING

    def unseen(self, place: int) -> bool:
        """Whether it replaced a version that its writer, who had looked before, had not seen. An append replaces nothing."""
        op, before = self.operations[place], self.past[place].before
        if op.kind == "append" or not op.is_write or op.saw is None or op.replaced is None or before is None:
            return False
        return op.saw < op.replaced == before.made

    def lost(self, place: int) -> str:
        """By name what an unseen overwrite, or a merge, left out; empty where nothing, or where the values have no parts."""
        op, past = self.operations[place], self.past[place]
        if op.kind == "merge":
            dropped = [self._by_dot[dot] for dot in op.dropped if dot in self._by_dot]
            return ", ".join(filter(None, (self._left_out(one, op) for one in dropped)))
        if not self.unseen(place) or past.before is None:
            return ""
        seen = value_of(past.seen) if past.seen is not None else NOTHING
        return missing(value_of(past.before), value_of(op), seen)

    def _left_out(self, dropped: Operation, merged: Operation) -> str:
        place = self.place(dropped)
        base = NOTHING if place is None else self.before(place)
        return missing(value_of(dropped), value_of(merged), base)

    def dropped_agents(self, op: Operation) -> str:
        """Whose writes a merge left out."""
        names = dict.fromkeys(self._by_dot[dot].agent if dot in self._by_dot else dot for dot in op.dropped)
        return " and ".join(names)

    def unanswered(self, place: int) -> bool:
        """Whether whoever wrote never learnt what came of it, and nothing else in the picture says so."""
        op = self.operations[place]
        return op.is_write and not op.acknowledged and not self._told_of_answers

    def label(self, place: int) -> str:
        """What stands beside the mark in the agent's lane."""
        return f"{label(self.operations[place])}{', no answer' if self.unanswered(place) else ''}"

    def word(self, place: int) -> str:
        """A few words beside a mark of the guilty path."""
        op = self.operations[place]
        if op.kind == "fault":
            return op.note
        if op.kind in ("think", "list", "read"):
            return _word_of_look(op)
        if not op.ok:
            return f"refused: v{op.replaced} is there" if op.replaced is not None else "refused"
        lost = self.lost(place)
        loss = f": {lost} {'are' if ', ' in lost else 'is'} lost" if lost else ""
        if op.kind == "merge":
            return f"drops {self.dropped_agents(op)}’s write{loss}" if op.dropped else op.note or "merges"
        if self.unseen(place):
            return f"{'deletes' if op.text is None else 'overwrites'} v{op.replaced} unseen{loss}"
        if op.kind == "delete":
            return "deletes it"
        before = self.past[place].before
        if op.kind == "append" or before is None or before.text is None:
            return f"{'appends' if op.kind == 'append' else 'writes'} v{op.made}"
        blind = op.saw is None and before.agent != op.agent
        return f"overwrites v{op.replaced} without looking" if blind else f"writes v{op.made}"

    def sentence(self, place: int) -> str:
        """The whole operation in one sentence, without its time."""
        told = self._sentences.get(place)
        if told is None:
            told = self._sentence(place) + (" No answer came back." if self.unanswered(place) else "")
            self._sentences[place] = told
        return told

    def _sentence(self, place: int) -> str:
        op = self.operations[place]
        there = f" on {op.replica}" if op.replica and op.kind != "merge" else ""
        value = text(told(op, limit=120))
        if op.kind == "fault":
            return f"{op.agent} {op.note}: {op.key}." if op.fault == "forgotten" else f"{op.note}."
        if op.kind == "think":
            return f"{op.agent} thinks for {seconds(op.ended_at - op.began_at)}{_tokens(op)}."
        if op.kind == "list":
            return f"{op.agent} lists {op.key or 'everything'}{there}: {value}."
        if op.kind == "read":
            if op.text is None:
                return f"{op.agent} reads {op.key}{there} and finds nothing{_version(' (version ', op.saw, ')')}."
            return f"{op.agent} reads {op.key}{there}{_version(' at version ', op.saw)}: {value}."
        return self._sentence_of_write(place, there, value)

    def _sentence_of_write(self, place: int, there: str, value: str) -> str:
        op = self.operations[place]
        if op.agent == GIVEN:
            return f"{op.key}{there} was there from the start, as version {op.made}: {value}."
        if not op.ok:
            expected = _version(", expecting version ", op.saw)
            found = _version(": version ", op.replaced, " is there")
            return f"{op.agent} tries {op.kind} on {op.key}{there}{expected}; refused{found}. It wanted to write {value}."
        lost = self.lost(place)
        loss = f" {lost} {'are' if ', ' in lost else 'is'} lost." if lost else ""
        if op.kind == "merge":
            what = f" ({op.note})" if op.note else ""
            drops = f" It drops what {self.dropped_agents(op)} wrote." if op.dropped else ""
            return f"{op.agent} merges {op.key} from {op.source}{what}: {value}.{drops}{loss}"
        unseen = f" It replaces version {op.replaced}, which {op.agent} had not seen." if self.unseen(place) else ""
        if op.kind == "delete":
            return f"{op.agent} deletes {op.key}{there}{_version(' (version ', op.made, ')')}.{unseen}{loss}"
        verb = {"write": "writes", "append": "appends to"}.get(op.kind, f"writes (by {op.kind})")
        return f"{op.agent} {verb} {op.key}{there}{_version(' as version ', op.made)}: {value}.{unseen}{loss}"


def label(op: Operation) -> str:
    """What stands beside the mark in the agent's lane."""
    if op.kind == "fault":
        return {"agent crash": "crashes", "lost answer": "no answer"}.get(op.fault, "")
    if op.kind != "think":
        return op.kind
    long = op.ended_at - op.began_at
    return f"think {op.tokens:,} tokens" if op.tokens and not long else f"think {seconds(long)}"


def version(op: Operation) -> str:
    """The version at the end of the arrow: the one read or made; a refused write made none."""
    number = op.made if op.kind in ("merge", "fault") or op.is_write else op.saw if op.ok else None
    return "" if number is None else f"v{number}"


def moment(op: Operation) -> float:
    """When the operation took effect, in virtual seconds. A thought is told by its end."""
    return op.ended_at


def seconds(time: float) -> str:
    """A virtual time with its unit.

    >>> seconds(30.0), seconds(0.1 + 0.2)
    ('30 s', '0.3 s')
    """
    return f"{round(time, 3):,.10g} s"


def _word_of_look(op: Operation) -> str:
    if op.kind == "think":
        return f"thinks {seconds(op.ended_at - op.began_at)}"
    if op.kind == "list":
        return f"lists {op.key or 'everything'}"
    return f"reads v{op.saw}" if op.text is not None and op.saw is not None else "finds nothing" if op.text is None else "reads"


def _version(start: str, number: int | None, end: str = "") -> str:
    return "" if number is None else f"{start}{number}{end}"


def _tokens(op: Operation) -> str:
    return f" ({op.tokens:,} tokens)" if op.tokens else ""
