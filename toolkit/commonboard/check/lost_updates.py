"""Lost updates: a write that was acknowledged, replaced by one whose writer had not seen it.

The check goes by versions alone. Every write says which version its writer had read before; if a newer one was there,
that one was overwritten unseen. A writer that never looked at the key overwrote blindly: its victim is *superseded*,
which is reported apart, because values that only replace each other are meant to. Absence has a version, so two agents
that both saw nothing and both created are a lost update too. What a policy looked at, and then dropped on purpose, is
not found here: only the scenario's own `kept(state, intent)` can tell.

The anomaly is P4 in Berenson et al., "A critique of ANSI SQL isolation levels" (1995).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation
from commonboard.entry import Event
from commonboard.history import GIVEN, History, Operation

NAME = "no lost updates"
_Made = dict[tuple[str | None, str, int], Operation]


def no_lost_updates(subject: Any) -> Verdict:
    """Whether every write that was acknowledged was seen by whoever replaced it.

    Args:
        subject: a `Run`, a `History`, or the events of a store's log.

    Returns:
        `Violation` with a finding for each write that overwrote something unseen; `Holds` for this one history;
        `Unknown` where nothing was written, a run did not come to its end, or a store kept no versions.

    Raises:
        TypeError: the subject is none of these.
    """
    history, scope, token, doubts = _history(subject)
    made: _Made = {(op.replica, op.key, op.made): op for op in history if op.made is not None and op.ok}
    findings = [found for op in history.writes() if op.agent != GIVEN and (found := _overwritten(op, made, history))]
    findings += _dropped(history)
    notes = [note for op in history.writes() if op.agent != GIVEN and (note := _superseded(op, made))]
    if findings:
        return Violation(NAME, scope, findings, notes, history=history, token=token)
    doubts += _doubts(history)
    if doubts:
        return Unknown(NAME, scope, [], notes, "; ".join(doubts), history=history, token=token)
    return Holds(NAME, scope, [], notes, history=history, token=token)


def _history(subject: Any) -> tuple[History, str, str | None, list[str]]:
    if isinstance(subject, History):
        return subject, "this history", None, []
    if isinstance(getattr(subject, "history", None), History) and hasattr(subject, "outcome"):
        doubts = [] if subject.ok else [f"the run did not finish ({subject.outcome}: {'; '.join(map(str, subject.troubles))})"]
        return subject.history, "this run", subject.token, doubts
    if isinstance(subject, Iterable) and not isinstance(subject, (str, dict)):
        events = list(subject)
        if all(isinstance(event, Event) for event in events):
            return History.from_log(events), "this log", None, []
    raise TypeError(f"no_lost_updates judges a Run, a History or a log's events, not a {type(subject).__name__}")


def _doubts(history: History) -> list[str]:
    writes = [op for op in history if op.ok and op.kind in ("write", "compare-and-set", "append", "delete") and op.agent != GIVEN]
    if not writes:
        return ["nothing was written, so nothing could be lost"]
    blind = next((op for op in writes if op.made is None), None)
    if blind is not None:
        return [f"the store keeps no versions, so nobody knows what {blind.agent} overwrote at {blind.key!r}"]
    return []


def _overwritten(op: Operation, made: _Made, history: History) -> Finding | None:
    if op.saw is None or op.replaced is None or op.saw >= op.replaced:
        return None
    victims = [made[place] for v in range(op.saw + 1, op.replaced + 1) if (place := (op.replica, op.key, v)) in made]
    if not victims:
        return None
    writers: dict[str | None, str] = {write.dot: write.agent for write in history if write.dot is not None and write.kind != "merge"}
    seen = _sighting(op, history)
    saw = f"read version {op.saw} of {op.key}" if op.saw else f"saw that {op.key} did not exist"
    who = " and ".join(sorted({writers.get(victim.dot, victim.agent) for victim in victims}))
    versions = ", ".join(str(victim.made) for victim in victims)
    did = "deleted it" if op.kind == "delete" else f"wrote version {op.made}"
    sentence = (
        f"{op.agent} {saw}; {who} then made version {versions}; {op.agent} {did} without having seen that, so what {who} wrote is lost"
    )
    return Finding("lost update", sentence, (*([seen] if seen else []), *victims, op))


def _sighting(op: Operation, history: History) -> Operation | None:
    """The read in which the writer saw what it rested on."""
    for earlier in reversed(history[: op.index]):
        if (earlier.agent, earlier.key, earlier.kind) == (op.agent, op.key, "read") and earlier.saw == op.saw:
            return earlier
    return None


def _superseded(op: Operation, made: _Made) -> Finding | None:
    victim = made.get((op.replica, op.key, op.replaced or 0))
    if op.saw is not None or victim is None or victim.agent in (op.agent, GIVEN) or victim.kind == "merge":
        return None
    sentence = f"{op.agent} replaced version {op.replaced} of {op.key} by {victim.agent} without ever having looked at the key"
    return Finding("superseded", sentence, (victim, op))


def _dropped(history: History) -> list[Finding]:
    """Between replicas: writes that a resolution left out, though the writer of what it kept had not seen them."""
    writes = {op.dot: op for op in history if op.dot is not None and op.kind != "merge"}
    findings, told = [], set[str]()
    for op in history:
        for dot in op.dropped:
            if dot in told or dot not in writes:
                continue
            told.add(dot)
            lost = writes[dot]
            sentence = (
                f"{lost.agent} wrote {lost.key} on {lost.replica} while another wrote it elsewhere; when the two met on "
                f"{op.replica}, the policy {op.note}, so what {lost.agent} wrote is lost"
            )
            findings.append(Finding("lost update", sentence, (lost, op)))
    return findings
