"""What an agent did again, and perhaps should not have: a blind retry, a duplicate effect.

No isolation level is broken by either: the store did what it was asked. A history shows that something was done again, and not
whether that was right, so both are told as notes.
"""

from __future__ import annotations

from collections.abc import Iterator

from commonboard.check.observed import Observed
from commonboard.check.verdict import Finding
from commonboard.history import WRITES, Operation


def done_again(seen: Observed) -> Iterator[Finding]:
    """Notes of what was done again.

    A *blind retry*: a write was refused, and its agent, after another look, wrote the same value unchanged. A *duplicate effect*:
    a write happened and its agent did not know, since the answer was lost or it crashed, and it wrote the key again.
    """
    refused: dict[tuple[str, str], Operation] = {}
    untold: dict[tuple[str, str], Operation] = {}
    written: dict[str, dict[str, Operation]] = {}
    for op in seen.operations:
        if op.fault == "agent crash":
            untold |= {(op.agent, key): one for key, one in written.pop(op.agent, {}).items()}
        if op.kind not in WRITES:
            continue
        who = (op.agent, op.key)
        if not op.ok:
            refused |= {who: op} if op.made is None else {}
            continue
        if who in refused:
            first = refused.pop(who)
            if first.text is not None and op.text == first.text and op.saw != first.saw:
                yield _blind_retry(first, op)
        if who in untold:
            yield _duplicate(untold.pop(who), op)
        if not op.acknowledged:
            untold[who] = op
        if seen.crashes:
            written.setdefault(op.agent, {})[op.key] = op


def _blind_retry(first: Operation, again: Operation) -> Finding:
    told = (
        f"{again.agent} was refused when it wrote {again.key}, looked again, and wrote the same value unchanged; "
        "if that value was made from what it had read first, the other's change is lost."
    )
    return Finding("blind retry", told, (first, again))


def _duplicate(first: Operation, again: Operation) -> Finding:
    why = ", and crashed," if first.acknowledged else " without learning that it had happened,"
    told = f"{again.agent} had written {again.key}{why} and wrote it again; if both add something, it is there twice."
    return Finding("duplicate effect", told, (first, again))
