"""Exercises about stores: answers that are nearly right are told what is wrong, and other ways that hold are solved."""

from __future__ import annotations

import re

import pytest
from tests.course.cells import mended

GET, SET, LIST = "return self.kept.get(key)", "metadata or {})", "return list(self.kept.values())"
COPY = "from copy import deepcopy\nclass Drawer:"
DELETE = ("del self.kept[key]", "self.kept.pop(key, None)")
COPIES = [("class Drawer:", COPY), (GET, "return deepcopy(self.kept.get(key))"), (SET, "deepcopy(metadata or {}))"), DELETE]
FOUND, SEGMENTS = "key.startswith(prefix)", 'not prefix or key == prefix or key.startswith(prefix + "/")'
PACK, UNPACK = "return report", "return stored"
PACKED = """return {
        "due": report["due"].isoformat(),
        "tags": sorted(report["tags"]),
        "who": {str(number): name for number, name in report["who"].items()},
    }"""
UNPACKED = """from datetime import date

    return {
        "due": date.fromisoformat(stored["due"]),
        "tags": set(stored["tags"]),
        "who": {int(number): name for number, name in stored["who"].items()},
    }"""
SWEEP = "await store.delete(entry.key)"
COMMIT = "await store.commit(cb.Write(entry.key, None, expect=entry.version))"
ROUND = "await asyncio.gather(*(run(task) for task in tasks))"
TURN = "        await board.advance_turn()\n"
BY_HAND = """entry = await self.get(key)
        if (entry.value if entry else None) != expected:
            return False
        await self.set(key, value, metadata)
        self.noted.append(value)
        return True"""
POP = """task = await me.value("shared/head")
    after = await me.value(f"shared/after/{task}")
    await weigh(task)
    took = await me.shared.compare_and_set("head", task, after)
    return task if took else None"""
TIDY = 'await me.shared.delete("task-7")'

