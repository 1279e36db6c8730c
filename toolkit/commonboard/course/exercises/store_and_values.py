"""Exercises of notebook 05: what keeps a value, and what comes back?"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import date, timedelta
from random import Random
from typing import Any

from commonboard.course.exercise import SEEDS, AnswerError, Exercise, Feedback, NotSolvedYet, call
from commonboard.errors import ConformanceError, UnstorableValueError
from commonboard.handle import AgentMemory
from commonboard.sim import simulate
from commonboard.stores.conformance import Check
from commonboard.stores.conformance.basic import CHECKS
from commonboard.stores.protocol import check_store
from commonboard.values import decode, encode

# --- five_methods -----------------------------------------------------------------------------------------------------

_LEFT_ASIDE = ("overwriting_keeps_created_at", "delete_then_set_is_a_new_creation")
_ASKED: list[Check] = [check for check in CHECKS if check.name not in _LEFT_ASIDE]


def _conforms(make_store: Callable[[], Any]) -> Feedback:
    """A fresh store passes each check of the five methods, creation times aside. In virtual time, so that nobody waits."""
    check_store(call(make_store))

    async def suite(me: AgentMemory) -> list[str]:
        failed = []
        for check in _ASKED:
            try:
                await check(make_store, built_in=False)
            except ConformanceError as error:
                if isinstance(error.__cause__, NotSolvedYet):
                    raise error.__cause__ from None
                failed.append(str(error).replace(check.name, check.name.replace("_", " "), 1))
        return failed

    run = simulate({"suite": suite}, seed=None)
    if not run.ok:
        raise run.errors.get("suite") or AnswerError(f"the suite did not come to its end: {'; '.join(map(str, run.troubles))}")
    failed = run.results["suite"]
    if not failed:
        return Feedback(True, (f"All {len(_ASKED)} behaviours that were asked for are there.",))
    return Feedback(False, (f"{len(failed)} of the {len(_ASKED)} behaviours that were asked for are not there:",), tuple(failed))


five_methods = Exercise(
    name="five_methods",
    question="""
**Mend the drawer.** It falls over a delete of what is not there, and it hands out its own objects, so that whoever reads can
change what is stored without a write. Mend both. (That it forgets when a key was created is not asked here.)
""",
    blank="""
class Drawer:
    def __init__(self):
        self.kept = {}

    async def get(self, key):
        ex.not_solved_yet()  # mend this method, and three of the others
        return self.kept.get(key)

    async def set(self, key, value, metadata=None):
        self.kept[key] = cb.MemoryEntry(key, value, metadata or {})

    async def list(self):
        return list(self.kept.values())

    async def delete(self, key):
        del self.kept[key]

    async def clear(self):
        self.kept.clear()


ex.five_methods.check(Drawer)
""",
    hints=(
        "`self.kept.pop(key, None)` takes a key out, and does nothing where there is none.",
        "An entry that is handed out must be a copy, and so must the metadata that come in: somebody else still holds both.",
        "`from copy import deepcopy` copies all the way down. It is needed in `get`, in `list`, and in `set` for the metadata.",
    ),
    answer="""
from copy import deepcopy


class Drawer:
    def __init__(self):
        self.kept = {}

    async def get(self, key):
        return deepcopy(self.kept.get(key))

    async def set(self, key, value, metadata=None):
        self.kept[key] = cb.MemoryEntry(key, value, deepcopy(metadata or {}))

    async def list(self):
        return deepcopy(list(self.kept.values()))

    async def delete(self, key):
        self.kept.pop(key, None)

    async def clear(self):
        self.kept.clear()


ex.five_methods.check(Drawer)
""",
    why="""
A store is a border. What crosses it is copied, in both directions and all the way down, so that the only way to change the
board is to write. And an operation that finds nothing to do does nothing: two agents may well delete the same key.
""",
    judge=_conforms,
)

# --- whole_segments ---------------------------------------------------------------------------------------------------

_KEYS = (
    *("web", "web/notes", "web/notes/2", "website/plan", "webb/diary", "WEB/notes", "docs/web/notes", "docs/notes"),
    *("a.c/notes", "abc/notes", "a%/notes", "notes"),
)
_PREFIXES = ("web", "web/notes", "docs", "a.c", "a%", "nobody", "notes", "")


def _finds_segments(found: Callable[[list[str], str], Any]) -> Feedback:
    """For every prefix: the keys whose segments begin with its segments, in their order, and all keys for none."""
    for prefix in _PREFIXES:
        given = list(_KEYS)
        told = call(found, given, prefix)
        if given != list(_KEYS):
            return Feedback(False, ("`found` changed the list that it was given, and somebody still uses it.",))
        if not isinstance(told, list):
            return Feedback(False, (f"`found(keys, {prefix!r})` gave {told!r:.60}, where a list of keys belongs.",))
        wanted = [key for key in _KEYS if not prefix or key.split("/")[: prefix.count("/") + 1] == prefix.split("/")]
        if told != wanted:
            return Feedback(False, (f"`found(keys, {prefix!r})` {_difference(told, wanted, prefix)}.",), code=_table(told))
    return Feedback(True, (f"For {len(_PREFIXES)} prefixes and {len(_KEYS)} keys: each prefix finds what is beneath it.",))


def _difference(told: list[Any], wanted: list[str], prefix: str) -> str:
    for key in told:
        if key not in wanted:
            return f"found {key!r}, which is not beneath {prefix!r}"
    for key in wanted:
        if key not in told:
            where = "the empty prefix is above every key" if not prefix else f"it is {_beneath(key, prefix)} {prefix!r}"
            return f"did not find {key!r}, although {where}"
    return "found the right keys in another order, or one of them twice"


def _beneath(key: str, prefix: str) -> str:
    return "the key" if key == prefix else "beneath"


def _table(told: list[Any]) -> str:
    return "\n".join(["it found:", *(f"  {key}" for key in told)])


whole_segments = Exercise(
    name="whole_segments",
    question="""
