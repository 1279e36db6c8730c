"""Exercises about audit and lineage: answers that are nearly right are told what is wrong, other ways are solved."""

from __future__ import annotations

import re

import pytest
from tests.course.cells import mended, run_cell

from commonboard.course import exercises as ex
from commonboard.course.exercise import Exercise
from commonboard.course.exercises import audit

FIRST = """    told = [event for event in run.log if fact in (event.value or "")]
    return told[0].actor"""
LOOK = 'if finding and await me.value("web/finding") == finding:'
LOOK_AND_WRITE = f"""    {LOOK}
        await me.write("letter", finding)"""
WRITE_AND_REGRET = f"""    await me.write("letter", finding)
    {LOOK.replace("==", "!=")}
        await me.delete("letter")"""
SECOND_LOOK = """    async with me.transaction() as tx:
        if finding and await tx.value("web/finding") == finding:
            await tx.write("letter", finding)"""
SNAPSHOT = """    async with me.transaction(isolation="snapshot") as tx:
        if finding and await tx.value("web/finding") == finding:
            await tx.write("letter", finding)"""
WRITTEN = "[op.value for op in run.history.writes() if op.key != report]"
FACT = "any(fact in value for value in written)"

# The exercise, the nearly right answer, and what it is told.
NEARLY: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "whoever wrote it first, anywhere": (
        "find_the_inventor",
        [],
        r"^docs brought it in \(web notes it where nobody looks.*\), and inventor says 'web'",
    ),
    "whoever wrote it last": (
        "find_the_inventor",
        [("told[0]", "told[-1]")],
        r"^docs brought it in \(docs makes it up, and synth copies it\), and inventor says 'synth'",
    ),
    "the whole lineage is asked for its first row": (
        "find_the_inventor",
        [(FIRST, "    return cb.lineage(run, report)[-1].writer")],
        r"^synth brought it in \(synth makes it up\), and inventor says",
    ),
    "the last row is taken for the first writer": (
        "find_the_inventor",
        [(FIRST, "    return [row.writer for row in cb.lineage(run, report) if fact in str(row.value)][-1]")],
        r"^web brought it in \(web makes it up, and synth has it from docs and from lead.*\), and inventor says 'docs'",
    ),
    "it cannot be called": ("find_the_inventor", [("def inventor", "async def inventor")], r"inventor must be a plain function"),
    "it stumbles": ("find_the_inventor", [("told[0]", "told[9]")], r"inventor raised IndexError"),
    "another look, and then a write": (
        "act_on_what_stands",
        [],
        r"^Something goes wrong in 1 of \d+ orders \(web withdraws its finding\). .* at a moment when the finding was withdrawn",
    ),
    "no other look at all": (
        "act_on_what_stands",
        [(LOOK, "if finding:")],
        r"^Something goes wrong in [2-9] of \d+ orders \(web withdraws its finding\)",
    ),
    "to write first and to take it back": (
        "act_on_what_stands",
        [(LOOK_AND_WRITE, WRITE_AND_REGRET)],
        r"^Something goes wrong in \d+ of \d+ orders",
    ),
    "a transaction that rests on what it writes only": (
        "act_on_what_stands",
        [(LOOK_AND_WRITE, SNAPSHOT)],
        r"at a moment when the finding was withdrawn",
    ),
    "it does nothing": ("act_on_what_stands", [(LOOK, "if False:")], r"^Nobody withdraws anything.*the letter is None"),
    "it dies": (
        "act_on_what_stands",
        [(LOOK, "if finding.stands:")],
        r"^Nobody withdraws anything.*AttributeError",
    ),
    "what was written is asked": (
        "cites_what_it_read",
        [],
        r"^unread should give \['churn is up 4 % since May'\], and gives \[\] \(synth cites what docs has read",
    ),
    "what anybody had read is asked": (
        "cites_what_it_read",
        [(WRITTEN, '[op.value for op in run.history if op.kind == "read" and op.value]')],
        r"\(synth cites what docs has read",
    ),
    "what was not found is taken for a list": (
        "cites_what_it_read",
        [(WRITTEN, '[op.value for op in run.history[: run.history.writes(report)[-1].index] if op.kind == "read"]')],
        r"unread raised TypeError",
    ),
    "what was read later counts": (
        "cites_what_it_read",
        [(WRITTEN, '[op.value for op in run.history if op.kind == "read" and op.agent == "synth" and op.value]')],
        r"\(synth reads it after it was written\)",
    ),
    "the board at the end is asked": (
        "cites_what_it_read",
        [(FACT, "any(fact in run.value(key, []) for key in ('web/findings', 'docs/findings', 'docs/summary'))")],
        r"^unread should give",
    ),
}


@pytest.mark.parametrize("case", NEARLY)
def test_an_answer_that_is_nearly_right_is_told_what_is_wrong(case: str) -> None:
    name, changes, told = NEARLY[case]
    feedback = mended(name, *changes)
    assert not feedback.solved
    assert re.search(told, repr(feedback))


def test_an_answer_that_is_no_list_is_refused() -> None:
    feedback = run_cell("ex.cites_what_it_read.check(lambda run, report: None)")
    assert not feedback.solved
    assert "gives a list of facts, not None" in repr(feedback)


# The exercise, and another answer that holds.
OTHER_WAYS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "from step to step up the tree": (
        "find_the_inventor",
        [
            (
                FIRST,
                "    return max((row.depth, row.writer) for row in cb.lineage(run, report) if fact in str(row.value))[1]",
            )
        ],
    ),
    "a transaction for the second look only": ("act_on_what_stands", [(LOOK_AND_WRITE, SECOND_LOOK)]),
    "to go on from one read to the next": (
        "cites_what_it_read",
        [
            (
                WRITTEN,
                "[op.value or [] for op in run.history[: run.history.writes(report)[-1].index] "
                'if (op.kind, op.agent) == ("read", "synth")]',
            )
        ],
    ),
}


@pytest.mark.parametrize("case", OTHER_WAYS)
def test_other_ways_that_hold_are_solved_too(case: str) -> None:
    name, changes = OTHER_WAYS[case]
    feedback = mended(name, *changes)
    assert feedback.solved, feedback


@pytest.mark.parametrize("exercise", audit.EXERCISES, ids=lambda exercise: exercise.name)
def test_the_run_that_is_shown_can_be_walked_through(exercise: Exercise) -> None:
    feedback = mended(exercise.name)
    assert feedback.run is not None
    assert feedback.run.token in repr(feedback)
    assert "①" in str(feedback.picture)


def test_what_could_not_be_tried_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "BUDGET", 2)
    feedback = run_cell(ex.act_on_what_stands.answer)
    assert not feedback.solved
    assert repr(feedback).startswith("Nobody can tell: web withdraws its finding")
