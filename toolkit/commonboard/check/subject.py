"""What a check is given to judge: a run, a history, or the events of a store's log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from commonboard.check.lost_updates import untouched
from commonboard.entry import Event
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
        TypeError: the subject is none of these.
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
    raise TypeError(f"{check} takes a Run, a History or a log's events, not a {type(subject).__name__}")
