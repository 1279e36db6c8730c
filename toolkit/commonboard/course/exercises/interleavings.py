"""Exercises of notebook 50: how do you know that nothing else can go wrong?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from commonboard.check import Finding, Verdict, Violation, always, at_the_end, no_lost_updates
from commonboard.course.exercise import AnswerError, Exercise, Fault, Feedback, NotSolvedYet, call, check_async, over_seeds, story
from commonboard.course.exercises.faults import check_plain
from commonboard.errors import CommonboardError
from commonboard.explorer import explore
from commonboard.handle import AgentMemory
from commonboard.policies import LastWriterWins
from commonboard.sim import Run

BUDGET = 20_000
"""How many states an answer is explored for, at the most; the solutions need some hundreds."""


def _not_settled(verdict: Verdict) -> Feedback:
    """What is told where the explorer could not tell."""
    return Feedback(False, (f"The explorer could not settle it. {verdict.sentence}.",))


def _raise_if_blank(verdict: Verdict) -> None:
    """The blank as it is: an agent that is not written yet has died of it."""
    for error in verdict.run.errors.values() if verdict.run is not None else ():
        if isinstance(error, NotSolvedYet):
            raise error


def _what(found: Finding) -> str:
    """What was found, to follow a colon."""
    sentence = f"{found.sentence[:1].lower()}{found.sentence[1:]}"
    return sentence if found.kind in ("property", "died") else f"{found.kind}: {sentence}"


def _shown(told: str, verdict: Verdict) -> Feedback:
    """What is told where the explorer found something, with its run."""
    return Feedback(False, (told,), run=verdict.run, picture=verdict.spacetime())


# --- hide_from_the_seeds ----------------------------------------------------------------------------------------------

_LEFT = "shared/left"


def _seeds_miss_it(docs: Callable[..., Any]) -> Feedback:
    """No seed from 0 to 199 loses an update, and some order does."""
    check_async(docs, "docs")

    async def web(me: AgentMemory) -> None:
        count = await me.value(_LEFT)
        await me.shared.write("left", count + 1)

    def wrong(run: Run) -> Fault | None:
        found = no_lost_updates(run).findings
        return Fault("a seed found the race", found[0].sentence.rstrip("."), story(run)) if found else None

    crew, given = {"web": web, "docs": docs}, {_LEFT: 0}
    seen = over_seeds(crew, wrong, "nothing was lost.", given=given, policy=LastWriterWins())
    if not seen.solved:
        return seen
    verdict = explore(crew, given=given, policy=LastWriterWins(), budget=BUDGET, progress=False)
    if verdict.holds is None:
        return _not_settled(verdict)
    if not isinstance(verdict, Violation):
        return Feedback(False, (f"200 seeds found nothing, because there is nothing to find. {verdict.sentence}.",))
    found = verdict.findings[0]
    if found.kind != "lost update":
        return _shown(f"Something else went wrong than a lost update, in {verdict.scope}: {_what(found)}", verdict)
    told = f"200 seeds found nothing, and the explorer finds a loss in {verdict.scope}. The simplest: {found.sentence}"
    return Feedback(True, (told,), run=verdict.run, picture=verdict.spacetime())


hide_from_the_seeds = Exercise(
    name="hide_from_the_seeds",
    question="""
**Hide from the seeds.** `web` reads the number `shared/left` and writes it back, one higher, with nothing in between. Write a
`docs` that changes `shared/left` too, so that an update is lost in some order, and no seed from 0 to 199 shows it. (The policy is
last writer wins.)
""",
    blank="""
async def docs(me):
    ex.not_solved_yet()  # what keeps web and docs apart in nearly every run?
    await me.shared.update("left", lambda count: count + 1)


ex.hide_from_the_seeds.check(docs)
""",
    hints=(
        "`web` has two operations. Whoever tosses a coin for each step has let `web` finish after a few tosses.",
        "So let `docs` be busy with something of its own first: `await me.write('notes', …)`, and not once.",
        "Twenty notes in a `for` loop before the update. For a loss, the coin has to say *docs* some twenty times in a row.",
    ),
    answer="""
