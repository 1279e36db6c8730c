"""Exercises of notebook 20: what if the store could say no?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from commonboard.course.exercise import Exercise, Fault, Feedback, check_async, over_seeds, story
from commonboard.handle import AgentMemory
from commonboard.history import Operation
from commonboard.policies import LastWriterWins, Optimistic
from commonboard.sim import Run, simulate

CREW = ("web", "docs", "synth", "lead")


# --- bounded_retries --------------------------------------------------------------------------------------------------

LIST = "shared/open_questions"
TRIES = 3


def _tells_or_keeps(add: Callable[..., Any]) -> Feedback:
    """Each agent's question is on the board, or the agent has said that it is not; after at most three tries."""

    check_async(add, "add")

    async def agent(me: AgentMemory) -> Any:
        return await add(me, f"{me.name} asks")

    def tries(run: Run, name: str) -> tuple[Operation, ...]:
        return tuple(op for op in run.history if op.agent == name and op.key == LIST and op.kind not in ("read", "list", "think"))

    def wrong(run: Run) -> Fault | None:
        for name in run.agents:
            done, told = tries(run, name), run.results[name]
            kept = f"{name} asks" in (run.value(LIST) or [])
            if any(op.kind in ("append", "delete") for op in done):
                return Fault("an agent appended or deleted", f"{name} did not try to replace the list it had read", done)
            if len(done) > TRIES:
                return Fault(f"an agent tried more than {TRIES} times", f"{name} tried {len(done)} times", done)
            if told is True and not kept:
                lost = story(run, name) or done
                return Fault("a question was lost silently", f"{name} was told True, and its question is gone", lost)
            if told is not True and not isinstance(told, str):
                return Fault("the user was told nothing", f"{name} got {told!r:.40}, neither True nor a sentence", done)
            if isinstance(told, str) and kept:
                return Fault("the user was told wrong", f"{name} was told {told!r:.60}, and its question is there", done)
            if isinstance(told, str) and f"{name} asks" not in told:
                return Fault("the user cannot know what failed", f"{told!r:.60} does not hold the question", done)
            if isinstance(told, str) and len(done) < TRIES:
                return Fault(f"an agent gave up before {TRIES} tries", f"{name} gave up after {len(done)}", done)
        return None

    done = f"every question is on the board, or its user was told that it is not. Nobody tried more than {TRIES} times."
    return over_seeds(dict.fromkeys((*CREW, "web-2", "docs-2"), agent), wrong, done, given={LIST: []}, policy=LastWriterWins())


bounded_retries = Exercise(
    name="bounded_retries",
    question="""
**A retry budget that tells the user.** Six agents call `add` at once. Write it so that it tries at most 3 times to add the
question to the list `shared/open_questions`. It returns `True` if the question is on the board, and otherwise a sentence for the
user which holds the question. No silent loss, no endless loop. (The board's own policy is last writer wins; `append` does not
count.)
""",
    blank="""
async def add(me, question):
    def with_mine(questions):
        return [*questions, question]

    ex.not_solved_yet()  # mend what follows: it loses silently
    await me.shared.update("open_questions", with_mine)
    return True


ex.bounded_retries.check(add)
""",
    hints=(
        "`update` takes a policy of its own: `policy=`. Which one tries again when the store says no?",
        "`cb.Optimistic(attempts=3)` gives up after three tries, and raises an error then. Which one?",
        "Catch `cb.ConflictError` around the update, and return a sentence that holds the question.",
    ),
    answer="""
async def add(me, question):
    def with_mine(questions):
        return [*questions, question]

    try:
        await me.shared.update("open_questions", with_mine, policy=cb.Optimistic(attempts=3))
    except cb.ConflictError:
        return f"Not added, as others kept changing the list: {question}. Please try again."
    return True


ex.bounded_retries.check(add)
""",
    why="""
The store refuses a write whose writer has not seen the newest version, so nothing is overwritten unseen. The budget ends the
loop. And when it is spent, the error says so, and you pass it on. A budget without a message is a silent loss again.
""",
    judge=_tells_or_keeps,
)


# --- cheap_retry ------------------------------------------------------------------------------------------------------

FINDINGS = "shared/findings"
THOUGHT = 800


def _pays_once(researcher: Any) -> Feedback:
    """Nothing is lost, and an agent spends as much among four as it does alone."""

    def wrong(run: Run) -> Fault | None:
        found = run.value(FINDINGS) or []
        for name in run.agents:
            thoughts = [op for op in run.history if op.agent == name and op.kind == "think"]
            mine = tuple(op for op in run.history if op.agent == name and op.key == FINDINGS)
            spent = sum(op.tokens for op in thoughts)
            if not any(isinstance(one, str) and name in one for one in found):
                return Fault("a finding was lost", f"what {name} found is not in the list", mine)
            if spent < THOUGHT:
                return Fault(f"an agent thought for less than {THOUGHT} tokens", f"{name} spent {spent}", mine)
            if spent > THOUGHT:
                return Fault(
                    "an agent paid for its thought again", f"{name} spent {spent} tokens, and {THOUGHT} are enough", mine
                )
        return None

    alone = wrong(simulate({"web": researcher}, seed=0, max_operations=2_000, given={FINDINGS: []}, policy=Optimistic()))
    done = f"nothing is lost, and each agent spent {THOUGHT} tokens, however often it had to retry."
    agents = dict.fromkeys(CREW if alone is None else CREW[:1], researcher)
    return over_seeds(agents, wrong, done, given={FINDINGS: []}, policy=Optimistic())


