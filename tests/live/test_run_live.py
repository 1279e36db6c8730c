"""The same agents for real: on a running event loop, in one process."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any

import pytest
from tests.helpers import FiveMethods, run
from tests.recording.slow import Gated, Paused, PausedWithCompareAndSet

import commonboard as cb
from commonboard import scenarios
from commonboard.check.linearizable import linearizable
from commonboard.live import LiveRun, in_every_order, run_live
from commonboard.recording import acting, record


async def add(me: cb.AgentMemory) -> int:
    entry = await me.shared.update("n", lambda n: (n or 0) + 1)
    assert entry is not None
    return int(entry.value)


class TestTheDemonstration:
    def test_last_writer_wins_is_seen_to_lose_on_a_five_method_store_with_a_pause(self) -> None:
        live = run(run_live(add, add, store=Paused(), policy=cb.LastWriterWins()))
        assert live.ok
        assert live.value("shared/n") == 1
        verdict = cb.no_lost_updates(live)
        assert verdict.holds is False
        assert verdict.sentence == "No lost updates: violated in this run, 1 finding"
        assert live.doubts == []

    def test_optimistic_loses_nothing_on_a_built_in_store(self) -> None:
        live = run(run_live(*[add] * 5, store=cb.InMemoryStore(), policy=cb.Optimistic()))
        assert live.value("shared/n") == 5
        assert cb.no_lost_updates(live).holds is True
        assert linearizable()(live).holds is True

    def test_optimistic_loses_nothing_when_its_agents_really_meet(self) -> None:
        async def slow(me: cb.AgentMemory) -> None:
            async def change(n: Any) -> Any:
                await me.think(seconds=30)
                return (n or 0) + 1

            for _ in range(3):
                await me.shared.update("n", change)

        for store in (None, PausedWithCompareAndSet()):
            warned: Any = pytest.warns(UserWarning, match="ABA") if store else nullcontext()
            with warned:
                live = run(run_live(slow, slow, slow, store=store))
            assert live.value("shared/n") == 9
            assert live.retries > 0
            assert cb.no_lost_updates(live).holds is True
            lost = run(run_live(slow, slow, slow, policy=cb.LastWriterWins()))
            assert lost.value("shared/n") < 9
            assert cb.no_lost_updates(lost).holds is False

    def test_three_that_overlap_are_unknown_until_every_order_is_asked(self) -> None:
        live = run(run_live(add, add, add, store=Paused(), policy=cb.LastWriterWins()))
        assert cb.no_lost_updates(live).holds is None
        assert len(list(live.orders())) == 2
        verdict = in_every_order(cb.no_lost_updates, live)
        assert verdict.holds is False
        assert "each of the 2 orders that the record allows" in verdict.sentence
        assert "this is one of them" in str(verdict.notes[-1])
        assert in_every_order(cb.no_lost_updates, live, limit=1).holds is None

    def test_orders_that_do_not_agree_stay_unknown(self) -> None:
        async def main() -> Any:
            inner = Gated("seen", "blind")
            recorded = record(inner)

            async def write(agent: str, text: str) -> None:
                with acting(agent):
                    await recorded.set("shared/x", text)

            with acting("web"):
                await recorded.get("shared/x")
            tasks = [asyncio.create_task(write("web", "seen")), asyncio.create_task(write("docs", "blind"))]
            await asyncio.sleep(0)
            for gate in inner.gates.values():
                gate.set()
            await asyncio.gather(*tasks)
            return recorded

        verdict = in_every_order(cb.no_lost_updates, run(main()))
        assert verdict.holds is None
        assert "violated in 1 of 2 orders" in verdict.why

    def test_only_what_has_orders_is_asked(self) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="not a list"):
            in_every_order(cb.no_lost_updates, [])


class TestBesideTheSimulation:
    @pytest.mark.parametrize("policy", [cb.LastWriterWins(), cb.Optimistic()], ids=lambda policy: policy.name)
    @pytest.mark.parametrize("scenario", [scenarios.research_crew, scenarios.counter, scenarios.claim_the_task], ids=str)
    def test_the_same_agents_get_a_verdict_of_the_same_type(self, scenario: cb.Scenario, policy: Any) -> None:
        live = run(run_live(scenario, policy=policy, store=cb.InMemoryStore()))
        wanted = {type(cb.no_lost_updates(cb.simulate(scenario, policy=policy, seed=seed))) for seed in range(20)}
        assert live.ok
        assert type(cb.no_lost_updates(live)) in wanted
        assert linearizable()(live).holds is True
        if policy.name == "Optimistic":
            assert (live.lost, {fate.name for fate in live.fates}) == ([], {"kept"})
            assert cb.every_intent_kept(live).holds is True

    def test_a_history_looks_like_one_of_the_simulation(self) -> None:
        live = run(run_live(add, store=None, given={"shared/n": 1}))
        simulated = cb.simulate(add, given={"shared/n": 1})

        def told(history: cb.History) -> list[Any]:
            return [(op.index, op.agent, op.kind, op.key, op.value, op.saw, op.replaced, op.made, op.ok) for op in history]

        assert told(live.history) == told(simulated.history)
        assert [event.value for event in live.log] == [event.value for event in simulated.log]
        assert live.state == simulated.state == {"shared/n": 2}
        assert (live.agents, live.results, live.outcome) == (simulated.agents, simulated.results, simulated.outcome)
        assert [(call.agent, call.outcome, call.operation) for call in live.calls] == [("add", "wrote", live.history[2])]

    def test_transactions_are_told_as_the_simulation_tells_them(self) -> None:
        async def on_call(me: cb.AgentMemory) -> None:
            try:
                async with me.transaction() as tx:
                    there = [entry.key for entry in await tx.list("shared/on_call")]
                    await tx.value("shared/limit")
                    await asyncio.sleep(0)
                    if len(there) > 1:
                        await tx.shared.delete(f"on_call/{me.name}")
            except cb.ConflictError:
                return

        crew = {"web": on_call, "docs": on_call}
        given = {"shared/on_call/web": True, "shared/on_call/docs": True, "shared/limit": 1}
        live = run(run_live(crew, given=given))

        def told(history: cb.History) -> Any:
            return [(op.agent, op.kind, op.key, op.saw, op.made, op.transaction, op.ok) for op in history if op.agent == "web"]

        runs = [cb.simulate(crew, given=given, seed=seed) for seed in range(20)]
        assert told(live.history) in [told(one.history) for one in runs]
        assert [(op.kind, op.transaction, op.ok) for op in live.history if op.agent == "docs"] == [
            ("list", "docs#1", True),
            ("read", "docs#1", True),
            ("compare-and-set", "docs#1", False),
        ]
        assert len(live.state) == 2

    def test_a_lost_intent_has_its_fate(self) -> None:
        live = run(run_live(scenarios.research_crew, store=Paused(), policy=cb.LastWriterWins()))
        assert sorted(fate.name for fate in live.fates) == ["kept", "overwritten"]
        assert cb.every_intent_kept(live).holds is False

    def test_where_versions_are_not_known_fates_are_not_guessed(self) -> None:
        three = scenarios.counter(agents=3)
        live = run(run_live(three, store=Paused(), policy=cb.LastWriterWins()))
        assert live.doubts != []
        assert [fate.name for fate in live.fates] == ["kept", "unknown", "unknown"]

    def test_the_picture_tells_the_loss(self) -> None:
        live = run(run_live(add, add, store=Paused(), policy=cb.LastWriterWins()))
        assert "without having seen that" in str(live.spacetime())
        assert live.spacetime(caption="mine").caption == "mine"
        assert list(live.to_frame()["kind"]).count("write") == 2
        assert "Live run of add-1, add-2 under LastWriterWins on Paused: finished" in live._repr_html_()


class TestWhatGoesWrong:
    def test_an_agent_that_raises_ends_in_errors_and_the_others_go_on(self) -> None:
        async def broken(me: cb.AgentMemory) -> None:
            await me.write("k", 1)
            raise ValueError("no such page")

        live = run(run_live({"broken": broken, "add": add}))
        assert live.outcome == "failed"
        assert not live.ok
        assert isinstance(live.errors["broken"], ValueError)
        assert live.results == {"add": 1}
        (trouble,) = live.troubles
        assert (trouble.agent, trouble.function) == ("broken", "broken")
        assert "no such page" in str(trouble)
        assert cb.no_lost_updates(live).holds is None

    def test_a_refusal_is_an_error_of_its_agent(self) -> None:
        async def claim(me: cb.AgentMemory) -> None:
            await me.value("shared/k")
            await asyncio.sleep(0)
            await me.shared.update("k", lambda _: me.name, policy=cb.FirstWriterWins())

        async def slow(me: cb.AgentMemory) -> None:
            async def change(_: Any) -> str:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                return me.name

            await me.shared.update("k", change, policy=cb.SingleWriter("nobody"))

        live = run(run_live({"claim": claim, "slow": slow}))
        assert isinstance(live.errors["slow"], cb.NotAdmittedError)
        assert [call.outcome for call in live.calls if call.agent == "slow"] == ["refused"]

    def test_when_the_time_is_up_those_that_are_left_are_named_and_stopped(self) -> None:
        stopped = []

        async def waits(me: cb.AgentMemory) -> None:
            await me.write("began", True)
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(me.name)

        live = run(run_live({"waits": waits, "add": add}, timeout_s=0.5))
        assert live.outcome == "endless"
        assert stopped == ["waits"]
        (trouble,) = live.troubles
        assert str(trouble).startswith("waits never ends (timeout_s=0.5 is spent), at line ")
        assert "asyncio.Event().wait()" in trouble.source
        assert live.results == {"add": 1}
        assert live.value("waits/began") is True
        assert cb.no_lost_updates(live).holds is None

    def test_an_agent_that_does_not_stop_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("commonboard.live.play.GRACE_S", 0.05)
        release = []

        async def stubborn(me: cb.AgentMemory) -> None:
            release.append(asyncio.Event())
            while not release[0].is_set():
                try:
                    await release[0].wait()
                except asyncio.CancelledError:
                    continue

        async def main() -> LiveRun:
            live = await run_live(stubborn, timeout_s=0.05)
            release[0].set()
            return live

        assert "goes on although it was cancelled" in str(run(main()).troubles[-1])

    def test_a_write_that_was_cut_off_is_not_called_done(self) -> None:
        class Stuck(FiveMethods):
            async def set(self, key: str, value: str, metadata: Any = None) -> None:
                await asyncio.Event().wait()

        live = run(run_live(add, store=Stuck(), policy=cb.LastWriterWins(), timeout_s=0.05))
        (write,) = [op for op in live.history if op.kind == "write"]
        assert (write.made, write.acknowledged) == (None, False)
        assert [call.outcome for call in live.calls] == ["cancelled"]

    def test_whoever_cancels_it_stops_the_agents(self) -> None:
        stopped = []

        async def main() -> None:
            began = asyncio.Event()

            async def waits(me: cb.AgentMemory) -> None:
                began.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    stopped.append(me.name)

            task = asyncio.create_task(run_live(waits))
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run(main())
        assert stopped == ["waits"]

    def test_an_agent_that_cancels_itself_has_not_finished(self) -> None:
        async def gives_up(me: cb.AgentMemory) -> None:
            raise asyncio.CancelledError

        live = run(run_live(gives_up))
        assert (live.outcome, list(live.errors)) == ("failed", ["gives_up"])

    def test_what_is_no_agent_is_refused_before_anything_runs(self) -> None:
        store = cb.InMemoryStore()

        def plain(me: cb.AgentMemory) -> None: ...

        with pytest.raises(cb.AgentError, match="not async"):
            run(run_live({"add": add, "plain": plain}, store=store))
        assert run(store.list()) == []

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"processes": 0}, "processes="),
            ({"processes": True}, "processes="),
            ({"timeout_s": 0}, "timeout_s="),
            ({"pace": -1}, "pace="),
            ({"pace": float("nan")}, "pace="),
            ({"processes": 2, "timeout_s": None}, "timeout_s="),
            ({"processes": 2, "clock": lambda: 0.0}, "clock="),
        ],
    )
    def test_numbers_out_of_range_are_refused(self, options: Any, words: str) -> None:
        with pytest.raises(cb.InvalidArgumentError, match=words):
            run(run_live(add, **options))


class TestTheStore:
    def test_it_keeps_what_it_holds_and_what_was_given_comes_on_top(self) -> None:
        async def main() -> LiveRun:
            store = cb.InMemoryStore()
            await cb.SharedMemory(store).write("old", "k", 1)
            return await run_live(add, store=store, given={"shared/n": 5})

        live = run(main())
        assert live.state == {"old/k": 1, "shared/n": 6}
        assert [event.key for event in live.log] == ["shared/n"]

    def test_one_that_a_function_opens_is_closed_and_one_that_is_handed_in_is_not(self) -> None:
        closed = []

        class Closing(FiveMethods):
            async def aclose(self) -> None:
                closed.append(self)

        async def opened() -> Closing:
            return Closing()

        for store, times in ((Closing, 1), (opened, 2), (Closing(), 2)):
            assert run(run_live(add, store=store, policy=cb.LastWriterWins())).value("shared/n") == 1
            assert len(closed) == times

    def test_who_writes_beside_the_run_is_in_the_history(self) -> None:
        async def main() -> LiveRun:
            store = cb.InMemoryStore()

            async def meets(me: cb.AgentMemory) -> None:
                async def change(n: Any) -> int:
                    if n is None:
                        await cb.SharedMemory(store).agent("stranger").shared.write("n", 10)
                    return (n or 0) + 1

                await me.shared.update("n", change)

            return await run_live(meets, store=store)

        live = run(main())
        assert live.value("shared/n") == 11
        assert [(op.agent, op.made) for op in live.history.writes()] == [("stranger", 1), ("meets", 2)]
        assert live.retries == 1

    def test_a_shared_turn_is_kept_in_the_store(self) -> None:
        async def next_turn(me: cb.AgentMemory) -> None:
            await me._memory.advance_turn()

        async def main() -> int:
            store = cb.InMemoryStore()
            await run_live(next_turn, store=store, turn="shared")
            return await cb.SharedMemory(store, turn="shared").advance_turn()

        assert run(main()) == 2


class TestTime:
    def test_thinking_lasts_as_long_as_pace_says(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        async def thinks(me: cb.AgentMemory) -> None:
            await me.think(seconds=30, tokens=7)

        monkeypatch.setattr(asyncio, "sleep", sleep)
        live = run(run_live(thinks, pace=0.5))
        run(run_live(thinks))
        assert slept == [15.0, 0.0]
        assert live.tokens == 7
        assert [(op.kind, op.note) for op in live.history] == [("think", "30 s, 7 tokens")]

    def test_the_rest_of_the_loop_goes_on(self) -> None:
        async def main() -> bool:
            other = asyncio.Event()

            async def beside() -> None:
                other.set()

            async def waits(me: cb.AgentMemory) -> bool:
                task = asyncio.create_task(beside())
                await me.think(seconds=60)
                await task
                return other.is_set()

            return bool((await run_live(waits)).results["waits"])

        assert run(main())

    def test_seconds_are_those_of_the_clock(self) -> None:
        ticks = iter(range(100))
        live = run(run_live(add, clock=lambda: float(next(ticks))))
        assert live.history[0].began_at == 0.0
        assert live.seconds == live.history[-1].ended_at > 1


def test_agents_that_gather_tasks_keep_their_name() -> None:
    async def both(me: cb.AgentMemory) -> None:
        await asyncio.gather(me.value("shared/a"), me.shared.write("b", 1))

    live = run(run_live({"me": both}))
    assert {op.agent for op in live.history} == {"me"}


def test_errors_name_the_store_that_was_given_and_not_its_recorder() -> None:
    live = run(run_live({"me": add}, store=FiveMethods()))
    assert "which FiveMethods does not have" in str(live)
    assert "RecordedStore" not in str(live)


def test_a_write_without_an_answer_is_drawn_as_one() -> None:
    class Silent(FiveMethods):
        async def set(self, key: str, value: str, metadata: Any = None) -> None:
            await super().set(key, value, metadata)
            raise ConnectionError("the answer was lost")

    async def writes(me: cb.AgentMemory) -> None:
        await me.shared.write("n", 1)

    live = run(run_live({"me": writes}, store=Silent()))
    assert "write, no answer" in str(live.spacetime())
    assert "No answer came back." in live.spacetime()._repr_html_()
