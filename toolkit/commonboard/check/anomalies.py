"""Anomalies: what went wrong between transactions, by name, and the strongest isolation level that still holds.

The dependency graph (`check/dependencies.py`) says who must come before whom: T2 replaced or saw what T1 made, or T1 saw what
T2 replaced. A cycle means that no order of whole transactions explains the history, and how its edges lie names the anomaly:

| Found | How | The first level it breaks |
|---|---|---|
| dirty write (G0) | a cycle in which each replaced what the other wrote | read uncommitted |
| aborted read (G1a) | a read of what was rolled back, or undone by a crash | read committed |
| intermediate read (G1b) | a read of what its writer wrote over in the same transaction | read committed |
| circular information flow (G1c) | as G0, but somebody saw what another wrote | read committed |
| garbage read | a read of a version, or of a value, that nobody wrote | read committed |
| internal inconsistency | a transaction misses its own write, or sees it too early | read committed |
| torn multi-key update | of one transaction, one write happened and another did not | read committed |
| lost update (P4), also as ABA and check-then-act | a write over what was not seen, after a look | snapshot isolation |
| non-repeatable read (P2), read skew (G-single) | a cycle with one anti-dependency | snapshot isolation |
| long fork | a cycle with several anti-dependencies, no two in a row | snapshot isolation |
| phantom (G2) | a cycle with the anti-dependency of a list | snapshot isolation or serializable |
| write skew (G2-item), read-only anomaly | a cycle with two anti-dependencies in a row | serializable |
| … across sessions | a cycle that needs the order of an agent's own transactions | strong session serializable |
| stale read, new-old inversion, clock-skew loss, … across time | with `realtime=True` | strict serializable |
| blind retry | a note: a refused value was written again unchanged | none: the agent's code is at fault |
| duplicate effect | a note: an agent wrote again what it was never told had happened | none: the agent's code is at fault |

Where each operation is its own transaction, "strong session serializable" is sequential consistency.

Not found here, because a history does not show it: livelock and starvation (a run that is endless does), a semantic conflict
(only the scenario's oracle tells), a merge that is not commutative, a diverging tie, a resurrected delete and "converged but
lost" (they are about what replicas hold, not about what anybody saw). Broken session guarantees have a check of their own,
`session_guarantees`. A lost update that was blind is a superseded write, which `no_lost_updates` notes.

What rests on a list is judged on one store. It is left open, and the verdict is `Unknown` unless something else is wrong, between
replicas, where nobody follows which keys a replica did not show; and for a page of a list (`limit=`, `after=`) outside a
transaction. A history holds the keys that a page showed, and neither its limit nor its cursor, so it does not tell whether a page
ended because it was full, or because there was no more; a page with all the keys that there were is taken for the whole list. In
a transaction a page rests on the whole list.

The names and levels are from Berenson et al. (1995), Adya (1999), Fekete et al. (2004: the read-only anomaly) and Cerone et al.
(2015: long fork); the manner of telling is that of Elle (Kingsbury and Alvaro, 2020). Repeatable read (PL-2.99), which forbids
write skew and permits phantoms, lies beside these levels and not between two of them, so it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from commonboard.check.cycles import LEVELS, READ_COMMITTED, SNAPSHOT, Cycles
from commonboard.check.dependencies import Dependencies, dependencies
from commonboard.check.observed import Observed, observed
from commonboard.check.proof import Teller
from commonboard.check.retries import done_again
from commonboard.check.subject import judged, uncollected
from commonboard.check.transactions import Unit
from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation
from commonboard.errors import InvalidArgumentError
from commonboard.history import GIVEN, WRITES

NAME = "anomalies"
LEVEL_HOLDS: Final = "strongest level that holds"
LEVEL_BROKEN: Final = "first level broken"


def anomalies(subject: Any, unit: Unit = "transaction", realtime: bool = False) -> Verdict:
    """Whether some order of whole transactions explains a history, and if not, what went wrong in it.

    Args:
        subject: a `Run`, a `History`, or the events of a store's log.
        unit: what is one transaction. `"transaction"`: what carries the same `transaction`, else a single operation, where a
            write counts as a read of what its writer had seen. `"agent"`: each agent's whole work, which shows read skew, write
            skew and their like in a run without transactions.
        realtime: whether the order in time counts: a transaction that ended before another began must come before it.

    Returns:
        `Violation` with a finding for each anomaly; `Holds` for this one history; `Unknown` where versions are missing. The notes
        say the strongest level that holds, and the first that is broken, out of `LEVELS`.

    Raises:
        TypeError: the subject is none of these.
        InvalidArgumentError: the unit is neither.

    >>> import commonboard as cb
    >>> async def add(me):
    ...     await me.shared.update("n", lambda n: (n or 0) + 1)
    >>> print(anomalies(cb.simulate(add, policy=cb.LastWriterWins())))
    Anomalies: this holds in this run, which says nothing about other orders
      note: strongest level that holds: strong session serializable
    """
    if unit not in ("transaction", "agent"):
        raise InvalidArgumentError(f"unit is 'transaction' or 'agent', not {unit!r}")
    history, scope, token, doubts, has_reads = judged(subject, NAME)
    with uncollected():
        seen = observed(history)
        found = dependencies(seen, unit)
        judge = Judge(found, Teller(found, unit), realtime)
    findings, notes = judge.findings, list(done_again(seen))
    doubts = (*doubts, *seen.doubts.values(), *_too_little(seen, has_reads))
    notes += judge.levels(bool(doubts))
    if findings:
        notes += [Finding("not settled", f"{doubt}.") for doubt in doubts]
        return Violation(NAME, scope, findings, notes, history=history, token=token)
    if doubts:
        return Unknown(NAME, scope, [], notes, "; ".join(doubts), history=history, token=token)
    return Holds(NAME, scope, [], notes, history=history, token=token)


class Judge:
    """Finds what is wrong, and notes the levels that it breaks.

    Attributes:
        findings: what is wrong.
        steps: how many nodes and edges the graph has, and how many edges the search for cycles went along.
        is_spent: whether that search was cut short.
    """

    def __init__(self, found: Dependencies, teller: Teller, realtime: bool) -> None:
        self.findings: list[Finding] = [*teller.scans(), *map(teller.lost, found.lost)]
        self._levels = LEVELS if realtime else LEVELS[:-1]
        self._broken = {READ_COMMITTED: None} if len(self.findings) > len(found.lost) else {}
        self._broken |= {SNAPSHOT: None} if found.lost else {}
        told = {(found.of[lost.write], found.of[later]) for lost in found.lost for later in found.overwritten(lost.look)}
        cycles = Cycles(found.graph, found.order(realtime), told)
        for level, some in cycles.found.items():
            self._broken[level] = None
            self.findings += map(teller.cycle, some)
        self.steps, self.is_spent = found.graph.size + cycles.steps, cycles.is_spent

    def levels(self, is_doubtful: bool) -> list[Finding]:
        """The notes about the levels."""
        broken = next((level for level in self._levels if level in self._broken), None)
        holds = self._levels if broken is None else self._levels[: self._levels.index(broken)]
        strongest = holds[-1] if holds else "none"
        notes = [Finding(f"{LEVEL_HOLDS}{', as far as is known' if is_doubtful else ''}", strongest)]
        notes += [Finding(LEVEL_BROKEN, broken)] if broken is not None else []
        if self.is_spent:
            notes.append(Finding("more", "not every cycle is told: the search for the shortest ones was cut short."))
        return notes


def _too_little(seen: Observed, has_reads: bool) -> Iterator[str]:
    """What keeps a history that shows no anomaly from being judged."""
    if not any(op.kind in WRITES and op.ok and op.agent != GIVEN for op in seen.operations):
        yield "nothing was written, so nothing could go wrong"
    elif not has_reads:
        yield "a log has no reads, so all that is known is what writers had seen of the keys that they wrote"


__all__ = ["LEVELS", "LEVEL_BROKEN", "LEVEL_HOLDS", "Judge", "anomalies"]
