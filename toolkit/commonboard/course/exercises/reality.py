"""Exercises of notebook 80: what a simulation takes for granted. Answers run in the simulator, and live."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, permutations, product
from random import Random
from typing import Any, TypeVar

from commonboard.course.exercise import AnswerError, Exercise, Feedback, NotSolvedYet, call, check_async
from commonboard.course.exercises.faults import check_plain
from commonboard.course.lesson_stores import FATES, BadLine, UnevenDrawer
from commonboard.entry import Event, Read, Write
from commonboard.handle import AgentMemory
from commonboard.live import LiveRun, run_live
from commonboard.policies import LastWriterWins
from commonboard.sim import Run, simulate

PATIENCE_S = 5.0
"""Real seconds that the agents of a live run may take; they need some milliseconds."""
T = TypeVar("T")


def _outside(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on another event loop: a notebook's own is busy with the cell that asks."""

    def run() -> T:
        with asyncio.Runner() as runner:
            return runner.run(main)

    with ThreadPoolExecutor(1) as one:
        return one.submit(run).result()


def _raise_if_blank(errors: Iterable[BaseException]) -> None:
    for error in errors:
        if isinstance(error, NotSolvedYet):
            raise error


# --- meet_on_purpose --------------------------------------------------------------------------------------------------

COUNT = "shared/count"
_SEEDS = 100
_LIVE = 20


def _counters(meeting: Callable[..., Any], agents: int) -> dict[str, Callable[[AgentMemory], Awaitable[None]]]:
    """Agents that look, meet, and write; with a meeting of their own."""
    check_plain(meeting)
    meet = call(meeting, agents)
    if not callable(meet):
        raise AnswerError(f"`meeting` gives a function `meet`, not {meet!r:.40}: does it end in `return meet`?")

    async def agent(me: AgentMemory) -> None:
        count = await me.value(COUNT)
        await meet()
        await me.shared.write("count", count + 1)

    return dict.fromkeys(("web", "docs", "synth")[:agents], agent)


def _not_met(run: Run | LiveRun) -> str:
    """Why agents did not all look before the first of them wrote; empty if they did."""
    if not run.ok:
        return str(run.troubles[0]) if run.troubles else f"it ended as {run.outcome}"
    if (count := run.value(COUNT)) != 1:
        return f"the count came to {count}, so somebody looked only when somebody else had written"
    return ""


def _loses_for_certain(meeting: Callable[..., Any]) -> Feedback:
    """All agents look before any of them writes, in every run."""
    for agents in (2, 3):
        faults = []
        for seed in range(_SEEDS):
            crew = _counters(meeting, agents)
            run = simulate(crew, given={COUNT: 0}, seed=seed, timing="free", max_operations=300, max_steps=20_000)
            _raise_if_blank(run.errors.values())
            if why := _not_met(run):
                faults.append((run, why))
            if run.outcome == "endless":
                break
        if faults:
            run, why = faults[0]
            told = f"{agents} agents do not meet in {len(faults)} of {seed + 1} simulated runs."
            told = f"{told} The first, seed {run.seed}: {why}."
            return Feedback(False, (told,), run=run, picture=run.spacetime(caption=f"Seed {run.seed}: {why}."))
    for number, live in enumerate(_outside(_live_meetings(meeting)), 1):
        if why := _not_met(live):
            return Feedback(False, (f"They met in every simulated run, and not in live run {number} of {_LIVE}: {why}.",))
    done = f"Everybody looks before anybody writes: in {_SEEDS} simulated runs with 2 agents, in {_SEEDS} with 3, and in {_LIVE}"
    return Feedback(True, (f"{done} live runs on a store whose calls take now longer, now shorter.",))


async def _live_meetings(meeting: Callable[..., Any]) -> list[LiveRun]:
    runs = []
    for seed in range(_LIVE):
        crew, store = _counters(meeting, 2 + seed % 2), UnevenDrawer(seed)
        runs.append(await run_live(crew, store=store, policy=LastWriterWins(), given={COUNT: 0}, timeout_s=PATIENCE_S))
    return runs


