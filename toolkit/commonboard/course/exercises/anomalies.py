"""Exercises of notebook 70: which anomaly is it, and what is enough against it? Answers are judged in every order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from commonboard.check import Verdict, at_the_end
from commonboard.check.anomalies import anomalies
from commonboard.course.exercise import Exercise, Feedback, call, check_async
from commonboard.course.exercises.faults import Agent, Board, Case, in_every_order
from commonboard.explorer import explore
from commonboard.handle import AgentMemory
from commonboard.sim import Run, simulate

Work = Callable[[AgentMemory], Awaitable[Any]]

# --- make_them_meet ---------------------------------------------------------------------------------------------------


def _one_stays(off_duty: Callable[..., Any]) -> Feedback:
    """Under snapshot isolation, in every order: one agent is left on call, and everybody else went off duty."""
    check_async(off_duty, "off_duty")

    def case(what: str, names: tuple[str, ...], beside: Mapping[str, bool]) -> Case:
        everybody = {**dict.fromkeys(names, True), **beside}

        def agent(name: str) -> Agent:
            others = tuple(other for other in everybody if other != name)

            async def goes(me: AgentMemory) -> None:
                await me.transact(lambda tx: off_duty(tx, others), isolation="snapshot")

            return goes

        def wrong(board: Board) -> str:
            found = {name: board.get(f"{name}/on_call") for name in everybody}
            odd = [f"{name}/on_call is {value!r:.30}" for name, value in found.items() if not isinstance(value, bool)]
            on = [name for name, value in found.items() if value is True]
            left = "nobody is on call" if not on else f"{' and '.join(on)} stayed, and one is enough" if len(on) > 1 else ""
            return odd[0] if odd else left

        given = {f"{name}/on_call": value for name, value in everybody.items()}
        return Case(what, {name: agent(name) for name in names}, wrong, given)

    cases = [
        case("web alone, while docs is on call", ("web",), {"docs": True}),
        case("web alone, while docs is off duty", ("web",), {"docs": False}),
        case("web and docs", ("web", "docs"), {}),
        case("web, docs and synth", ("web", "docs", "synth"), {}),
    ]
    return in_every_order(cases, "One agent is left on call, in every order, and no transaction was serializable.")


make_them_meet = Exercise(
    name="make_them_meet",
    question="""
**Make them meet.** Your store has snapshot isolation, and no more. `off_duty` runs as a snapshot transaction, and all of it again
whenever it is refused. `others` are the names of the others. Mend it, so that one agent is left on call, whoever goes first. And
nobody has to stay without need: whoever may go does go.
""",
    blank="""
async def off_duty(tx, others):
    ex.not_solved_yet()  # mend what follows: all of them may go
    on_call = [other for other in others if await tx.value(f"{other}/on_call")]
    if on_call:
        await tx.write("on_call", False)


ex.make_them_meet.check(off_duty)
""",
    hints=(
        "A snapshot transaction is refused only if a key that it *writes* has changed. Which key do two leavers both write?",
        "None. So give them one: a key in `tx.shared` that stands for the rule *somebody is on call*. Its value is all the same.",
        'Before it ends, each leaver also does `await tx.shared.write("last_to_leave", tx.name)`.',
    ),
    answer="""
async def off_duty(tx, others):
    on_call = [other for other in others if await tx.value(f"{other}/on_call")]
    if on_call:
        await tx.write("on_call", False)
        await tx.shared.write("last_to_leave", tx.name)


ex.make_them_meet.check(off_duty)
""",
    why="""
