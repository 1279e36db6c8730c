"""Convergence between replicas, and what it does not promise: that nothing acknowledged was lost.

`converges` asks whether replicas that have seen the same writes hold the same, at every moment (strong convergence) and when
all is quiet. Last-writer-wins passes that, and loses: all replicas agree, and an acknowledged write is nowhere. So
`no_acknowledged_loss` is a check of its own: each write that was acknowledged is in a final value, or somebody who had seen it
replaced it.

Both depend on the final state of the run alone: a world remembers where replicas disagreed, and which acknowledged writes
nobody who had seen them has replaced. Source: Shapiro, Preguiça, Baquero and Zawirski, "Conflict-free replicated data types"
(2011), for strong convergence.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from commonboard.check import lost_updates
from commonboard.check.subject import untouched
from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation
from commonboard.errors import SubjectError, kind_of
from commonboard.history import GIVEN, WRITES, History, Operation
from commonboard.sim import Run
from commonboard.sim.replicas import state_of
from commonboard.values import ENCODING, decode, plain

CONVERGES = "replicas converge"
NO_LOSS = "no acknowledged write is lost"


def converges(subject: Run) -> Verdict:
    """Whether replicas that had seen the same writes always held the same, and all hold the same when everything is quiet.

    Args:
        subject: a run in a `World` of several replicas.

    Returns:
        `Violation` with a finding for each key on which two replicas differed, `Holds`, or `Unknown` where there is one store,
        the run did not come to its end, or a fault touched nothing.

    Raises:
        SubjectError: the subject is no run.
    """
    run = _run(subject, "converges")
    history, token = run.history, run.token
    if len(run.copies) < 2:
        return Unknown(CONVERGES, "this run", why="there is one store, so nothing could differ", history=history, token=token)
    findings = list(_disagreements(history))
    if _is_quiet(run):
        told = {found.operations[-1].key for found in findings}
        findings += [found for found in _differences(run) if found.operations[-1].key not in told]
    return _verdict(CONVERGES, run, findings, [])


def no_acknowledged_loss(subject: Run) -> Verdict:
    """Whether every acknowledged write is in a final value, or was replaced by somebody who had seen it.

    A write that stands beside another, unresolved, is not lost. Who replaces a value without ever having looked at the key
    replaces it on purpose. A write whose agent got no answer was not acknowledged.

    Args:
        subject: a run, on one store or between replicas.

    Returns:
        `Violation` with a finding for each lost write, `Holds`, or `Unknown` where nothing was acknowledged, the run did not
        come to its end, the store keeps no versions, replicas disagree, or a fault touched nothing.

    Raises:
        SubjectError: the subject is no run.
    """
    run = _run(subject, "no_acknowledged_loss")
    findings = [_lost(run, op) for op in run.unaccounted] if _is_quiet(run) else []
    return _verdict(NO_LOSS, run, findings, list(_doubts(run.history)))


converges.judges = no_acknowledged_loss.judges = "end"  # type: ignore[attr-defined]
no_acknowledged_loss.asks_what_is_owed = True  # type: ignore[attr-defined]


def _run(subject: Any, check: str) -> Run:
    if not isinstance(subject, Run):
        told = f"{check} takes a Run, since it looks at what is held when all is quiet, not {kind_of(subject)}"
        raise SubjectError(f"{told}; cb.simulate gives a Run")
    return subject


def _is_quiet(run: Run) -> bool:
    """Whether all messages have arrived: only when every agent is at its end, one way or another."""
    return run.outcome in ("finished", "failed")


def _verdict(name: str, run: Run, findings: list[Finding], doubts: list[str]) -> Verdict:
    if findings:
        return Violation(name, "this run", findings, history=run.history, token=run.token)
    if not run.ok:
        doubts = [f"the run did not finish ({run.outcome}: {'; '.join(map(str, run.troubles))})", *doubts]
    doubts += untouched(run)
    if doubts:
        return Unknown(name, "this run", why="; ".join(doubts), history=run.history, token=run.token)
    return Holds(name, "this run", history=run.history, token=run.token)


def _disagreements(history: History) -> Iterator[Finding]:
    """The first moment, for each key, at which two replicas had seen the same and held something else."""
    writes = {op.dot: op for op in history if op.dot is not None and op.kind in WRITES}
    told = set[str]()
    for op in history:
        if op.kind == "merge" and "; disagrees with " in op.note and op.key not in told:
            told.add(op.key)
            what, _, other = op.note.partition("; disagrees with ")
            other = other.partition(",")[0]
            sentence = (
                f"{op.agent} took in {op.dot} of {op.key} from {op.source} ({what}); now it has seen the same writes as {other}, "
                f"and the two hold different values: what the policy answers depends on the side, or on the order."
            )
            yield Finding("divergence", sentence, (*([writes[op.dot]] if op.dot in writes else []), op))


def _differences(run: Run) -> Iterator[Finding]:
    """Keys of which two replicas hold something else when all is quiet."""
    keys = sorted({key for copy in run.copies.values() for key in copy})
    for key in keys:
        for one, other in combinations(run.copies, 2):
            here, there = (state_of(run.copies[name].get(key, [])) for name in (one, other))
            if here != there:
                held = f"{one} held {_shown(run, one, key)} at {key}, and {other} held {_shown(run, other, key)}"
                sentence = f"when all was quiet, {held}."
                operations = [op for op in run.history if op.key == key and op.replica in (one, other) and op.agent != GIVEN]
                yield Finding("divergence", sentence, tuple(operations[-2:]))
                break


def _shown(run: Run, replica: str, key: str) -> str:
    texts = [
        "nothing" if s.text is None else f"{plain(decode(s.text, {ENCODING: s.metadata.get(ENCODING), **s.metadata}, key))!r:.60}"
        for s in run.copies[replica].get(key, [])
    ]
    return " beside ".join(texts) or "nothing"


def _lost(run: Run, op: Operation) -> Finding:
    """Why an acknowledged write is in no final value."""
    where = f" on {op.replica}" if op.replica else ""
    start = f"{op.agent} {'deleted' if op.text is None else 'wrote'} {op.key}{where} and was told so"
    history = run.history
    merge = next((other for other in history if other.kind == "merge" and op.dot is not None and op.dot in other.dropped), None)
    if merge is not None:
        what = f"the policy {merge.note.partition(';')[0]}"
        sentence = f"{start}; when it met what another wrote, on {merge.replica}, {what}: it is in no value at the end."
        return Finding("acknowledged loss", sentence, (op, merge))
    over = next((found for found in lost_updates.overwritten(history) if _is_victim(op, found.operations[:-1])), None)
    if over is not None:
        by = over.operations[-1]
        sentence = f"{start}; {by.agent}, who had looked before that, wrote over it without having seen it."
        return Finding("acknowledged loss", sentence, over.operations)
    crash = next((other for other in history if other.fault == "forgotten" and op.dot in other.dropped), None)
    if crash is not None:
        sentence = f"{start}; {crash.replica} crashed and forgot it before any other replica had it."
        return Finding("acknowledged loss", sentence, (op, crash))
    return Finding("acknowledged loss", f"{start}; it is in no value at the end, and nobody who had seen it replaced it.", (op,))


def _is_victim(op: Operation, victims: tuple[Operation, ...]) -> bool:
    return any(victim is op or (op.dot is not None and victim.kind == "merge" and op.dot in victim.live) for victim in victims)


def _doubts(history: History) -> Iterator[str]:
    writes = [op for op in history if op.ok and op.kind in WRITES and op.agent != GIVEN and op.acknowledged]
    if not writes:
        yield "no write was acknowledged, so none could be lost"
    blind = next((op for op in writes if op.made is None and op.kind != "delete"), None)
    if blind is not None:
        yield f"the store keeps no versions, so nobody knows what {blind.agent} overwrote at {blind.key!r}"
    differs = next((op for op in history if op.kind == "merge" and "; disagrees with " in op.note), None)
    if differs is not None:
        yield f"{differs.agent} {differs.note.partition('; ')[2]} of {differs.key!r}: nobody can say what the board holds"
