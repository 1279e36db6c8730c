"""Exercises of notebook 75: audit and lineage. Answers are judged on crews of whom it is known who read what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from commonboard.check import Finding, Holds, Verdict, Violation
from commonboard.course.exercise import AnswerError, Exercise, Feedback, NotSolvedYet, call, check_async
from commonboard.course.exercises.faults import check_plain
from commonboard.explorer import explore
from commonboard.handle import AgentMemory
from commonboard.history import Operation
from commonboard.sim import Run, simulate

Agent = Callable[[AgentMemory], Awaitable[Any]]
SEEDS = 20
BUDGET = 4_000
"""Schedules, which are run one by one. The solution has 9 in its largest case."""

RUMOUR = "the March outage cost 40 customers"
CHURN = "churn is up 4 % since May"
SUPPORT = "support answers after 9 days"
REPORT = "synth/brief"


def _writes(key: str, cites: list[str]) -> Agent:
    async def agent(me: AgentMemory) -> None:
        await me.write(key, cites)

    return agent


def _passes_on(key: str, sources: tuple[str, ...], own: tuple[str, ...] = (), after: float = 30) -> Agent:
    """Reads some keys, and writes what they say, and something of its own."""

    async def agent(me: AgentMemory) -> None:
        await me.think(seconds=after)
        found = [fact for source in sources for fact in await me.value(source, [])]
        await me.write(key, {"cites": [*found, *own]} if key == "brief" else [*found, *own])

    return agent


# --- find_the_inventor ------------------------------------------------------------------------------------------------

_SYNTH = _passes_on("brief", ("docs/summary",), after=60)
_SUMMARY = _passes_on("summary", ("web/findings",))
# What happened, the agents, and who invented it.
_CREWS: tuple[tuple[str, dict[str, Agent], str], ...] = (
    (
        "synth makes it up",
        {"web": _writes("findings", [CHURN]), "docs": _SUMMARY, "synth": _passes_on("brief", ("docs/summary",), (RUMOUR,), 60)},
        "synth",
    ),
    (
        "docs makes it up, and synth copies it",
        {"web": _writes("findings", [CHURN]), "docs": _passes_on("summary", ("web/findings",), (RUMOUR,)), "synth": _SYNTH},
        "docs",
    ),
    (
        "web makes it up, docs copies it, and synth copies that",
        {"web": _writes("findings", [CHURN, RUMOUR]), "docs": _SUMMARY, "synth": _SYNTH},
        "web",
    ),
    (
        "web notes it where nobody looks, and later docs makes it up as well",
        {"web": _writes("scrap", [RUMOUR]), "docs": _passes_on("summary", ("web/findings",), (RUMOUR,)), "synth": _SYNTH},
        "docs",
    ),
    (
        "web makes it up, and synth has it from docs and from lead, who had it from docs",
        {
            "web": _writes("findings", [RUMOUR]),
            "docs": _SUMMARY,
            "lead": _passes_on("summary", ("docs/summary",), after=45),
            "synth": _passes_on("brief", ("docs/summary", "lead/summary"), after=60),
        },
        "web",
    ),
)


def _finds_the_inventor(inventor: Callable[..., Any]) -> Feedback:
    """For each crew, the function names who brought the fact into what the brief rests on."""
    check_plain(inventor)
    for what, crew, wanted in _CREWS:
        for seed in range(SEEDS):
            run = simulate(crew, seed=seed)
            named = call(inventor, run, REPORT, RUMOUR)
            if named != wanted:
                told = f"{wanted} brought it in ({what}), and `inventor` says {named!r:.40}."
                shown = [op for op in run.history.writes() if RUMOUR in (op.text or "")]
                return Feedback(
                    False, (told,), run=run, picture=run.spacetime(shown, f"The fact, wherever it was written: {what}.")
                )
    crews = tuple(f"{what}: {wanted}" for what, _, wanted in _CREWS)
    return Feedback(True, (f"`inventor` is right in {SEEDS} runs of each of these crews:",), crews)


find_the_inventor = Exercise(
    name="find_the_inventor",
    question="""
**Find the inventor.** A fact may travel: one agent makes it up, another copies it, and a third cites it. Write `inventor`: it
takes a run, the key of the report and the fact, and gives the name of the agent that brought the fact into what the report
rests on. `check` tries it on five crews. In one of them somebody else had noted the same thing before, where nobody looked.
""",
    blank="""
def inventor(run, report, fact):
    ex.not_solved_yet()  # mend what follows: it names whoever wrote it first, anywhere
    told = [event for event in run.log if fact in (event.value or "")]
    return told[0].actor


ex.find_the_inventor.check(inventor)
""",
    hints=(
        "Who wrote it first need not be the one from whom the report has it. Where is the list of what the report rests on?",
        "`cb.lineage(run, report)` has a row for each version that it rests on, and one for the report. In which is the fact?",
        "Of the rows with `fact in str(row.value)`, take the one that was written first: `row.operation` is its number.",
    ),
    answer="""
def inventor(run, report, fact):
    told = [row for row in cb.lineage(run, report) if fact in str(row.value)]
    return min(told, key=lambda row: row.operation).writer


