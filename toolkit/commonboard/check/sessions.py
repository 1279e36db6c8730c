"""Session guarantees: what an agent may expect of its own reads and writes, whatever the others do.

- *Read your writes*: what an agent reads has seen its own earlier writes of the key.
- *Monotonic reads*: what it reads has seen whatever it read of the key before.
- *Monotonic writes*: whoever has read a write sees that agent's earlier writes too.
- *Writes follow reads*: whoever has read a write sees what its writer had read before it.
- *Causal*: all of these together, by way of others too.

A version has seen a write if it is that write, or was made over it; between replicas also if a policy settled the two. One
store that keeps one copy gives all five. Copies do not, unless an agent stays with one copy and writes arrive in causal order.

The scan is linear: each agent keeps, as a vector clock, how many writes of each other agent it can know of, and each write
carries the clock of its writer. Only where a read falls behind its clock is it asked by which way the agent knew. A list counts
for what its agent then knows, and is not judged itself. Tasks of one agent are one session, in the order of their operations.

The first four are from Terry et al., "Session guarantees for weakly consistent replicated data" (1994); causal memory from Ahamad
et al. (1995); the clocks from Fidge and Mattern (1988).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from commonboard.check.model import counted
from commonboard.check.observed import WORLDLY, Observed, Places, observed
from commonboard.check.subject import judged, uncollected
from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation
from commonboard.history import GIVEN, Operation

NAME = "session guarantees"
_DOUBTS = ("no versions", "no version read", "missing", "made twice")


def session_guarantees(subject: Any) -> Verdict:
    """Whether each agent's reads and writes kept to what a session may expect.

    Args:
        subject: a `Run` or a `History`; a log has no reads, so it is `Unknown` unless writes alone show something.

    Returns:
        `Violation` with a finding for each read or write that broke a guarantee, named after it; `Holds` for this one history;
        `Unknown` where nothing was read, or versions are missing.

    Raises:
        TypeError: the subject is neither.

    >>> import commonboard as cb
    >>> async def web(me):
    ...     await me.shared.write("x", 1)
    ...     await me.value("shared/x")
    >>> print(session_guarantees(cb.simulate(web)))
    Session guarantees: this holds in this run, which says nothing about other orders
      note: judged: 1 read and 1 write in 1 session
    """
    history, scope, token, doubts, _ = judged(subject, NAME)
    with uncollected():
        seen = observed(history)
        scan = _Scan(seen)
        findings = list(scan.findings())
    notes = [Finding("judged", scan.counted)]
    if findings:
        return Violation(NAME, scope, findings, notes, history=history, token=token)
    doubts = (*doubts, *(seen.doubts[sort] for sort in _DOUBTS if sort in seen.doubts))
    doubts += tuple(f"{seen.operations[place].agent} {told}" for place, told in seen.garbage[:1])
    doubts += scan.doubts[:1]
    doubts += () if scan.reads else ("nothing was read, so nothing could be missed",)
    if doubts:
        return Unknown(NAME, scope, [], notes, "; ".join(doubts), history=history, token=token)
    return Holds(NAME, scope, [], notes, history=history, token=token)


@dataclass(slots=True)
class _Session:
    """What one agent has done and can know of.

    Attributes:
        name: the agent's name, and its life if it has crashed: then it began anew, knowing nothing.
        clock: by session, how many of its writes can be known of.
        writes: by key, its writes of it: which number of all its writes, and the place.
        last: by key, those of its writes that no later one of them was made over: one, as long as all is well.
        reads: by key, the places of its reads of it.
        shown: by key, the writes that it has read and that no later read of it rests on, and where it read them.
        direct: by session, its newest write that was seen directly, and where.
        made: the places of all its writes.
    """

    name: str
    clock: dict[str, int] = field(default_factory=dict)
    writes: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)
    last: dict[str, list[int]] = field(default_factory=dict)
    reads: dict[str, list[int]] = field(default_factory=dict)
    shown: dict[str, dict[int, int]] = field(default_factory=dict)
    direct: dict[str, tuple[int, int]] = field(default_factory=dict)
    made: list[int] = field(default_factory=list)


class _Scan:
    """Goes through a history once, operation by operation."""

    def __init__(self, seen: Observed) -> None:
        self._seen = seen
        self._operations = seen.operations
        self._sessions: dict[str, _Session] = {}
        self._order: dict[int, int] = {}
        self._clocks: dict[int, dict[str, int]] = {}
        self._writer: dict[int, str] = {}
        self._newest: dict[str, int] = {}
        self.reads = 0
        self.doubts: tuple[str, ...] = ()

    @property
    def counted(self) -> str:
        """How much was judged."""
        judged = f"{counted(self.reads, 'read')} and {counted(len(self._order), 'write')}"
        return f"{judged} in {counted(len(self._sessions), 'session')}"

    def findings(self) -> Iterator[Finding]:
        """What was broken, in the order of the history."""
        for place, op in enumerate(self._operations):
            self._newest[op.key] = max(self._newest.get(op.key, -1), self._seen.number[place])
            if op.agent == GIVEN or op.kind in WORLDLY:
                continue
            name = f"{op.agent}~{life}" if (life := self._seen.life(place)) else op.agent
            session = self._sessions.setdefault(name, _Session(name))
            looks = self._seen.saw[place]
            if self._seen.number[place] >= 0:
                yield from self._write(place, op, session)
            elif looks and any(self._seen.number[write] < 0 for write in looks):
                undone = next(write for write in looks if self._seen.number[write] < 0)
                self.doubts += (f"{op.agent} saw {self._named(undone)}, which was rolled back, so it has no place in the order",)
            elif op.kind == "read" and looks is not None:
                self.reads += 1
                yield from self._read(place, op, session)
                session.reads.setdefault(op.key, []).append(place)
                shown = session.shown.get(op.key, {})
                still = {write: shown[write] for write in self._unseen(place, shown)}
                session.shown[op.key] = {**still, **dict.fromkeys(looks, place)}
                self._learn(place, looks, session)
            elif op.kind == "list" and looks is not None:
                self._learn(place, looks, session)

    def _learn(self, place: int, looks: Places, session: _Session) -> None:
        for write in looks:
            writer = self._writer.get(write)
            if writer is None:  # it was given
                continue
            if self._order[write] > session.direct.get(writer, (0, 0))[0]:
                session.direct[writer] = (self._order[write], place)
            for agent, count in self._clocks[write].items():
                if count > session.clock.get(agent, 0):
                    session.clock[agent] = count

    def _write(self, place: int, op: Operation, session: _Session) -> Iterator[Finding]:
        earlier = self._unseen(place, session.last.get(op.key, ()))
        if earlier:
            told = f"{op.agent} wrote {self._named(earlier[-1])}, and then {self._named(place)}, which does not come after it."
            yield self._finding("monotonic writes", told, earlier[-1], place)
        shown = session.shown.get(op.key, {})
        if read := self._unseen(place, shown):
            told = f"{op.agent} read {self._named(read[-1])}, and then wrote {self._named(place)}, which does not come after it."
            yield self._finding("writes follow reads", told, read[-1], shown[read[-1]], place)
        session.last[op.key] = [*earlier, place]
        session.made.append(place)
        numbers, places = session.writes.setdefault(op.key, ([], []))
        numbers.append(len(session.made))
        places.append(place)
        session.clock[session.name] = self._order[place] = len(session.made)
        self._writer[place] = session.name
        self._clocks[place] = dict(session.clock)

    def _read(self, place: int, op: Operation, session: _Session) -> Iterator[Finding]:
        """At most one finding: the guarantee that is the easiest to see."""
        if self._is_newest(place, op.key):
            return
        shown = session.shown.get(op.key, {})
        if own := self._unseen(place, session.last.get(op.key, ())):
            told = f"{op.agent} wrote {self._named(own[-1])}, and then {self._read_what(place)}: its own write was missing."
            yield self._finding("read your writes", told, own[-1], place)
        elif gone := self._unseen(place, shown):
            told = f"{op.agent} read {self._named(gone[-1])}, and then {self._read_what(place)}: what it had read was missing."
            yield self._finding("monotonic reads", told, shown[gone[-1]], place)
        elif missed := self._unseen(place, self._known(op.key, session)):
            found = [self._by_way_of(place, op, session, write) for write in missed]
            yield min(found, key=lambda one: ("monotonic writes", "writes follow reads", "causal").index(one.kind))

    def _unseen(self, place: int, writes: Iterable[int]) -> list[int]:
        """Those of some writes of the same key on which the operation at `place` does not rest."""
        return [write for write in writes if not self._seen.covers(place, write)]

    def _is_newest(self, place: int, key: str) -> bool:
        """Whether a read on one store found the newest write of all so far, so that it cannot have missed any."""
        if self._seen.replicated:
            return False
        return any(self._seen.number[write] >= self._newest.get(key, -1) for write in self._seen.saw[place] or ())

    def _known(self, key: str, session: _Session) -> Iterator[int]:
        """The newest write of a key by each agent, among those that the session can know of."""
        for agent, count in session.clock.items():
            numbers, places = self._sessions[agent].writes.get(key, ((), ()))
            known = bisect_right(numbers, count)
            if known:
                yield places[known - 1]

    def _by_way_of(self, place: int, op: Operation, session: _Session, missed: int) -> Finding:
        """By which way the session could know of a write that its read has not seen."""
        writer = self._writer[missed]
        behind = f"{op.agent} saw the second, and then {self._read_what(place)}: the first was missing."
        number, where = session.direct.get(writer, (0, 0))
        if number > self._order[missed]:
            later = self._sessions[writer].made[number - 1]
            told = f"{self._operations[missed].agent} wrote {self._named(missed)}, and then {self._named(later)}; "
            return self._finding("monotonic writes", told + behind, missed, later, where, place)
        for agent, (number, where) in session.direct.items():
            answer = self._sessions[agent].made[number - 1]
            reads = self._sessions[agent].reads.get(op.key, [])
            earlier = bisect_right(reads, answer)
            if earlier and self._seen.covers(reads[earlier - 1], missed):
                told = f"{self._operations[answer].agent} read {self._named(missed)}, and then wrote {self._named(answer)}; "
                return self._finding("writes follow reads", told + behind, missed, reads[earlier - 1], answer, where, place)
        told = f"{op.agent} had seen what rests, by way of others, on {self._named(missed)}, and then {self._read_what(place)}"
        return self._finding("causal", f"{told}: that was missing.", missed, place)

    def _named(self, place: int) -> str:
        return self._seen.named(place)

    def _read_what(self, place: int) -> str:
        op, looks = self._operations[place], self._seen.saw[place]
        where = f" on {op.replica}" if op.replica else ""
        if looks:
            return f"read {' and '.join(map(self._named, looks))}{where}"
        return f"found nothing at {op.key}{where}" if op.text is None else f"read {op.key}{where} as it had been before"

    def _finding(self, kind: str, told: str, *places: int) -> Finding:
        return Finding(kind, told, tuple(self._operations[place] for place in sorted(set(places))))
