"""Invented facts: what a report says, though nothing that its writer had read says it.

A history can tell what nobody could have known. The facts are taken out of the report by a function, and each is looked for in
all that the report rests on: what its writer had read or written before, what the writers of that had read, and so on. One that
is nowhere in it, and that nobody had written elsewhere, is invented. A history says who wrote a fact first, and never whether it
is true: where only some keys are to be trusted, name them as `sources`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from commonboard.check.lineage import looks_by_agent, short
from commonboard.check.observed import Observed, observed
from commonboard.check.subject import judged
from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation
from commonboard.entry import under
from commonboard.errors import InvalidArgumentError

NAME = "no invented facts"
UNREAD = "unread fact"


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, in order; an empty one says nothing.

    >>> list(texts({"title": "Churn", "cites": ["up 4 %", {"page": 2, "says": "since May"}]}))
    ['Churn', 'up 4 %', 'since May']
    """
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            if part:
                yield part
        elif isinstance(part, dict):
            todo += reversed(part.values())
        elif isinstance(part, list):
            todo += reversed(part)


def no_invented_facts(
    subject: Any, report: str, facts: Callable[[Any], Iterable[Any]] = texts, sources: str | Sequence[str] = ""
) -> Verdict:
    """Whether every fact in a report was written before by somebody whom the report rests on.

    Args:
        subject: a `Run` or a `History`. A log has no reads, so only what nobody had written at all can be told from it.
        report: the report's full key; its newest value is judged.
        facts: takes the report's value and gives its facts: texts, numbers or other parts of JSON values. Every text unless
            given. A text is found in a text that contains it; anything else in an equal part.
        sources: the prefix, or the prefixes, under which facts may come from.

    Returns:
        `Violation` with a finding for each invented fact, and for each fact without a source where sources are named; `Holds`,
        with a note for each fact that was written by somebody whom the report does not rest on; `Unknown` where there is no
        report, no fact in it, or nobody knows what was read.

    Raises:
        TypeError: the subject is none of these.
        InvalidArgumentError: `facts` or `sources` are not what they must be, or `facts` raised an error.

    >>> import commonboard as cb
    >>> run = cb.simulate(cb.scenarios.research_crew)
    >>> print(no_invented_facts(run, "synth/brief", facts=lambda brief: brief["cites"]).findings[0].sentence)
    synth's synth/brief says 'the March outage cost 40 customers'; nobody had written that before, so synth invented it.
    """
    history, scope, token, doubts, has_reads = judged(subject, NAME)
    prefixes = _prefixes(sources)
    seen = observed(history)
    written = [place for place in seen.writes.get(report, []) if seen.operations[place].text is not None]
    if not written:
        return Unknown(NAME, scope, why=f"nobody wrote {report!r}", history=history, token=token)
    op = seen.operations[written[-1]]
    board = _Board(seen, written[-1], prefixes)
    cited = _cited(facts, op.value, report)
    judgements = [found for fact in cited if (found := board.judge(fact, has_reads)) is not None]
    findings = [found for found in judgements if found.kind != UNREAD]
    notes = [found for found in judgements if found.kind == UNREAD]
    if findings and not board.blanks:
        return Violation(NAME, scope, findings, notes, history=history, token=token)
    if findings:
        doubts += (f"nobody knows what {' and '.join(board.blanks)} found at some looks, and facts may have come from there",)
    if not cited:
        doubts += (f"{report} holds no facts",)
    if not has_reads:
        doubts += (f"a log has no reads, so what {op.agent} had read is not known",)
    if doubts:
        return Unknown(NAME, scope, [], notes, "; ".join(doubts), history=history, token=token)
    return Holds(NAME, scope, [], notes, history=history, token=token)


def _prefixes(sources: Any) -> list[str]:
    found = [sources] if isinstance(sources, str) else sources
    if not isinstance(found, (list, tuple)) or not found or not all(isinstance(prefix, str) for prefix in found):
        raise InvalidArgumentError(f"sources is a prefix, or a list of prefixes with at least one in it, not {sources!r:.80}")
    return list(found)


