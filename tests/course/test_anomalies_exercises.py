"""Exercises about anomalies: nearly right answers are told what is wrong with them, other ways that hold are solved."""

from __future__ import annotations

import inspect
import re

import pytest
from tests.course.cells import mended, run_cell

from commonboard.check import anomalies as judged
from commonboard.course import exercises as ex
from commonboard.course.exercises import anomalies

GOES = '        await tx.write("on_call", False)'
NAMES = '{"A": ..., "B": ..., "C": ..., "D": ...}'
CHOICES = '{"report": ..., "minutes": ..., "task": ...}'

# The exercise, the nearly right answer, and what it is told.
NEARLY: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "nothing is mended": (
        "make_them_meet",
        [],
        r"^Something goes wrong in 4 of 6 orders of web and docs. The simplest run: nobody is on call\.",
    ),
    "all stay": (
        "make_them_meet",
        [(GOES, "        pass")],
        r"web alone, while docs is on call. .*: .* stayed, and one is enough",
    ),
    "the one who stays writes, and the one who goes does not": (
        "make_them_meet",
        [(GOES, f'{GOES}\n    else:\n        await tx.shared.write("stayed", tx.name)')],
        r"orders of web and docs. The simplest run: nobody is on call",
    ),
    "each has a key of its own for the rule": (
        "make_them_meet",
        [(GOES, f'{GOES}\n        await tx.shared.write(f"left/{{tx.name}}", True)')],
        r"orders of web and docs. The simplest run: nobody is on call",
    ),
    "it writes something else": (
        "make_them_meet",
        [("False", '"no"')],
        r"web alone, while docs is on call. .*: web/on_call is 'no'",
    ),
    "write skew is taken for a lost update": (
        "name_the_anomaly",
        [(NAMES, '{"A": "read skew", "B": "lost update", "C": "lost update", "D": "dirty write"}')],
        r"3 of 4 names hold. The picture shows history B(.|\n)*- B is no lost update: it needs somebody who writes a key after",
    ),
    "a history is left out": ("name_the_anomaly", [(NAMES, '{"A": "read skew"}')], r"a name for each of: A, B, C, D"),
    "nothing is filled in": ("name_the_anomaly", [], r"^There is no name yet for A, B, C and D\."),
    "one is not filled in": (
        "name_the_anomaly",
        [(NAMES, '{"A": "read skew", "B": ..., "C": "lost update", "D": "dirty write"}')],
        r"^There is no name yet for B\.",
    ),
    "a name is no text": (
        "name_the_anomaly",
        [(NAMES, '{"A": ["read skew"], "B": "write skew", "C": "lost update", "D": "dirty write"}')],
        r"\['read skew'\] is not among the names",
    ),
    "serializable for everything": (
        "choose_the_isolation",
        [(CHOICES, 'dict.fromkeys(["report", "minutes", "task"], "serializable")')],
        r"1 of 3 choices (.|\n)*report, serializable: more than it takes. With snapshot (.|\n)*"
        r"minutes, serializable: more than it takes. With none",
    ),
    "a snapshot for everything": (
        "choose_the_isolation",
        [(CHOICES, 'dict.fromkeys(["report", "minutes", "task"], "snapshot")')],
        r"1 of 3 choices (.|\n)*task, snapshot: too weak. That one agent has claimed task 7 is violated in 4 of 6 orders",
    ),
    "nothing for anything": (
        "choose_the_isolation",
        [(CHOICES, 'dict.fromkeys(["report", "minutes", "task"], "none")')],
        r"1 of 3 choices (.|\n)*report, none: too weak. That the report gives a figure with its month",
    ),
    "a choice that is none": (
        "choose_the_isolation",
        [(CHOICES, '{"report": "Snapshot", "minutes": "none", "task": "serializable"}')],
        r"'Snapshot' is not among the choices: none, snapshot, serializable",
    ),
    "nothing is chosen": ("choose_the_isolation", [], r"^There is no choice yet for report, minutes and task\."),
    "not all are chosen": ("choose_the_isolation", [(CHOICES, "{}")], r"a choice for each of: report, minutes, task"),
}


@pytest.mark.parametrize("case", NEARLY)
def test_an_answer_that_is_nearly_right_is_told_what_is_wrong(case: str) -> None:
    name, changes, told = NEARLY[case]
    feedback = mended(name, *changes)
    assert not feedback.solved
    assert re.search(told, repr(feedback)), feedback


@pytest.mark.parametrize(
    "rule", ['await tx.shared.append("left", tx.name)', 'await tx.shared.write("rule", True)', 'await tx.shared.delete("rule")']
)
def test_other_ways_to_make_the_conflict_are_judged_by_what_they_do(rule: str) -> None:
    feedback = mended("make_them_meet", (GOES, f"{GOES}\n        {rule}"))
    assert feedback.solved == ("delete" not in rule), feedback  # to delete what is not there writes nothing


def test_the_solution_holds_where_its_last_line_is_what_makes_it_hold() -> None:
    answer = ex.make_them_meet.answer
    line = '        await tx.shared.write("last_to_leave", tx.name)\n'
    assert line in answer
    assert run_cell(answer).solved
    assert not run_cell(answer.replace(line, "")).solved


@pytest.mark.parametrize("letter", anomalies.HISTORIES)
def test_each_history_happens_as_it_is_told_and_has_one_name(letter: str) -> None:
    steps = anomalies.HISTORIES[letter]
    run = anomalies.run_of(steps)
    happened = [op for op in run.history if op.agent != "given" and op.kind != "think"]
    kinds = {"read": "reads", "write": "writes"}
    assert [(op.agent, kinds[op.kind], op.key.removeprefix("shared/")) for op in happened] == [step[:3] for step in steps]
    assert len({finding.kind for finding in judged(run, unit="agent").findings}) == 1


def test_the_question_shows_the_programs_that_are_tried() -> None:
    for program in (anomalies.corrects, anomalies.reports, anomalies.takes_minutes, anomalies.claims):
        code = re.sub(r"tx: AgentMemory\) -> None:.*", "tx):", inspect.getsource(program)).rstrip()
        assert code in ex.choose_the_isolation.question


def test_of_the_isolations_the_weakest_that_holds_is_another_one_for_each_program() -> None:
    held = {
        name: [each for each in anomalies.ISOLATIONS if anomalies.tried(programs, each).holds]
        for name, programs in anomalies.PROGRAMS.items()
    }
    assert held == {
        "report": ["snapshot", "serializable"],
        "minutes": ["none", "snapshot", "serializable"],
        "task": ["serializable"],
    }


def test_the_run_that_is_shown_has_the_fault_in_it() -> None:
    feedback = mended("choose_the_isolation", (CHOICES, '{"report": "none", "minutes": "none", "task": "serializable"}'))
    assert feedback.run is not None
    assert feedback.run.state["synth/report"] == "6 % in May"