The conflict was there all along, in a rule that stands in no key. Now it has a key, and of two transactions that write one key
the first committer wins. The other one is refused, looks again, and sees who has gone. This is called *materialising the
conflict*. It is paid for by everybody who leaves, also by two who would never have got into each other's way; and it helps only
if nobody forgets it.
""",
    judge=_one_stays,
)

# --- name_the_anomaly -------------------------------------------------------------------------------------------------

Step = tuple[str, Literal["reads", "writes"], str, str]

HISTORIES: dict[str, tuple[Step, ...]] = {
    "A": (
        ("web", "reads", "churn", ""),
        ("docs", "writes", "churn", "6 %"),
        ("docs", "writes", "month", "June"),
        ("web", "reads", "month", ""),
    ),
    "B": (
        ("web", "reads", "spent", ""),
        ("docs", "reads", "limit", ""),
        ("docs", "writes", "spent", "9 euros"),
        ("web", "writes", "limit", "5 euros"),
    ),
    "C": (
        ("web", "reads", "brief", ""),
        ("docs", "writes", "title", "Churn"),
        ("docs", "reads", "brief", ""),
        ("web", "writes", "brief", "Prices rose."),
        ("docs", "writes", "brief", "Support is slow."),
    ),
    "D": (
        ("web", "writes", "title", "Churn"),
        ("docs", "writes", "title", "Prices"),
        ("docs", "writes", "author", "docs"),
        ("web", "writes", "author", "web"),
    ),
}
"""What happened in each, in this order."""

NEEDS = {
    "lost update": "it needs somebody who writes a key after having read it, over what another wrote in between",
    "dirty write": "it needs two keys, each written by both, in opposite orders",
    "read skew": "it needs somebody who saw one key before another's change of several, and another key after it",
    "write skew": "it needs two who each read what the other writes, and write different keys",
    "phantom": "it needs somebody who listed what was there",
    "long fork": "it needs two readers who saw two writes in opposite orders",
}
"""The names to choose from, and what each of them needs."""


def run_of(steps: tuple[Step, ...]) -> Run:
    """The run in which these steps happen, one each second, in this order."""

    def agent(name: str) -> Agent:
        async def acts(me: AgentMemory) -> None:
            now = 0
            for second, (who, what, key, value) in enumerate(steps, 1):
                if who != name:
                    continue
                await me.think(seconds=second - now)
                now = second
                if what == "reads":
                    await me.read(f"shared/{key}")
                else:
                    await me.shared.write(key, value)

        return acts

    names = dict.fromkeys(who for who, *_ in steps)
    given = {f"shared/{key}": "?" for key in dict.fromkeys(key for _, _, key, _ in steps)}
    return simulate({name: agent(name) for name in names}, given=given, seed=None)


def _text(steps: tuple[Step, ...]) -> str:
    return "\n".join(f"{who:<5}{what} {key}" + (f' = "{value}"' if value else "") for who, what, key, value in steps)


def _named_rightly(name_them: Callable[[], Any]) -> Feedback:
    """The names are those that the dependency graph of each history gives."""
    named = call(name_them)
    if not isinstance(named, dict) or set(named) != set(HISTORIES):
        return Feedback(False, (f"`name_them` gives a dict with a name for each of: {', '.join(HISTORIES)}.",))
    if blanks := [letter for letter in HISTORIES if named[letter] in (None, ...)]:
        return Feedback(False, (f"There is no name yet for {_and(blanks)}.",))
    unknown = [name for name in named.values() if name not in tuple(NEEDS)]
    if unknown:
        return Feedback(False, (f"{unknown[0]!r:.40} is not among the names: {', '.join(NEEDS)}.",))
    items, first = [], None
    for letter, steps in HISTORIES.items():
        run = run_of(steps)
        found = anomalies(run, unit="agent").findings
        right = [finding for finding in found if finding.kind == named[letter]]
        items.append(f"{letter} is a {named[letter]}. {right[0].sentence}" if right else _not(letter, named[letter]))
        first = first or (None if right else (letter, run))
    if first is None:
        return Feedback(True, ("All of them. The proofs:",), tuple(items))
    wrong = sum(item.startswith(tuple(f"{letter} is no" for letter in HISTORIES)) for item in items)
    told = f"{len(items) - wrong} of {len(items)} names hold. The picture shows history {first[0]}."
    return Feedback(False, (told,), tuple(items), run=first[1], picture=first[1].spacetime(caption=f"History {first[0]}."))


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _not(letter: str, name: str) -> str:
    return f"{letter} is no {name}: {NEEDS[name]}."


name_the_anomaly = Exercise(
    name="name_the_anomaly",
    question="**Name the anomaly.** Four histories, told in the order in which things happened. All that an agent does in one\n"
    "of them is meant as one. Give each its name: " + ", ".join(f"`{name}`" for name in NEEDS) + ".\n\n"
    "```text\n" + "\n\n".join(f"{letter}\n{_text(steps)}" for letter, steps in HISTORIES.items()) + "\n```",
    blank="""
