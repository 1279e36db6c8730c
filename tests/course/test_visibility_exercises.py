"""Exercises about copies: each blank goes wrong, answers that are nearly right are told what is wrong, other ways are solved."""

from __future__ import annotations

import re

import pytest
from tests.course.cells import mended, run_cell

import commonboard as cb
from commonboard.check import Unknown
from commonboard.course import exercises as ex
from commonboard.course.exercises import visibility

LOOK = '    return {entry.key: entry.value for entry in await me.list("shared/notes")}'
WRITE = 'await me.shared.write(f"notes/{me.name}", text)'
SUM = "cb.Keep(mine.value + theirs.value)"
BASE = "cb.Keep(mine.value + theirs.value - base.value)"
WORLD = "cb.World(replicas=2, drops=1)"


def looking_until(condition: str) -> str:
    """A look that is repeated until a condition on `entry`, the agent's own note, and on `notes` holds."""
    return f"""    while True:
        page = await me.list("shared/notes")
        notes = {{entry.key: entry.value for entry in page}}
        entry = next((entry for entry in page if entry.key == f"shared/notes/{{me.name}}"), None)
        if {condition}:
            return notes"""


SOMETHING = looking_until("entry is not None")
SOME_VERSION = looking_until("entry is not None and entry.version >= written.version")
MADE_LATER = looking_until("entry is not None and entry.value != 'a draft'")
THREE_TIMES = """    notes = {}
    for _ in range(3):
        if notes.get(f"shared/notes/{me.name}") != text:
            notes = {entry.key: entry.value for entry in await me.list("shared/notes")}
    return notes"""

WITH_A_PAUSE = """    notes = {}
    while notes.get(f"shared/notes/{me.name}") != text:
        await me.think(seconds=1)
        notes = {entry.key: entry.value for entry in await me.list("shared/notes")}
    return notes"""
RECURSION = """    notes = {entry.key: entry.value for entry in await me.list("shared/notes")}
    return notes if text in notes.values() else await looks(me, text)


async def looks(me, text):
    notes = {entry.key: entry.value for entry in await me.list("shared/notes")}
    return notes if text in notes.values() else await looks(me, text)"""

# The exercise, the nearly right answer, and what it is told.
NEARLY: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "the look is answered by the other copy": (
        "read_your_own_note",
        [],
        r"^With web on two copies, something goes wrong in 88 of 160 interleavings\. .*: web wrote .*, looked, and saw None\.",
    ),
    "it waits until something is there": (
        "read_your_own_note",
        [(LOOK, SOMETHING)],
        r"web wrote 'the final text'.* saw 'a draft'",
    ),
    "it takes a version for a token": (
        "read_your_own_note",
        [(WRITE, f"written = {WRITE}"), (LOOK, SOME_VERSION)],
        r"web wrote 'the final text', looked, and saw 'a draft'\.",
    ),
    "it gives up after three looks": (
        "read_your_own_note",
        [(LOOK, THREE_TIMES)],
        r"web wrote .* looked, and saw (None|'a draft')",
    ),
    "it waits for what never comes": ("read_your_own_note", [(LOOK, MADE_LATER)], r"(?i)never ends|in a circle|settle it"),
    "it calls itself without end": ("read_your_own_note", [(LOOK, RECURSION)], r"could not settle it.* A loop that keeps"),
    "it looks for ever": (
        "read_your_own_note",
        [(LOOK, "    while True:\n        await me.think(seconds=1)")],
        r"^It never ends: web never ends",
    ),
    "it knows by heart what the lead wrote": (
        "read_your_own_note",
        [(LOOK, '    return {"shared/notes/web": text, "shared/notes/lead": "churn is up"}')],
        r"the lead's note 'prices rose', .* is not among those that web saw\.",
    ),
    "it returns its own note alone": (
        "read_your_own_note",
        [(LOOK, '    return {f"shared/notes/{me.name}": text}')],
        r"the lead's note 'churn is up', .* is not among those that web saw\.",
    ),
    "it writes nothing": (
        "read_your_own_note",
        [(WRITE, "pass"), (LOOK, '    return {"shared/notes/web": text, "shared/notes/lead": "churn is up"}')],
        r"web's note is None on the board when all is quiet\.",
    ),
    "it returns no dict": ("read_your_own_note", [(LOOK, "    return text")], r"note_and_look gave a str, where a dict"),
    "it is no async function": ("read_your_own_note", [("async def", "def"), ("await ", "")], r"must be an async function"),
    "what both have seen counts twice": (
        "a_count_that_adds_up",
        [],
        r"beginning at 5, something goes wrong in .*: the count on replica-\d is 12 at the end, and it should be 7\.",
    ),
    "the greater one wins": (
        "a_count_that_adds_up",
        [(SUM, "cb.Keep(max(mine.value, theirs.value))")],
        r"beginning at 0, something goes wrong in 18 of 20 interleavings\. .*: the count on replica-\d is 1 .* should be 2\.",
    ),
    "each keeps its own": ("a_count_that_adds_up", [(SUM, "mine")], r"beginning at 0, .* is 1 at the end, and it should be 2\."),
    "one of them wins": (
        "a_count_that_adds_up",
        [(SUM, "theirs if theirs.stamp > mine.stamp else mine")],
        r"is 1 at the end, and it should be 2\.",
    ),
    "both stay": ("a_count_that_adds_up", [(SUM, "cb.RETRY")], r"is 1 at the end, and it should be 2\."),
    "it stumbles": ("a_count_that_adds_up", [(SUM, "cb.Keep(mine.values)")], r"could not be run: .*settle.*AttributeError"),
    "it answers nothing": ("a_count_that_adds_up", [(f"return {SUM}", "pass")], r"could not be run: settle answered None"),
    "no policy": ("a_count_that_adds_up", [("check(settle)", "check(None)")], r"takes a policy, .* not None"),
    "last writer wins": ("a_count_that_adds_up", [("check(settle)", "check(cb.LastWriterWins())")], r"is in no value at the end"),
    "a message is lost": ("one_fault_is_enough", [], r"^No promise is broken in this world: .* at most 1 drop\."),
    "sticky sessions": (
        "one_fault_is_enough",
        [(WORLD, "cb.World(replicas=2, crashes=1, durable=False)")],
        r"^No promise is broken in this world: 2 replicas, sticky; .*this holds in every one of 92 interleavings\.",
    ),
    "a crash after which all is still there": (
        "one_fault_is_enough",
        [(WORLD, 'cb.World(replicas=2, visibility="strong", crashes=1)')],
        r"^No promise is broken in this world",
    ),
    "two faults": (
        "one_fault_is_enough",
        [(WORLD, "cb.World(replicas=2, crashes=2, durable=False)")],
        r"^This world allows 2 faults, and one is asked for: 2 replicas, sticky",
    ),
    "no fault": ("one_fault_is_enough", [(WORLD, "cb.World(replicas=2, clock_skew={})")], r"^This world allows no faults"),
    "a clock and a crash": (
        "one_fault_is_enough",
        [(WORLD, 'cb.World(replicas=2, crashes=1, clock_skew={"replica-1": 5})')],
        r"^This world allows 2 faults",
    ),
    "an agent dies of it": (
        "one_fault_is_enough",
        [(WORLD, "cb.World(replicas=2, lost_answers=1)")],
        r"^An agent did not come to its end, which breaks no promise: .* web raised OutcomeUnknownError",
    ),
    "no world": ("one_fault_is_enough", [(WORLD, "2")], r"`?make_world`? gives a World"),
    "a world that cannot be": ("one_fault_is_enough", [(WORLD, "cb.World(drops=1)")], r"could not be run: .*drops="),
}


