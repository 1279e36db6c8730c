"""What a check is given to judge: a run, a history, or the events of a store's log."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from commonboard.entry import Event
from commonboard.errors import SubjectError, kind_of
from commonboard.history import History


class Subject(NamedTuple):
    """The history to judge, and what a verdict says of it.

    Attributes:
        history: what happened.
        scope: `this run`, `this history` or `this log`.
        token: the replay token of a run.
        doubts: why a verdict could not be that it holds, whatever the history says.
        has_reads: whether reads would be in it; a store's log has none.
    """

    history: History
    scope: str
    token: str | None = None
    doubts: tuple[str, ...] = ()
    has_reads: bool = True


def judged(subject: Any, check: str) -> Subject:
    """The history of whatever a check was given.

    Args:
        subject: a `Run`, a `History`, or the events of a store's log.
        check: the check's name, for the error.

    Raises:
        SubjectError: the subject is none of these.
    """
    if isinstance(subject, History):
        return Subject(subject, "this history")
    if isinstance(getattr(subject, "history", None), History) and hasattr(subject, "outcome"):
        troubles = "; ".join(map(str, subject.troubles))
        doubts = [] if subject.ok else [f"the run did not finish ({subject.outcome}: {troubles})"]
        doubts += untouched(subject)
        return Subject(subject.history, "this run", subject.token, tuple(doubts))
    if isinstance(subject, Iterable) and not isinstance(subject, (str, dict)):
        events = list(subject)
        if all(isinstance(event, Event) for event in events):
            return Subject(History.from_log(events), "this log", has_reads=False)
    raise SubjectError(f"{check} takes a Run, a History or a log's events, not {kind_of(subject)}")


def untouched(subject: Any) -> list[str]:
    """Why a run shows nothing of a fault: it touched nothing. Empty if every fault did."""
    idle = [str(fault) for fault in getattr(subject, "faults", ()) if not fault.touched]
    return [f"the run does not show what this fault does: {'; '.join(idle)}"] if idle else []


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause Python's search for garbage that goes round in circles, in the whole process, until the work ends or fails.

    A judgement makes no such garbage, and so many lists that the search would walk through the whole history again and again.
    Whoever judges in another thread at the same time finds the search paused, leaves it so, and may see it begin again early.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