ex.find_the_inventor.check(inventor)
""",
    why="""
The log says who wrote it first. The lineage leaves out what the report does not rest on, so it says who wrote it first *on the
way to the report*. Nothing that this writer had read held the fact, else a row before it would.
""",
    judge=_finds_the_inventor,
)


# --- act_on_what_stands -----------------------------------------------------------------------------------------------

FINDING = "web/finding"
LETTER = "synth/letter"


def _standing(run: Run) -> Verdict:
    """Whether each letter said, when it was written, what the finding was at that moment."""
    for op in run.history.writes(LETTER):
        if op.text is None:
            continue
        cell = run.history.board_at(op.index).get(FINDING)
        stands = None if cell is None else cell.value
        if op.value != stands:
            before = [look for look in run.history if _is_before(look, op)]
            now = f"the finding was {stands!r:.40}" if cell is not None else "the finding was withdrawn"
            told = f"{op.agent} wrote the letter {op.value!r:.40} at a moment when {now}."
            return Violation(
                "acts on what stands", "this run", [Finding("acted", told, (*before, op))], history=run.history, token=run.token
            )
    return Holds("acts on what stands", "this run", history=run.history, token=run.token)


def _is_before(look: Operation, op: Operation) -> bool:
    return look.key == FINDING and look.index < op.index and (look.is_write or look.kind == "read")


async def _withdraws(me: AgentMemory) -> None:
    await me.delete("finding", reason="withdrawn: last year's numbers")


async def _corrects(me: AgentMemory) -> None:
    await me.write("finding", "churn is up 2 %", reason="corrected")


async def _withdraws_and_finds_again(me: AgentMemory) -> None:
    await _withdraws(me)
    await _corrects(me)


_WITHDRAWALS: Mapping[str, Agent] = {
    "web withdraws its finding": _withdraws,
    "web corrects its finding": _corrects,
    "web withdraws its finding and has another": _withdraws_and_finds_again,
}


def _acts_on_what_stands(act: Callable[..., Any]) -> Feedback:
    """Alone it writes the letter; beside web, in every order, it never writes what does not stand at that moment."""
    check_async(act, "act")
    given = {FINDING: CHURN}
    alone = simulate({"synth": act}, given=given, seed=None)
    for error in alone.errors.values():
        if isinstance(error, NotSolvedYet):
            raise error
    if not alone.ok or alone.state.get(LETTER) != CHURN:
        told = "; ".join(map(str, alone.troubles)) or f"the letter is {alone.state.get(LETTER)!r:.40}"
        return Feedback(False, (f"Nobody withdraws anything, and `{LETTER}` should hold the finding; but {told}.",), run=alone)
    tried = []
    for what, web in _WITHDRAWALS.items():
        verdict = explore({"web": web, "synth": act}, given=given, check=_standing, budget=BUDGET, samples=50)
        explored = verdict.explored
        assert explored is not None  # `explore` always counts
        if verdict.holds is None:
            return Feedback(False, (f"Nobody can tell: {what}, and there are too many orders to try. {explored.why}",))
        orders = explored.interleavings or explored.completed
        if verdict.holds is False:
            found = verdict.findings[0]
            count = f"{explored.violating} of {orders} orders" if explored.violating else "some orders"
            told = f"Something goes wrong in {count} ({what}). The simplest run: {found.sentence}"
            return Feedback(False, (told,), run=verdict.run, picture=verdict.run.spacetime(found.operations, found.sentence))
        tried.append(f"{orders} orders: {what}")
    return Feedback(True, ("No letter says what did not stand when it was written. Tried were:",), tuple(tried))


act_on_what_stands = Exercise(
    name="act_on_what_stands",
    question="""
**Act on what stands.** `synth` reads `web/finding`, thinks, and writes it into the letter that goes out. `web` may withdraw its
finding at any time. The colleague's version looks again before it writes. Find the order in which the letter says what no longer
stands, and mend `act`. It may fail with an error, or write no letter, if the finding was withdrawn in time.
""",
    blank="""
async def act(me):
    ex.not_solved_yet()  # mend what follows: after the second look there is still a moment
    finding = await me.value("web/finding")
    await me.think(seconds=30)
    if finding and await me.value("web/finding") == finding:
        await me.write("letter", finding)


ex.act_on_what_stands.check(act)
""",
    hints=(
        "Another look makes the moment shorter, and never nothing. The look and the write must be one step.",
        "The write is to one key and rests on another one. What takes several keys as one step?",
        "`async with me.transaction() as tx:`, with the read and the write both on `tx`. Is what was read still so when the "
        "block ends? If not, nothing is written.",
    ),
    answer="""
async def act(me):
    async with me.transaction() as tx:
        finding = await tx.value("web/finding")
        await me.think(seconds=30)
        if finding:
            await tx.write("letter", finding)


ex.act_on_what_stands.check(act)
""",
    why="""