@pytest.mark.parametrize("case", NEARLY)
def test_an_answer_that_is_nearly_right_is_told_what_is_wrong(case: str) -> None:
    name, changes, told = NEARLY[case]
    feedback = mended(name, *changes)
    assert not feedback.solved
    assert re.search(told, repr(feedback))


# The exercise, and another answer that holds.
OTHER_WAYS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "lay the own write over what comes back": (
        "read_your_own_note",
        [(LOOK, LOOK.replace("return {", "return {**{").replace(")}", ')}, f"shared/notes/{me.name}": text}'))],
    ),
    "a pause between two looks": ("read_your_own_note", [(LOOK, WITH_A_PAUSE)]),
    "a counter that knows who counted": ("a_count_that_adds_up", [("check(settle)", "check(cb.Merge(cb.PNCounter))")]),
    "a counter that only grows": ("a_count_that_adds_up", [("check(settle)", "check(cb.Merge(cb.GCounter))")]),
    "a three-way merge": ("a_count_that_adds_up", [(SUM, BASE)]),
    "everybody at the first copy": (
        "one_fault_is_enough",
        [(WORLD, 'cb.World(replicas=2, visibility="strong", crashes=1, durable=False)')],
    ),
    "everybody anywhere": (
        "one_fault_is_enough",
        [(WORLD, 'cb.World(replicas=2, visibility="eventual", crashes=1, durable=False)')],
    ),
}


@pytest.mark.parametrize("case", OTHER_WAYS)
def test_other_ways_that_hold_are_solved_too(case: str) -> None:
    name, changes = OTHER_WAYS[case]
    feedback = mended(name, *changes)
    assert feedback.solved, feedback


@pytest.mark.parametrize("name", ["read_your_own_note", "a_count_that_adds_up"])
def test_the_run_that_is_shown_has_the_fault_in_it(name: str) -> None:
    feedback = mended(name)
    assert feedback.run is not None
    assert feedback.run.token in repr(feedback)
    replicas = re.findall(r"replica-\d", str(feedback.picture).splitlines()[0])
    assert replicas == ["replica-1", "replica-2"]


def test_the_crash_that_is_enough_is_in_the_run_that_is_shown() -> None:
    feedback = run_cell(ex.one_fault_is_enough.answer)
    (fault,) = feedback.run.faults
    assert (fault.kind, feedback.run.value("web/told"), feedback.run.value("shared/finding")) == ("crash", "safe", None)
    assert f"{fault.what}: that is enough." in str(feedback.picture)


@pytest.mark.parametrize("name", ["read_your_own_note", "a_count_that_adds_up"])
def test_what_could_not_be_tried_is_no_pass(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(visibility, "BUDGET", 10)
    feedback = run_cell(getattr(ex, name).answer)
    assert not feedback.solved
    assert "the explorer could not settle it" in repr(feedback)


def test_a_run_that_did_not_finish_is_judged_by_nobody() -> None:
    async def waits(me: cb.AgentMemory) -> None:
        async for _ in me.watch():
            pass

    check = visibility._Asked("never wrong", lambda run: "wrong")
    assert isinstance(check(cb.simulate({"web": waits}, world=cb.World(replicas=2))), Unknown)