async def docs(me):
    for page in range(20):
        await me.write("notes", f"page {page}")
    await me.shared.update("left", lambda count: count + 1)


ex.hide_from_the_seeds.check(docs)
""",
    why="""
Between the two steps of `web`, the coin would have to choose `docs` for all of its notes. It can, and in 200 tries it does not.
To think for a second works too: in a simulation with exact times `web` is always done by then. The explorer takes neither the
coin nor the clock for an argument.
""",
    judge=_seeds_miss_it,
)


# --- last_one_out -----------------------------------------------------------------------------------------------------

_CREW = ("web", "docs", "synth")


def _one_brief(done: Callable[..., Any]) -> Feedback:
    """In every order one agent is told that it is the last, and by then everybody's finding is there."""
    check_async(done, "done")

    async def agent(me: AgentMemory) -> None:
        await me.write("finding", f"{me.name} found something")
        if await done(me):
            there = [name for name in _CREW if await me.value(f"{name}/finding")]
            await me.shared.append("brief", f"by {me.name}, of {len(there)} findings")

    def one_brief(board: Mapping[str, Any]) -> bool:
        briefs = board["shared/brief"]
        return len(briefs) == 1 and str(briefs[0]).endswith(f"of {len(_CREW)} findings")

    given = {"shared/done": 0, "shared/brief": []}
    check = at_the_end(one_brief, "one brief, of all findings")
    verdict = explore(dict.fromkeys(_CREW, agent), given=given, check=check, budget=10 * BUDGET, samples=0, progress=False)
    _raise_if_blank(verdict)
    if verdict.holds is None:
        return _not_settled(verdict)
    if isinstance(verdict, Violation):
        briefs = verdict.run.value("shared/brief")
        found = verdict.findings[0]
        told = f"the brief says {briefs!r}" if found.kind == "property" else _what(found).rstrip(".")
        return _shown(f"That is not one brief, of all findings, in {verdict.scope}. In the run shown: {told}.", verdict)
    return Feedback(True, (f"One agent writes the brief, when all findings are there. {verdict.sentence}.",))


last_one_out = Exercise(
    name="last_one_out",
    question="""
**The last one writes the brief.** Three agents write their finding and then call `done`. Whoever gets `True` is the last one, and
writes the brief of all three findings. In the code below nobody may be the last, or two. Mend it, until the explorer says that it
holds in every order.
""",
    blank="""
async def done(me):
    ex.not_solved_yet()  # mend what follows: two can count to the same number
    count = await me.value("shared/done") + 1
    await me.shared.write("done", count)
    return count == 3


ex.last_one_out.check(done)
""",
    hints=(
        "Counting must be one step. `update` with a change that adds one does it, as the policy is optimistic concurrency.",
        "To update and then to *read* who is last are two steps again. Whose number does the second one see?",
        "`update` gives the entry that you made: `entry = await me.shared.update(…)`, and then look at `entry.value`.",
    ),
    answer="""
async def done(me):
    entry = await me.shared.update("done", lambda count: count + 1)
    return entry.value == 3


ex.last_one_out.check(done)
""",
    why="""
Each update makes a number of its own, so exactly one agent makes the three. Whoever reads the number afterwards may see that of
somebody else, and so two can believe to be the last. Seeds show that sooner or later. That the mended one *never* does it, only
all orders can show.
""",
    judge=_one_brief,
)


# --- cites_what_is_there ----------------------------------------------------------------------------------------------

_BRIEF = "brief"


def _cites(key: str) -> Callable[[AgentMemory], Any]:
    return lambda me: me.shared.append(_BRIEF, key)


def _steps(*steps: Callable[[AgentMemory], Any]) -> Callable[[AgentMemory], Any]:
    """An agent that takes these steps."""

    async def agent(me: AgentMemory) -> None:
        for step in steps:
            await step(me)

    return agent


async def _cites_if_there(me: AgentMemory) -> None:
    if await me.value("web/finding") is not None:
        await me.shared.append(_BRIEF, "web/finding")


