"""Exercises of notebook 07: when does a note stop being read?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from commonboard.course.exercise import SEEDS, Exercise, Fault, Feedback, NotSolvedYet, call, check_async, over_seeds
from commonboard.entry import LogicalClock, MemoryEntry
from commonboard.handle import AgentMemory
from commonboard.history import Operation
from commonboard.memory import SharedMemory
from commonboard.policies import LastWriterWins
from commonboard.sim import Run, simulate
from commonboard.stores import InMemoryStore

# --- still_readable ---------------------------------------------------------------------------------------------------

_WRITTEN, _LIVES, _LATER = range(3), range(1, 5), range(7)


def _board(turn: int) -> SharedMemory:
    return SharedMemory(InMemoryStore(clock=LogicalClock()), turn=turn)


def _agrees_with_a_board(readable: Callable[[int, int, int], Any]) -> Feedback:
    """For every small case the function says what a board does."""

    async def every_case(me: AgentMemory) -> list[tuple[int, int, int, bool]]:
        cases = []
        for written in _WRITTEN:
            for ttl in _LIVES:
                board = _board(written)
                await board.write_expiring("web", "hint", "text", ttl_turns=ttl)
                for _ in _LATER:
                    cases.append((written, ttl, board.turn, await board.value("web/hint") is not None))
                    await board.advance_turn()
        return cases

    cases = simulate({"board": every_case}, seed=None).results["board"]
    for written, ttl, turn, there in cases:
        told = call(readable, written, ttl, turn)
        if told not in (True, False):
            return Feedback(False, (f"`readable({written}, {ttl}, {turn})` gave {told!r:.40}, neither True nor False.",))
        if bool(told) is not there:
            does = "can still be read" if there else "is hidden"
            return Feedback(
                False,
                (
                    f"Written in turn {written} with `ttl_turns={ttl}`, the entry {does} in turn {turn}, "
                    f"and your function says {told}.",
                ),
            )
    return Feedback(True, (f"In all {len(cases)} cases your function says what the board does.",))


still_readable = Exercise(
    name="still_readable",
    question="""
**Can it still be read?** Write `readable(written, ttl_turns, turn)`: an entry was written in turn `written` with that time to
live. Can it be read in turn `turn`? Mind the last turn: an error of one is all there is to get wrong here.
""",
    blank="""
def readable(written, ttl_turns, turn):
    ex.not_solved_yet()  # mend what follows: one turn is wrong
    return turn <= written + ttl_turns


ex.still_readable.check(readable)
""",
    hints=(
        "A time to live of 1 means: in the turn in which it was written, and in no other.",
        "The entry expires *at* the turn `written + ttl_turns`. Can it be read in that turn?",
        "From the turn of expiry on it is hidden, so the turn must be smaller than that.",
    ),
    answer="""
def readable(written, ttl_turns, turn):
    return turn < written + ttl_turns


ex.still_readable.check(readable)
""",
    why="""
The time to live counts the turns in which the entry can be read, and the turn in which it is written is the first of them. So
the turn of expiry is the first one in which it is hidden.
""",
    judge=_agrees_with_a_board,
)

# --- sweep_the_expired ------------------------------------------------------------------------------------------------

_NOW = 2
_HINT, _TIP = "shared/hint", "shared/tip"
_GIVEN = [
    MemoryEntry(_HINT, "old", {"agent": "web"}, expires_at_turn=_NOW),
    MemoryEntry(_TIP, "old", {"agent": "docs"}, expires_at_turn=_NOW - 1),
    MemoryEntry("shared/plan", "still good", {"agent": "lead"}, expires_at_turn=_NOW + 1),
    MemoryEntry("shared/style", "for ever", {"agent": "synth"}),
]


def _sweeps_only_the_old(sweep: Callable[..., Any]) -> Feedback:
    """What has expired is deleted from the store; what was written in the meantime, and what has not expired, stays."""
    check_async(sweep, "sweep")
    stores: list[Any] = []

    def made(base: Any) -> Any:
        stores.append(base)
        return base

    async def web(me: AgentMemory) -> None:
        await me.shared.write_expiring("hint", "fresh", ttl_turns=2)

    async def lead(me: AgentMemory) -> None:
        await sweep(stores[-1], _NOW)

    def wrong(run: Run) -> Fault | None:
        swept = {event.key for event in run.log if event.operation == "delete"}
        for key in ("shared/plan", "shared/style"):
            if run.value(key) is None:
                return Fault(
                    "an entry that has not expired is gone", f"{key} was deleted, and it can still be read", _on(run, key)
                )
        if run.value(_HINT) != "fresh":
            return Fault("a fresh hint was swept away", f"web wrote {_HINT} anew, and it is gone", _on(run, _HINT))
        if _TIP not in swept:
            return Fault("an expired entry was left", f"{_TIP} expired at turn 1, and the store still holds it", _on(run, _TIP))
        return None

    done = "what had expired is gone from the store, and the hint that web wrote anew is there."
    return over_seeds({"web": web, "lead": lead}, wrong, done, given=_GIVEN, store=made, turn=_NOW, policy=LastWriterWins())


def _on(run: Run, key: str) -> tuple[Operation, ...]:
    return tuple(op for op in run.history if op.key == key and op.is_write and op.agent in run.agents)


sweep_the_expired = Exercise(
    name="sweep_the_expired",
    question="""
**Sweep, and sweep nothing fresh.** Reading deletes nothing, so somebody has to take out the expired entries some day. `sweep`
is given the store beneath the board, and the turn. It deletes what has expired. Meanwhile `web` may write its hint anew, and
the code below sometimes deletes that. Mend it.
""",
    blank="""