def name_them():
    ex.not_solved_yet()  # a name for each history
    return {"A": ..., "B": ..., "C": ..., "D": ...}


ex.name_the_anomaly.check(name_them)
""",
    hints=(
        "Who must have come first, if one came after the other? Look for a step that says *web*, and for one that says *docs*.",
        "Who read what before the other wrote it? And are the keys that they write the same, or different ones?",
        "In D nobody reads at all. In A only one of the two writes. In B each writes what the other has read; and in C?",
    ),
    answer="""
def name_them():
    return {"A": "read skew", "B": "write skew", "C": "lost update", "D": "dirty write"}


ex.name_the_anomaly.check(name_them)
""",
    why="""
The name lies in how the arrows run. In A docs comes first by the month, and web by the churn; only docs writes. In B each has
read what the other then replaced. In C both have read the brief and both write it; the title has nothing to do with it. In D
there are only writes.
""",
    judge=_named_rightly,
)

# --- choose_the_isolation ---------------------------------------------------------------------------------------------

ISOLATIONS = ("none", "snapshot", "serializable")
"""The weakest first."""


async def corrects(tx: AgentMemory) -> None:  # noqa: D103 - the question tells
    await tx.shared.write("churn", "6 %")
    await tx.shared.write("month", "June")


async def reports(tx: AgentMemory) -> None:  # noqa: D103
    churn = await tx.value("shared/churn")
    await tx.write("report", f"{churn} in {await tx.value('shared/month')}")


async def takes_minutes(tx: AgentMemory) -> None:  # noqa: D103
    await tx.shared.append("minutes", f"{tx.name} was here")


async def claims(tx: AgentMemory) -> None:  # noqa: D103
    if not await tx.list("shared/claims"):
        await tx.shared.write(f"claims/{tx.name}", "task 7")


@dataclass(frozen=True)
class Programs:
    """Agents that work on one board, and what must be true at the end."""

    crew: Mapping[str, Work]
    right: Callable[[Board], bool]
    must: str
    given: Mapping[str, Any]


PROGRAMS = {
    "report": Programs(
        {"web": corrects, "synth": reports},
        lambda board: board.get("synth/report") in ("5 % in May", "6 % in June"),
        "the report gives a figure with its month",
        {"shared/churn": "5 %", "shared/month": "May"},
    ),
    "minutes": Programs(
        {"web": takes_minutes, "docs": takes_minutes},
        lambda board: sorted(board.get("shared/minutes", ())) == ["docs was here", "web was here"],
        "both are in the minutes",
        {},
    ),
    "task": Programs(
        {"web": claims, "docs": claims},
        lambda board: sum(key.startswith("shared/claims/") for key in board) == 1,
        "one agent has claimed task 7",
        {},
    ),
}


def tried(programs: Programs, isolation: str) -> Verdict:
    """Every order of these agents, each as one transaction of this isolation."""

    def agent(work: Work) -> Agent:
        async def acts(me: AgentMemory) -> Any:
            return await (work(me) if isolation == "none" else me.transact(work, isolation=isolation))  # type: ignore[arg-type]

        return acts

    crew = {name: agent(work) for name, work in programs.crew.items()}
    return explore(crew, given=programs.given, check=at_the_end(programs.right, programs.must), progress=False)


def _weakest(choose: Callable[[], Any]) -> Feedback:
    """Each choice holds in every order, and nothing weaker does."""
    chosen = call(choose)
    if not isinstance(chosen, dict) or set(chosen) != set(PROGRAMS):
        return Feedback(False, (f"`choose` gives a dict with a choice for each of: {', '.join(PROGRAMS)}.",))
    if blanks := [name for name in PROGRAMS if chosen[name] in (None, ...)]:
        return Feedback(False, (f"There is no choice yet for {_and(blanks)}.",))
    unknown = [choice for choice in chosen.values() if choice not in ISOLATIONS]
    if unknown:
        return Feedback(False, (f"{unknown[0]!r:.40} is not among the choices: {', '.join(ISOLATIONS)}.",))
    items: list[str] = []
    right, shown = 0, None
    for name, programs in PROGRAMS.items():
        verdict = tried(programs, chosen[name])
        explored = verdict.explored
        assert explored is not None  # `explore` always counts
        if verdict.holds is not True:
            shown = verdict if shown is None else shown
            count = f"{explored.violating} of {explored.total}"
            items.append(f"{name}, {chosen[name]}: too weak. That {programs.must} is violated in {count} orders.")
            continue
        weaker = [each for each in ISOLATIONS[: ISOLATIONS.index(chosen[name])] if tried(programs, each).holds]
        if weaker:
            items.append(f"{name}, {chosen[name]}: more than it takes. With {weaker[0]} it holds in every order, too.")
            continue
        right += 1
        least = "and there is nothing weaker" if chosen[name] == ISOLATIONS[0] else "and nothing weaker does"
        items.append(f"{name}, {chosen[name]}: holds in all of its {explored.total} orders, {least}.")
    told = f"{right} of {len(items)} choices are the weakest that hold."
    if shown is None:
        return Feedback(right == len(items), (told,), tuple(items))
    return Feedback(False, (told,), tuple(items), run=shown.run, picture=shown.run.spacetime(caption=shown.findings[0].sentence))


choose_the_isolation = Exercise(
    name="choose_the_isolation",
    question="""
