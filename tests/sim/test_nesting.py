"""A simulation runs anywhere: in a script, under a running event loop, within another one; and leaves all as it found it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import warnings
from typing import Any

import pytest

import commonboard as cb


async def counter(me: cb.AgentMemory) -> None:
    async def add_one(found: Any) -> int:
        await me.think(seconds=1)
        return (found or 0) + 1

    await me.shared.update("count", add_one)


def in_a_loop(body: Any) -> Any:
    """Run an async function as a notebook or a server would, and look whether its loop and its task are as they were."""

    async def main() -> Any:
        loop, task, hooks = asyncio.get_running_loop(), asyncio.current_task(), sys.get_asyncgen_hooks()
        try:
            return await body()
        finally:
            assert asyncio.get_running_loop() is loop
            assert asyncio.current_task() is task
            assert sys.get_asyncgen_hooks() == hooks
            assert gc.isenabled()
            await asyncio.sleep(0)  # the outer loop still steps its task
            async with asyncio.timeout(60):  # which needs to know its current task
                await asyncio.sleep(0)

    with asyncio.Runner() as runner:
        return runner.run(main())


def test_a_simulation_runs_twice_under_a_running_loop() -> None:
    async def body() -> list[Any]:
        first = cb.simulate(counter, counter, seed=1)
        await asyncio.sleep(0)
        second = cb.simulate(counter, counter, seed=1)
        return [first.value("shared/count"), second.value("shared/count"), first.token == second.token]

    assert in_a_loop(body) == [2, 2, True]


def test_a_run_under_a_loop_is_the_same_as_one_without() -> None:
    async def body() -> str:
        return str(cb.simulate(counter, counter, counter, seed=5).history)

    assert in_a_loop(body) == str(cb.simulate(counter, counter, counter, seed=5).history)


def test_the_outer_loop_is_restored_when_an_agent_raises() -> None:
    async def fails(me: cb.AgentMemory) -> None:
        raise ValueError("no such page")

    async def body() -> str:
        return cb.simulate(fails, counter).outcome

    assert in_a_loop(body) == "failed"


def test_the_outer_loop_is_restored_when_simulate_raises() -> None:
    def no_agent(me: cb.AgentMemory) -> None:
        return None

    async def body() -> None:
        cb.simulate(counter, no_agent)

    with pytest.raises(cb.CommonboardError, match="no_agent"):
        in_a_loop(body)


@pytest.mark.parametrize("nested", [False, True], ids=["in a script", "under a loop"])
def test_an_interrupt_leaves_the_simulation_at_once_names_the_line_and_restores_everything(nested: bool) -> None:
    async def impatient(me: cb.AgentMemory) -> None:
        await me.think(seconds=1)
        raise KeyboardInterrupt

    async def body() -> None:
        cb.simulate(counter, impatient)

    with pytest.raises(KeyboardInterrupt) as caught:
        in_a_loop(body) if nested else cb.simulate(counter, impatient)
    (note,) = caught.value.__notes__
    assert note.startswith("interrupted: impatient raised KeyboardInterrupt, at line ")
    assert note.endswith("of impatient: raise KeyboardInterrupt")
    assert gc.isenabled()
    assert asyncio._get_running_loop() is None
    assert cb.simulate(counter, counter).ok


def test_an_interrupt_in_a_task_of_an_agent_names_the_agent() -> None:
    async def impatient(me: cb.AgentMemory) -> None:
        async def stops() -> None:
            raise KeyboardInterrupt

        await asyncio.gather(stops())

    with pytest.raises(KeyboardInterrupt) as caught:
        cb.simulate(impatient)
    assert caught.value.__notes__[0].startswith("interrupted: impatient raised KeyboardInterrupt, at line ")


def test_an_agent_may_simulate_others() -> None:
    async def planner(me: cb.AgentMemory) -> int:
        await me.think(seconds=10)
        inner = cb.simulate(counter, counter, seed=3)
        await me.write("forecast", inner.value("shared/count"))
        task = asyncio.current_task()
        assert task is not None
        assert task.get_name() == me.name
        return int(inner.seconds)

    outer = cb.simulate({"planner": planner, "other": counter}, seed=2)
    assert outer.ok, outer.troubles
    assert outer.state == {"planner/forecast": 2, "shared/count": 1}
    assert outer.results["planner"] == cb.simulate(counter, counter, seed=3).seconds
    assert outer.seconds == 10
    assert {op.agent for op in outer.history} == {"planner", "other"}


def test_an_inner_simulation_that_is_interrupted_gives_the_outer_one_back_its_loop() -> None:
    async def impatient(me: cb.AgentMemory) -> None:
        raise KeyboardInterrupt

    async def planner(me: cb.AgentMemory) -> str:
        try:
            cb.simulate(impatient)
        except KeyboardInterrupt:
            await me.think(seconds=4)
        return f"went on until {asyncio.get_running_loop().time():g}"

    assert cb.simulate(planner).results == {"planner": "went on until 4"}


def test_no_garbage_is_collected_within_a_run() -> None:
    # Finalizers would run at moments that depend on how much memory is in use.
    async def agent(me: cb.AgentMemory) -> bool:
        return gc.isenabled()

    assert cb.simulate(agent).results == {"agent": False}
    assert gc.isenabled()


def test_the_collector_of_garbage_stays_off_if_it_was() -> None:
    gc.disable()
    try:
        cb.simulate(counter)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_is_left_behind_that_warns_later() -> None:
    async def leaves_all_kinds(me: cb.AgentMemory) -> None:
        async def slow() -> None:
            try:
                await asyncio.sleep(1000)
            finally:
                await asyncio.sleep(1)

        kept.append(asyncio.create_task(slow()))
        kept.append(asyncio.create_task(me.shared.write("x", 1)))
        asyncio.get_running_loop().call_later(10, print, "never")

    async def stubborn(me: cb.AgentMemory) -> None:
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                continue

    kept: list[Any] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cb.simulate(leaves_all_kinds, stubborn, max_operations=5)
        kept.clear()
        gc.collect()
    assert [str(warning.message) for warning in told] == []


def test_tasks_that_are_left_over_are_cancelled_and_touch_nothing_afterwards() -> None:
    cleaned = []

    async def background(me: cb.AgentMemory) -> None:
        try:
            await me.think(seconds=1000)
        finally:
            cleaned.append("begun")
            await me.write("cleaned", True)
            cleaned.append("never reached")

    async def agent(me: cb.AgentMemory) -> None:
        tasks.append(asyncio.create_task(background(me)))
        await me.think(seconds=1)

    tasks: list[Any] = []
    made = cb.simulate(agent)
    assert (made.outcome, made.seconds, made.state) == ("finished", 1, {})
    assert cleaned == ["begun"]
    assert tasks[0].cancelled()
    assert [op.kind for op in made.history] == ["think", "think"]


def test_an_agent_that_is_stuck_cannot_think_after_the_run_is_over() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await me.think(seconds=1, tokens=7)

    made = cb.simulate(agent)
    assert (made.outcome, made.tokens, len(made.history)) == ("deadlock", 0, 0)


def test_an_agent_that_ends_only_because_the_run_is_over_has_no_result() -> None:
    async def agent(me: cb.AgentMemory) -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "I was told to stop"

    made = cb.simulate(agent, counter)
    assert made.outcome == "deadlock"
    assert made.results == {"counter": None}


def test_the_outer_task_is_left_before_and_entered_after_while_its_loop_is_the_running_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # From 3.14 on Python refuses anything else; on older ones this test does.
    told = []

    def strict(name: str, real: Any) -> Any:
        def call(loop: Any, task: Any) -> None:
            assert asyncio._get_running_loop() is loop
            told.append(name)
            real(loop, task)

        return call

    async def body() -> None:
        monkeypatch.setattr(asyncio.tasks, "_leave_task", strict("left", asyncio.tasks._leave_task))
        monkeypatch.setattr(asyncio.tasks, "_enter_task", strict("entered", asyncio.tasks._enter_task))
        cb.simulate(counter)

    in_a_loop(body)
    assert told == ["left", "entered"]
