"""Virtual time is exact: what can happen now happens before time passes, and only deliveries may be late."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sim.orders import every

import commonboard as cb


async def thinks_then_writes(me: cb.AgentMemory) -> None:
    await me.think(seconds=1, tokens=50)
    await me.shared.write("x", me.name)


async def works_at_once(me: cb.AgentMemory) -> None:
    for number in range(3):
        await me.shared.write("x", number)


def test_operations_happen_before_time_passes_in_every_order() -> None:
    runs = list(every({"late": thinks_then_writes, "early": works_at_once}))
    assert len(runs) == 1  # there is only one thing that can happen, each time
    ops = [(op.agent, op.began_at, op.ended_at) for op in runs[0].history if op.kind == "write"]
    assert ops == [("early", 0, 0)] * 3 + [("late", 1, 1)]


def test_agents_that_think_equally_long_race_when_they_are_done() -> None:
    finals = {made.value("shared/x") for made in every({"a": thinks_then_writes, "b": thinks_then_writes})}
    assert finals == {"a", "b"}


def test_deliveries_may_come_at_once_or_when_time_has_passed_or_after_everything() -> None:
    async def reads_twice(me: cb.AgentMemory) -> list[Any]:
        await me.think(seconds=5)
        first = await me.value("shared/x")
        await me.think(seconds=5)
        return [first, await me.value("shared/x")]

    runs = list(every({"writer": thinks_then_writes, "reader": reads_twice}, world=cb.World(replicas=2)))
    seen = [made.results["reader"] for made in runs]
    assert [None, None] in seen
    assert [None, "writer"] in seen
    assert ["writer", "writer"] in seen
    assert {op.ended_at for made in runs for op in made.history if op.kind == "merge"} == {1, 5, 10}
    assert all(entry.value == "writer" for made in runs for page in made.boards.values() for entry in page)


def test_time_never_runs_backwards_and_operations_end_after_they_began() -> None:
    for seed in range(20):
        made = cb.simulate(cb.scenarios.consolidation, seed=seed, world=cb.World(replicas=2))
        moments = [op.ended_at for op in made.history if op.kind != "think"]
        assert moments == sorted(moments)
        assert all(op.began_at <= op.ended_at for op in made.history)
        assert all(op.begin < op.end for op in made.history)
        assert [op.index for op in made.history] == list(range(len(made.history)))
        ends = [op.end for op in made.history]
        assert ends == sorted(set(ends))


def test_thinking_takes_time_and_tokens_and_nothing_else() -> None:
    async def thinker(me: cb.AgentMemory) -> None:
        await me.think(seconds=90, tokens=800)
        await me.think(seconds=0.5)

    made = cb.simulate({"a": thinker, "b": thinker})
    assert (made.seconds, made.tokens, made.retries, len(made.log)) == (90.5, 1600, 0, 0)
    assert [str(op) for op in made.history][:2] == ["t=0 s  a thinks 90 s, 800 tokens", "t=0 s  b thinks 90 s, 800 tokens"]
    assert [(op.began_at, op.ended_at) for op in made.history] == [(0, 90), (0, 90), (90, 90.5), (90, 90.5)]


def test_a_retry_pays_for_its_thinking_again() -> None:
    async def slow(me: cb.AgentMemory) -> None:
        async def change(found: Any) -> int:
            await me.think(seconds=10, tokens=100)
            return (found or 0) + 1

        await me.shared.update("count", change)

    made = cb.simulate(slow, slow)
    assert made.value("shared/count") == 2
    assert (made.retries, made.tokens, made.seconds) == (1, 300, 20)


class TestBackoff:
    """A writer that backs off looks again when it comes back; what it found before the pause may be old by then."""

    @staticmethod
    async def busy(me: cb.AgentMemory) -> None:
        for _ in range(5):
            await me.think(seconds=1)
            await me.shared.update("count", lambda n: n + 1, cb.Optimistic())

    @staticmethod
    async def patient(me: cb.AgentMemory) -> None:
        async def change(found: int) -> int:
            if not slept:
                slept.append(True)
                await me.think(seconds=1.5)
            return found + 1

        slept: list[bool] = []
        await me.shared.update("count", change, cb.Optimistic(attempts=2, backoff=2))

    def test_works_on_what_is_there_after_the_pause(self) -> None:
        made = cb.simulate({"busy": self.busy, "patient": self.patient}, given={"shared/count": 0})
        assert made.ok, made.troubles
        assert made.value("shared/count") == 6
        assert made.retries == 1
        mine = [(op.kind, op.ok, op.ended_at, op.saw) for op in made.history if op.agent == "patient" and op.kind != "think"]
        looked = 1.5 + cb.Optimistic(backoff=2).pause(2, "patient")
        assert looked > 2  # busy has written twice by then, and once more while patient slept
        there = 1 + int(looked)
        assert mine == [
            ("read", True, 0, 1),
            ("compare-and-set", False, 1.5, 1),
            ("read", True, looked, there),
            ("compare-and-set", True, looked, there),
        ]

    def test_is_as_long_as_the_policy_says(self) -> None:
        tried = cb.Optimistic(attempts=4, backoff=1)

        async def always_late(me: cb.AgentMemory) -> None:
            async def change(found: int) -> int:
                await other.shared.write("count", found + 100)
                return found + 1

            other = me._memory.agent("other")
            with pytest.raises(cb.ConflictError, match="gave up after 4 attempts"):
                await me.shared.update("count", change, tried)

        made = cb.simulate(always_late, given={"shared/count": 0})
        assert made.ok, made.troubles
        refused, due = [op.ended_at for op in made.history if not op.ok], [0.0]
        for attempt in (2, 3, 4):
            due.append(round(due[-1] + tried.pause(attempt, "always_late"), 9))
        assert refused == due
        assert len(set(due)) == 4