def _cited(facts: Any, value: Any, report: str) -> list[Any]:
    """What the caller's function takes out of a report."""
    example = 'such as lambda report: report["cites"]'
    if not callable(facts):
        raise InvalidArgumentError(f"facts is a function of the report's value, {example}, not {facts!r:.80}")
    try:
        found = facts(value)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise InvalidArgumentError(f"facts raised {told} for the report {report!r}, which is {short(value)}") from error
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise InvalidArgumentError(f"facts gave {short(found)}, and must give a list of facts, {example}")
    return list(found)


class _Board:
    """What a report could know: the values that it rests on, and what else had been written before it.

    Attributes:
        blanks: agents by way of whom it may have known more, since nobody knows what they found at some looks.
    """

    def __init__(self, seen: Observed, report: int, sources: list[str]) -> None:
        self._seen = seen
        self._report = report
        self._sources = sources
        self._values: list[Any] = []
        reached, until = self._reach()
        mine, key = seen.operations[report], seen.operations[report].key
        writes = sorted(write for places in seen.writes.values() for write in places)
        self._others = [w for w in writes if w < report and seen.operations[w].key != key and seen.operations[w].text is not None]
        known = [w for w in self._others if w in reached or seen.operations[w].agent == mine.agent]
        self._values += [seen.operations[w].value for w in known if self._is_source(seen.operations[w].key)]
        lost = [op for place, op in enumerate(seen.operations) if op.kind in ("read", "list") and self._is_blank(place, until)]
        self.blanks = list(dict.fromkeys(op.agent for op in lost))

    def judge(self, fact: Any, has_reads: bool) -> Finding | None:
        """What is wrong with a fact; `None` if it has a source."""
        ops, mine = self._seen.operations, self._seen.operations[self._report]
        says = f"{mine.agent}'s {mine.key} says {short(fact)}"
        if any(_says(value, fact) for value in self._values):
            return None
        writers = [w for w in self._others if _says(ops[w].value, fact)]
        if not writers:
            told = f"{says}; nobody had written that before, so {mine.agent} invented it."
            return Finding("invented fact", told, (mine,))
        first = next((w for w in writers if self._is_source(ops[w].key)), writers[0])
        told = f"{says}; {ops[first].agent} had written that as {self._seen.named(first)}, "
        if not self._is_source(ops[first].key):
            return Finding(
                "fact without a source", f"{told}and nobody had under {' or '.join(self._sources)}.", (ops[first], mine)
            )
        if not has_reads:
            return None
        return Finding(UNREAD, f"{told}on which the report does not rest.", (ops[first], mine))

    def _reach(self) -> tuple[dict[int, None], dict[str, int]]:
        """The writes that the report rests on, and by agent, up to where its looks count. Keeps the values that were read."""
        looks = looks_by_agent(self._seen)
        reached: dict[int, None] = {self._report: None}
        until: dict[str, int] = {}
        todo = [self._report]
        while todo:
            write = todo.pop()
            agent = self._seen.operations[write].agent
            mine = looks.get(agent, [])
            for look in mine[bisect_right(mine, until.get(agent, -1)) : bisect_right(mine, write)]:
                op = self._seen.operations[look]
                if op.kind == "read" and op.text is not None and self._is_source(op.key):
                    self._values.append(op.value)
                todo += [found for found in self._seen.saw[look] or () if found not in reached]
                reached.update(dict.fromkeys(self._seen.saw[look] or ()))
            until[agent] = max(until.get(agent, -1), write)
        return reached, until

    def _is_blank(self, place: int, until: dict[str, int]) -> bool:
        return self._seen.saw[place] is None and place <= until.get(self._seen.operations[place].agent, -1)

    def _is_source(self, key: str) -> bool:
        return key != self._seen.operations[self._report].key and any(under(prefix, key) for prefix in self._sources)


def _says(value: Any, fact: Any) -> bool:
    """Whether a fact is a part of a value; a text also within a text."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(fact, str) and isinstance(part, str):
            if fact in part:
                return True
        elif type(part) is type(fact) and part == fact:
            return True
        if isinstance(part, dict):
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return False