def _finds(me: AgentMemory) -> Any:
    return me.write("finding", f"{me.name} found something")


def _names_sources(me: AgentMemory) -> Any:
    return me.write("sources", "two pages")


def _withdraws(me: AgentMemory) -> Any:
    return me.delete("finding")


def _empties(me: AgentMemory) -> Any:
    return me.shared.write(_BRIEF, [])


# What a crew does, the crew, and whether the brief cites only what is there, at every moment and in every order.
_CREWS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    (
        "writes each finding and then cites it",
        {"web": _steps(_finds, _cites("web/finding")), "docs": _steps(_finds, _cites("docs/finding"))},
        True,
    ),
    ("writes findings and no brief", {"web": _steps(_finds), "docs": _steps(_finds)}, True),
    (
        "empties the brief before it withdraws a finding",
        {"web": _steps(_finds, _cites("web/finding"), _empties, _withdraws), "docs": _steps(_finds)},
        True,
    ),
    ("cites a finding before it is written", {"web": _steps(_cites("web/finding"), _finds), "docs": _steps(_finds)}, False),
    (
        "cites, after a finding, what nobody writes",
        {"web": _steps(_finds, _cites("web/finding"), _cites("web/findings")), "docs": _steps(_finds)},
        False,
    ),
    (
        "cites two findings and withdraws the first",
        {"web": _steps(_finds, _names_sources, _cites("web/finding"), _cites("web/sources"), _withdraws)},
        False,
    ),
    (
        "withdraws a finding that another has looked up and cites",
        {"web": _steps(_finds, _withdraws), "docs": _steps(_finds, _cites_if_there)},
        False,
    ),
)


def _tells_right_from_wrong(true: Callable[[Mapping[str, Any]], Any]) -> Feedback:
    """The property holds for the crews that cite what is there, and is violated by those that do not."""
    check_plain(true)
    _asked(true, {})  # as the board is before the first write: a blank, or an error, is told at once
    check = always(lambda board: _asked(true, board), "your property")
    for does, crew, right in _CREWS:
        try:
            verdict = explore(crew, check=check, budget=BUDGET, progress=False)
        except CommonboardError as error:  # the explorer has packed it in words of its own
            raise error.__cause__ if isinstance(error.__cause__, AnswerError) else error from None
        if verdict.holds is None:
            return _not_settled(verdict)
        if right and isinstance(verdict, Violation):
            told = f"Your property refuses a crew that {does}, and there is nothing wrong with that."
            return _shown(f"{told} {verdict.findings[0].sentence}", verdict)
        if not right and not isinstance(verdict, Violation):
            return _passed(does, crew)
    right_ones = sum(right for _, _, right in _CREWS)
    told = (
        f"{right_ones} crews that cite what is there pass in every order, and {len(_CREWS) - right_ones} that do not are found."
    )
    return Feedback(True, (told,))


def _asked(true: Callable[[Mapping[str, Any]], Any], board: Mapping[str, Any]) -> bool:
    """What the reader's property says of a board; an error is told with that board."""
    shown = ", ".join(f"{key} = {value!r}" for key, value in board.items()) or "nothing yet"
    try:
        said = call(true, board)
    except AnswerError as error:
        raise (AnswerError(f"{error}; the board held {shown}") if callable(true) else error) from None
    if not isinstance(said, bool):
        raise AnswerError(f"`{true.__name__}` gave {said!r:.60}, where True or False belongs; the board held {shown}")
    return said


def _passed(does: str, crew: Mapping[str, Any]) -> Feedback:
    """A wrong crew that the reader's property lets through, with the simplest run that should have been found."""
    check = always(lambda board: all(key in board for key in board.get(f"shared/{_BRIEF}", [])), "only what is there")
    verdict = explore(crew, check=check, budget=BUDGET, progress=False)
    told = (
        f"A crew that {does} passes, and should be found. At the last step of the run below, the brief cites what is not there,"
    )
    return _shown(f"{told} and your property says True.", verdict)