A serializable transaction hands in its writes together with the versions of all that it read. If the finding was withdrawn
meanwhile, the letter is refused, and `synth` is told. A letter that went out *before* the withdrawal is another matter: nobody
can take it back, so `who_read` has to find it, and somebody has to be told.
""",
    judge=_acts_on_what_stands,
)


# --- cites_what_it_read -----------------------------------------------------------------------------------------------


async def _reads_too_late(me: AgentMemory) -> None:
    await me.think(seconds=30)
    await me.write("brief", {"cites": [CHURN]})
    await me.read("web/findings")


async def _writes_again_after_reading(me: AgentMemory) -> None:
    await me.write("brief", {"cites": [RUMOUR]})
    await me.think(seconds=30)
    await me.write("brief", {"cites": [*await me.value("web/findings", []), *await me.value("docs/findings", [])]})


async def _withdraws_later(me: AgentMemory) -> None:
    await me.write("findings", [CHURN])
    await me.think(seconds=90)
    await me.write("findings", [])


_WEB, _DOCS = _writes("findings", [CHURN]), _writes("findings", [SUPPORT])
# What happened, the agents, and which facts the writer of the brief had not read.
_BRIEFS: tuple[tuple[str, dict[str, Agent], list[str]], ...] = (
    (
        "synth cites what it has read, and has found nothing with lead",
        {"web": _WEB, "docs": _DOCS, "synth": _passes_on("brief", ("lead/findings", "web/findings", "docs/findings"))},
        [],
    ),
    (
        "synth makes something up",
        {"web": _WEB, "docs": _DOCS, "synth": _passes_on("brief", ("web/findings", "docs/findings"), (RUMOUR,))},
        [RUMOUR],
    ),
    (
        "synth cites what docs has read, and has not read it itself",
        {"web": _WEB, "docs": _SUMMARY, "synth": _passes_on("brief", (), (CHURN,), 60)},
        [CHURN],
    ),
    ("synth reads it after it was written", {"web": _WEB, "synth": _reads_too_late}, [CHURN]),
    ("what synth has read is withdrawn later", {"web": _withdraws_later, "synth": _passes_on("brief", ("web/findings",))}, []),
    ("synth reads, and writes a second brief", {"web": _WEB, "docs": _DOCS, "synth": _writes_again_after_reading}, []),
)


def _knows_what_was_read(unread: Callable[..., Any]) -> Feedback:
    """For each crew, the function gives the facts that the writer of the brief had not read, and no others."""
    check_plain(unread)
    for what, run, wanted in _brief_runs():
        said = call(unread, run, REPORT)
        if not isinstance(said, (list, tuple, set)):
            raise AnswerError(f"`unread` gives a list of facts, not {said!r:.40}")
        if sorted(map(str, said)) != sorted(wanted):
            told = f"`unread` should give {wanted}, and gives {list(said)} ({what})."
            shown = [op for op in run.history if op.key == REPORT or (op.agent == "synth" and op.kind == "read")]
            return Feedback(False, (told,), run=run, picture=run.spacetime(shown, f"What synth read and wrote: {what}."))
    crews = tuple(f"{what}: {len(wanted)} not read" for what, _, wanted in _BRIEFS)
    return Feedback(True, (f"`unread` is right in {SEEDS} runs of each of these crews:",), crews)


def _brief_runs() -> Iterator[tuple[str, Run, list[str]]]:
    for what, crew, wanted in _BRIEFS:
        for seed in range(SEEDS):
            yield what, simulate(crew, seed=seed), wanted


cites_what_it_read = Exercise(
    name="cites_what_it_read",
    question="""
**Cited and not read.** A fact can be on the board, and true, and its writer has never seen it there. Write a check: `unread`
takes a run and the key of a report, and gives a list of the facts under `"cites"` that the report's writer had not read itself
when it wrote the report's newest version. All other values on the board are lists of facts.
""",
    blank="""
def unread(run, report):
    ex.not_solved_yet()  # mend what follows: it asks what was written, and not what was read
    cited = run.value(report)["cites"]
    written = [op.value for op in run.history.writes() if op.key != report]
    return [fact for fact in cited if not any(fact in value for value in written)]


ex.cites_what_it_read.check(unread)
""",
    hints=(
        "The writes are in the log. The reads are in the history only: operations of the kind `read`.",
        "Three things must be so: it is a read, by the agent that wrote the report, before the write.",
        '`wrote = run.history.writes(report)[-1]`, and then the operations with `op.kind == "read"`, `op.agent == wrote.agent` '
        "and `op.index < wrote.index`. A read that found nothing has the value `None`.",
    ),
    answer="""
def unread(run, report):
    wrote = run.history.writes(report)[-1]
    before = [op for op in run.history if op.index < wrote.index]
    mine = [op for op in before if op.kind == "read" and op.agent == wrote.agent]
    known = [fact for op in mine for fact in op.value or []]
    return [fact for fact in wrote.value["cites"] if fact not in known]


ex.cites_what_it_read.check(unread)
""",
    why="""
What was withdrawn later was read all the same, and what was read later was not known. So the check asks the reads before the
write, and never the board. It needs a history with reads: a log alone cannot answer it.
""",
    judge=_knows_what_was_read,
)

EXERCISES = (find_the_inventor, act_on_what_stands, cites_what_it_read)
"""The exercises of this page, in its order."""
