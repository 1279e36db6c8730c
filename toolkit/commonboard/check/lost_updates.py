"""Lost updates: a write that happened, replaced by one whose writer had not seen it.

The check goes by versions alone. Every write says which version its writer had read before; if a newer one was there,
that one was overwritten unseen. A writer that never looked at the key overwrote blindly: its victim is *superseded*,
which is reported apart, because values that only replace each other are meant to. Absence has a version, so two agents
that both saw nothing and both created are a lost update too. What a policy looked at, and then dropped on purpose, is
not found here: only the scenario's own `kept(state, intent)` can tell.

The anomaly is P4 in Berenson et al., "A critique of ANSI SQL isolation levels" (1995).
"""

from __future__ import annotations

from typing import Any

from commonboard.check.subject import judged
from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation, in_words
from commonboard.history import GIVEN, WRITES, History, Operation

NAME = "no lost updates"
_Made = dict[tuple[str | None, str, int], Operation]


def no_lost_updates(subject: Any) -> Verdict:
    """Whether every write was seen by whoever replaced it; one whose answer was lost happened too, and counts.

    Args:
        subject: a `Run`, a `History`, or the events of a store's log.

    Returns:
        `Violation` with a finding for each write that overwrote something unseen; `Holds` for this one history;
        `Unknown` where nothing was written, a run did not come to its end, a store kept no versions, or a fault touched nothing.

    Raises:
        SubjectError: the subject is none of these.
    """
    history, scope, token, known, _ = judged(subject, "no_lost_updates")
    made: _Made = {(op.replica, op.key, op.made): op for op in history if op.made is not None and op.ok}
    findings = [*_overwritten(history, made), *_dropped(history)]
    notes = [note for op in history.writes() if op.agent != GIVEN and (note := _superseded(op, made))]
    if unresolved := getattr(subject, "unresolved", 0):
        keys = "1 key still holds" if unresolved == 1 else f"{unresolved} keys still hold"
        told = f"{keys} several values side by side; the board shows one of them."
        notes.append(Finding("unresolved", told))
    notes += _forgotten(history)
    if findings:
        return Violation(NAME, scope, findings, notes, history=history, token=token)
    doubts = [*known, *_doubts(history, made)]
    if doubts:
        return Unknown(NAME, scope, [], notes, "; ".join(doubts), history=history, token=token)
    return Holds(NAME, scope, [], notes, history=history, token=token)


def _breaks(op: Operation) -> bool:
    """Whether this operation alone shows that an update was lost, so that a search need not look at whole histories."""
    if op.kind == "merge":
        return any(not dot.startswith(f"{GIVEN}:") for dot in op.dropped)
    return op.is_write and op.agent != GIVEN and _is_unseen(op)


no_lost_updates.operation_breaks = _breaks  # type: ignore[attr-defined]


def _doubts(history: History, made: _Made) -> list[str]:
    writes = [op for op in history if op.ok and op.kind in WRITES and op.agent != GIVEN]
    if not writes:
        return ["nothing was written, so nothing could be lost"]
    blind = next((op for op in writes if op.made is None), None)
    if blind is not None:
        return [f"the store keeps no versions, so nobody knows what {blind.agent} overwrote at {blind.key!r}"]
    gap = next((op for op in writes if _is_unseen(op) and (op.replica, op.key, op.replaced) not in made), None)
    if gap is not None:
        return [f"version {gap.replaced} of {gap.key!r}, which {gap.agent} replaced and had not seen, is not in the history"]
    differs = next((op for op in history if op.kind == "merge" and "disagrees" in op.note), None)
    if differs is not None:
        return [f"{differs.agent} {differs.note.partition('; ')[2]} of {differs.key!r}: nobody can say what the board holds"]
    return []


def _is_unseen(op: Operation) -> bool:
    return op.saw is not None and op.replaced is not None and op.saw < op.replaced


def overwritten(history: History) -> list[Finding]:
    """Each write of a history whose writer had looked, but not at what it replaced."""
    return _overwritten(history, {(op.replica, op.key, op.made): op for op in history if op.made is not None and op.ok})


def _overwritten(history: History, made: _Made) -> list[Finding]:
    """On one store: writes whose writer had looked, but not at what it replaced."""
    writers: dict[str | None, str] = {op.dot: op.agent for op in history if op.dot is not None and op.kind in WRITES}
    looks: dict[tuple[str, str, int | None], Operation] = {}
    findings = []
    for op in history:
        if op.kind == "read":
            looks[op.agent, op.key, op.saw] = op
        elif op.is_write and op.agent != GIVEN and op.saw is not None and _is_unseen(op):
            unseen = range(op.saw + 1, (op.replaced or 0) + 1)
            found = [made[place] for v in unseen if (place := (op.replica, op.key, v)) in made]
            victims = [victim for victim in found if victim.kind != "fault"]
            if victims:
                who = in_words(sorted({writers.get(victim.dot, victim.agent) for victim in victims}))
                findings.append(_lost(op, looks.get((op.agent, op.key, op.saw)), victims, who))
    return findings


def _lost(op: Operation, look: Operation | None, victims: list[Operation], who: str) -> Finding:
    absent = look.text is None if look is not None else not op.saw
    saw = f"saw that {op.key} did not exist" if absent else f"read version {op.saw} of {op.key}"
    made = f"version{'s' if len(victims) > 1 else ''} {in_words([str(victim.made) for victim in victims])}"
    did = "deleted it" if op.kind == "delete" else f"wrote version {op.made}"
    lost = f"{who}'s delete" if victims[-1].text is None else f"what {who} wrote"
    sentence = f"{op.agent} {saw}; {who} then made {made}; {op.agent} {did} without having seen that, so {lost} is lost."
    return Finding("lost update", sentence, (*([look] if look is not None else []), *victims, op))


def _superseded(op: Operation, made: _Made) -> Finding | None:
    victim = made.get((op.replica, op.key, op.replaced or 0))
    if op.saw is not None or victim is None or victim.agent in (op.agent, GIVEN) or victim.kind in ("merge", "fault"):
        return None
    did = "deleted" if op.kind == "delete" else "replaced"
    sentence = f"{op.agent} {did} version {op.replaced} of {op.key} by {victim.agent} without ever having looked at the key."
    return Finding("superseded", sentence, (victim, op))


def _dropped(history: History) -> list[Finding]:
    """Between replicas: writes that a resolution left out, though the writer of what it kept had not seen them."""
    writes = {op.dot: op for op in history if op.dot is not None and op.kind in WRITES}
    findings, told = [], set[str]()
    for op in history:
        for dot in op.dropped if op.kind == "merge" else ():
            if dot in told or dot not in writes:
                continue
            told.add(dot)
            lost = writes[dot]
            sentence = (
                f"{lost.agent} wrote {lost.key} on {lost.replica} while another wrote it elsewhere; when the two met on "
                f"{op.replica}, the policy {op.note.partition(';')[0]}, so what {lost.agent} wrote is lost."
            )
            findings.append(Finding("lost update", sentence, (lost, op)))
    return findings


def _forgotten(history: History) -> list[Finding]:
    """What a crash made a replica forget: nobody wrote over it, and `no_acknowledged_loss` says whether it is gone."""
    writes = {op.dot: op for op in history if op.dot is not None and op.kind in WRITES}
    found = []
    for op in history:
        lost = [writes[dot] for dot in op.dropped if dot in writes] if op.fault == "forgotten" else []
        if lost:
            sentence = f"{op.agent} crashed and forgot what {in_words(sorted({one.agent for one in lost}))} wrote to {op.key}."
            found.append(Finding("forgotten", sentence, (*lost, op)))
    return found