async def sweep(store, turn):
    for entry in await store.list():
        if entry.expires_at_turn is not None and entry.expires_at_turn <= turn:
            ex.not_solved_yet()  # mend what follows: it may delete what web has written since
            await store.delete(entry.key)


ex.sweep_the_expired.check(sweep)
""",
    hints=(
        "Between the list and the delete, somebody may write. Only the store can look and delete in one step.",
        "A delete is a write of nothing, and a write can expect a version: `cb.Write(key, None, expect=entry.version)`.",
        "`await store.commit(...)` of it raises `cb.ConflictError` if another entry is there by now. Then leave that, and go on.",
    ),
    answer="""
async def sweep(store, turn):
    for entry in await store.list():
        if entry.expires_at_turn is not None and entry.expires_at_turn <= turn:
            try:
                await store.commit(cb.Write(entry.key, None, expect=entry.version))
            except cb.ConflictError:
                pass  # somebody wrote it anew: that one is fresh


ex.sweep_the_expired.check(sweep)
""",
    why="""
The version says which entry was old. If another one is there by now, the delete is refused, and that is the right outcome:
nothing has to be done again. This is compare-and-delete. A delete that expects nothing is a blind write, and loses like one.
""",
    judge=_sweeps_only_the_old,
)

# --- one_turn_a_round -------------------------------------------------------------------------------------------------

_CREW = ("web", "docs", "synth", "lead")


def _everybody_sees_the_hint(play_round: Callable[..., Any]) -> Feedback:
    """Whatever the order in which they finish, all of a round see a hint that lives for one turn, and the next round does not."""
    check_async(play_round, "play_round")
    for seed in range(SEEDS):
        random = Random(f"round {seed}")
        spans = {name: random.randint(1, 90) for name in _CREW}
        told = _a_round(play_round, spans)
        if told is not None:
            sentence, lines = told
            return Feedback(False, (f"In round {seed + 1} of {SEEDS}: {sentence}.",), code="\n".join(lines))
    return Feedback(True, (f"In all {SEEDS} rounds everybody saw the hint, and it was hidden when the round was over.",))


def _a_round(play_round: Callable[..., Any], spans: dict[str, int]) -> tuple[str, list[str]] | None:
    """What was wrong with one round, with what happened in it; `None` if nothing was."""
    lines: list[str] = []
    missed: list[str] = []
    ended: list[str] = []

    async def lead(me: AgentMemory) -> tuple[int, bool, float]:
        board, clock = _board(0), asyncio.get_running_loop()
        await board.write_expiring("web", "hint", "the archive has it", ttl_turns=1)

        def task(name: str) -> Callable[[], Any]:
            async def work() -> None:
                await asyncio.sleep(spans[name])
                saw = await board.value("web/hint") is not None
                lines.append(f"after {clock.time():>3g} s, turn {board.turn}: {name} looks, and the hint is {_there(saw)}")
                missed.extend([] if saw else [name])
                ended.append(name)

            return work

        await play_round(board, [task(name) for name in spans])
        return board.turn, await board.value("web/hint") is not None, clock.time()

    run = simulate({"round": lead}, seed=None)
    if isinstance(run.errors.get("round"), NotSolvedYet):
        raise run.errors["round"]
    if not run.ok:
        return f"it did not come to its end ({'; '.join(map(str, run.troubles))})", lines
    turn, there, seconds = run.results["round"]
    fault = _fault(spans, missed, ended, turn, there, seconds)
    return None if fault is None else (fault, lines)


def _there(saw: bool) -> str:
    return "there" if saw else "gone"


def _fault(spans: dict[str, int], missed: list[str], ended: list[str], turn: int, there: bool, seconds: float) -> str | None:
    if len(ended) != len(spans):
        return f"{len(ended)} of {len(spans)} tasks ran to their end"
    if missed:
        return f"{' and '.join(missed)} came too late for a hint that was written for this round"
    if turn != 1:
        return f"the round took the board from turn 0 to turn {turn}, and a round is one turn"
    if there:
        return "the hint can still be read after the round"
    if seconds > max(spans.values()):
        return f"it took {seconds:g} s, and the longest task {max(spans.values())} s: the tasks did not run at once"
    return None


one_turn_a_round = Exercise(
    name="one_turn_a_round",
    question="""
**One turn a round.** `play_round` is given the board and the tasks of a round: async functions without arguments. It runs
them at once. The code below ends the turn whenever a task is done, so a hint with a time to live of 1 is gone for all but the
first. Mend it: everybody in the round can read the hint, and nobody after it.
""",
    blank="""
import asyncio


async def play_round(board, tasks):
    async def run(task):
        await task()
        ex.not_solved_yet()  # mend what follows: whose turn is this?
        await board.advance_turn()

    await asyncio.gather(*(run(task) for task in tasks))


ex.one_turn_a_round.check(play_round)
""",
    hints=(
        "A turn belongs to the round, not to a task. When is a round over?",
        "`await asyncio.gather(*(task() for task in tasks))` runs them all at once, and goes on when the last one is done.",
        "Call `advance_turn` once, behind that line.",
    ),
    answer="""
import asyncio


async def play_round(board, tasks):
    await asyncio.gather(*(task() for task in tasks))
    await board.advance_turn()


ex.one_turn_a_round.check(play_round)
""",
    why="""
Whoever waits for all of them is a *barrier*. Behind it, a time to live of 1 means what its writer thought: for everybody who
works in this round. The price is that the next round begins with the slowest.
""",
    judge=_everybody_sees_the_hint,
)

EXERCISES = (still_readable, sweep_the_expired, one_turn_a_round)
