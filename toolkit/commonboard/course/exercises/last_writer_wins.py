"""Exercises of notebook 10: when is it safe that the last one wins?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from commonboard.check import no_lost_updates
from commonboard.course.exercise import Exercise, Fault, Feedback, check_async, over_seeds
from commonboard.handle import AgentMemory
from commonboard.history import GIVEN
from commonboard.policies import LastWriterWins
from commonboard.sim import Run

LIST = "shared/open_questions"


# --- make_the_loss_certain --------------------------------------------------------------------------------------------


def _loses_one(ask: Any) -> Feedback:
    """Under last writer wins, in every run, one of two acknowledged questions is gone."""

    def wrong(run: Run) -> Fault | None:
        for name in run.agents:
            mine = [op for op in run.history.writes(LIST) if op.agent == name]
            if not any(f"{name} asks" in (op.value or []) for op in mine):
                return Fault(f"{name} never wrote its question", f"{name} wrote no list that holds `{name} asks`", tuple(mine))
        left = [name for name in run.agents if f"{name} asks" in (run.value(LIST) or [])]
        writes = tuple(op for op in run.history.writes(LIST) if op.agent != GIVEN)
        if len(left) < len(run.agents):
            if no_lost_updates(run).holds is False:
                return None
            told = "nobody had read the list, so the later write superseded the earlier one: a blind write builds on nothing"
            return Fault("a blind write", told, writes)
        return Fault("both questions survived", "the second agent read what the first had written", writes)

    done = "both agents wrote their question, nobody got an error, and one question is gone."
    return over_seeds({"web": ask, "docs": ask}, wrong, done, given={LIST: []}, policy=LastWriterWins())


make_the_loss_certain = Exercise(
    name="make_the_loss_certain",
    question="""
**Make the loss certain.** Until now it was a matter of luck. Two agents, `web` and `docs`, run the code below under last writer
wins. Change it so that in *every* run one of the two questions is gone, whatever the order. Both agents must still write.
""",
    blank="""
async def ask(me):
    async def add(questions):
        ex.not_solved_yet()  # what must happen between the read and the write?
        return [*questions, f"{me.name} asks"]

    await me.shared.update("open_questions", add)


ex.make_the_loss_certain.check(ask)
""",
    hints=(
        "A question is lost when both agents have read before either of them writes. What could hold an agent up in between?",
        "An agent that thinks lets virtual time pass. Time passes only when nobody has anything else to do.",
        "`await me.think(seconds=30)` between the read and the write: both read at 0 s, and both write at 30 s.",
    ),
    answer="""
async def ask(me):
    async def add(questions):
        await me.think(seconds=30)
        return [*questions, f"{me.name} asks"]

    await me.shared.update("open_questions", add)


ex.make_the_loss_certain.check(ask)
""",
    why="""
Both read at 0 s, when the list is empty. Nobody writes before 30 s. Whoever writes second has not seen the first write, and
replaces it. A model that thinks for half a minute is no rare accident: it is what agents do all day.
""",
    judge=_loses_one,
)


# --- own_keys_then_digest ---------------------------------------------------------------------------------------------

ASKED = {"web": ("Which customers left?", "Who told them to?"), "docs": ("What did the survey say?", "Who answered it?")}


def _keeps_all(ask: Callable[..., Any], digest: Callable[..., Any]) -> Feedback:
    """Under last writer wins no key has two writers, and the digest has every question."""

    check_async(ask, "ask")
    check_async(digest, "digest")

    def asker(name: str) -> Any:
        async def agent(me: AgentMemory) -> None:
            for question in ASKED[name]:
                await ask(me, question)
                await me.think(seconds=30)

        return agent

    async def synth(me: AgentMemory) -> Any:
        await me.think(seconds=1000)
        return await digest(me)

    def wrong(run: Run) -> Fault | None:
        for key in dict.fromkeys(op.key for op in run.history.writes()):
            writers = tuple({op.agent: op for op in run.history.writes(key)}.values())
            if len(writers) > 1:
                names = " and ".join(sorted(op.agent for op in writers))
                return Fault(f"two agents wrote {key}", f"{names} both wrote {key}, so that one can overwrite the other", writers)
        told = run.results["synth"]
        if not isinstance(told, (list, tuple, set)):
            return Fault("the digest was no list", f"digest gave {told!r:.60}, where a list of questions belongs")
        for name, questions in ASKED.items():
            for question in questions:
                if question not in told:
                    writes = tuple(op for op in run.history.writes() if op.agent == name)
                    return Fault("a question was missing", f"{question!r}, which {name} asked, is not in the digest", writes)
        return None

    done = "no key had two writers, and the digest had all four questions."
    return over_seeds({"web": asker("web"), "docs": asker("docs"), "synth": synth}, wrong, done, policy=LastWriterWins())


own_keys_then_digest = Exercise(
    name="own_keys_then_digest",
    question="""
**Make the loss impossible, and leave the policy alone.** It is still last writer wins. `web` and `docs` call `ask` for each of
their questions, twice each. When they are done, `synth` calls `digest`, which gives all questions as one list. No key may be
written by two agents.
""",
    blank="""
async def ask(me, question):
    ex.not_solved_yet()  # where can nobody else write?


async def digest(me):
    ex.not_solved_yet()  # give a list of all questions


ex.own_keys_then_digest.check(ask, digest)
""",
    hints=(
        "`me.write(key, value)` writes under the agent's own name, where nobody else can. Each agent can keep a list there.",
        'An agent finds its earlier questions with `await me.value(f"{me.name}/questions", [])`. A write replaces the list.',
        'For the digest, `await me.list()` gives the entries of everybody. Take those whose `entry.key` ends in `"/questions"`.',
    ),
    answer="""
async def ask(me, question):
    mine = await me.value(f"{me.name}/questions", [])
    await me.write("questions", [*mine, question])


async def digest(me):
    lists = [entry.value for entry in await me.list() if entry.key.endswith("/questions")]
    return [question for asked in lists for question in asked]


ex.own_keys_then_digest.check(ask, digest)
""",
    why="""
A key with one writer has no second writer who could overwrite it, so last writer wins has nothing to lose there. What belongs
together is put together when it is read. The price: the digest must know where to look, and two agents may ask the same thing.
""",
    judge=_keeps_all,
)

EXERCISES = (make_the_loss_certain, own_keys_then_digest)
