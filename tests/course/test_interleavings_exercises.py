"""Exercises about every interleaving: answers that are nearly right are told what is wrong, and other ways are solved."""

from __future__ import annotations

import re

import pytest
from tests.course.cells import mended

from commonboard.course import exercises as ex

ADDS = 'await me.shared.update("left", lambda count: count + 1)'
COUNTS = """count = await me.value("shared/done") + 1
    await me.shared.write("done", count)
    return count == 3"""
UPDATES = 'await me.shared.update("done", lambda count: count + 1)'
PROPERTY = "def only_what_is_there(board):"
DESK, PUTS, TAKES = "desk = {}", 'desk["draft"] = f"what {me.name} drafted"', 'desk["draft"])'


def busy(notes: int, then: str) -> str:
    return f'for page in range({notes}):\n        await me.write("notes", page)\n    {then}'


def property_that(says: str) -> list[tuple[str, str]]:
    return [(PROPERTY, f"{PROPERTY}\n    {says}")]


# The exercise, the nearly right answer, and what it is told.
NEARLY: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "the race is in plain sight": (
        "hide_from_the_seeds",
        [],
        r"^A seed found the race in \d+ of 200 runs. The first, seed \d+: \w+ read version 1",
    ),
    "two notes hide nothing": ("hide_from_the_seeds", [(ADDS, busy(2, ADDS))], r"^A seed found the race in \d+ of 200 runs"),
    "there is no race": (
        "hide_from_the_seeds",
        [(ADDS, busy(20, 'await me.write("left", 1)'))],
        r"^200 seeds found nothing, because there is nothing to find. No lost updates: .* 253 interleavings",
    ),
    "it appends, which dies": (
        "hide_from_the_seeds",
        [(ADDS, 'await me.shared.append("left", 1)')],
        r"^An agent did not come to its end in 200 of 200 runs",
    ),
    "it dies where no seed sees it": (
        "hide_from_the_seeds",
        [(ADDS, busy(20, 'assert await me.value("shared/left") == 1'))],
        r"^Something else went wrong than a lost update, in .*: docs raised AssertionError",
    ),
    "docs does not wait for the board": ("hide_from_the_seeds", [("async def", "def"), (f"await {ADDS[6:]}", "pass")], r"async"),
    "nobody is the last": ("last_one_out", [], r"^That is not one brief, .* in 1,512 of 1,680 .*the brief says \[\]"),
    "it updates, and reads afterwards": (
        "last_one_out",
        [(COUNTS, f'{UPDATES}\n    return await me.value("shared/done") == 3')],
        r"^That is not one brief, .* the brief says \['by \w+, of 3 findings', 'by \w+, of 3 findings'",
    ),
    "everybody is the last": (
        "last_one_out",
        [(COUNTS, "return True")],
        r"^That is not one brief, .*the brief says \[('.*'(, )?){3}\]",
    ),
    "the first writes the brief": (
        "last_one_out",
        [(COUNTS, f"entry = {UPDATES}\n    return entry.value == 1")],
        r"^That is not one brief, .*the brief says \['by \w+, of [12] findings'\]",
    ),
    "it dies": (
        "last_one_out",
        [(COUNTS, "return await me.value('shared/gone') + 1")],
        r"In the run shown: \w+ raised TypeError",
    ),
    "it waits for ever": (
        "last_one_out",
        [(COUNTS, f'{UPDATES}\n    while await me.value("shared/done") != 4:\n        pass\n    return True')],
        r"^(That is not one brief, .*livelock|The explorer could not settle it)",
    ),
    "it cannot be awaited": (
        "last_one_out",
        [("async def done(me)", "def done(me)"), (COUNTS, "return True")],
        r"async function",
    ),
    "anything goes": (
        "cites_what_is_there",
        property_that("return True"),
        r"^A crew that cites a finding before it is written passes, and should be found. .*After web's append the board holds",
    ),
    "it forgets that there is no brief at first": (
        "cites_what_is_there",
        property_that('return all(key in board for key in board["shared/brief"])'),
        r"only_what_is_there raised KeyError: 'shared/brief'.*; the board held nothing yet",
    ),
    "it wants a brief at all times": (
        "cites_what_is_there",
        property_that('return "shared/brief" in board'),
        r"^Your property refuses a crew that writes each finding and then cites it, and there is nothing wrong with that",
    ),
    "it wants a brief once there is a finding": (
        "cites_what_is_there",
        property_that('return bool(board.get("shared/brief")) or len(board) < 3'),
        r"^Your property refuses a crew that empties the brief before it withdraws a finding",
    ),
    "it looks at the last citation": (
        "cites_what_is_there",
        property_that('return all(key in board for key in board.get("shared/brief", [])[-1:])'),
        r"^A crew that cites two findings and withdraws the first passes",
    ),
    "it looks at the first citation": (
        "cites_what_is_there",
        property_that('return all(key in board for key in board.get("shared/brief", [])[:1])'),
        r"^A crew that cites, after a finding, what nobody writes passes",
    ),
    "it only looks at the namespace": (
        "cites_what_is_there",
        property_that('return all(any(k.startswith(c[:4]) for k in board) for c in board.get("shared/brief", []))'),
        r"^A crew that cites, after a finding, what nobody writes passes",
    ),
    "it says neither true nor false": (
        "cites_what_is_there",
        property_that('return [key for key in board.get("shared/brief", []) if key not in board]'),
        r"only_what_is_there gave \[\], where True or False belongs; the board held nothing yet",
    ),
    "it asserts, and the explorer does not speak of itself": (
        "cites_what_is_there",
        property_that('assert all(key in board for key in board.get("shared/brief", []))\n    return True'),
        r"^This could not be run: only_what_is_there raised AssertionError.*; the board held shared/brief = \['web/finding'\]",
    ),
    "an async property": (
        "cites_what_is_there",
        [*property_that("return True"), (PROPERTY, f"async {PROPERTY}")],
        r"only_what_is_there must be a plain function",
    ),
    "no property": (
        "cites_what_is_there",
        [*property_that("return True"), ("check(only_what_is_there)", "check(None)")],
        r"takes the function itself, not None\.$",
    ),
    "the desk as it is": (
        "win_back_its_trust",
        [],
        r"^The explorer does not trust it yet. Schedules were not treated alike: the agents change desk beside the board",
    ),
    "visible, and nothing mended": (
        "win_back_its_trust",
        [(DESK, "desk = cb.visible({})")],
        r"^The explorer trusts it now, and it finds something wrong in 2 of 4 classes.* run: at the end the board holds",
    ),
    "a place for each on one desk": (
        "win_back_its_trust",
        [('desk["draft"]', "desk[me.name]")],
        r"^The explorer does not trust it yet. .*the agents change desk",
    ),
    "a lock": (
        "win_back_its_trust",
        [
            (DESK, "import asyncio\n    desk, lock = {}, asyncio.Lock()"),
            (
                '        await me.write("status", "drafting")\n',
                '        async with lock:\n         await me.write("status", "drafting")\n',
            ),
        ],
        r"^The explorer does not trust it yet. Schedules were not treated alike: ",
    ),
    "the draft is a draft no more": (
        "win_back_its_trust",
        [(PUTS, "pass"), (TAKES, '"a draft")')],
        r"^The explorer trusts it now, and it finds something wrong in 20 of 20 interleavings",
    ),
    "a crew of one": ("win_back_its_trust", [(', "docs": agent}', "}")], r"^crew has to return"),
    "the crew cannot be made": ("win_back_its_trust", [(DESK, "desk = {}[0]")], r"crew raised KeyError"),
}