meet_on_purpose = Exercise(
    name="meet_on_purpose",
    question="""
**Meet on purpose.** Each agent reads `shared/count`, calls `await meet()`, and writes the count back, one higher. Write
`meeting(agents)`, which makes such a `meet` for so many agents. It returns only when **all** of them have looked, however long
that takes, so that the loss is certain: a test that fails by luck is no test. A pause will not do. In the simulator of this
`check`, a pause may last longer than it says, and so may everything else.
""",
    blank="""
def meeting(agents):
    async def meet():
        ex.not_solved_yet()  # mend what follows: a pause is no meeting
        await asyncio.sleep(0.01)

    return meet


ex.meet_on_purpose.check(meeting)
""",
    hints=(
        "How does an agent that has looked learn that the others have looked too? It has to be told; time tells nothing.",
        "Count who has come. The last one opens a gate for all: an `asyncio.Event` that everybody waits for.",
        "`asyncio` has this ready-made: an `asyncio.Barrier(agents)`, whose `wait()` returns when so many are waiting.",
    ),
    answer="""
import asyncio


def meeting(agents):
    barrier = asyncio.Barrier(agents)

    async def meet():
        await barrier.wait()

    return meet


ex.meet_on_purpose.check(meeting)
""",
    why="""
A pause makes it likely that the others have looked, on this machine, today. A barrier makes it certain, because it waits for what
happened and not for how long it took. With it, a race becomes a test that fails each time until the code is mended, live as well
as in the simulator.
""",
    judge=_loses_for_certain,
)


# --- who_was_second ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """A write as a recorder saw it.

    Attributes:
        agent: who wrote.
        begin: when it was called.
        end: when it was answered; `None` if no answer came.
    """

    agent: str
    begin: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """A read as a recorder saw it.

    Attributes:
        begin, end: when it was called, and when it was answered.
        saw: whose write it showed.
    """

    begin: int
    end: int
    saw: str


def _orders(calls: Sequence[Call | Look]) -> Iterator[tuple[Call | Look, ...]]:
    """The orders in which calls may have taken effect, each at one moment between its begin and its end."""
    for order in permutations(calls):
        if not any(later.end is not None and later.end < earlier.begin for earlier, later in combinations(order, 2)):
            yield order


def _possible(a: Call, b: Call, look: Look) -> list[str]:
    """Who may have been second, given what the look showed."""
    found: dict[str, None] = {}
    for order in _orders((a, b, look)):
        before = [one for one in order[: order.index(look)] if isinstance(one, Call)]
        if before and before[-1].agent == look.saw:
            found[[one for one in order if isinstance(one, Call)][-1].agent] = None
    return list(found)


def _cases() -> Iterator[tuple[Call, Call, Look]]:
    """Every record of two writes and a look, on six moments; those in which all was answered first."""
    moments = frozenset(range(6))
    for silent in ((), ("web",), ("docs",)):
        for first in combinations(sorted(moments), 2):
            for second in combinations(sorted(moments - {*first}), 2):
                begin, end = sorted(moments - {*first, *second})
                for saw in ("web", "docs"):
                    web = Call("web", first[0], None if "web" in silent else first[1])
                    docs = Call("docs", second[0], None if "docs" in silent else second[1])
                    yield web, docs, Look(begin, end, saw)


def _drawn(a: Call, b: Call, look: Look) -> str:
    """A record as three lines of time."""
    lines = []
    for name, begin, end, note in (
        (a.agent, a.begin, a.end, "no answer came" if a.end is None else ""),
        (b.agent, b.begin, b.end, "no answer came" if b.end is None else ""),
        ("look", look.begin, look.end, f"saw what {look.saw} wrote"),
    ):
        stop = 6 if end is None else end
        bar = " " * (4 * begin) + "├" + "─" * (4 * (stop - begin) - 1) + (">" if end is None else "┤")
        lines.append(f"{name:<6}{bar:<26}{note}".rstrip())
    return "\n".join(lines)


def _says_what_is_certain(second: Callable[..., Any]) -> Feedback:
    """Who is named was second in every order that the record allows, and nobody is named where both may have been."""
    check_plain(second)
    records = right = known = 0
    first_wrong = None
    for case in _cases():
        possible = _possible(*case)
        if not possible:
            continue
        records += 1
        known += len(possible) == 1
        wanted = possible[0] if len(possible) == 1 else None
        said = call(second, *case)
        if isinstance(said, Call):
            raise AnswerError("`second` gives a name, such as `a.agent`, or `None`, and not the call itself")
        if said == wanted:
            right += 1
        elif first_wrong is None:
            first_wrong = (case, said, wanted)
    if first_wrong is None:
        told = (
            f"You are right about all {records} records that two writes and a look can leave. In {known} of them it is certain,"
        )
        return Feedback(True, (f"{told} in the others nobody can know, and you say so.",))
    case, said, wanted = first_wrong
    fits = "it may have been either of them" if wanted is None else f"{wanted} was second, in every order that fits"
    why = f"`second` says {said!r:.40}, and {fits}"
    return Feedback(False, (f"Right about {right} of {records} records. The first other one: {why}.",), code=_drawn(*case))


who_was_second = Exercise(
    name="who_was_second",
    question="""