# The exercise, the nearly right answer, and what it is told.
NEARLY: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "the drawer as it is": (
        "five_methods",
        [],
        r"^4 of the 15 behaviours(?s:.*)- deleting what is not there does nothing: the store raised KeyError: 'nothing'",
    ),
    "it copies what comes in and what get gives": (
        "five_methods",
        COPIES,
        r"^1 of the 15 behaviours(?s:.*)- what came back can be changed without changing the store: the entries",
    ),
    "it copies one level deep": (
        "five_methods",
        [(GET, "return self.kept.get(key)"), (SET, "dict(metadata or {}))"), DELETE],
        r"- what was given can be changed afterwards: .*\[1, 2\]",
    ),
    "the drawer loses a method": ("five_methods", [("async def clear", "async def empty")], r"Drawer .* lacks clear"),
    "the drawer is given, not its class": ("five_methods", [("check(Drawer)", "check(Drawer())")], r"takes the function itself"),
    "the drawer cannot be made": ("five_methods", [("self.kept = {}", "self.kept = {}[0]")], r"Drawer raised KeyError"),
    "web finds website": ("whole_segments", [], r"found\(keys, 'web'\) found 'website/plan', which is not beneath 'web'"),
    "the key itself is not found": (
        "whole_segments",
        [(FOUND, 'key.startswith(prefix + "/")')],
        r"found\(keys, 'web'\) did not find 'web', although it is the key 'web'",
    ),
    "the empty prefix finds nothing": (
        "whole_segments",
        [(FOUND, 'key == prefix or key.startswith(prefix + "/")')],
        r"found\(keys, ''\) did not find 'web', although the empty prefix is above every key",
    ),
    "the prefix is a pattern": (
        "whole_segments",
        [("return [", "import re\n    return ["), (FOUND, 'not prefix or re.match(prefix + "(/|$)", key)')],
        r"found\(keys, 'a.c'\) found 'abc/notes', which is not beneath 'a.c'",
    ),
    "any segment will do": (
        "whole_segments",
        [(FOUND, 'prefix in key.split("/")')],
        r"found\(keys, 'web'\) found 'docs/web/notes'",
    ),
    "they are in another order": (
        "whole_segments",
        [("return [key", "return sorted([key"), (f"{FOUND}]", f"{SEGMENTS}])")],
        r"found\(keys, 'docs'\) found the right keys in another order",
    ),
    "a generator is no list": ("whole_segments", [("return [", "return ("), ("(prefix)]", "(prefix))")], r"where a list of keys"),
    "the keys are changed": (
        "whole_segments",
        [("return [", "keys.sort()\n    return [")],
        r"changed the list that it was given",
    ),
    "the report as it is": ("there_and_back", [], r"cannot be stored: value at <root>.due is a date"),
    "the numbers stay texts": (
        "there_and_back",
        [(PACK, PACKED), (UNPACK, UNPACKED.replace("int(number)", "number"))],
        r"is not the report: 'who' is another dict",
    ),
    "the set stays a list": (
        "there_and_back",
        [(PACK, PACKED), (UNPACK, UNPACKED.replace("set(", "list("))],
        r"is not the report: 'tags' is a list and was a set",
    ),
    "the report is changed": (
        "there_and_back",
        [(PACK, 'report["tags"] = sorted(report["tags"])\n    return {}')],
        r"pack changed the report",
    ),
    "a part is left out": (
        "there_and_back",
        [(PACK, PACKED), (UNPACK, UNPACKED.replace('"tags": set(stored["tags"]),', ""))],
        r"'tags' is missing",
    ),
    "one turn too long": (
        "still_readable",
        [],
        r"^Written in turn 0 with ttl_turns=1, the entry is hidden in turn 1, and your function says True",
    ),
    "the turn of writing is forgotten": ("still_readable", [("written + ", "")], r"can still be read|is hidden"),
    "one turn too short": ("still_readable", [("<= written", "< written - 1")], r"can still be read in turn 0"),
    "it says nothing": ("still_readable", [("return turn", "turn")], r"gave None, neither True nor False"),
    "it sweeps what is fresh": (
        "sweep_the_expired",
        [],
        r"^A fresh hint was swept away in \d+ of 200 runs. The first, seed \d+: web wrote shared/hint anew",
    ),
    "it stumbles over the first conflict": (
        "sweep_the_expired",
        [(SWEEP, COMMIT)],
        r"^An agent did not come to its end in \d+ of 200 runs.*ConflictError",
    ),
    "it stops at the first conflict": (
        "sweep_the_expired",
        [(SWEEP, f"try:\n                {COMMIT}\n            except cb.ConflictError:\n                return")],
        r"^An expired entry was left in \d+ of 200 runs",
    ),
    "it sweeps nothing": ("sweep_the_expired", [(SWEEP, "pass")], r"^An expired entry was left in 200 of 200 runs"),
    "it sweeps what will expire": (
        "sweep_the_expired",
        [(" and entry.expires_at_turn <= turn", "")],
        r"^An entry that has not expired is gone in 200 of 200 runs",
    ),
    "each task is a turn": ("one_turn_a_round", [], r"came too late for a hint.*(?s:.*)the hint is gone"),
    "one after the other": (
        "one_turn_a_round",
        [(TURN, ""), (ROUND, "for task in tasks:\n        await task()\n    await board.advance_turn()")],
        r"the tasks did not run at once",
    ),
    "nobody ends the turn": ("one_turn_a_round", [(TURN, "")], r"from turn 0 to turn 0, and a round is one turn"),
    "the turn ends first": (
        "one_turn_a_round",
        [(TURN, ""), (ROUND, f"await board.advance_turn()\n    {ROUND}")],
        r"came too late",
    ),
    "nobody waits": ("one_turn_a_round", [(ROUND, "await board.advance_turn()")], r"^In round 1 of 200: 0 of 4 tasks ran"),
    "two win": ("hand_it_on", [], r"^\d agents have the slot in \d+ of 200 runs. The first, seed \d+: .* was told True"),
    "it writes no notes": (
        "hand_it_on",
        [(BY_HAND, "return await self.base.compare_and_set(key, expected, value, metadata)")],
        r"^The notes were wrong in 200 of 200 runs",
    ),
    "it notes the losers too": (
        "hand_it_on",
        [(BY_HAND, "self.noted.append(value)\n        return await self.base.compare_and_set(key, expected, value, metadata)")],
        r"^The notes were wrong in 200 of 200 runs",
    ),
    "nobody wins": ("hand_it_on", [(BY_HAND, "return False")], r"^0 agents have the slot in 200 of 200 runs"),
    "there are no notes": ("hand_it_on", [("self.base, self.noted = base, []", "self.base = base")], r"has no list noted"),
    "it pops by value": (
        "pop_once",
        [],
        r"^A task was done once too often in \d+ of 200 runs. The first, seed \d+: task-8 went to",
    ),
    "it looks again late, and still by value": (
        "pop_once",
        [(POP, POP.replace("    await weigh(task)\n", "").replace('"shared/head")', '"shared/head")\n    await weigh(task)'))],
        r"^A task was done once too often in \d+ of 200 runs",
    ),
    "it pops blindly": (
        "pop_once",
        [('took = await me.shared.compare_and_set("head", task, after)', 'took = await me.shared.write("head", after)')],
        r"in \d+ of 200 runs",
    ),
    "it weighs nothing": ("pop_once", [("    await weigh(task)\n", "")], r"^Pop gave what is no task.*task-\d unweighed"),
    "it gives up": ("pop_once", [(POP, "return None")], r"^A task was left out in 200 of 200 runs"),
    "done is gone": ("done_is_not_gone", [], r"^Task 7 was done twice in 200 of 200 runs"),
    "nobody asks": (
        "done_is_not_gone",
        [('if not await me.shared.compare_and_set("task-7", None, me.name):', "if False:"), (TIDY, "pass")],
        r"^Task 7 was done twice in 200 of 200 runs",
    ),
    "it looks first": (
        "done_is_not_gone",
        [("not await me.shared.compare_and_set", 'await me.value("shared/task-7") or not await me.shared.compare_and_set')],
        r"^Task 7 was done twice in 200 of 200 runs",
    ),
    "nobody does it": ("done_is_not_gone", [("await do()", "pass"), (TIDY, "pass")], r"^Nobody did task 7 in 200 of 200 runs"),
}


