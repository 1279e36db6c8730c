"""Exercises of notebook 60: what an agent may expect of copies. Answers are judged in every order, faults included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, ClassVar

from commonboard.check import Verdict, Violation, at_the_end, converges, no_acknowledged_loss
from commonboard.check.verdict import Finding, Holds, Unknown
from commonboard.course.exercise import AnswerError, Exercise, Feedback, NotSolvedYet, call, check_async, story
from commonboard.explorer import explore
from commonboard.handle import AgentMemory
from commonboard.sim import Run, World, simulate
from commonboard.values import plain

BUDGET = 5_000
"""How many states an answer is explored for, at the most; the solution that needs the most has about a thousand."""


@dataclass(frozen=True)
class _Asked:
    """A check of what agents were told and what the copies hold, when all is quiet.

    Attributes:
        name: what must be so, in words.
        wrong: takes a run that came to its end, and says in a sentence what is wrong with it; empty text if nothing is.
    """

    name: str
    wrong: Callable[[Run], str]
    judges: ClassVar[str] = "end"

    def __call__(self, run: Run) -> Verdict:
        for error in run.errors.values():
            if isinstance(error, NotSolvedYet):
                raise error
        if not run.ok:
            why = f"the run did not finish ({run.outcome}: {'; '.join(map(str, run.troubles))})"
            return Unknown(self.name, "this run", why=why, history=run.history, token=run.token)
        if told := self.wrong(run):
            return Violation(self.name, "this run", [Finding("property", told)], history=run.history, token=run.token)
        return Holds(self.name, "this run", history=run.history, token=run.token)


def _explored(crew: Mapping[str, Any], check: Any, **options: Any) -> Verdict:
    return explore(dict(crew), check=check, budget=BUDGET, samples=50, progress=False, **options)


def _bad(verdict: Verdict, where: str) -> Feedback | None:
    """What is told where something went wrong, or nobody can tell; `None` where all is well."""
    if isinstance(verdict, Violation):
        found = verdict.findings[0]
        told = f"{where}, something goes wrong in {verdict.scope}. The simplest run: {found.sentence}"
        picture = verdict.run.spacetime(found.operations or story(verdict.run), found.sentence)
        return Feedback(False, (told,), run=verdict.run, picture=picture)
    return None if verdict.holds else Feedback(False, (f"{where}, the explorer could not settle it. {verdict.sentence}.",))


# --- read_your_own_note -----------------------------------------------------------------------------------------------

NOTES = "shared/notes"
LEAD = f"{NOTES}/lead"
LEADS_NOTES = ("churn is up", "prices rose")
"""What the lead has written before. Two of them, so that an answer has to look."""


def _reads_its_own(note_and_look: Callable[..., Any]) -> Feedback:
    """Wherever each operation happens: the look shows the note that was just written, and what the lead had written before."""
    check_async(note_and_look, "note_and_look")

    async def web(me: AgentMemory) -> list[Any]:
        first = await note_and_look(me, "a draft")
        return [first, await note_and_look(me, "the final text")]

    world = World(replicas=2, visibility="eventual")
    for leads in LEADS_NOTES:
        given = {LEAD: leads}
        first = simulate({"web": web}, world=world, given=given, seed=0, max_operations=300, max_steps=20_000)
        if first.outcome == "endless":  # the search would follow it for a long time
            return Feedback(False, (f"It never ends: {'; '.join(map(str, first.troubles))}.",))
        check = _Asked("web sees its own note", partial(_wrong_with_what_web_saw, leads))
        verdict = _explored({"web": web}, check, world=world, given=given)
        bad = _bad(verdict, "With web on two copies")
        if bad is not None and verdict.holds is None:
            tip = "A loop that keeps values alone, such as the dict of notes, can be tried to its end; what calls itself cannot."
            return Feedback(False, (*bad.sentences, tip))
        if bad is not None:
            return bad
    done = "web sees the note that it has written, and everybody else's, whichever copy answers, in every order."
    return Feedback(True, (done,))


def _wrong_with_what_web_saw(leads: str, run: Run) -> str:
    for wanted, told in zip(("a draft", "the final text"), run.results["web"], strict=True):
        if not isinstance(told, Mapping):
            gave = "nothing" if told is None else f"a {type(told).__name__}"
            return f"note_and_look gave {gave}, where a dict of all notes belongs."
        if told.get(f"{NOTES}/web") != wanted:
            return f"web wrote {wanted!r}, looked, and saw {told.get(f'{NOTES}/web')!r:.60}."
        if told.get(LEAD) != leads:
            return f"the lead's note {leads!r}, which every copy has had from the start, is not among those that web saw."
    end = run.value(f"{NOTES}/web")
    return "" if end == "the final text" else f"web's note is {end!r:.60} on the board when all is quiet."


read_your_own_note = Exercise(
    name="read_your_own_note",
    question="""