**Who was second?** Two agents wrote the same key of a drawer, and somebody looked. The record has `a` and `b`, each with
`.agent`, `.begin` and `.end` (`None` where no answer came), and `look`, with `.begin`, `.end` and `.saw`, the agent whose write
it showed. Each call took effect at one moment between its begin and its end; both writes did happen. Say who was **certainly**
second, by name, or `None` if the record leaves it open. `check` asks about every record there can be.
""",
    blank="""
def second(a, b, look):
    ex.not_solved_yet()  # mend what follows: it believes that whoever began later was second
    return a.agent if a.begin > b.begin else b.agent


ex.who_was_second.check(second)
""",
    hints=(
        "When is it certain without the look? If one write was answered before the other one was called.",
        "The look showed one of the two. If the look was over before the other one was called, that other one came second.",
        "And if the one that was *not* seen was answered before the look was called, the one that was seen came second. Try each "
        "of the three rules for `(a, b)` and for `(b, a)`.",
    ),
    answer="""
def second(a, b, look):
    for one, other in ((a, b), (b, a)):
        answered_before = one.end is not None and one.end < other.begin
        seen_before = look.saw == one.agent and look.end < other.begin
        replaced = look.saw == other.agent and one.end is not None and one.end < look.begin
        if answered_before or seen_before or replaced:
            return other.agent
    return None


ex.who_was_second.check(second)
""",
    why="""
