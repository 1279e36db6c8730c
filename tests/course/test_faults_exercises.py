"""Exercises about faults: each fault is found, answers that are nearly right are told what is wrong, other ways are solved."""

from __future__ import annotations

import re

import pytest
from tests.course.cells import mended, run_cell

from commonboard.course import exercises as ex
from commonboard.course.exercises import faults

MAKE = """    if await me.read("shared/pad") is None:
        await me.shared.write("pad", [])
"""
CREATE = '    await me.shared.compare_and_set("pad", None, [])\n'
VALUE, VERSION = "*pad.value", "expect=pad.version"
READ = 'block = await me.value("shared/block")'
WRITE = """    await me.shared.write("block", block.replace(old, new))
    return True"""
MAKE_TEXT = '    return await me.shared.write("pad", note)\n'
READ_ENTRY = 'entry = await me.read("shared/block")\n    block = entry.value'
GIVE_UP = """    try:
        await me.shared.write("block", block.replace(old, new), expect=entry.version)
    except cb.ConflictError:
        return False
    return True"""
OLD_ANSWER = """    while not await me.shared.compare_and_set("block", await me.value("shared/block"), block.replace(old, new)):
        pass
    return True"""
CREATE_OR_MISS = """    try:
        await me.shared.write("pad", [], expect=cb.ABSENT)
    except cb.ConflictError:
        pass
"""
COUNT_INSIDE = """counts = []

    def change(block):
        counts.append(block.count(old))
        return block.replace(old, new) if counts[-1] == 1 else block
"""
NAMED = """did = [key for key in board if key.endswith("/did")]
    return did == [f"{board.get('shared/task-7')}/did"]"""
SAYS = 'return board.get("shared/task-7") in ("web", "docs")'

# The exercise, the nearly right answer, and what it is told.
NEARLY: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "the pad is made on top of another": (
        "make_the_pad_first",
        [],
        r"^Something goes wrong in 4 of \d+ orders of web and docs, without a pad. The simplest run: \w+'s note is gone\.",
    ),
    "whoever did not make the pad dies of it": (
        "make_the_pad_first",
        [('"pad", [])', '"pad", [], expect=cb.ABSENT)')],
        r"is gone; \w+ was told by an error \(ConflictError\)",
    ),
    "nobody notes anything": (
        "make_the_pad_first",
        [(MAKE, "    return\n")],
        r"goes wrong in the only order of web and docs, without a pad\. The simplest run: there is no pad at the end\.",
    ),
    "nobody makes the pad": ("make_the_pad_first", [(MAKE, "")], r"web raised AttributeError: 'NoneType' object"),
    "it tries twice, which is enough for two": (
        "make_the_pad_first",
        [(MAKE, CREATE), ("while True", "for _ in range(2)")],
        r"orders of web, docs and synth, without a pad. The simplest run: \w+'s note is gone",
    ),
    "it adds the note twice": (
        "make_the_pad_first",
        [(MAKE, '    await me.shared.append("pad", note)\n')],
        r"web's note is there 2 times",
    ),
    "it writes over what is there": (
        "make_the_pad_first",
        [(MAKE, CREATE), (f", {VERSION}", "")],
        r"orders of web and docs, without a pad. The simplest run: \w+'s note is gone\.",
    ),
    "it throws the old notes away": (
        "make_the_pad_first",
        [(MAKE, CREATE), (f"[{VALUE}, note]", '[*(n for n in pad.value if n != "lead\'s note"), note]')],
        r"orders of web and docs, on a pad with a note. The simplest run: lead's note is gone\.",
    ),
    "it adds something of its own": (
        "make_the_pad_first",
        [(MAKE, '    await me.shared.compare_and_set("pad", None, ["begin"])\n')],
        r"somebody added 'begin'",
    ),
    "it makes no list": ("make_the_pad_first", [(MAKE, MAKE_TEXT)], r"is no list of notes"),
    "it never ends": (
        "make_the_pad_first",
        [(MAKE, CREATE), ("return await", "await")],
        r"^It never ends, even where one comes after the other \(web and docs, without a pad\): web never ends",
    ),
    "the whole block is written back": (
        "replace_one_line",
        [],
        r"^Something goes wrong in \d+ of \d+ orders of web and docs, who replace two lines. .*: \w+ was told True, and its "
        "text is not on the board",
    ),
    "it gives up when somebody was there": (
        "replace_one_line",
        [(READ, READ_ENTRY), (WRITE, GIVE_UP)],
        r"web and docs, who replace two lines. .*: \w+ got False, and nobody had replaced the line about \w+ before",
    ),
    "it tries again with its old answer": (
        "replace_one_line",
        [(WRITE, OLD_ANSWER)],
        r"was told True, and its text is not on the board",
    ),
    "it looks again and does not count again": (
        "replace_one_line",
        [(WRITE, '    await me.shared.update("block", lambda block: block.replace(old, new))\n    return True')],
        r"who replace the same line. .*: \w+ and \w+ were both told that they replaced the line about churn",
    ),
    "it says nothing": ("replace_one_line", [("    return True\n", "")], r"web alone. .*: web was told neither True nor False"),
    "it replaces nothing": ("replace_one_line", [("!= 1", "== 1")], r"of web alone. .*: web got False, and nobody had replaced"),
    "it writes a block of its own": (
        "replace_one_line",
        [("block.replace(old, new)", "new")],
        r"of web alone. .*: the line about support is gone",
    ),
    "it adds a line": (
        "replace_one_line",
        [("block.replace(old, new)", 'block.replace(old, new) + "\\nmore"')],
        r"of web alone. .*: the block has 3 lines, and had 2",
    ),
    "the name on the board is asked": (
        "a_check_that_can_tell",
        [],
        r'with the claim "write, then verify". The simplest run: done_once says True, and web and docs did task 7',
    ),
    "none is as good as one": (
        "a_check_that_can_tell",
        [(SAYS, 'return sum(key.endswith("/did") for key in board) <= 1')],
        r'docs and synth with the claim "after you". .*: done_once says True, and nobody did task 7',
    ),
    "it knows who takes part": (
        "a_check_that_can_tell",
        [(SAYS, 'return ("web/did" in board) != ("docs/did" in board)')],
        r'web, docs and synth with the claim "create if absent". .*: done_once says False, and synth did task 7',
    ),
    "it says False of all": ("a_check_that_can_tell", [(SAYS, "return False")], r"^done_once must say True of the board"),
    "it answers with what it found": (
        "a_check_that_can_tell",
        [(SAYS, 'return True if "web/did" in board else None')],
        r"done_once said None, neither True nor False",
    ),
    "it stumbles over one": ("a_check_that_can_tell", [(SAYS, 'return bool(board["docs/did"])')], r"done_once raised KeyError"),
}


