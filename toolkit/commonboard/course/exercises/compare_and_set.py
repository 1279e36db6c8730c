"""Exercises of notebook 25: the value is what you expected; is the world?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from commonboard.course.exercise import Exercise, Fault, Feedback, call, check_async, over_seeds, story
from commonboard.errors import StoreShapeError
from commonboard.handle import AgentMemory
from commonboard.history import Operation
from commonboard.policies import LastWriterWins
from commonboard.sim import Run

# --- hand_it_on -------------------------------------------------------------------------------------------------------

_CREW = ("web", "docs", "synth")
_SLOT, _TASK = "shared/slot", "shared/task-7"


def _one_wins_and_is_noted(make_store: Callable[[Any], Any]) -> Feedback:
    """Around any store: of all who compare-and-set, exactly one is told that it won, and that one is noted."""
    made: list[Any] = []

    def around(base: Any) -> Any:
        made.append(call(make_store, base))
        if not isinstance(getattr(made[-1], "noted", None), list):
            raise StoreShapeError(f"{type(made[-1]).__name__} has no list `noted`; let `__init__` make one: self.noted = []")
        return made[-1]

    async def agent(me: AgentMemory) -> tuple[bool, bool]:
        slot = await me.shared.compare_and_set("slot", "free", f"{me.name} has the slot")
        return slot, await me.shared.compare_and_set("task-7", None, f"{me.name} has the task")

    def wrong(run: Run) -> Fault | None:
        for place, (key, what) in enumerate(((_SLOT, "the slot"), (_TASK, "the task"))):
            won = [name for name in run.agents if run.results[name][place]]
            if len(won) != 1:
                told = f"{' and '.join(won) or 'nobody'} was told True, and {key} says {run.value(key)!r}"
                return Fault(f"{len(won)} agents have {what}", told, story(run) or tuple(run.history.writes(key)))
            if run.value(key) != f"{won[0]} has {what}":
                told = f"{won[0]} was told True, and {key} says {run.value(key)!r}"
                return Fault("the board named another", told, tuple(run.history.writes(key)))
        stands = {str(run.value(key)) for key in (_SLOT, _TASK)}
        noted = made[-1].noted
        if sorted(map(str, noted)) != sorted(stands):
            return Fault("the notes were wrong", f"the board holds {sorted(stands)}, and noted were {noted!r:.120}")
        return None

    done = "one agent has the slot, one has the task, and both are noted."
    return over_seeds(dict.fromkeys(_CREW, agent), wrong, done, given={_SLOT: "free"}, store=around)


hand_it_on = Exercise(
    name="hand_it_on",
    question="""
**Hand it on.** A decorator sits around a store and notes, in the list `noted`, what each compare-and-set has written. Its
`compare_and_set` is made by hand out of a `get` and a `set`, so two agents can win. Mend it: whatever the order, one wins,
and that one is noted, once.
""",
    blank="""
class Noting:
    def __init__(self, base):
        self.base, self.noted = base, []
        self.get, self.set, self.list = base.get, base.set, base.list
        self.delete, self.clear = base.delete, base.clear

    async def compare_and_set(self, key, expected, value, metadata=None):
        ex.not_solved_yet()  # mend what follows: two can win
        entry = await self.get(key)
        if (entry.value if entry else None) != expected:
            return False
        await self.set(key, value, metadata)
        self.noted.append(value)
        return True


ex.hand_it_on.check(Noting)
""",
    hints=(
        "Two steps of the store can never be one step of yours: in between, somebody else acts. Who can do it in one?",
        "The store beneath has a `compare_and_set` of its own: `self.base.compare_and_set(key, expected, value, metadata)`.",
        "Await it, note the value if it says `True`, and return what it says.",
    ),
    answer="""
class Noting:
    def __init__(self, base):
        self.base, self.noted = base, []
        self.get, self.set, self.list = base.get, base.set, base.list
        self.delete, self.clear = base.delete, base.clear

    async def compare_and_set(self, key, expected, value, metadata=None):
        done = await self.base.compare_and_set(key, expected, value, metadata)
        if done:
            self.noted.append(value)
        return done


ex.hand_it_on.check(Noting)
""",
    why="""
What is atomic was made so further down, and can be handed on but not made out of parts. And it *may* be handed on here,
because this decorator changes nothing: what comes out is what is stored. If it changed the text on the way, it would have to
leave the method out.
""",
    judge=_one_wins_and_is_noted,
)

# --- pop_once ---------------------------------------------------------------------------------------------------------

_HEAD, _END = "shared/head", "the end"
_LINE = {
    _HEAD: "task-7",
    "shared/after/task-7": "task-8",
    "shared/after/task-8": "task-9",
    "shared/after/task-9": _END,
}


def _each_task_once(pop: Callable[..., Any]) -> Feedback:
    """Every task is taken once, and the one that was put back twice, however long an agent weighs what it has read."""
    check_async(pop, "pop")

    async def takes(me: AgentMemory, seconds: float) -> Any:
        weighed = []

        async def weigh(task: Any) -> None:
            weighed.append(task)
            await me.think(seconds=seconds)

        task = await pop(me, weigh)
        return task if task is None or task in weighed else f"{task} unweighed"

    async def web(me: AgentMemory) -> list[Any]:
        return [await takes(me, 60)]

    async def docs(me: AgentMemory) -> list[Any]:
        took = [await takes(me, 1), await takes(me, 1)]
        await me.think(seconds=58)
        if took == ["task-7", "task-8"]:
            await _put_back(me)
        return took

    async def synth(me: AgentMemory) -> list[Any]:
        took: list[Any] = []
        await me.think(seconds=1000)
        while len(took) < 9 and await me.value(_HEAD) != _END:
            took.append(await takes(me, 1))
        return took

    def wrong(run: Run) -> Fault | None:
        return _wrong_with_the_line(run, [(name, task) for name in run.agents for task in run.results[name] if task is not None])

    done = "each task was done once, and the one that was put back twice."
    return over_seeds({"web": web, "docs": docs, "synth": synth}, wrong, done, given=_LINE)


def _wrong_with_the_line(run: Run, took: list[tuple[str, Any]]) -> Fault | None:
    path = story(run) or tuple(run.history.writes(_HEAD))
    put_back = any(op.key == _HEAD and op.value == "task-7" and op.agent == "docs" for op in run.history.writes() if op.ok)
    wanted = {"task-8": 1, "task-9": 1, "task-7": 2 if put_back else 1}
    for name, task in took:
        if task not in wanted:
            return Fault("pop gave what is no task", f"{name} was given {task!r:.60}", path)
    for task, times in wanted.items():
        who = [name for name, taken in took if taken == task]
        if len(who) > times:
            return Fault("a task was done once too often", f"{task} went to {' and to '.join(who)}", path)
        if len(who) < times:
            return Fault("a task was left out", f"{task} went to {' and to '.join(who) or 'nobody'}", path)
    return None


async def _put_back(me: AgentMemory) -> None:
    """Task 7 needs more work: it goes to the front of the line again."""
    while True:
        head = await me.read(_HEAD)
        assert head is not None
        await me.shared.write("after/task-7", head.value)
        if await me.shared.compare_and_set("head", head.value, "task-7"):
            return


pop_once = Exercise(
    name="pop_once",
    question="""