**Choose the isolation.** Three pairs of agents. `web` corrects the figures while `synth` reports; two take minutes; two claim a
task.

```python
async def corrects(tx):
    await tx.shared.write("churn", "6 %")
    await tx.shared.write("month", "June")

async def reports(tx):
    churn = await tx.value("shared/churn")
    await tx.write("report", f"{churn} in {await tx.value('shared/month')}")

async def takes_minutes(tx):
    await tx.shared.append("minutes", f"{tx.name} was here")

async def claims(tx):
    if not await tx.list("shared/claims"):
        await tx.shared.write(f"claims/{tx.name}", "task 7")
```

What is the weakest that is enough for each: `"none"`, each operation on its own; `"snapshot"`, or `"serializable"`, each agent as
one transaction? The report must give a figure with its month, both must be in the minutes, and one agent has the task. `check`
tries every order of your choice, and of what is weaker.
""",
    blank="""
def choose():
    ex.not_solved_yet()  # "none", "snapshot" or "serializable"
    return {"report": ..., "minutes": ..., "task": ...}


ex.choose_the_isolation.check(choose)
""",
    hints=(
        "Which of them does a single operation, that the store does in one step? Which of them only needs to *see* one moment?",
        "Where two agents decide by what they read, and write different keys, a snapshot does not notice.",
        "The minutes are one append. The report wants one moment. The task is decided by a list, and that is a phantom.",
    ),
    answer="""
def choose():
    return {"report": "snapshot", "minutes": "none", "task": "serializable"}


ex.choose_the_isolation.check(choose)
""",
    why="""
One append is one step, so there is nothing between. The report is read skew: a snapshot shows both figures of one moment, and
commits both of them at once. Two claims are two different keys, and each rests on a list that the other changes; only a
serializable transaction has a look at what it read. What is stronger than it must be refuses work that was right.
""",
    judge=_weakest,
)

EXERCISES = (make_them_meet, name_the_anomaly, choose_the_isolation)