@pytest.mark.parametrize("case", NEARLY)
def test_an_answer_that_is_nearly_right_is_told_what_is_wrong(case: str) -> None:
    name, changes, told = NEARLY[case]
    feedback = mended(name, *changes)
    assert not feedback.solved
    assert re.search(told, repr(feedback))


# The exercise, and another answer that holds.
OTHER_WAYS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "make it only where there is none, and do not mind the refusal": (
        "make_the_pad_first",
        [(MAKE, CREATE_OR_MISS)],
    ),
    "expect what was seen": (
        "make_the_pad_first",
        [(MAKE, ""), (VALUE, "*(pad.value if pad else [])"), (VERSION, "expect=pad.version if pad else cb.ABSENT")],
    ),
    "append": ("make_the_pad_first", [(MAKE, '    return await me.shared.append("pad", note)\n')]),
    "update": ("make_the_pad_first", [(MAKE, '    return await me.shared.update("pad", lambda pad: [*(pad or []), note])\n')]),
    "compare the text": (
        "replace_one_line",
        [
            (
                WRITE,
                '    done = await me.shared.compare_and_set("block", block, block.replace(old, new))\n'
                "    return done or await replace(me, old, new)",
            )
        ],
    ),
    "count inside the change": (
        "replace_one_line",
        [
            (READ, COUNT_INSIDE),
            ("    if block.count(old) != 1:\n        return False\n", ""),
            (WRITE, '    await me.shared.update("block", change)\n    return counts[-1] == 1'),
        ],
    ),
    "the one who did it is the one who is named": (
        "a_check_that_can_tell",
        [(SAYS, NAMED)],
    ),
}


@pytest.mark.parametrize("case", OTHER_WAYS)
def test_other_ways_that_hold_are_solved_too(case: str) -> None:
    name, changes = OTHER_WAYS[case]
    feedback = mended(name, *changes)
    assert feedback.solved, feedback


@pytest.mark.parametrize("name", ["make_the_pad_first", "replace_one_line", "a_check_that_can_tell"])
def test_the_run_that_is_shown_can_be_walked_through_and_has_the_fault_in_it(name: str) -> None:
    feedback = mended(name)
    assert feedback.run is not None
    assert feedback.run.token in repr(feedback)
    assert "unseen" in str(feedback.picture)


def test_what_could_not_be_tried_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "BUDGET", 10)
    feedback = run_cell(ex.make_the_pad_first.answer)
    assert not feedback.solved
    assert repr(feedback).startswith("Nobody can tell: web and docs, without a pad can meet in too many orders")


def test_an_answer_that_shares_something_beside_the_board_is_judged_one_order_at_a_time() -> None:
    code = "seen = []\n\n\n" + ex.replace_one_line.answer.replace("    while True:", "    seen.append(me.name)\n    while True:")
    assert run_cell(code).solved


def test_the_faulty_claim_is_told_by_how_often_it_is_done_once() -> None:
    told = dict(
        re.findall(r"- (.*): task 7 is done once in (\d+ of \d+) orders", repr(run_cell(ex.a_check_that_can_tell.answer)))
    )
    once = {claim: [int(count) for count in counts.split(" of ")] for claim, counts in told.items()}
    assert list(once) == ["write, then verify", "create if absent", "after you"]
    assert [done == orders for done, orders in once.values()] == [False, True, False]