**Read your own note, on any copy.** Nobody gives you sticky sessions: each operation may happen at either of two copies. Mend
`note_and_look`, so that what comes back has the new note in it, and those of the others that are there. `web` calls it twice,
with a draft and with the final text.
""",
    blank="""
async def note_and_look(me, text):
    ex.not_solved_yet()  # mend what follows: the look may be answered by the other copy
    await me.shared.write(f"notes/{me.name}", text)
    return {entry.key: entry.value for entry in await me.list("shared/notes")}


ex.read_your_own_note.check(note_and_look)
""",
    hints=(
        "Two ways: look again until the answer has seen your write; or remember what you wrote, and need no copy to tell you.",
        "To look again, you must know your own write when you see it. *Something is there* is not enough, nor is a version: each "
        "copy counts its own, and the draft on one can have the number of the final text on the other.",
        'A loop: look, and return if `notes.get(f"shared/notes/{me.name}") == text`. In a real system the name of the write, its '
        "*dot*, is compared, as two texts may be equal.",
    ),
    answer="""
async def note_and_look(me, text):
    await me.shared.write(f"notes/{me.name}", text)
    while True:
        notes = {entry.key: entry.value for entry in await me.list("shared/notes")}
        if notes.get(f"shared/notes/{me.name}") == text:
            return notes


ex.read_your_own_note.check(note_and_look)
""",
    why="""
The text that you have written serves as a **session token**: whoever answers without it is behind, and you ask again.
Nobody else writes this key, so an answer with it has seen your write. The price is waiting, and during a partition it may be a
long wait. The other way costs no wait: `return {**notes, f"shared/notes/{me.name}": text}` lays your own write over whatever
comes back, as an app on a telephone does while it is offline.
""",
    judge=_reads_its_own,
)

# --- a_count_that_adds_up ---------------------------------------------------------------------------------------------

COUNT = "shared/pages"


def _adds_up(settle: Any) -> Feedback:
    """The copies agree, no acknowledged write is lost, and the count is what was counted."""
    cases: list[tuple[dict[str, int], int, World]] = [
        ({"web": 1, "docs": 1}, 0, World(replicas=2)),
        ({"web": 1, "docs": 1}, 5, World(replicas=2)),
        ({"web": 1, "docs": 1}, 5, World(replicas=2, duplicates=1)),
        ({"web": 2, "docs": 1}, 5, World(replicas=2)),
    ]
    for counts, before, world in cases:
        told = " and ".join(f"{name}, who counts {times}," for name, times in counts.items())
        where = f"With {told} beginning at {before}" + (", where a message may arrive twice" if world.duplicates else "")
        crew = {name: _counts(times) for name, times in counts.items()}
        check = _Asked("the count adds up", _adding_up_to(sum(counts.values()) + before))
        bad = _bad(_explored(crew, check, policy=_as_given(settle), given={COUNT: before}, world=world), where)
        if bad is not None:
            return bad
    return Feedback(True, ("The copies agree, and the count is right, in every order, and with a message that arrives twice.",))


def _as_given(settle: Any) -> Any:
    """The reader's policy, an error of which is told with its line."""
    if settle is None:
        raise AnswerError("`check` takes a policy, or a function of (base, mine, theirs), not None")
    if isinstance(settle, type) or not callable(settle):
        return settle  # a policy, or what `explore` refuses by name

    @wraps(settle)
    def told_with_its_line(base: Any, mine: Any, theirs: Any) -> Any:
        return call(settle, base, mine, theirs)

    return told_with_its_line


def _counts(times: int) -> Callable[[AgentMemory], Any]:
    async def agent(me: AgentMemory) -> None:
        for _ in range(times):
            await me.shared.update("pages", lambda pages: pages + 1)

    return agent


def _adding_up_to(total: int) -> Callable[[Run], str]:
    def wrong(run: Run) -> str:
        for check in (converges, no_acknowledged_loss):
            verdict = check(run)
            if isinstance(verdict, Violation):
                return verdict.findings[0].sentence
        held = {name: [plain(entry.value) for entry in board if entry.key == COUNT] for name, board in run.boards.items()}
        off = next(((name, values) for name, values in held.items() if values != [total]), None)
        return f"the count on {off[0]} is {off[1][0]!r:.40} at the end, and it should be {total}." if off is not None else ""

    return wrong


