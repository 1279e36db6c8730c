"""Agents are ordinary asyncio code: what asyncio offers works in a simulation as it does elsewhere, in exact virtual time."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import commonboard as cb
from commonboard.sim import Run

Agent = Callable[[cb.AgentMemory], Awaitable[Any]]


def run(agent: Agent, **options: Any) -> Run:
    made = cb.simulate({"web": agent}, **options)
    assert made.ok, made.troubles
    return made


def result(agent: Agent, **options: Any) -> Any:
    return run(agent, **options).results["web"]


def now() -> float:
    return asyncio.get_running_loop().time()


async def napping(seconds: float, answer: str) -> str:
    await asyncio.sleep(seconds)
    return answer


def in_every_run(agent: Agent) -> Any:
    """What the agent returns, which must not depend on where its objects lie in memory."""
    kept, answers = [], []
    for count in range(20):
        kept.append([object() for _ in range(7 * count)])
        answers.append(result(agent))
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


def test_sleep_takes_exactly_its_virtual_time() -> None:
    async def agent(me: cb.AgentMemory) -> list[float]:
        times = [now()]
        for seconds in (0, 90, 0.5):
            await asyncio.sleep(seconds)
            times.append(now())
        return times

    made = run(agent)
    assert made.results["web"] == [0, 0, 90, 90.5]
    assert made.seconds == 90.5


def test_short_sleeps_add_up_without_rounding_errors() -> None:
    async def steps(me: cb.AgentMemory) -> float:
        for _ in range(3):
            await asyncio.sleep(0.1)
        return now()

    assert 0.1 + 0.1 + 0.1 != 0.3
    assert result(steps) == 0.3


def test_gather_runs_side_by_side_and_keeps_the_order() -> None:
    async def agent(me: cb.AgentMemory) -> tuple[list[str], float]:
        return await asyncio.gather(napping(3, "slow"), napping(1, "fast")), now()

    assert result(agent) == (["slow", "fast"], 3)


def test_gather_gives_exceptions_back_if_asked() -> None:
    async def fails() -> None:
        raise KeyError("nothing there")

    async def agent(me: cb.AgentMemory) -> list[str]:
        answers = await asyncio.gather(fails(), napping(2, "fine"), return_exceptions=True)
        return [repr(answer) for answer in answers]

    assert result(agent) == ["KeyError('nothing there')", "'fine'"]


def test_public_verbs_can_be_gathered_bare() -> None:
    async def agent(me: cb.AgentMemory) -> list[Any]:
        await asyncio.gather(me.write("a", 1), me.shared.write("b", 2), me.shared.append("c", 3))
        values = await asyncio.gather(me.value("web/a"), me.value("shared/b"), me.value("shared/c"), me.think(seconds=5))
        await asyncio.gather(me.shared.update("b", lambda b: b + 1), me.delete("a"), me.list("shared"))
        return [*values, now()]

    made = run(agent)
    assert made.results["web"] == [1, 2, [3], None, 5]
    assert made.state == {"shared/b": 3, "shared/c": [3]}


def test_a_task_group_waits_for_all_its_children() -> None:
    async def agent(me: cb.AgentMemory) -> tuple[str, str, float]:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(napping(2, "first"))
            second = group.create_task(napping(7, "second"))
        return first.result(), second.result(), now()

    assert result(agent) == ("first", "second", 7)


def test_a_child_that_fails_cancels_the_others_of_its_group_in_the_same_order_in_every_run() -> None:
    async def agent(me: cb.AgentMemory) -> tuple[list[int], list[str], float]:
        cancelled, told = list[int](), list[str]()

        async def child(number: int) -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(number)
                raise

        async def fails() -> None:
            await asyncio.sleep(4)
            raise ValueError("no such page")

        try:
            async with asyncio.TaskGroup() as group:
                for number in range(6):
                    group.create_task(child(number))
                group.create_task(fails())
        except* ValueError as errors:
            told += map(str, errors.exceptions)
        return cancelled, told, now()

    cancelled, told, ended = in_every_run(agent)
    assert sorted(cancelled) == [0, 1, 2, 3, 4, 5]
    assert (told, ended) == (["no such page"], 4)


def test_timeout_ends_what_takes_too_long_and_spares_the_rest() -> None:
    async def agent(me: cb.AgentMemory) -> list[Any]:
        async with asyncio.timeout(10):
            await asyncio.sleep(9)
        told: list[Any] = [now()]
        try:
            async with asyncio.timeout(10):
                await asyncio.sleep(11)
        except TimeoutError:
            told += ["too long", now()]
        return told

    assert result(agent) == [9, "too long", 19]


def test_wait_for_ends_what_takes_too_long_and_spares_the_rest() -> None:
    async def agent(me: cb.AgentMemory) -> list[Any]:
        told: list[Any] = [await asyncio.wait_for(napping(3, "in time"), 4), now()]
        try:
            await asyncio.wait_for(napping(30, "late"), 4)
        except TimeoutError:
            told += ["late", now()]
        return told

    assert result(agent) == ["in time", 3, "late", 7]


def test_shield_lets_the_inner_task_go_on() -> None:
    async def agent(me: cb.AgentMemory) -> list[Any]:
        inner = asyncio.create_task(napping(5, "kept"))
        told: list[Any] = []
        try:
            await asyncio.wait_for(asyncio.shield(inner), 2)
        except TimeoutError:
            told += ["waited long enough", now()]
        return [*told, await inner, now()]

    assert result(agent) == ["waited long enough", 2, "kept", 5]


def test_as_completed_gives_the_fastest_first() -> None:
    async def agent(me: cb.AgentMemory) -> list[str]:
        waiting = [napping(5, "slow"), napping(1, "fast"), napping(3, "middling")]
        return [await first for first in asyncio.as_completed(waiting)]

    assert result(agent) == ["fast", "middling", "slow"]


def test_as_completed_begins_in_the_order_given_and_keeps_its_timeout() -> None:
    async def agent(me: cb.AgentMemory) -> tuple[list[int], int]:
        begun, late = [], 0

        async def nap(number: int) -> int:
            begun.append(number)
            await asyncio.sleep(number)
            return number

        try:
            for first in asyncio.as_completed([nap(number) for number in (4, 1, 3, 0, 2, 5)], timeout=2.5):
                await first
        except TimeoutError:
            late += 1
        return begun, late

    assert in_every_run(agent) == ([4, 1, 3, 0, 2, 5], 1)


def test_as_completed_refuses_what_is_no_list_as_asyncio_does() -> None:
    async def agent(me: cb.AgentMemory) -> str:
        nap = napping(1, "x")
        try:
            for first in asyncio.as_completed(nap):  # type: ignore[call-overload]
                await first
        except TypeError as error:
            nap.close()
            return str(error)
        return "taken"

    assert "iterable" in result(agent)


def test_asyncio_is_as_it_was_after_a_run() -> None:
    before = asyncio.as_completed

    async def agent(me: cb.AgentMemory) -> bool:
        return asyncio.as_completed is before

    assert result(agent) is False  # within the run it begins in order
    assert asyncio.as_completed is before


def test_wait_tells_done_from_pending_and_gives_them_in_the_same_order_in_every_run() -> None:
    async def agent(me: cb.AgentMemory) -> list[list[str]]:
        tasks = [asyncio.create_task(napping(seconds, ""), name=f"nap {seconds}") for seconds in range(7)]
        done, pending = await asyncio.wait(tasks, timeout=3.5)
        names = [[task.get_name() for task in part] for part in (done, pending)]
        await asyncio.gather(*pending)
        return names

    done, pending = in_every_run(agent)
    assert sorted(done) == ["nap 0", "nap 1", "nap 2", "nap 3"]
    assert sorted(pending) == ["nap 4", "nap 5", "nap 6"]


def test_tasks_without_a_name_are_numbered_anew_in_each_run() -> None:
    async def agent(me: cb.AgentMemory) -> list[str]:
        tasks = [asyncio.create_task(napping(1, "")) for _ in range(2)]
        await asyncio.gather(*tasks)
        return [task.get_name() for task in tasks]

    assert result(agent) == result(agent) == ["Task-2", "Task-3"]


def test_a_lock_lets_in_one_at_a_time_and_saves_the_update() -> None:
    def crew() -> list[Agent]:
        lock = asyncio.Lock()

        async def careful(me: cb.AgentMemory) -> None:
            async with lock:
                await me.shared.update("count", lambda n: (n or 0) + 1, cb.LastWriterWins())

        return [careful, careful, careful]

    for seed in range(20):
        made = cb.simulate(crew(), seed=seed)
        assert made.ok
        assert made.value("shared/count") == 3


def test_an_event_wakes_all_who_wait() -> None:
    event = asyncio.Event()

    async def waits(me: cb.AgentMemory) -> float:
        await event.wait()
        return now()

    async def rings(me: cb.AgentMemory) -> None:
        await asyncio.sleep(12)
        event.set()

    made = cb.simulate({"a": waits, "b": waits, "bell": rings})
    assert made.results == {"a": 12, "b": 12, "bell": None}


def test_a_queue_hands_work_over() -> None:
    queue: asyncio.Queue[str] = asyncio.Queue(maxsize=1)

    async def boss(me: cb.AgentMemory) -> float:
        for page in ("one", "two", "three"):
            await queue.put(page)
        await queue.join()
        return now()

    async def worker(me: cb.AgentMemory) -> list[str]:
        pages = []
        for _ in range(3):
            pages.append(await queue.get())
            await me.think(seconds=10)
            queue.task_done()
        return pages

    made = cb.simulate({"boss": boss, "worker": worker})
    assert made.results == {"boss": 30, "worker": ["one", "two", "three"]}


def test_a_barrier_opens_when_all_are_there() -> None:
    barrier = asyncio.Barrier(3)

    def agent(seconds: float) -> Agent:
        async def comes(me: cb.AgentMemory) -> float:
            await asyncio.sleep(seconds)
            await barrier.wait()
            return now()

        return comes

    made = cb.simulate({"a": agent(1), "b": agent(5), "c": agent(3)})
    assert made.results == {"a": 5, "b": 5, "c": 5}


def test_a_semaphore_and_a_condition_work() -> None:
    async def agent(me: cb.AgentMemory) -> tuple[float, float]:
        two = asyncio.Semaphore(2)
        condition = asyncio.Condition()

        async def job() -> None:
            async with two:
                await asyncio.sleep(10)

        async def waits() -> float:
            async with condition:
                await condition.wait()
            return now()

        await asyncio.gather(*(job() for _ in range(4)))
        after_jobs = now()
        waiting = asyncio.create_task(waits())
        await asyncio.sleep(5)
        async with condition:
            condition.notify()
        return after_jobs, await waiting

    assert result(agent) == (20, 25)


def test_an_async_generator_gives_its_items_over_time() -> None:
    async def pages() -> AsyncIterator[int]:
        for number in range(3):
            await asyncio.sleep(2)
            yield number

    async def agent(me: cb.AgentMemory) -> tuple[list[int], float]:
        return [page async for page in pages()], now()

    assert result(agent) == ([0, 1, 2], 6)


def test_an_async_generator_that_is_left_open_is_closed_with_the_run() -> None:
    closed = []

    async def pages() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(0)
            closed.append("closed")

    open_still = pages()

    async def agent(me: cb.AgentMemory) -> int:
        return await anext(open_still)

    assert result(agent) == 1
    assert closed == ["closed"]


def test_an_async_generator_that_is_dropped_is_closed_at_once() -> None:
    async def agent(me: cb.AgentMemory) -> list[str]:
        closed = []

        async def pages() -> AsyncIterator[int]:
            try:
                while True:
                    yield 1
            finally:
                closed.append("closed")

        async for _ in pages():
            break
        await asyncio.sleep(1)
        return closed

    assert result(agent) == ["closed"]


def test_context_variables_belong_to_their_agent_and_are_inherited_by_its_tasks() -> None:
    topic = contextvars.ContextVar("topic", default="none")

    async def reads() -> str:
        await asyncio.sleep(1)
        return topic.get()

    def agent(mine: str) -> Agent:
        async def asks(me: cb.AgentMemory) -> tuple[str, str]:
            topic.set(mine)
            await me.think(seconds=1)
            return topic.get(), await asyncio.create_task(reads())

        return asks

    made = cb.simulate({"a": agent("churn"), "b": agent("prices")})
    assert made.results == {"a": ("churn", "churn"), "b": ("prices", "prices")}
    assert topic.get() == "none"


def test_a_handle_of_a_callback_can_be_cancelled() -> None:
    async def agent(me: cb.AgentMemory) -> list[str]:
        loop, called = asyncio.get_running_loop(), list[str]()
        loop.call_later(1, called.append, "after one second")
        loop.call_later(2, called.append, "never").cancel()
        loop.call_soon(called.append, "soon")
        loop.call_soon(called.append, "never soon").cancel()
        loop.call_at(3, called.append, "at three")
        await asyncio.sleep(5)
        return called

    assert result(agent) == ["soon", "after one second", "at three"]


def test_what_is_due_at_one_moment_runs_in_the_order_in_which_it_was_asked_for() -> None:
    async def agent(me: cb.AgentMemory) -> list[int]:
        loop, called = asyncio.get_running_loop(), list[int]()
        for number in range(20):
            loop.call_later(5 if number % 2 else 5.0, called.append, number)
        await asyncio.sleep(5)
        return called

    assert result(agent) == list(range(20))


def test_a_sleep_for_ever_ends_with_its_timeout() -> None:
    async def agent(me: cb.AgentMemory) -> float:
        try:
            await asyncio.wait_for(asyncio.sleep(float("inf")), 30)
        except TimeoutError:
            await me.write("gave up", True)
        return now()

    assert result(agent) == 30


class TestCancellingAnOperationOnTheStore:
    """A cancelled call either happened or not, and the store stays usable."""

    @pytest.mark.parametrize("seed", range(10))
    def test_an_operation_is_done_or_not_when_its_timeout_comes(self, seed: int) -> None:
        # Operations happen before time passes, so a timeout that is later than now never cancels one.
        async def agent(me: cb.AgentMemory) -> str:
            try:
                await asyncio.wait_for(me.shared.write("x", me.name), 5)
            except TimeoutError:
                return "cancelled"
            return "written"

        made = cb.simulate({"a": agent, "b": agent}, seed=seed)
        assert made.results == {"a": "written", "b": "written"}
        assert made.seconds == 0
        assert [op.kind for op in made.history] == ["write", "write"]

    def test_a_cancelled_read_leaves_no_trace(self) -> None:
        async def agent(me: cb.AgentMemory) -> Any:
            reading = asyncio.create_task(me.value("shared/x"))
            await asyncio.sleep(0)
            reading.cancel()
            (outcome,) = await asyncio.gather(reading, return_exceptions=True)
            return [type(outcome).__name__, await me.value("shared/x")]

        made = run(agent, given={"shared/x": 7})
        assert made.results["web"] == ["CancelledError", 7]
        assert [str(op) for op in made.history] == [
            "t=0 s  given writes shared/x as version 1",
            "t=0 s  web reads shared/x at version 1",
        ]

    def test_a_write_is_cancelled_whole_or_not_at_all(self) -> None:
        async def writer(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "written")

        outcomes = set()
        for seed in range(30):
            started: list[asyncio.Task[Any]] = []

            async def starts(me: cb.AgentMemory, started: list[asyncio.Task[Any]] = started) -> str:
                started.append(asyncio.create_task(writer(me)))
                (outcome,) = await asyncio.gather(*started, return_exceptions=True)
                return "cancelled" if isinstance(outcome, asyncio.CancelledError) else "written"

            async def cancels(me: cb.AgentMemory, started: list[asyncio.Task[Any]] = started) -> None:
                await me.value("shared/x")
                started[0].cancel()

            made = cb.simulate({"starts": starts, "cancels": cancels}, seed=seed)
            writes = [op for op in made.history if op.kind == "write"]
            outcomes.add((made.results["starts"], made.value("shared/x"), len(writes)))
        assert outcomes == {("cancelled", None, 0), ("written", "written", 1)}

    def test_an_update_that_is_cancelled_while_it_thinks_writes_nothing(self) -> None:
        async def agent(me: cb.AgentMemory) -> float:
            async def slow(found: Any) -> str:
                await me.think(seconds=100)
                return "late"

            try:
                await asyncio.wait_for(me.shared.update("x", slow), 5)
            except TimeoutError:
                return now()
            return -1

        made = run(agent, given={"shared/x": "as it was"})
        assert made.results["web"] == 5
        assert made.value("shared/x") == "as it was"
        (thought,) = (op for op in made.history if op.kind == "think")
        assert (thought.began_at, thought.ended_at) == (0, 5)


def test_a_lock_made_beside_the_agents_serves_one_run_after_the_other_and_then_a_real_loop() -> None:
    lock, queue = asyncio.Lock(), asyncio.Queue[str]()

    async def agent(me: cb.AgentMemory) -> str:
        async with lock:
            n = await me.value("shared/n", 0)
            await me.shared.write("n", n + 1)
        queue.put_nowait(me.name)
        return await queue.get()

    runs = [cb.simulate({"web": agent, "docs": agent}, policy=cb.LastWriterWins(), seed=seed) for seed in (1, 1, 2)]
    assert [run.state for run in runs] == [{"shared/n": 2}] * 3
    assert list(runs[0].history) == list(runs[1].history)
    verdict = cb.explore({"web": agent, "docs": agent}, progress=False)
    assert verdict.holds is True, verdict

    async def live() -> None:
        memory = cb.SharedMemory()
        await asyncio.gather(agent(memory.agent("web")), agent(memory.agent("docs")))
        assert await memory.value("shared/n") == 2

    asyncio.run(live())


def test_a_lock_is_free_again_after_a_run_that_was_cut_while_somebody_held_it() -> None:
    lock = asyncio.Lock()

    async def agent(me: cb.AgentMemory) -> None:
        async with lock:
            await asyncio.Event().wait()

    first, second = (cb.simulate({"web": agent, "docs": agent}) for _ in range(2))
    assert first.outcome == second.outcome == "deadlock"
    assert [str(trouble) for trouble in first.troubles] == [str(trouble) for trouble in second.troubles]
    assert not lock.locked()
