"""Agents that wait: polls and retries do not explode, deadlock and livelock are found and named, `watch` waits for news."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import itertools
from typing import Any

import pytest
from tests.explorer.programs import brute, counter, shown

import commonboard as cb

MOVES = importlib.import_module("commonboard.explorer.moves")
KEPT = cb.at_the_end(lambda state: True, "anything goes")


async def sets(me: cb.AgentMemory) -> None:
    await me.shared.write("ready", True)


async def polls(me: cb.AgentMemory) -> None:
    while not await me.value("shared/ready"):
        pass
    await me.write("done", True)


def line_of(fn: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(fn)
    return first + next(n for n, line in enumerate(lines) if text in line)


class TestAPoll:
    def test_comes_to_an_end_in_few_states(self) -> None:
        verdict = cb.explore(polls, sets)
        assert verdict.holds is True
        assert verdict.explored.states <= 10
        assert verdict.explored.interleavings is None  # there is no end of them
        assert "every interleaving" in verdict.sentence

    def test_of_three_agents_comes_to_an_end_too(self) -> None:
        verdict = cb.explore({"a": polls, "b": polls, "c": polls, "sets": sets})
        assert verdict.holds is True
        assert verdict.explored.states < 500

    def test_with_a_pause_comes_to_an_end(self) -> None:
        async def pauses(me: cb.AgentMemory) -> None:
            while not await me.value("shared/ready"):
                await me.think(seconds=1)

        verdict = cb.explore(pauses, sets)
        assert verdict.holds is True
        assert verdict.explored.states <= 20

    def test_hides_no_race_that_comes_after_it(self) -> None:
        async def racer(me: cb.AgentMemory) -> None:
            while not await me.value("shared/ready"):
                pass
            await me.shared.update("n", lambda found: (found or 0) + 1)

        both = cb.at_the_end(lambda state: state["shared/n"] == 2, "both are counted")
        verdict = cb.explore({"a": racer, "b": racer, "sets": sets}, policy=cb.LastWriterWins(), check=both)
        assert verdict.holds is False
        assert verdict.run.value("shared/n") == 1

    def test_that_nobody_ends_is_a_livelock(self) -> None:
        verdict = cb.explore(polls, counter())
        assert verdict.holds is False
        assert verdict.findings[0].kind == "livelock"
        assert "polls goes round in a circle" in str(verdict)

    def test_that_only_one_order_ends_is_a_livelock_in_the_others(self) -> None:
        async def opens(me: cb.AgentMemory) -> None:
            if not await me.value("shared/shut"):
                await me.shared.write("ready", True)

        async def shuts(me: cb.AgentMemory) -> None:
            await me.shared.write("shut", True)

        verdict = cb.explore(polls, opens, shuts)
        assert verdict.holds is False
        assert verdict.findings[0].kind == "livelock"

    @pytest.mark.parametrize("reduction", ["sleep sets", "auto"])
    def test_ends_where_classes_of_schedules_are_run_too(self, monkeypatch: pytest.MonkeyPatch, reduction: Any) -> None:
        step, steps = MOVES.Moves.step, itertools.count()

        def counted(moves: Any, state: Any, move: Any) -> Any:
            if next(steps) > 5_000:
                raise RuntimeError("it goes on and on")
            return step(moves, state, move)

        monkeypatch.setattr(MOVES.Moves, "step", counted)

        def history(run: cb.Run) -> cb.check.Verdict:
            return cb.no_lost_updates(run)

        assert cb.explore(polls, sets, check=history, reduction=reduction, budget=100, samples=0) is not None  # type: ignore[arg-type]


class TestARetry:
    def test_by_compare_and_set_that_nothing_changed_waits(self) -> None:
        async def adds(me: cb.AgentMemory) -> None:
            while not await me.shared.compare_and_set("n", found := await me.value("shared/n"), (found or 0) + 1):
                pass

        agents = {"a": adds, "b": adds}
        right = cb.at_the_end(lambda state: state["shared/n"] == 2, "both are counted")
        verdict = cb.explore(agents, check=right)
        assert (verdict.holds, verdict.explored.interleavings) == (True, len(brute(agents).orders))

    def test_that_expects_what_never_comes_is_a_livelock(self) -> None:
        async def waits(me: cb.AgentMemory) -> None:
            while not await me.shared.compare_and_set("turn", me.name, "taken"):
                pass

        verdict = cb.explore(waits, given={"shared/turn": "nobody"})
        assert verdict.findings[0].kind == "livelock"

    def test_of_two_polite_agents_is_a_livelock(self) -> None:
        async def polite(me: cb.AgentMemory) -> None:
            other = "b" if me.name == "a" else "a"
            while True:
                await me.write("wants", True)
                if not await me.value(f"{other}/wants"):
                    return
                await me.write("wants", False)

        verdict = cb.explore({"a": polite, "b": polite})
        assert verdict.holds is False
        assert verdict.findings[0].kind == "livelock"
        assert "a and b go round in a circle" in str(verdict)


class TestADeadlock:
    async def waits(self, me: cb.AgentMemory) -> None:
        async for event in me.watch():  # the line that is named
            if event.key == "shared/go":
                return

    async def goes(self, me: cb.AgentMemory) -> None:
        if not await me.value("shared/stop"):
            await me.shared.write("go", True)

    async def stops(self, me: cb.AgentMemory) -> None:
        await me.shared.write("stop", True)

    def test_is_found_in_the_order_that_has_it_and_named_with_its_line(self) -> None:
        agents = {"waits": self.waits, "goes": self.goes, "stops": self.stops}
        verdict = cb.explore(agents)
        assert verdict.holds is False
        assert verdict.findings[0].kind == "deadlock"
        told = str(verdict)
        assert f"at line {line_of(self.waits, 'the line that is named')} of waits: async for event in" in told
        again = cb.simulate(agents, replay=verdict.token)
        assert again.outcome == "deadlock"

    def test_is_counted_as_brute_force_counts_it(self) -> None:
        agents = {"waits": self.waits, "goes": self.goes, "stops": self.stops}
        truth = brute(agents)
        explored = cb.explore(agents, check=KEPT).explored
        assert explored.violating == sum(run.outcome == "deadlock" for _, run in truth.orders)

    def test_of_an_agent_alone_is_found(self) -> None:
        async def waits(me: cb.AgentMemory) -> None:
            await me.write("step", 1)
            await asyncio.Event().wait()

        verdict = cb.explore(waits, counter())
        assert verdict.findings[0].kind == "deadlock"
        assert "waits for" in str(verdict)


class TestFollowingTheLog:
    def test_waits_for_news_in_every_order(self) -> None:
        async def follows(me: cb.AgentMemory) -> list[Any]:
            seen = []
            async for event in me.watch():
                seen.append((event.key, event.actor))
                if len(seen) == 2:
                    break
            return seen

        async def writes(me: cb.AgentMemory) -> None:
            await me.shared.write(me.name, 1)

        agents = {"follows": follows, "a": writes, "b": writes}
        truth = brute(agents)
        for how in ("states", "sleep sets", "none"):
            outcomes, verdict = shown(agents, how)
            assert (outcomes, verdict.holds) == (truth.outcomes(), True), how
        assert {str(run.results["follows"]) for _, run in truth.orders} == {
            str([("shared/a", "a"), ("shared/b", "b")]), str([("shared/b", "b"), ("shared/a", "a")]),
        }  # fmt: skip

    def test_by_looking_once_shows_in_which_order_others_wrote(self) -> None:
        async def looks(me: cb.AgentMemory) -> list[str]:
            return [event.key for event in await me._memory.log()]

        agents = {"looks": looks, "a": counter(1, "x"), "b": counter(1, "y")}
        truth = brute(agents)
        assert shown(agents, "states")[0] == truth.outcomes()
        assert shown(agents, "sleep sets")[0] == truth.outcomes()


class TestAPolicyThatThinks:
    def test_is_explored(self) -> None:
        async def longest(base: Any, mine: Any, theirs: Any) -> Any:
            await asyncio.sleep(3)
            return mine if len(mine.value) >= len(theirs.value) else theirs

        async def notes(me: cb.AgentMemory) -> Any:
            entry = await me.shared.update("note", lambda found: me.name * len(me.name))
            return entry and entry.value

        agents, options = {"a": notes, "bbb": notes, "cc": notes}, {"policy": longest}
        truth = brute(agents, 10_000, **options)
        assert shown(agents, "states", **options)[0] == truth.outcomes()
        keeps = cb.at_the_end(lambda state: state["shared/note"] == "bbb" * 3, "the longest is kept")
        verdict = cb.explore(agents, policy=longest, check=keeps)
        assert (verdict.holds is False) is any(run.value("shared/note") != "bbb" * 3 for _, run in truth.orders)

    def test_that_raises_ends_its_agent_and_that_is_found(self) -> None:
        async def breaks(base: Any, mine: Any, theirs: Any) -> Any:
            raise ValueError("no model answers")

        verdict = cb.explore(counter(), counter(), policy=breaks)
        assert verdict.holds is False
        assert "no model answers" in str(verdict)


def test_the_token_of_agents_that_go_round_in_a_circle_replays_alone() -> None:
    async def polls(me: cb.AgentMemory) -> None:
        while not await me.value("shared/ready"):
            pass

    verdict = cb.explore(polls, polls)
    assert verdict.findings[0].kind == "livelock"
    again = cb.simulate(polls, polls, replay=verdict.token)
    assert (again.outcome, again.token) == ("endless", verdict.token)
    assert str(again.history) == str(verdict.run.history)
