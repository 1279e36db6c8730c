"""What a store's own log tells that its callers did not learn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonboard.entry import Event
from commonboard.history import WRITES
from commonboard.recording.facts import UNKNOWN, Fact, Moment


def settled(facts: Sequence[Fact], events: Iterable[Event], now: Moment) -> list[Fact]:
    """Complete calls that got no answer, and give facts for what others wrote meanwhile.

    An event belongs to an unanswered call if it is of the same key, text and agent, and to only one.

    Args:
        facts: all facts of all recorders of the store.
        events: the log since the recording began.
        now: when the log was read.
    """
    claimed = {fact.seq for fact in facts if fact.made is not None}
    lost = [fact for fact in facts if fact.versioned and fact.kind in WRITES and fact.answered is None and not fact.forgotten]
    others: list[Fact] = []
    began = min((fact.called for fact in facts), default=now)
    for event in events:
        if event.seq in claimed:
            continue
        mine = [fact for fact in lost if fact.made is None and _fits(fact, event)]
        if len(mine) == 1:
            (fact,) = mine
        else:
            fact = Fact(event.actor or UNKNOWN, "delete" if event.value is None else "write", event.key, began, answered=now)
            fact.reason, fact.note = event.reason, "read in the log"
            others.append(fact)
        fact.text, fact.encoding = event.value, event.encoding
        fact.replaced, fact.made, fact.seq, fact.saw = event.version_before, event.version, event.seq, event.saw
    return others


def _fits(fact: Fact, event: Event) -> bool:
    if fact.key != event.key or fact.reason != event.reason or (event.actor is not None and event.actor != fact.agent):
        return False
    return fact.kind == "append" or fact.text == event.value
