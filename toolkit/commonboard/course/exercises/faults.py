"""Exercises of notebook 55: which order breaks it? Answers are judged in every order in which their agents can meet."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from commonboard.check import Verdict, at_the_end
from commonboard.course.exercise import AnswerError, Exercise, Feedback, NotSolvedYet, call, check_async, story
from commonboard.entry import ABSENT
from commonboard.errors import ConflictError
from commonboard.explorer import explore
from commonboard.handle import AgentMemory
from commonboard.sim import Run, simulate

Board = Mapping[str, Any]
Agent = Callable[[AgentMemory], Awaitable[Any]]
BUDGET = 12_000
"""States, or schedules where they must be run one by one. The solution that needs the most has 9,098 states."""
BY_ITSELF = ("deadlock", "died", "livelock", "never ends")


@dataclass(frozen=True)
class Case:
    """Agents on a board, to be tried in every order.

    Attributes:
        what: who meets where, in words.
        crew: the agents by name.
        wrong: takes the board at the end, and says in a sentence what is wrong with it; empty text if nothing is.
        given: what the board holds before.
        key: the key whose writes are shown where no update was lost.
    """

    what: str
    crew: Mapping[str, Agent]
    wrong: Callable[[Board], str]
    given: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""


def check_plain(function: Any) -> None:
    """Refuse an async function where a plain one belongs.

    Raises:
        AnswerError: calling it would give a coroutine, and no answer.
    """
    if inspect.iscoroutinefunction(function):
        name = function.__name__
        raise AnswerError(f"`{name}` must be a plain function: write `def {name}(…):`, without `async`")


def in_every_order(cases: Iterable[Case], done: str) -> Feedback:
    """Explore each case; the first in which something goes wrong is told, with the simplest run that shows it."""
    tried = []
    for case in cases:
        first = simulate(case.crew, given=case.given, seed=None, max_operations=300, max_steps=20_000)
        for error in first.errors.values():
            if isinstance(error, NotSolvedYet):
                raise error
        if first.outcome == "endless":  # the search would follow it for a long time
            told = "; ".join(map(str, first.troubles))
            return Feedback(False, (f"It never ends, even where one comes after the other ({case.what}): {told}.",))
        verdict = _explored(case)
        if verdict.holds is None:
            told = f"Nobody can tell: {case.what} can meet in too many orders to try them all."
            why = verdict.explored.why if verdict.explored is not None else ""
            return Feedback(False, (told, why) if why else (told,))
        if verdict.holds is False:
            return _told(case, verdict)
        orders = _counts(verdict)[1]
        tried.append(f"{orders:,} orders of {case.what}" if orders > 1 else f"the only order of {case.what}")
    return Feedback(True, (done, "Tried were:"), tuple(tried))


def _explored(case: Case) -> Verdict:
    def fine(board: Board) -> bool:
        return not case.wrong(board)

    return explore(case.crew, given=case.given, check=at_the_end(fine), budget=BUDGET, samples=50)


def _told(case: Case, verdict: Verdict) -> Feedback:
    run: Run = verdict.run
    first = verdict.findings[0]
    sentence = first.sentence if first.kind in BY_ITSELF else case.wrong(run.state)
    told = [f"{name} was told by an error ({type(error).__name__})" for name, error in run.errors.items()]
    sentence = sentence.rstrip(".") + (f"; {' and '.join(told)}." if told and first.kind not in BY_ITSELF else ".")
    shown = story(run) or tuple(run.history.writes(case.key))
    bad, orders = _counts(verdict)
    count = f"{bad:,} of {orders:,} orders" if bad and orders > 1 else "the only order" if orders == 1 else "some orders"
    return Feedback(
        False,
        (f"Something goes wrong in {count} of {case.what}. The simplest run: {sentence}",),
        run=run,
        picture=run.spacetime(shown, sentence),
    )


def _counts(verdict: Verdict) -> tuple[int, int]:
    """How many orders are wrong, of how many; zeros where nobody counted them."""
    explored = verdict.explored
    assert explored is not None  # `explore` always counts
    return explored.violating or 0, explored.interleavings or explored.completed


def _and(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


# --- make_the_pad_first -----------------------------------------------------------------------------------------------

PAD = "shared/pad"


def _keeps_every_note(append: Callable[..., Any]) -> Feedback:
    """Each note is on the pad once, whoever came first, and whether or not there was a pad."""
    check_async(append, "append")

    async def agent(me: AgentMemory) -> None:
        await append(me, f"{me.name}'s note")

    def case(where: str, names: tuple[str, ...], before: list[str] | None) -> Case:
        def wrong(board: Board) -> str:
            pad = board.get(PAD)
            if pad is None:
                return "there is no pad at the end"
            if not isinstance(pad, list):
                return f"the pad is no list of notes, but {pad!r:.40}"
            counts = {note: pad.count(note) for note in [*(before or ()), *(f"{name}'s note" for name in names)]}
            gone = [f"{note} is gone" for note, count in counts.items() if count == 0]
            twice = [f"{note} is there {count} times" for note, count in counts.items() if count > 1]
            more = [f"somebody added {note!r:.30}" for note in pad if note not in counts]
            return ", ".join([*gone, *twice, *more])

        given = {} if before is None else {PAD: before}
        return Case(f"{_and(names)}, {where}", dict.fromkeys(names, agent), wrong, given, PAD)

    cases = [
        case("without a pad", ("web", "docs"), None),
        case("on an empty pad", ("web", "docs"), []),
        case("on a pad with a note", ("web", "docs"), ["lead's note"]),
        case("without a pad", ("web", "docs", "synth"), None),
    ]
    return in_every_order(cases, "Every note is on the pad once, in every order.")


make_the_pad_first = Exercise(
    name="make_the_pad_first",
    question="""
