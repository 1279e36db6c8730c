"""A verdict that holds whichever way undecided writes came: the check is asked about every order that the record allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation
from commonboard.errors import InvalidArgumentError
from commonboard.live.result import LiveRun
from commonboard.recording.stores import RecordedBuiltInStore, RecordedStore


def in_every_order(check: Callable[[Any], Verdict], subject: Any, *, limit: int = 1000) -> Verdict:
    """Ask a check about every order of overlapping writes that a record allows.

    On a store without versions, nobody may know which of two overlapping writes came second, and a check of the history is
    then `Unknown`. But if something is lost whichever it was, something is lost.

    Args:
        check: takes a run or a history, such as `no_lost_updates`.
        subject: a `LiveRun`, or a recorded store.
        limit: how many orders to try.

    Returns:
        The check's verdict where all orders agree. A `Violation` tells the first of them, and says in a note that it is one of
        several. `Unknown` where they do not agree, or where there are more than `limit` and the check was not violated.
    """
    if isinstance(subject, (RecordedStore, RecordedBuiltInStore)):
        worlds: Any = subject.histories(limit + 1)
    elif isinstance(subject, LiveRun):
        worlds = subject.orders(limit + 1)
    else:
        raise InvalidArgumentError(f"in_every_order takes a LiveRun or a recorded store, not a {type(subject).__name__}")
    verdicts = [check(world) for world in worlds]
    first, some = verdicts[0], len(verdicts) > limit
    count = f"more than {limit:,}" if some else f"{len(verdicts):,}"
    if len(verdicts) == 1:
        return first
    broken = sum(isinstance(verdict, Violation) for verdict in verdicts)
    scope = f"each of the {count} orders that the record allows"
    if broken == len(verdicts) and not some:
        note = Finding("one of several", f"The record allows {count} orders; it is violated in all, and this is one of them.")
        return Violation(first.check, scope, first.findings, [*first.notes, note], history=first.history)
    if not some and all(isinstance(verdict, Holds) for verdict in verdicts):
        return Holds(first.check, scope, [], first.notes, history=first.history)
    reasons = list(dict.fromkeys(verdict.why for verdict in verdicts if verdict.why))
    why = f"it is violated in {broken:,} of {count} orders that the record allows" + "".join(f"; {reason}" for reason in reasons)
    return Unknown(first.check, scope, [], first.notes, why, history=first.history)