a_count_that_adds_up = Exercise(
    name="a_count_that_adds_up",
    question="""
**A count that adds up.** `web` and `docs` count pages, each on its own copy: `update("pages", lambda pages: pages + 1)`. Write
the policy between the copies: they must agree, no count may get lost, and the sum must be right; also if they do not begin at 0,
and if a message arrives twice.
""",
    blank="""
def settle(base, mine, theirs):
    ex.not_solved_yet()  # mend what follows: all agree, nothing is lost, and the sum is wrong
    return cb.Keep(mine.value + theirs.value)


ex.a_count_that_adds_up.check(settle)
""",
    hints=(
        "Both copies began with the same pages, say 5. One more on each side: 6 and 6. What is their sum, and what is right?",
        "What both have seen is counted twice. That is `base`: the newest write that is behind both of them.",
        "`mine.value + theirs.value - base.value`. Or leave it to a type that knows who has counted what: check a policy "
        "`cb.Merge(…)` in place of your function.",
    ),
    answer="""
def settle(base, mine, theirs):
    return cb.Keep(mine.value + theirs.value - base.value)


ex.a_count_that_adds_up.check(settle)
""",
    why="""
A **three-way merge**: what is behind both counts once. It needs somebody who remembers the base, as the replicas of this library
do. `cb.Merge(cb.PNCounter)` passes too and needs no base, since its value says how much each replica has counted. Adding the two
up converges, and no acknowledged write is lost: both checks hold and the result is wrong. They ask about writes, not about sums.
""",
    judge=_adds_up,
)

# --- one_fault_is_enough ----------------------------------------------------------------------------------------------


async def _saves(me: AgentMemory) -> None:
    await me.shared.write("finding", "churn is up")
    if await me.read("docs/receipt"):
        await me.write("told", "safe")


async def _confirms(me: AgentMemory) -> None:
    if await me.read("shared/finding"):
        await me.write("receipt", "I have it")


def _promise_kept(board: Mapping[str, Any]) -> bool:
    return "web/told" not in board or "shared/finding" in board


def _breaks_it(make_world: Callable[[], Any]) -> Feedback:
    """With one fault at the most, the finding is gone although web said that it is safe."""
    world = call(make_world)
    if not isinstance(world, World):
        raise AnswerError(f"`make_world` gives a World, such as `cb.World(replicas=2, drops=1)`, not {world!r:.60}")
    allowed = sum(world.limits.values()) + sum(skew != 0 for skew in (world.clock_skew or {}).values())
    if allowed != 1:
        return Feedback(False, (f"This world allows {allowed or 'no'} faults, and one is asked for: {world}.",))
    verdict = _explored({"web": _saves, "docs": _confirms}, at_the_end(_promise_kept, "what is safe is there"), world=world)
    if not isinstance(verdict, Violation):
        return Feedback(False, (f"No promise is broken in this world: {world}.", f"{verdict.sentence}."))
    run, found = verdict.run, verdict.findings[0]
    if found.kind != "property":
        told = f"An agent did not come to its end, which breaks no promise: the finding was not called safe. {found.sentence}"
        return Feedback(False, (told,), run=run, picture=verdict.spacetime())
    (fault,) = run.faults
    told = f"One fault is enough, in {verdict.scope}: {fault.what}. The finding was called safe, and no copy has it."
    return Feedback(True, (told,), run=run, picture=run.spacetime((), f"{fault.what}: that is enough."))


one_fault_is_enough = Exercise(
    name="one_fault_is_enough",
    question="""
**One fault is enough.** Whoever wrote the crew above says: *two copies have the finding when `web` calls it safe, so it takes two
faults to lose it.* Find a world in which **one** fault loses it. `check` tries every order.
""",
    blank="""
def make_world():
    ex.not_solved_yet()
    return cb.World(replicas=2, drops=1)


ex.one_fault_is_enough.check(make_world)
""",
    hints=(
        "Which fault destroys what was written, and which ones only delay it, repeat it or send it somewhere else?",
        "A crash destroys, if nothing is durable. With sticky sessions it takes two. So on how many copies is the finding when "
        "`docs` says that it has seen it? What is the reasoning based on?",
        "On two, if `docs` reads from its own copy. Which `visibility=` lets both look at the same one?",
    ),
    answer="""
def make_world():
    return cb.World(replicas=2, visibility="strong", crashes=1, durable=False)


ex.one_fault_is_enough.check(make_world)
""",
    why="""
The receipt says that `docs` has *seen* the finding. With sticky sessions that means that a second copy *has* it. Where all agents
are sent to the first copy, or to any (`"eventual"`), it means no such thing, and one crash is enough. Strong visibility is about
what is seen, not about how many copies it is on: that is durability, and has to be asked for by itself.
""",
    judge=_breaks_it,
)

EXERCISES = (read_your_own_note, a_count_that_adds_up, one_fault_is_enough)