**Pop once.** The line of tasks from above. `pop` gives the first task and moves the head of the line on, or gives `None` if
somebody was faster. In between it awaits `weigh(task)`, which may take long. Meanwhile another agent may take two tasks, and
put the first one back: then the code below sends a task that is done to the front again. Mend it, so that no task is done
twice and none is left out.
""",
    blank="""
async def pop(me, weigh):
    ex.not_solved_yet()  # mend what follows: the head is the same text, and the line is another
    task = await me.value("shared/head")
    after = await me.value(f"shared/after/{task}")
    await weigh(task)
    took = await me.shared.compare_and_set("head", task, after)
    return task if took else None


ex.pop_once.check(pop)
""",
    hints=(
        "What is written rests on two things that were read: the head, and what comes after it. What is compared?",
        'Read the head with `await me.read("shared/head")`. It gives an entry, which has a `value` and a `version`.',
        "`await me.shared.write('head', after, expect=head.version)` raises `cb.ConflictError` if somebody wrote there since.",
    ),
    answer="""
async def pop(me, weigh):
    head = await me.read("shared/head")
    after = await me.value(f"shared/after/{head.value}")
    await weigh(head.value)
    try:
        await me.shared.write("head", after, expect=head.version)
    except cb.ConflictError:
        return None
    return head.value


ex.pop_once.check(pop)
""",
    why="""
The new head rests on the old one *and* on what came after it. While the version of the head stands, nobody has popped or put
back, so what came after it stands too. The text of the head says nothing of that kind.
""",
    judge=_each_task_once,
)

# --- done_is_not_gone -------------------------------------------------------------------------------------------------


def _done_once(work: Callable[..., Any]) -> Feedback:
    """Whenever the agents come: task 7 is done, and by one of them alone."""
    check_async(work, "work")

    def comes(after: float) -> Any:
        async def agent(me: AgentMemory) -> int:
            times = 0

            async def do() -> None:
                nonlocal times
                times += 1
                await me.think(seconds=30, tokens=3000)

            await me.think(seconds=after)
            await work(me, do)
            return times

        return agent

    def wrong(run: Run) -> Fault | None:
        did = [name for name in run.agents for _ in range(run.results[name])]
        if len(did) > 1:
            return Fault("task 7 was done twice", f"{' and '.join(did)} did it", _writes(run))
        return None if did else Fault("nobody did task 7", "everybody left it to somebody else", _writes(run))

    agents = {"web": comes(0), "docs": comes(0), "synth": comes(30), "lead": comes(100)}
    return over_seeds(agents, wrong, "task 7 was done once, whoever came first and whoever came late.", policy=LastWriterWins())


def _writes(run: Run) -> tuple[Operation, ...]:
    return tuple(op for op in run.history.writes(_TASK) if op.ok)


done_is_not_gone = Exercise(
    name="done_is_not_gone",
    question="""
**Done is not gone.** Four agents call `work`, two of them late. Whoever claims task 7 awaits `do()`, which takes half a
minute, and then tidies its claim away. Whoever comes next finds nothing there, and does it once more. Mend it: `do()` is
awaited once in all.
""",
    blank="""
async def work(me, do):
    if not await me.shared.compare_and_set("task-7", None, me.name):
        return
    await do()
    ex.not_solved_yet()  # mend what follows: what will somebody see who comes late?
    await me.shared.delete("task-7")


ex.done_is_not_gone.check(work)
""",
    hints=(
        "*Nothing there* has two meanings here: nobody has begun, and somebody is done. How could an agent tell them apart?",
        "Create-if-absent succeeds whenever there is no entry. So there must be one.",
        "Write down that it is done instead of deleting the claim.",
    ),
    answer="""
async def work(me, do):
    if not await me.shared.compare_and_set("task-7", None, me.name):
        return
    await do()
    await me.shared.write("task-7", f"done by {me.name}")


ex.done_is_not_gone.check(work)
""",
    why="""
Absence came back: nothing, then a claim, then nothing. That is ABA with *nothing* as the A. The cure is a state of its own
for what is done, so that no state is reached twice. It is the same cure as a version, made by hand.
""",
    judge=_done_once,
)

EXERCISES = (hand_it_on, pop_once, done_is_not_gone)
