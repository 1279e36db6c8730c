"""Exercises of notebook 30: what if nobody had to wait?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from commonboard.course.exercise import Exercise, Feedback, call
from commonboard.crdt import search
from commonboard.crdt.specs import Update

Tally = dict[str, int]

# --- merge_three_replicas ---------------------------------------------------------------------------------------------


def _agrees_and_keeps(merge: Callable[[Tally, Tally], Any]) -> Feedback:
    """Three replicas count and merge in every order that there is; those who have seen the same hold the same, and all of it."""

    def count(tally: Tally, replica: str) -> Tally:
        return {**tally, replica: tally.get(replica, 0) + 1}

    def seen(visible: Sequence[Update]) -> Tally:
        names = sorted(update.id[0] for update in visible)
        return {name: names.count(name) for name in dict.fromkeys(names)}

    left, right = {"a": 2}, {"b": 1}
    first = call(merge, left, right)
    if not isinstance(first, dict):
        return Feedback(False, (f"`merge({{'a': 2}}, {{'b': 1}})` gave {first!r:.60}, where a dict belongs.",))
    if (left, right) != ({"a": 2}, {"b": 1}):
        return Feedback(
            False, ("`merge` changed one of the two tallies that it was given, and somebody still uses them. Make a new dict.",)
        )
    found = search({}, ops={"count": count}, merge=merge, spec=seen, events=3)
    if found.holds:
        told = f"In all {found.explored:,} situations that three replicas reach with 3 counts, they agree, and nothing is lost."
        return Feedback(True, (told,))
    told = "Here is the shortest history of three replicas that goes wrong. `b<-a` means that b merges what a holds into its own:"
    return Feedback(False, (told,), code=str(found))


merge_three_replicas = Exercise(
    name="merge_three_replicas",
    question="""
**Merge a tally.** Three replicas count. Each keeps a dict such as `{"a": 2, "b": 1}`: how often each replica has counted,
as far as it knows. A replica raises only its own number. Write `merge(left, right)`, which gives a new dict. Replicas that have
seen the same counts must hold the same, whatever the order of the merges, and even if a tally arrives twice; and no count may
get lost.
""",
    blank="""
def merge(left, right):
    ex.not_solved_yet()  # a new dict, made of both


ex.merge_three_replicas.check(merge)
""",
    hints=(
        "Go through all names that are in either dict. For each of them there are two numbers; a name that is missing has 0.",
        "Adding the two numbers counts twice what both have seen. Taking the right one forgets what the left one knows better.",
        "Each replica raises only its own number, so of two numbers the greater one is the newer one.",
    ),
    answer="""
def merge(left, right):
    names = sorted({*left, *right})
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in names}


ex.merge_three_replicas.check(merge)
""",
    why="""
The greater of two numbers does not depend on their order, on the grouping, or on how often they meet: `max` is commutative,
associative and idempotent. And as only one replica raises a number, the greater one has seen all that the other has. You have
written a grow-only counter: its value is the sum of the tally.
""",
    judge=_agrees_and_keeps,
)

# --- find_the_broken_law ----------------------------------------------------------------------------------------------


def _sum(a: int, b: int) -> int:
    return a + b


Sides = Callable[[int, int, int], tuple[str, int, str, int]]
LAWS: Mapping[str, Sides] = {
    "commutative": lambda a, b, c: ("merge(a, b)", _sum(a, b), "merge(b, a)", _sum(b, a)),
    "associative": lambda a, b, c: ("merge(merge(a, b), c)", _sum(_sum(a, b), c), "merge(a, merge(b, c))", _sum(a, _sum(b, c))),
    "idempotent": lambda a, b, c: ("merge(a, a)", _sum(a, a), "a", a),
}


def _breaks(answer: Callable[[], Any]) -> Feedback:
    """The law that is named fails for the numbers that are given."""
    given = call(answer)
    if not isinstance(given, tuple) or len(given) != 4:
        return Feedback(False, (f"`answer` gave {given!r:.60}. It gives a law and three whole numbers: `return law, a, b, c`.",))
    law, *numbers = given
    if law not in LAWS:
        return Feedback(False, (f"{law!r} is none of the three laws: {', '.join(LAWS)}.",))
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        return Feedback(False, (f"a, b and c are whole numbers, not {', '.join(map(repr, numbers))}.",))
    left, one, right, other = LAWS[law](*numbers)
    told = f"With a = {numbers[0]}, b = {numbers[1]} and c = {numbers[2]}, `{left}` is {one} and `{right}` is {other}."
    if one == other:
        return Feedback(False, (told, f"They are equal, so this does not show that the merge is not {law}."))
    return Feedback(True, (told, f"They differ: the merge is not {law}, so whatever arrives twice is counted twice."))


find_the_broken_law = Exercise(
    name="find_the_broken_law",
    question="""
**Find the law that a merge breaks.** Two replicas each hold a number, and merge by adding: `merge(a, b) = a + b`. A merge must be
commutative, associative and idempotent. Which of the three does this one break? Name it, and give numbers that show it.
""",
    blank="""
def answer():
    ex.not_solved_yet()
    law = ...  # "commutative", "associative" or "idempotent"
    a, b, c = 1, 2, 3  # numbers for which it fails
    return law, a, b, c