**Make the pad first.** A colleague has mended the append differently: *if there is no pad, make an empty one. Then there is
always a row to lock.* Read it. Which order still loses a note? Then mend it; the idea is a good one. `check` tries every order,
with and without a pad.
""",
    blank="""
async def append(me, note):
    ex.not_solved_yet()  # mend what follows: there is an order that loses a note
    if await me.read("shared/pad") is None:
        await me.shared.write("pad", [])
    while True:
        pad = await me.read("shared/pad")
        try:
            return await me.shared.write("pad", [*pad.value, note], expect=pad.version)
        except cb.ConflictError:
            pass  # somebody else has the lock


ex.make_the_pad_first.check(append)
""",
    hints=(
        "The second half is safe. What can happen between the look and the first write, and what does that write replace then?",
        "Making the pad must not replace one that is there. Which question can you ask the store, so that it looks and writes in "
        "one step?",
        '`await me.shared.compare_and_set("pad", None, [])` makes the pad only if there is none. Whether it did does not matter.',
    ),
    answer="""
async def append(me, note):
    await me.shared.compare_and_set("pad", None, [])
    while True:
        pad = await me.read("shared/pad")
        try:
            return await me.shared.write("pad", [*pad.value, note], expect=pad.version)
        except cb.ConflictError:
            pass  # somebody else has the lock


ex.make_the_pad_first.check(append)
""",
    why="""
`docs` looks and sees no pad; `web` makes one and adds its note; then `docs` makes one too, an empty one, on top of it. So the
pad must be made by a write that expects absence. Whoever is refused there is glad of it: there is a pad now, and it can be
locked. In SQL this is `INSERT … ON CONFLICT DO NOTHING`, and only then `SELECT … FOR UPDATE`.
""",
    judge=_keeps_every_note,
)


# --- replace_one_line -------------------------------------------------------------------------------------------------

BLOCK = "shared/block"
LINES = {"churn": "churn: ?", "support": "support: ?"}


def _replaces_one_line(replace: Callable[..., Any]) -> Feedback:
    """Who is told True finds its text on the board, who is told False was too late, and nobody else's text is touched."""
    check_async(replace, "replace")

    def editor(line: str) -> Agent:
        async def agent(me: AgentMemory) -> None:
            told = await replace(me, LINES[line], f"{line}: as {me.name} found")
            await me.write("told", told if isinstance(told, bool) else repr(told))

        return agent

    def case(what: str, edits: dict[str, str]) -> Case:
        def wrong(board: Board) -> str:
            return _wrong_with_the_block(board, edits)

        return Case(what, {name: editor(line) for name, line in edits.items()}, wrong, {BLOCK: "\n".join(LINES.values())}, BLOCK)

    cases = [
        case("web alone", {"web": "churn"}),
        case("web and docs, who replace two lines", {"web": "churn", "docs": "support"}),
        case("web and docs, who replace the same line", {"web": "churn", "docs": "churn"}),
    ]
    return in_every_order(cases, "No edit is lost, and who came too late is told, in every order.")


