"""Where time is free, a delay is a lower bound: no race hides behind a think time. Exact time is asked for, and said."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.explorer.programs import brute, shown

import commonboard as cb

LAST = cb.LastWriterWins()


def add(found: Any) -> int:
    return int(found or 0) + 1


async def slow(me: cb.AgentMemory) -> None:
    await me.think(seconds=30)
    await me.shared.update("n", add)


async def fast(me: cb.AgentMemory) -> None:
    await me.think(seconds=10)
    await me.shared.update("n", add)


async def sleeps(me: cb.AgentMemory) -> None:
    await asyncio.sleep(30)
    await me.shared.update("n", add)


async def dozes(me: cb.AgentMemory) -> None:
    await asyncio.sleep(10)
    await me.shared.update("n", add)


@pytest.mark.parametrize("agents", [(slow, fast), (sleeps, dozes), (fast, sleeps)], ids=["think", "sleep", "both"])
def test_a_race_behind_thirty_seconds_against_ten_is_found(agents: Any) -> None:
    verdict = cb.explore(*agents, policy=LAST)
    assert verdict.holds is False
    assert (verdict.explored.interleavings, verdict.explored.violating) == (6, 4)
    assert verdict.explored.timing == "free"
    assert "delays as lower bounds" in str(verdict)
    assert cb.no_lost_updates(cb.simulate(*agents, policy=LAST, replay=verdict.token)).holds is False


def test_exact_time_hides_it_and_says_that_it_is_exact() -> None:
    verdict = cb.explore(slow, fast, policy=LAST, timing="exact")
    assert verdict.holds is True
    assert (verdict.explored.timing, verdict.explored.completed) == ("exact", 1)
    assert "delays as long as they say" in str(verdict)
    assert "the delays are exact" in verdict.explored.why


def test_exact_time_finds_what_happens_at_the_same_moment() -> None:
    verdict = cb.explore(fast, dozes, policy=LAST, timing="exact")
    assert verdict.holds is False
    assert verdict.token.startswith("cb1-")
    again = cb.simulate(fast, dozes, policy=LAST, replay=verdict.token)
    assert str(again.history) == str(verdict.run.history)


def test_a_think_in_the_middle_of_an_update_is_found_too() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        async def change(found: Any) -> int:
            await me.think(seconds=5)
            return add(found)

        await me.shared.update("n", change)

    verdict = cb.explore(agent, agent, policy=LAST)
    assert (verdict.explored.interleavings, verdict.explored.violating) == (6, 4)
    # While an agent thinks, the others come in: that is no preemption.
    assert verdict.explored.preemptions == 0


class TestTimeouts:
    """`asyncio.timeout` around an operation: it may come in time or not, whatever its seconds."""

    @staticmethod
    async def hurries(me: cb.AgentMemory) -> str:
        try:
            async with asyncio.timeout(5):
                await me.shared.write("x", 1)
                await me.shared.write("y", 1)
        except TimeoutError:
            return "late"
        return "in time"

    @staticmethod
    async def looks(me: cb.AgentMemory) -> Any:
        return await me.value("shared/x"), await me.value("shared/y")

    def test_both_ways_are_tried(self) -> None:
        agents = {"hurries": self.hurries, "looks": self.looks}
        truth = brute(agents)
        for how in ("states", "sleep sets", "none"):
            outcomes, verdict = shown(agents, how)
            assert outcomes == truth.outcomes(), how
            assert verdict.holds is True
        assert {run.results["hurries"] for _, run in truth.orders} == {"late", "in time"}

    def test_what_only_goes_wrong_when_it_is_late_is_found_and_replayed(self) -> None:
        both = cb.at_the_end(lambda state: ("shared/x" in state) is ("shared/y" in state), "both or none")
        verdict = cb.explore(self.hurries, check=both)
        assert verdict.holds is False
        again = cb.simulate(self.hurries, replay=verdict.token)
        assert again.results == {"hurries": "late"}
        assert both(again).holds is False

    def test_a_timeout_around_a_poll_ends_it(self) -> None:
        async def polls(me: cb.AgentMemory) -> str:
            try:
                async with asyncio.timeout(5):
                    while not await me.value("shared/ready"):
                        await me.think(seconds=1)
            except TimeoutError:
                await me.shared.write("late", True)
                return "late"
            return "ready"

        async def sets(me: cb.AgentMemory) -> None:
            await me.shared.write("ready", True)

        late = cb.at_the_end(lambda state: "shared/late" not in state, "never late")
        verdict = cb.explore(polls, sets, check=late)
        assert verdict.holds is False
        assert cb.explore(polls, sets, check=cb.at_the_end(lambda state: True, "anything")).holds is True


class TestTasksInsideAnAgent:
    def test_operations_under_way_at_once_are_tried_in_every_order(self) -> None:
        async def both(me: cb.AgentMemory) -> None:
            await asyncio.gather(me.shared.update("n", add), me.shared.update("n", add))

        verdict = cb.explore(both, policy=LAST)
        truth = brute(both, policy=LAST)
        assert verdict.holds is False
        assert (verdict.explored.interleavings, verdict.explored.violating) == (len(truth.orders), sum(truth.fails()))

    def test_sleeps_in_tasks_of_one_agent_may_end_in_any_order(self) -> None:
        async def job(me: cb.AgentMemory, seconds: int) -> None:
            await asyncio.sleep(seconds)
            await me.write("last", seconds)

        async def agent(me: cb.AgentMemory) -> None:
            await asyncio.gather(job(me, 1), job(me, 2))

        outcomes, _ = shown(agent, "states")
        assert outcomes == brute(agent).outcomes()
        assert len(outcomes) == 2

    def test_a_task_group_is_explored(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(me.shared.write("x", me.name))
                group.create_task(me.shared.write("y", me.name))

        agents = {"a": agent, "b": agent}
        assert shown(agents, "states")[0] == brute(agents).outcomes()

    def test_a_task_that_goes_on_after_its_agent_ended_is_explored(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            asyncio.create_task(me.shared.update("n", add))  # noqa: RUF006 - the simulation keeps it
            await me.write("done", True)

        async def other(me: cb.AgentMemory) -> None:
            await me.shared.update("n", add)
            await me.shared.write("m", 1)

        truth = brute({"a": agent, "b": other}, policy=LAST)
        explored = cb.explore({"a": agent, "b": other}, policy=LAST, reduction="states").explored
        assert (explored.interleavings, explored.violating) == (len(truth.orders), sum(truth.fails()))

    def test_an_error_in_a_task_that_nobody_awaits_is_found(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            async def fails() -> None:
                raise ValueError("nobody hears of this")

            task = asyncio.create_task(fails())
            await me.write("step", 1)
            await me.write("step", task.done())

        assert cb.simulate(agent).outcome == "failed"
        assert cb.explore(agent).holds is False