**Whole segments.** Write `found(keys, prefix)`, which gives the keys beneath a prefix, in the order in which they are given.
`web` finds `web` and `web/notes`, and never `website/plan`. The empty prefix finds everything.
""",
    blank="""
def found(keys, prefix):
    ex.not_solved_yet()  # mend what follows: web finds website
    return [key for key in keys if key.startswith(prefix)]


ex.whole_segments.check(found)
""",
    hints=(
        "Which character must come after the prefix, unless the key ends there?",
        "A key is found if it is the prefix itself, or if it begins with the prefix and a `/`.",
        "Then try the empty prefix: no key begins with `/`. It needs a rule of its own.",
    ),
    answer="""
def found(keys, prefix):
    return [key for key in keys if not prefix or key == prefix or key.startswith(prefix + "/")]


ex.whole_segments.check(found)
""",
    why="""
A `/` ends a segment, so the character after the prefix decides. The empty prefix is the trap of the first mend: no key begins
with a `/`, so it would find nothing at all. And no character is special: a prefix is text, not a pattern.
""",
    judge=_finds_segments,
)

# --- there_and_back ---------------------------------------------------------------------------------------------------

_WORDS = ("churn", "price", "outage", "trial", "support")


def _survives(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> Feedback:
    """Every report reads back equal after it was packed, stored, read and unpacked."""
    for seed in range(SEEDS):
        given = _report(Random(f"report {seed}"))
        before = deepcopy(given)
        packed = call(pack, given)
        if given != before:
            return Feedback(False, ("`pack` changed the report that it was given, and somebody still uses it.",))
        try:
            text, markers = encode(packed)
        except UnstorableValueError as error:
            return Feedback(False, (f"What `pack` made of the report below cannot be stored: {error}.",), code=_shown(given))
        again = call(unpack, decode(text, markers))
        if again != given:
            told = f"What came back is not the report: {_which(given, again)}."
            return Feedback(False, (told,), code=_shown(given))
    return Feedback(True, (f"{SEEDS} reports were stored and read again, and each came back equal.",))


def _report(random: Random) -> dict[str, Any]:
    due = date(2026, 1, 1) + timedelta(days=random.randrange(365))
    tags = {word for word in _WORDS if random.random() < 0.5}
    return {"due": due, "tags": tags, "who": {number: random.choice(("web", "docs")) for number in random.sample(range(20), 3)}}


def _shown(report: dict[str, Any]) -> str:
    """A report, with its set in order: a set prints in another order in each process."""
    tags = ", ".join(map(repr, sorted(report["tags"])))
    shown = {"due": repr(report["due"]), "tags": f"{{{tags}}}" if tags else "set()", "who": repr(report["who"])}
    return "the report:\n" + "\n".join(f"  {name}: {text}" for name, text in shown.items())


def _which(given: dict[str, Any], again: Any) -> str:
    if not isinstance(again, dict):
        return f"it is a {type(again).__name__}"
    for name, value in given.items():
        if name not in again:
            return f"{name!r} is missing"
        if again[name] != value:
            made, was = type(again[name]).__name__, type(value).__name__
            return f"{name!r} is a {made} and was a {was}" if made != was else f"{name!r} is another {was}"
    return "it has more in it than before"


there_and_back = Exercise(
    name="there_and_back",
    question="""
**There and back.** A report holds a date, a set of tags, and a dict from task numbers to names: three things that a board
refuses. Write `pack(report)`, which gives plain JSON data, and `unpack(stored)`, which gives the report again. What comes
back must be equal to what went in, whatever the report.
""",
    blank="""
def pack(report):
    ex.not_solved_yet()  # {"due": a date, "tags": a set of texts, "who": {a number: a name}}
    return report


def unpack(stored):
    ex.not_solved_yet()  # the report again
    return stored


ex.there_and_back.check(pack, unpack)
""",
    hints=(
        "Begin with the date: `report['due'].isoformat()` makes a text of it, and `date.fromisoformat(text)` makes a date again.",
        "A set becomes a list: `sorted(...)` gives the same list each time. `set(...)` makes a set of it again.",
        "Keys must be text: `{str(number): name for number, name in report['who'].items()}`, and `int(...)` on the way back.",
    ),
    answer="""
from datetime import date


def pack(report):
    who = {str(number): name for number, name in report["who"].items()}
    return {"due": report["due"].isoformat(), "tags": sorted(report["tags"]), "who": who}


def unpack(stored):
    who = {int(number): name for number, name in stored["who"].items()}
    return {"due": date.fromisoformat(stored["due"]), "tags": set(stored["tags"]), "who": who}


ex.there_and_back.check(pack, unpack)
""",
    why="""
JSON knows text, numbers, true, false, null, lists, and dicts with text keys. Everything else is a decision: how to write it,
and how to know it again. Here you made it by hand. A schema makes it for you: `schema=` on `write`, and the same `schema=` on
`read`.
""",
    judge=_survives,
)

EXERCISES = (five_methods, whole_segments, there_and_back)