cheap_retry = Exercise(
    name="cheap_retry",
    question="""
**A retry that costs no model call.** Four researchers add a finding to one list under optimistic concurrency. The code below
thinks inside the change, so each retry pays for the thought again. Mend it: each agent spends its 800 tokens once,
and nothing is lost.
""",
    blank="""
async def researcher(me):
    ex.not_solved_yet()  # mend what follows: it pays for each retry

    async def add(findings):
        await me.think(seconds=30, tokens=800)
        return [*findings, f"{me.name} read {len(findings)} findings, and adds one"]

    await me.shared.update("findings", add)


ex.cheap_retry.check(researcher)
""",
    hints=(
        "The change runs again on each retry. What in it costs tokens, and what does it need for that?",
        'Read the list first, with `await me.value("shared/findings")`. Think about it before you call `update`.',
        "What is left for the change is to add a text that is ready to whatever list it is given: one line, without `await`.",
    ),
    answer="""
async def researcher(me):
    seen = await me.value("shared/findings")
    await me.think(seconds=30, tokens=800)
    mine = f"{me.name} read {len(seen)} findings, and adds one"
    await me.shared.update("findings", lambda findings: [*findings, mine])


ex.cheap_retry.check(researcher)
""",
    why="""
Think once, outside the change; inside, only merge what is ready into what is there now. A retry then costs a read and a write.
The price: the thought may rest on an old list. That is right for a finding that stands on its own, and wrong for a summary of the
list, which must be thought again.
""",
    judge=_pays_once,
)


# --- claim_the_task ---------------------------------------------------------------------------------------------------

OWNER = "shared/task-7/owner"


def _one_takes_it(claim: Callable[..., Any]) -> Feedback:
    """Of three agents one is told that task 7 is its own, and the board says the same."""

    check_async(claim, "claim")

    async def worker(me: AgentMemory) -> bool:
        mine = bool(await claim(me))
        if mine:
            await me.think(seconds=60, tokens=3000)
        return mine

    def wrong(run: Run) -> Fault | None:
        takers = [name for name in run.agents if run.results[name]]
        writes = tuple(run.history.writes(OWNER))
        if len(takers) > 1:
            told = f"{' and '.join(takers)} both did the work" if len(takers) == 2 else "all three did the work"
            return Fault(f"{len(takers)} agents took task 7", told, story(run) or writes)
        if not takers:
            return Fault("nobody took task 7", "each of them was told that it is not its own", writes)
        if run.value(OWNER) != takers[0]:
            return Fault("the board named another owner", f"{takers[0]} took it, and the board says {run.value(OWNER)!r}", writes)
        return None

    done = "one agent took task 7, and the board says which."
    return over_seeds(dict.fromkeys(CREW[:3], worker), wrong, done, policy=Optimistic())


claim_the_task = Exercise(
    name="claim_the_task",
    question="""
**Mend the claim.** `web`, `docs` and `synth` call `claim` at once, and whoever gets `True` does the work of task 7. The code
below looks first and writes then, and in between somebody else can look. Mend it so that exactly one of them gets `True`.
""",
    blank="""
async def claim(me):
    ex.not_solved_yet()  # mend what follows: two may take the task
    owner = await me.value("shared/task-7/owner")
    if owner is not None:
        return False
    await me.shared.write("task-7/owner", me.name)
    return True


ex.claim_the_task.check(claim)
""",
    hints=(
        "Looking and writing must be one step, which only the store can do. What can you ask the store to expect?",
        "`write` takes `expect=`: the version that must be there, or `cb.ABSENT` for no entry. The store refuses otherwise.",
        "Write with `expect=cb.ABSENT`, catch `cb.ConflictError`, and return `False` there.",
    ),
    answer="""
async def claim(me):
    try:
        await me.shared.write("task-7/owner", me.name, expect=cb.ABSENT)
    except cb.ConflictError:
        return False
    return True


ex.claim_the_task.check(claim)
""",
    why="""
The store looks and writes in one step: of all who expect absence, the first is right and the others are refused. `update` does it
too, with a change that leaves an owner who is there: `lambda owner: owner or me.name`, and then a look at whose name stands.
""",
    judge=_one_takes_it,
)

EXERCISES = (bounded_retries, cheap_retry, claim_the_task)