ex.find_the_broken_law.check(answer)
""",
    hints=(
        "Commutative: the order of the two does not matter. Associative: nor does the grouping of three. "
        "Idempotent: nor does it matter how often the same thing arrives.",
        "A network delivers a message twice now and then. What is `merge(a, a)` when a is 5?",
        "It breaks idempotence, for every a but one.",
    ),
    answer="""
def answer():
    law = "idempotent"
    a, b, c = 5, 0, 0
    return law, a, b, c


ex.find_the_broken_law.check(answer)
""",
    why="""
`merge(5, 5)` is 10. Addition does not mind order or grouping, but it counts what it has counted before. For a = 0 nothing shows,
which is why a test with empty counters passes.
""",
    judge=_breaks,
)

# --- choose_the_type --------------------------------------------------------------------------------------------------

SITUATIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "open questions": (
        "set",
        {
            "set": "Each question is in or out: adds of all replicas join, and a remove takes away what its replica had seen.",
            "counter": "A counter knows how many questions there are, and none of them.",
            "register": "Two replicas that each add a question hold two lists, and a register keeps one list.",
            "coordination": "Nobody has to wait: two added questions do not contradict each other.",
        },
    ),
    "pages read": (
        "counter",
        {
            "set": "A set of numbers loses pages: two replicas that both say 3 are one 3.",
            "counter": "Each replica raises its own share, and the sum of the shares is the total, whatever the order.",
            "register": "Two replicas that go from 10 to 11 and 12 have read 3 pages, and a register says 12.",
            "coordination": "Nobody has to wait: counting up on one side never forbids counting up on the other.",
        },
    ),
    "status line": (
        "register",
        {
            "set": "Then the crew has several status lines at once, and the reader wants the newest.",
            "counter": "A text cannot be added up.",
            "register": "A newer status replaces an older one, and nobody needs the older one.",
            "coordination": "It would work, and a writer would wait for nothing: an overwritten status does no harm.",
        },
    ),
    "who does task 7": (
        "coordination",
        {
            "set": "Then two owners may be in it: all replicas agree, and the work is done twice.",
            "counter": "It says how many have claimed the task, when both are at work already.",
            "register": "All replicas agree in the end on one owner; until then the other one has worked too.",
            "coordination": "Only one may do it, so it has to be settled before the work begins: somebody must say no.",
        },
    ),
    "a budget never below 0": (
        "coordination",
        {
            "set": "A set of payments adds up to whatever it adds up to; it cannot refuse one.",
            "counter": "Each side sees 10 left and spends 10; the counter merges faithfully, to minus 10.",
            "register": "Each side sees 10 left, spends 10 and writes 0; the register says 0, and 20 are gone.",
            "coordination": "Whether I may spend depends on what you spend at this moment, so we have to ask before.",
        },
    ),
}


def _fits(choose: Callable[[], Any]) -> Feedback:
    """Each choice is followed to what comes of it."""
    chosen = call(choose)
    if not isinstance(chosen, dict) or set(chosen) != set(SITUATIONS):
        return Feedback(False, (f"`choose` gives a dict with a choice for each of: {', '.join(SITUATIONS)}.",))
    lines, right = [], 0
    for situation, (fit, reasons) in SITUATIONS.items():
        choice = chosen[situation]
        if choice is ... or choice not in reasons:
            said = "nothing chosen" if choice is ... else repr(choice)
            lines.append(f"? **{situation}**: {said}. Choose one of {', '.join(reasons)}.")
            continue
        right += choice == fit
        lines.append(f"{'✓' if choice == fit else '✗'} **{situation}**: {choice}. {reasons[choice]}")
    told = f"{right} of {len(SITUATIONS)} choices hold. What comes of each:"
    return Feedback(right == len(SITUATIONS), (told,), tuple(lines))


choose_the_type = Exercise(
    name="choose_the_type",
    question="""
**Choose the type.** The board is replicated, and replicas are apart for hours. For each of five things, choose a `"set"`, a
`"counter"`, a `"register"` (one value, the last one wins), or `"coordination"` (they have to ask each other before).

- *open questions*: anybody adds some, and strikes some off
- *pages read*: how many pages the crew has read in all
- *status line*: one sentence, "reading the exit surveys", which anybody may replace
- *who does task 7*: one agent, and nobody else
- *a budget never below 0*: 10,000 tokens which all spend
""",
    blank="""
def choose():
    ex.not_solved_yet()  # "set", "counter", "register" or "coordination"
    return {
        "open questions": ...,
        "pages read": ...,
        "status line": ...,
        "who does task 7": ...,
        "a budget never below 0": ...,
    }


ex.choose_the_type.check(choose)
""",
    hints=(
        "Ask of each: may both sides go on without asking, and can what they did be put together afterwards?",
        "Put together: elements that come and go, numbers that add up, or values of which only the newest matters?",
        "Two of the five cannot be put together afterwards: there is something that only one may have, or that runs out.",
    ),
    answer="""
def choose():
    return {
        "open questions": "set",
        "pages read": "counter",
        "status line": "register",
        "who does task 7": "coordination",
        "a budget never below 0": "coordination",
    }


ex.choose_the_type.check(choose)
""",
    why="""
A merge keeps what everybody did. So it serves where all of it may stand. "Only one" and "never below" are promises about what
others do *not* do in the meantime, and no merge can take back work that is done: there you need a store that can say no.
""",
    judge=_fits,
)

EXERCISES = (merge_three_replicas, find_the_broken_law, choose_the_type)
