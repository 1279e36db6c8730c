"""Exercises about reality: answers that are nearly right are told what is wrong, and other ways are solved."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from tests.course.cells import mended, run_cell
from tests.helpers import run

from commonboard.course import exercises as ex
from commonboard.course.exercises import reality
from commonboard.course.exercises.reality import Call, Look
from commonboard.course.lesson_stores import Drawer
from commonboard.stores import conformance

IMPORT = ("def meeting", "import asyncio\n\n\ndef meeting")
PAUSE = "await asyncio.sleep(0.01)"
MEETING = """    async def meet():
        await asyncio.sleep(0.01)

    return meet"""
EVENT = """    come = []
    gate = asyncio.Event()

    async def meet():
        come.append(1)
        if len(come) == agents:
            gate.set()
        await gate.wait()

    return meet"""
TWO = EVENT.replace("== agents", "== 2")
ONE_MORE = EVENT.replace("== agents", "== agents + 1")
POLL = """    come = []

    async def meet():
        come.append(1)
        while len(come) < agents:
            await asyncio.sleep(1)

    return meet"""
LATER = "return a.agent if a.begin > b.begin else b.agent"
BY_TIME = """for one, other in ((a, b), (b, a)):
        if one.end is not None and one.end < other.begin:
            return other.agent
    return None"""
BY_LOOK = "return look.saw"
NO_ANSWER_IS_LAST = """for one, other in ((a, b), (b, a)):
        if one.end is None or (other.end is not None and other.end < one.begin):
            return one.agent"""
TRY = "return await me.shared.append("
LOOK_FIRST = 'if note in await me.value("shared/notes"):\n                return\n            return await me.shared.append('
BLIND = 'notes = await me.value("shared/notes")\n            return await me.shared.write("notes", [*notes, note]) if True else ('
UNTIL_THERE = """while note not in (notes := await me.value("shared/notes")):
                await me.shared.write("notes", [*notes, note])
            return ("""
APPEND_TWICE = "pass  # no answer: try again"

# The exercise, the nearly right answer, and what it is told.
NEARLY: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "a short pause": (
        "meet_on_purpose",
        [IMPORT],
        r"^2 agents do not meet in \d+ of 100 simulated runs. The first, seed \d+: the count came to 2",
    ),
    "a pause of an hour": ("meet_on_purpose", [IMPORT, (PAUSE, "await asyncio.sleep(3600)")], r"^2 agents do not meet"),
    "two are enough": ("meet_on_purpose", [IMPORT, (MEETING, TWO)], r"^3 agents do not meet in \d+ of 100 simulated runs"),
    "one who never comes": ("meet_on_purpose", [IMPORT, (MEETING, ONE_MORE)], r"^2 agents do not meet in 100 of 100 .*: web"),
    "no meeting at all": ("meet_on_purpose", [IMPORT, ("return meet", "return None")], r"gives a function meet, not None"),
    "a meeting that must be awaited": (
        "meet_on_purpose",
        [IMPORT, ("\ndef meeting", "\nasync def meeting")],
        r"must be a plain function",
    ),
    "the meeting cannot be made": (
        "meet_on_purpose",
        [IMPORT, (MEETING, "    return agents / 0")],
        r"meeting raised ZeroDivision",
    ),
    "who began later": ("who_was_second", [], r"second says 'docs', and web was second, in every order that fits\.\n\nweb   ├"),
    "who was seen": ("who_was_second", [(LATER, BY_LOOK)], r"may have been either|was second, in every order"),
    "the look is not asked": ("who_was_second", [(LATER, BY_TIME)], r"second says None, and \w+ was second, in every order"),
    "a call for a name": ("who_was_second", [(LATER, "return b")], r"gives a name, such as a.agent"),
    "nobody can ever know": ("who_was_second", [(LATER, "return None")], r"^Right about 290 of 448 records"),
    "who got no answer was last": ("who_was_second", [(LATER, NO_ANSWER_IS_LAST)], r"^Right about \d+ of 448 records"),
    "an end that is none": ("who_was_second", [(LATER, "return (a if a.end > b.end else b).agent")], r"second raised TypeError"),
    "it tries again": ("noted_once", [], r"in 18 of 27 ways .* The first: web's note is there 2 times"),
    "it gives up": ("noted_once", [(APPEND_TWICE, "return")], r"in 15 of 27 ways .* The first: web's note is missing"),
    "it passes the error on": ("noted_once", [(APPEND_TWICE, "raise")], r"raised OutcomeUnknownError"),
    "it writes over the other's note": ("noted_once", [(TRY, BLIND)], r"note is missing"),
    "it writes over the other's note, and looks again": (
        "noted_once",
        [(TRY, UNTIL_THERE)],
        r"The first: docs's note is missing",
    ),
    "it knows who takes part": (
        "noted_once",
        [(TRY, """return await me.shared.write("notes", ["web's note", "docs's note"]) if True else (""")],
        r"in 27 of 27 ways .* The first: lead's note is missing",
    ),
    "it never ends": ("noted_once", [("return await", "await")], r"in one way .*: web .*timeout_s=0.5"),
    "it notes something else": ("noted_once", [('"notes", note)', '"notes", note.upper())')], r"somebody noted \"WEB'S"),
}


@pytest.mark.parametrize("case", NEARLY)
def test_an_answer_that_is_nearly_right_is_told_what_is_wrong(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if case == "it never ends":  # the others end by themselves, however slow the machine is
        monkeypatch.setattr(reality, "PATIENCE_S", 0.5)
    name, changes, told = NEARLY[case]
    feedback = mended(name, *changes)
    assert not feedback.solved
    assert re.search(told, repr(feedback), re.DOTALL), feedback


# The exercise, and another answer that holds.
OTHER_WAYS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "a gate that the last one opens": ("meet_on_purpose", [IMPORT, (MEETING, EVENT)]),
    "ask again and again": ("meet_on_purpose", [IMPORT, (MEETING, POLL)]),
    "a barrier's own wait": ("meet_on_purpose", [IMPORT, (MEETING, "    return asyncio.Barrier(agents).wait")]),
    "look before every try": ("noted_once", [(TRY, LOOK_FIRST)]),
}


@pytest.mark.parametrize("case", OTHER_WAYS)
def test_other_ways_that_hold_are_solved_too(case: str) -> None:
    name, changes = OTHER_WAYS[case]
    feedback = mended(name, *changes)
    assert feedback.solved, feedback


@pytest.mark.parametrize("name", ["meet_on_purpose", "who_was_second", "noted_once"])
def test_an_answer_is_judged_while_the_notebooks_own_loop_is_busy(name: str) -> None:
    async def cell() -> bool:
        return bool(run_cell(getattr(ex, name).answer).solved)

    assert run(cell())


def test_the_judge_of_orders_agrees_with_moments_drawn_in_full() -> None:
    """Each call is put at every half moment of its time, and the look shows whose effect was there last."""
    for a, b, look in reality._cases():
        times = [[m + 0.5 for m in range(one.begin, 8 if one.end is None else one.end)] for one in (a, b, look)]
        found = set()
        for at_a in times[0]:
            for at_b in times[1]:
                for at_look in times[2]:
                    for x, y, z in _nudged(at_a, at_b, at_look):
                        last = max((moment, who) for moment, who in ((x, a.agent), (y, b.agent)))[1]
                        before = [(moment, who) for moment, who in ((x, a.agent), (y, b.agent)) if moment < z]
                        if before and max(before)[1] == look.saw:
                            found.add(last)
        assert sorted(reality._possible(a, b, look)) == sorted(found), (a, b, look)


def _nudged(*moments: float) -> list[tuple[float, ...]]:
    """The same moments, with those that are equal put in each order."""
    shifts = (0.0, 0.1, 0.2)
    orders = [(p, q, r) for p in shifts for q in shifts for r in shifts if len({p, q, r}) == 3]
    return [tuple(m + s for m, s in zip(moments, order, strict=True)) for order in orders]


def test_a_record_is_drawn_with_what_is_not_known() -> None:
    drawn = reality._drawn(Call("web", 0, None), Call("docs", 1, 2), Look(3, 4, "docs"))
    assert drawn.split("\n") == [
        "web   ├───────────────────────> no answer came",
        "docs      ├───┤",
        "look              ├───┤         saw what docs wrote",
    ]


def test_every_record_of_two_writes_and_a_look_is_asked_once() -> None:
    cases = list(reality._cases())
    assert len(cases) == len(set(cases)) == 3 * 90 * 2
    assert all(one.begin != other.begin for case in cases for one, other in combinations(case, 2))


def test_the_drawer_is_a_store_that_knows_everything_but_when_a_key_was_made() -> None:
    found = run(conformance.run(Drawer))
    assert [outcome.name for outcome in found.failed] == ["delete_then_set_is_a_new_creation"]