@pytest.mark.parametrize("case", NEARLY)
def test_an_answer_that_is_nearly_right_is_told_what_is_wrong(case: str) -> None:
    name, changes, told = NEARLY[case]
    feedback = mended(name, *changes)
    assert not feedback.solved
    assert re.search(told, repr(feedback), re.DOTALL)


# The exercise, and another answer that holds.
OTHER_WAYS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "the clock hides it": ("hide_from_the_seeds", [(ADDS, f"await me.think(seconds=1)\n    {ADDS}")]),
    "it never looks": ("hide_from_the_seeds", [(ADDS, busy(15, 'await me.shared.write("left", 7)'))]),
    "it appends to a list of its own": (
        "last_one_out",
        [(COUNTS, 'entry = await me.shared.append("finished", me.name)\n    return len(entry.value) == 3')],
    ),
    "a compare-and-set in a loop": (
        "last_one_out",
        [
            (
                COUNTS,
                'while True:\n        count = await me.value("shared/done")\n'
                '        if await me.shared.compare_and_set("done", count, count + 1):\n            return count == 2',
            ),
        ],
    ),
    "a loop over what is cited": (
        "cites_what_is_there",
        property_that(
            'for key in board.get("shared/brief") or []:\n        if key not in board:\n            return False\n    return True'
        ),
    ),
    "a place for each on a visible desk": (
        "win_back_its_trust",
        [(DESK, "desk = cb.visible({})"), ('desk["draft"]', "desk[me.name]")],
    ),
    "the agents in another order": (
        "win_back_its_trust",
        [
            (DESK, ""),
            (PUTS, 'draft = f"what {me.name} drafted"'),
            (TAKES, "draft)"),
            ('"web": agent, "docs": agent', '"docs": agent, "web": agent'),
        ],
    ),
    "a key of its own": (
        "win_back_its_trust",
        [(PUTS, 'await me.write("draft", f"what {me.name} drafted")'), (TAKES, 'await me.value(f"{me.name}/draft"))')],
    ),
}


@pytest.mark.parametrize("case", OTHER_WAYS)
def test_other_ways_that_hold_are_solved_too(case: str) -> None:
    name, changes = OTHER_WAYS[case]
    feedback = mended(name, *changes)
    assert feedback.solved, feedback


def test_what_the_explorer_found_can_be_walked_through() -> None:
    feedback = mended("last_one_out")
    assert feedback.run is not None
    assert feedback.run.token in repr(feedback)
    assert feedback.run.value("shared/brief") == []


def test_a_race_that_was_hidden_is_shown_to_who_hid_it() -> None:
    feedback = mended("hide_from_the_seeds", (ADDS, busy(20, ADDS)))
    assert feedback.solved
    assert re.search(r"the explorer finds a loss in \d+ of 276 interleavings", repr(feedback))
    assert "overwrites v2 unseen" in repr(feedback)


def test_a_property_that_refuses_is_shown_the_crew() -> None:
    feedback = mended("cites_what_is_there", *property_that('return "shared/brief" in board'))
    assert "web found something" in str(feedback.picture)


def test_a_wrong_crew_that_passes_is_shown_in_the_run_that_should_have_been_found() -> None:
    feedback = mended("cites_what_is_there", *property_that("return True"))
    assert feedback.run is not None
    assert feedback.run.value("shared/brief") == ["web/finding"]
    assert "After web's append" in str(feedback.picture)


def test_the_exercises_stand_in_the_course() -> None:
    names = ["hide_from_the_seeds", "last_one_out", "cites_what_is_there", "win_back_its_trust"]
    assert [name for name in ex.names() if name in names] == names