def _wrong_with_the_block(board: Board, edits: dict[str, str]) -> str:
    told = {name: board.get(f"{name}/told") for name in edits}
    for name, answer in told.items():
        if not isinstance(answer, bool):
            return f"{name} was told neither True nor False" if answer is not None else f"{name} was told nothing"
    there = str(board.get(BLOCK)).split("\n")
    for line, before in LINES.items():
        writers = [name for name, whose in edits.items() if whose == line]
        done = [name for name in writers if told[name]]
        if len(done) > 1:
            return f"{' and '.join(done)} were both told that they replaced the line about {line}"
        if writers and not done:
            return f"{' and '.join(writers)} got False, and nobody had replaced the line about {line} before"
        wanted = f"{line}: as {done[0]} found" if done else before
        if wanted not in there:
            return f"{done[0]} was told True, and its text is not on the board" if done else f"the line about {line} is gone"
    return "" if len(there) == len(LINES) else f"the block has {len(there)} lines, and had {len(LINES)}"


replace_one_line = Exercise(
    name="replace_one_line",
    question="""
**Replace one line.** A text that all agents see, and a tool that replaces a piece of it. The piece must be there exactly once,
or the tool says `False`. It looks as careful as the lock did. Find the order in which an edit is lost, and mend it: who is told
`True` finds its text on the board, and who gets `False` was too late.
""",
    blank="""
async def replace(me, old, new):
    ex.not_solved_yet()  # mend what follows: an edit can be lost
    block = await me.value("shared/block")
    if block.count(old) != 1:
        return False
    await me.shared.write("block", block.replace(old, new))
    return True


ex.replace_one_line.check(replace)
""",
    hints=(
        "Two agents replace two *different* lines. What does the second one write, and from which text did it make it?",
        "The write must be refused if the block is no longer the one that was read. And then: look again, count again, replace "
        "again.",
        "A loop: `block = await me.read(…)`, count in `block.value`, write with `expect=block.version`, return `True`; on "
        "`cb.ConflictError` go round.",
    ),
    answer="""
async def replace(me, old, new):
    while True:
        block = await me.read("shared/block")
        if block.value.count(old) != 1:
            return False
        try:
            await me.shared.write("block", block.value.replace(old, new), expect=block.version)
            return True
        except cb.ConflictError:
            pass  # somebody else was here: look again


ex.replace_one_line.check(replace)
""",
    why="""
The check asked whether the old text stands in *my copy*, and the write replaced the whole block, other people's lines included.
Now the copy is the block, or the store refuses. Comparing the text would do here as well as comparing the version (page 25):
what is written rests on the block alone.
""",
    judge=_replaces_one_line,
)


# --- a_check_that_can_tell --------------------------------------------------------------------------------------------

TASK = "shared/task-7"


async def _write_then_verify(me: AgentMemory) -> None:
    if await me.read(TASK) is None:
        await me.shared.write("task-7", me.name)
        if await me.value(TASK) == me.name:
            await me.write("did", "task 7")


async def _create_if_absent(me: AgentMemory) -> None:
    try:
        await me.shared.write("task-7", me.name, expect=ABSENT)
    except ConflictError:
        return
    await me.write("did", "task 7")