Whoever began later, or was answered later, need not have been second: calls that overlap may take effect either way. What counts
is what was over before something else began, and what was seen. Of a call without an answer, only what was seen says that it is
over. From these rules the recorder concludes its versions; where they leave something open, it says *unknown*.
""",
    judge=_says_what_is_certain,
)


# --- noted_once -------------------------------------------------------------------------------------------------------

NOTES = "shared/notes"
LEADS = "lead's note"  # is there before the two begin
_LINES = 8  # live runs for each way in which the line can be bad


def _noted_once(add: Callable[..., Any]) -> Feedback:
    """Each note is there once, whatever the line loses."""
    check_async(add, "add")

    async def agent(me: AgentMemory) -> None:
        await add(me, f"{me.name}'s note")

    plans = list(product(FATES, repeat=3))
    faults: dict[tuple[str, ...], tuple[str, LiveRun]] = {}  # of each plan, the first
    for plan, live in _outside(_live_notes(dict.fromkeys(("web", "docs"), agent), plans)):
        _raise_if_blank(live.errors.values())
        if why := _wrong_with_the_notes(live):
            faults.setdefault(plan, (why, live))
    if not faults:
        return Feedback(True, (f"Each note is there once, in each of {len(plans)} ways in which the line can be bad.",))
    plan, (why, live) = next(iter(faults.items()))
    count = "one way" if live.outcome == "endless" else f"{len(faults)} of {len(plans)} ways"
    lost = [f"write {number}: {fate}" for number, fate in enumerate(plan, 1)]
    told = f"Something is wrong in {count} in which the line can be bad. The first: {why}. What the line does there:"
    return Feedback(False, (told,), tuple(lost), code=str(live.log))


class _UnevenLine(BadLine):
    """A bad line on which a write takes now longer, now shorter, so that agents meet in more ways than one."""

    def __init__(self, fates: Iterable[str], seed: int) -> None:
        super().__init__(fates)
        self._random = Random(seed)

    async def commit(self, *writes: Write, reads: Iterable[Read] = ()) -> list[Event]:
        for _ in range(self._random.randrange(8)):
            await asyncio.sleep(0)
        return await super().commit(*writes, reads=reads)


async def _live_notes(
    crew: Mapping[str, Callable[[AgentMemory], Awaitable[None]]], plans: Iterable[tuple[str, ...]]
) -> list[tuple[tuple[str, ...], LiveRun]]:
    """The plans and their runs, up to the first that does not end."""
    runs: list[tuple[tuple[str, ...], LiveRun]] = []
    for plan, seed in product(plans, range(_LINES)):
        store = _UnevenLine((FATES[0], *plan), seed)  # what is given is written first
        runs.append((plan, await run_live(crew, store=store, given={NOTES: [LEADS]}, timeout_s=PATIENCE_S)))
        if runs[-1][1].outcome == "endless":
            break
    return runs


def _wrong_with_the_notes(live: LiveRun) -> str:
    if not live.ok:
        return "; ".join(map(str, live.troubles))
    notes = live.value(NOTES)
    if not isinstance(notes, list):
        return f"the notes are no list, but {notes!r:.40}"
    wanted = [LEADS, *(f"{name}'s note" for name in live.agents)]
    found = [f"{note} is missing" for note in wanted if note not in notes]
    found += [f"{note} is there {notes.count(note)} times" for note in wanted if notes.count(note) > 1]
    return ", ".join([*found, *(f"somebody noted {note!r:.40}" for note in notes if note not in wanted)])


noted_once = Exercise(
    name="noted_once",
    question="""
**Noted once.** The line to the board is bad. It loses requests, and then nothing was written; and it loses answers, and then it
was. Whoever wrote gets the same `cb.OutcomeUnknownError` for both. Write `add(me, note)` so that the note is on the list
`shared/notes` once: not missing, not twice, and nobody else's note gone. `check` runs two agents live, in every way in which the
first three writes can go; the lead's note is there before.
""",
    blank="""
async def add(me, note):
    while True:
        try:
            ex.not_solved_yet()  # mend what follows: it may add the note twice
            return await me.shared.append("notes", note)
        except cb.OutcomeUnknownError:
            pass  # no answer: try again


ex.noted_once.check(add)
""",
    hints=(
        "To try again is right if the request was lost, and wrong if the answer was. Which question tells the two apart?",
        "Look before you try again: is the note there? Nobody but you writes your note.",
        "Or make the change one that can be made twice: an `update` that adds the note only if it is not there yet.",
    ),
    answer="""
async def add(me, note):
    def with_note(notes):
        return notes if note in notes else [*notes, note]

    while True:
        try:
            return await me.shared.update("notes", with_note)
        except cb.OutcomeUnknownError:
            pass  # no answer: try again


ex.noted_once.check(add)
""",
    why="""
A change that comes to the same however often it is made is called *idempotent*. It may be tried again without knowing what became
of the last try. An `append` is not idempotent; "there, if not yet there" is. Where a change cannot be made so, give it a name of
its own, such as a number, and look for that name. And where a request can be *late* instead of lost, to look is not enough: it
may arrive after the look. An `update` is safe there too, since a late write expects a version that is gone.
""",
    judge=_noted_once,
)

EXERCISES = (meet_on_purpose, who_was_second, noted_once)