@pytest.mark.parametrize("case", NEARLY)
def test_an_answer_that_is_nearly_right_is_told_what_is_wrong(case: str) -> None:
    name, changes, told = NEARLY[case]
    feedback = mended(name, *changes)
    assert not feedback.solved
    assert re.search(told, repr(feedback))


FIRST = 'await me.shared.compare_and_set("task-7", None, me.name)'

# The exercise, and another answer that holds.
OTHER_WAYS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "a store of texts": (
        "five_methods",
        [
            (
                "self.kept[key] = cb.MemoryEntry(key, value, metadata or {})",
                "self.kept[key] = (value, json.dumps(metadata or {}))",
            ),
            ("class Drawer:", "import json\nclass Drawer:"),
            (GET, "return next((e for e in await self.list() if e.key == key), None)"),
            (LIST, "return [cb.MemoryEntry(k, v, json.loads(m)) for k, (v, m) in self.kept.items()]"),
            DELETE,
        ],
    ),
    "segments one by one": (
        "whole_segments",
        [(FOUND, 'not prefix or key.split("/")[: len(prefix.split("/"))] == prefix.split("/")')],
    ),
    "counted from the end": ("still_readable", [("turn <= written + ttl_turns", "turn - written <= ttl_turns - 1")]),
    "it names what it read": (
        "sweep_the_expired",
        [
            (
                SWEEP,
                "reads = [cb.KeyUnchanged(entry.key, entry.version)]\n            try:\n"
                "                await store.commit(cb.Write(entry.key, None), reads=reads)\n"
                "            except cb.ConflictError:\n                continue",
            ),
        ],
    ),
    "a task group": (
        "one_turn_a_round",
        [
            (TURN, ""),
            (
                ROUND,
                "async with asyncio.TaskGroup() as group:\n        for task in tasks:\n            group.create_task(run(task))\n"
                "    await board.advance_turn()",
            ),
        ],
    ),
    "it pops until it has one": (
        "pop_once",
        [
            (
                POP,
                'while True:\n        head = await me.read("shared/head")\n'
                '        after = await me.value(f"shared/after/{head.value}")\n        await weigh(head.value)\n'
                '        try:\n            await me.shared.write("head", after, expect=head.version)\n'
                "            return head.value\n"
                "        except cb.ConflictError:\n            pass",
            ),
        ],
    ),
    "the claim stays as it is": ("done_is_not_gone", [(TIDY, "return")]),
    "expect absence": (
        "done_is_not_gone",
        [
            (
                f"if not {FIRST}:\n        return",
                'try:\n        await me.shared.write("task-7", me.name, expect=cb.ABSENT)\n'
                "    except cb.ConflictError:\n        return",
            ),
            (TIDY, "return"),
        ],
    ),
}


@pytest.mark.parametrize("case", OTHER_WAYS)
def test_other_ways_that_hold_are_solved_too(case: str) -> None:
    name, changes = OTHER_WAYS[case]
    feedback = mended(name, *changes)
    assert feedback.solved, feedback


def test_a_drawer_that_never_answers_is_stopped_in_virtual_time() -> None:
    never = "import asyncio\n        await asyncio.Event().wait()"
    assert "a missing key reads as none: it was not done after 60 s" in repr(mended("five_methods", (GET, never)))


def test_a_drawer_that_never_rests_is_stopped_too() -> None:
    never = "import asyncio\n        while True:\n            await asyncio.sleep(0)"
    assert "the suite did not come to its end" in repr(mended("five_methods", (GET, never)))


def test_a_round_that_raises_is_told_what_it_raised() -> None:
    assert "it did not come to its end (round raised NameError" in repr(mended("one_turn_a_round", (TURN, "        you\n")))


def test_a_decorator_that_cannot_be_made_is_told_what_it_takes() -> None:
    told = repr(mended("hand_it_on", ("def __init__(self, base)", "def __init__(self)")))
    assert "called with 1 thing, and Noting() does not take that" in told