async def _after_you(me: AgentMemory) -> None:
    """Says that it wants the task, and steps back if somebody else wants it too: nobody may be left."""
    await me.shared.write(f"wants/{me.name}", True)
    if len(await me.list("shared/wants")) == 1:
        await me.shared.write("task-7", me.name)
        await me.write("did", "task 7")


_CLAIMS = (
    ("write, then verify", _write_then_verify, ("web", "docs")),
    ("create if absent", _create_if_absent, ("web", "docs", "synth")),
    ("after you", _after_you, ("docs", "synth")),
)


def _can_tell(done_once: Callable[..., Any]) -> Feedback:
    """The reader's property says True of each board on which one agent did task 7, and False of each other one."""
    check_plain(done_once)
    said = call(done_once, {TASK: "web", "web/did": "task 7"})
    if said is not True:
        told = '`done_once` must say `True` of the board `{"shared/task-7": "web", "web/did": "task 7"}`, where web did it.'
        return Feedback(False, (f"{told} It says `{said!r:.40}`.",))
    lines = []
    for what, claim, names in _CLAIMS:

        def misjudged(board: Board, names: tuple[str, ...] = names) -> str:
            did, said = _did(board, names), call(done_once, dict(board))
            if not isinstance(said, bool):
                return f"`done_once` said {said!r:.40}, neither True nor False"
            whose = " and ".join(did) or "nobody"
            return f"`done_once` says {said}, and {whose} did task 7" if said is not (len(did) == 1) else ""

        case = Case(f'{_and(names)} with the claim "{what}"', dict.fromkeys(names, claim), misjudged, key=TASK)
        verdict = _explored(case)
        if verdict.holds is not True:
            return _told(case, verdict)
        lines.append(_how_good(what, case.crew))
    return Feedback(True, ("`done_once` is right about every board that these claims can leave behind. It says:",), tuple(lines))


def _how_good(what: str, crew: Mapping[str, Agent]) -> str:
    def once(board: Board) -> bool:
        return len(_did(board, tuple(crew))) == 1

    bad, orders = _counts(explore(dict(crew), check=at_the_end(once)))
    return f"{what}: task 7 is done once in {orders - bad} of {orders} orders"


def _did(board: Board, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if f"{name}/did" in board]


a_check_that_can_tell = Exercise(
    name="a_check_that_can_tell",
    question="""
**A check that can tell.** A third pattern, for claiming a task: *write your name, read it back, and if it is still yours, do
the work.*

```python
async def claim(me):
    if await me.read("shared/task-7") is None:
        await me.shared.write("task-7", me.name)
        if await me.value("shared/task-7") == me.name:
            await me.write("did", "task 7")
```

Is it safe? This time you write the property: `done_once` takes the board at the end, `{full key: value}`, and says whether task
7 was done by exactly one agent, whoever was there. `check` explores this claim and two others, a safe one and one that is too
polite, and looks whether your property is right about each of them.
""",
    blank="""
def done_once(board):
    ex.not_solved_yet()  # mend what follows: it holds, whoever did the work
    return board.get("shared/task-7") in ("web", "docs")


ex.a_check_that_can_tell.check(done_once)
""",
    hints=(
        "The board names one claimant, whatever happens: one key has one value. Where does it say who did the work?",
        "Each agent that did it has a key of its own, such as `web/did`. You do not know who takes part, so look at all keys.",
        'Count the keys that end in `"/did"`. What should their number be? None is as wrong as two.',
    ),
    answer="""
def done_once(board):
    return sum(key.endswith("/did") for key in board) == 1


ex.a_check_that_can_tell.check(done_once)
""",
    why="""
An exploration is as good as its property. One that asks for the name on the board holds, and misses that two agents did the
work: `web` wrote, read its own name and began, and then `docs`, who had looked before, did the same. Reading back tells what
was true, not what will be. Against it helps what helped the pad: expect absence, in one step.
""",
    judge=_can_tell,
)

EXERCISES = (make_the_pad_first, replace_one_line, a_check_that_can_tell)