cites_what_is_there = Exercise(
    name="cites_what_is_there",
    question="""
**Say it as a property.** `shared/brief` is a list of the keys that the brief cites, such as `"web/finding"`. At every moment,
each key in it has to be on the board. Write this as a function of the board, a dict of full keys and values. It is tried on seven
crews: three do it right and have to pass, four do it wrong in some order and have to be found.
""",
    blank="""
def only_what_is_there(board):
    ex.not_solved_yet()  # True if every key that the brief cites is on the board


ex.cites_what_is_there.check(only_what_is_there)
""",
    hints=(
        '`board["shared/brief"]` is the list, once there is one. Before the first write the key is not in `board` at all.',
        '`board.get("shared/brief", [])` is a list at any moment. Each key in it has to be `in board`.',
        "`all(key in board for key in …)` is `True` or `False`, and so it is for an empty list.",
    ),
    answer="""
def only_what_is_there(board):
    return all(key in board for key in board.get("shared/brief", []))


ex.cites_what_is_there.check(only_what_is_there)
""",
    why="""
`cb.always` asks it after every operation, in every order. No check of versions could: each of these writes is fine on its own,
and what is wrong is how two keys stand to each other. A property that nothing violates is worth nothing, so try it on crews that
are wrong on purpose.
""",
    judge=_tells_right_from_wrong,
)


# --- win_back_its_trust -----------------------------------------------------------------------------------------------


def _trusted(crew: Callable[[], Any]) -> Feedback:
    """The explorer treats schedules alike, and everybody reports what they drafted, in every order."""
    agents = call(crew)
    if not isinstance(agents, dict) or set(agents) != {"web", "docs"}:
        return Feedback(False, ("`crew` has to return `{'web': …, 'docs': …}`, as it did.",))

    def own(board: Mapping[str, Any]) -> bool:
        return all(board.get(f"{name}/report") == f"what {name} drafted" for name in agents)

    check = at_the_end(own, "everybody reports their own draft")
    verdict = explore(agents, check=check, budget=BUDGET, progress=False)
    counts = verdict.explored
    if counts is not None and counts.why:
        return Feedback(False, (f"The explorer does not trust it yet. {counts.why} {verdict.sentence}.",))
    if verdict.holds is None:
        return _not_settled(verdict)
    if isinstance(verdict, Violation):
        told = f"The explorer trusts it now, and it finds something wrong in {verdict.scope}. The simplest run:"
        return _shown(f"{told} {_what(verdict.findings[0])}", verdict)
    return Feedback(True, (f"The explorer trusts it. {verdict.sentence}.",))


win_back_its_trust = Exercise(
    name="win_back_its_trust",
    question="""
**Win back its trust.** The desk from above, on which two agents put their drafts beside the board. Mend `crew`, so that the
explorer treats schedules alike again, and everybody reports their own draft in every order.
""",
    blank="""
def crew():
    ex.not_solved_yet()  # mend what follows: both agents put their draft into one dict
    desk = {}

    async def agent(me):
        await me.write("status", "drafting")
        desk["draft"] = f"what {me.name} drafted"
        await me.write("status", "checking")
        await me.write("report", desk["draft"])

    return {"web": agent, "docs": agent}


ex.win_back_its_trust.check(crew)
""",
    hints=(
        "`desk = cb.visible({})` wins back the trust. Try it: what does the explorer say then?",
        "The draft belongs to one agent. Who else has to reach it?",
        "A variable inside `agent` is each agent's own. So is a key of its own on the board: `await me.write('draft', …)`.",
    ),
    answer="""
def crew():
    async def agent(me):
        await me.write("status", "drafting")
        draft = f"what {me.name} drafted"
        await me.write("status", "checking")
        await me.write("report", draft)

    return {"web": agent, "docs": agent}


ex.win_back_its_trust.check(crew)
""",
    why="""
What only one agent can reach is no business of the others, so all orders are alike: the explorer needs one of them. `cb.visible`
is for what has to be shared. It mends nothing; it makes what is wrong visible, at the price of more classes.
""",
    judge=_trusted,
)

EXERCISES = (hide_from_the_seeds, last_one_out, cites_what_is_there, win_back_its_trust)
