"""What a run and a verdict look like. They are registered here: a result of another module gets its lines at the end.

The functions ask only for what they show, so that anything shaped like a run or a verdict can use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from commonboard.check import Explored, Verdict, no_lost_updates
from commonboard.crdt.reports import LawReport
from commonboard.history import Operation
from commonboard.show.frames import frame, table
from commonboard.show.measure import escape
from commonboard.show.picture import Picture
from commonboard.show.spacetime import spacetime
from commonboard.show.story import seconds
from commonboard.show.tables import Table, Td, fact_cell, html, tabled, value_cell
from commonboard.sim import Run

if TYPE_CHECKING:
    import pandas as pd


def run_picture(run: Run, highlight: Iterable[Operation] = (), caption: str = "") -> Picture:
    """The picture of a run; unless told otherwise, it tells the first lost update, if there is one."""
    chosen = highlight
    if not chosen and not caption:
        chosen, caption = _first_loss(run)
    stuck = [one for one in run.troubles if run.outcome == "deadlock" and one.what.startswith("waits")]
    waits = {one.agent: one.what for one in stuck if one.agent in run.history.agents}
    told = "".join(f" {agent} {what}." for agent, what in waits.items())
    return spacetime(run.history, chosen, caption or f"{_caption(run)}{told}", waiting=waits)


def _first_loss(run: Run) -> tuple[list[Operation], str]:
    found = no_lost_updates(run).findings[:1]
    return [op for one in found for op in one.operations], "".join(one.sentence for one in found)


def _caption(run: Run) -> str:
    who = ", ".join(run.agents)
    how = "without a seed" if run.seed is None else f"with seed {run.seed}"
    return f"{who} under {run.policy}, {how}: {run.outcome} after {seconds(run.seconds)}."


@frame.register(Run)
def _(run: Run) -> pd.DataFrame:
    return frame(run.history)


@html.register(Run)
def _(run: Run) -> str:
    facts = [_caption(run)]
    facts += [f"{run.tokens:,} tokens spent on thinking."] if run.tokens else []
    facts += [f"Writes refused: {run.retries:,}." if run.retries else "No write was refused."]
    facts += [f"Keys that still have several values: {run.unresolved:,}."] if run.unresolved else []
    facts += [f"{fault}." for fault in run.faults]
    return f"<p>{escape(' '.join(facts))} {_replay(run.token)}</p>{_listed(run.troubles)}"


@frame.register(Verdict)
def _(verdict: Verdict) -> pd.DataFrame:
    found = verdict.findings
    return table(
        [
            ("kind", "text", [one.kind for one in found]),
            ("sentence", "text", [one.sentence for one in found]),
            ("key", "text", [one.operations[-1].key if one.operations else None for one in found]),
            ("agents", "object", [list(dict.fromkeys(op.agent for op in one.operations)) for one in found]),
            ("operations", "object", [[op.index for op in one.operations] for one in found]),
        ]
    )


@html.register(Verdict)
def _(verdict: Verdict) -> str:
    lines = [f"<p><b>{escape(verdict.sentence)}</b></p>", _listed(verdict.findings, "ol")]
    if verdict.history is not None and verdict.findings and verdict.findings[0].operations:
        lines.append(verdict.spacetime()._repr_html_())
    lines.append(_listed([f"note: {note}" for note in verdict.notes]))
    if verdict.explored is not None:
        lines.append(tabled(verdict.explored).html + (f"<p>{escape(verdict.explored.why)}</p>" if verdict.explored.why else ""))
    if verdict.token and verdict.findings:
        lines.append(f"<p>{_replay(verdict.token)}</p>")
    return "".join(lines)


@frame.register(Explored)
def _(explored: Explored) -> pd.DataFrame:
    rows = list(explored.rows())
    return table([("what", "text", [words for words, _ in rows]), ("count", "int", [count for _, count in rows])])


@tabled.register(Explored)
def _(explored: Explored) -> Table:
    rows = [[Td(words), Td(f"{count:,}", number=True)] for words, count in explored.rows()]
    return Table(f"What was tried: {explored.how}", ["what", "count"], rows)


@tabled.register(LawReport)
def _(report: LawReport) -> Table:
    words = {True: "holds", False: "fails", None: "not settled"}
    rows = [[Td(row.law), Td(words[row.holds]), value_cell(row.checked), fact_cell(row.counterexample)] for row in report]
    return Table(
        f"The laws of merging, tried on {report.bound}", ["law", "verdict", "cases tried", "smallest counterexample"], rows
    )


def _listed(things: Sequence[object], kind: str = "ul") -> str:
    return f"<{kind}>{''.join(f'<li>{escape(str(thing))}</li>' for thing in things)}</{kind}>" if things else ""


def _replay(token: str) -> str:
    return f"Again: <code>replay={escape(repr(token))}</code>"
