"""An agent that raises, a deadlock, an endless loop: each result names the agent, its line and what it waits for."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import commonboard as cb
from commonboard.sim.trouble import Trouble


async def fine(me: cb.AgentMemory) -> str:
    await me.write("done", True)
    return "done"


def only_trouble(made: cb.Run) -> Trouble:
    (trouble,) = made.troubles
    return trouble


class TestAnAgentThatRaises:
    def test_fails_the_run_and_lets_the_others_finish(self) -> None:
        async def fails(me: cb.AgentMemory) -> None:
            await me.think(seconds=5)
            raise LookupError("no such page")

        made = cb.simulate(fails, fine)
        assert (made.outcome, made.ok) == ("failed", False)
        assert made.results == {"fine": "done"}
        assert made.state == {"fine/done": True}
        assert isinstance(made.errors["fails"], LookupError)
        trouble = only_trouble(made)
        assert (trouble.agent, trouble.what) == ("fails", "raised LookupError: no such page")
        assert (trouble.function, trouble.source) == ("fails", 'raise LookupError("no such page")')
        assert trouble.line == fails.__code__.co_firstlineno + 2
        assert str(trouble) in str(made)

    def test_is_told_without_a_text_if_it_has_none(self) -> None:
        async def fails(me: cb.AgentMemory) -> None:
            raise LookupError

        assert only_trouble(cb.simulate(fails)).what == "raised LookupError"

    def test_is_told_by_the_line_of_its_own_not_of_what_it_called(self) -> None:
        async def fails(me: cb.AgentMemory) -> None:
            json.loads("no JSON")

        async def writes(me: cb.AgentMemory) -> None:
            await me.write("x", {1, 2})

        assert only_trouble(cb.simulate(fails)).source == 'json.loads("no JSON")'
        assert only_trouble(cb.simulate(writes)).source == 'await me.write("x", {1, 2})'

    def test_is_told_by_the_line_of_the_function_that_failed(self) -> None:
        def half(n: Any) -> float:
            return n / 2

        async def fails(me: cb.AgentMemory) -> None:
            await me.shared.update("x", half)

        trouble = only_trouble(cb.simulate(fails, given={"shared/x": "text"}))
        assert (trouble.function, trouble.source) == ("half", "return n / 2")

    def test_has_its_line_even_where_all_of_it_is_the_library_s(self) -> None:
        made = cb.simulate(cb.scenarios.counter, given={"shared/count": "text"})
        assert [trouble.agent for trouble in made.troubles] == ["counter-1", "counter-2"]
        assert made.troubles[0].what.startswith("raised TypeError")
        assert made.troubles[0].line > 0

    def test_was_cancelled(self) -> None:
        async def gives_up(me: cb.AgentMemory) -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await me.think(seconds=1)

        made = cb.simulate(gives_up)
        assert made.outcome == "failed"
        assert str(only_trouble(made)) == "gives_up raised CancelledError: the agent was cancelled"

    def test_lost_the_race_too_often(self) -> None:
        async def impatient(me: cb.AgentMemory) -> None:
            await me.shared.update("count", lambda n: (n or 0) + 1, cb.Optimistic(attempts=1))

        runs = [cb.simulate(impatient, impatient, seed=seed) for seed in range(10)]
        failed = [made for made in runs if not made.ok]
        assert failed
        assert {made.outcome for made in runs} == {"finished", "failed"}
        for made in failed:
            assert "ConflictError: the update of 'shared/count'" in only_trouble(made).what
            assert made.value("shared/count") == 1


class TestATaskGroup:
    def test_with_one_failed_child_is_told_as_the_child(self) -> None:
        async def child() -> None:
            await asyncio.sleep(1)
            raise ValueError("no such page")

        async def agent(me: cb.AgentMemory) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(child())
                group.create_task(me.think(seconds=100))

        made = cb.simulate(agent)
        trouble = only_trouble(made)
        assert made.outcome == "failed"
        assert trouble.what == "raised ValueError: no such page"
        assert (trouble.function, trouble.source) == ("child", 'raise ValueError("no such page")')
        assert made.seconds == 1

    def test_with_several_failed_children_is_told_flat_as_all_of_them(self) -> None:
        async def child(error: Exception) -> None:
            raise error

        async def deeper() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(child(KeyError("b")))
                group.create_task(child(OSError()))

        async def agent(me: cb.AgentMemory) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(child(ValueError("a")))
                group.create_task(deeper())

        made = cb.simulate(agent)
        trouble = only_trouble(made)
        assert trouble.what == "raised ValueError: a; KeyError: 'b'; OSError"
        assert trouble.function == "agent"
        assert "ExceptionGroup" not in str(made)


class TestWhatNobodyAwaited:
    def test_a_background_task_that_dies_fails_the_run_by_the_name_of_its_agent(self) -> None:
        async def dies() -> None:
            raise ValueError("no such page")

        async def agent(me: cb.AgentMemory) -> None:
            tasks.append(asyncio.create_task(dies()))
            await me.think(seconds=1)

        tasks: list[Any] = []
        made = cb.simulate({"web": agent, "other": fine})
        assert made.outcome == "failed"
        assert made.errors == {}
        assert made.results == {"web": None, "other": "done"}
        trouble = only_trouble(made)
        assert trouble.agent == "web"
        assert trouble.what == "raised ValueError: no such page in a task that it started and never awaited"
        assert trouble.function == "dies"

    def test_a_failed_task_that_was_looked_at_is_no_trouble(self) -> None:
        async def dies() -> None:
            raise ValueError("no such page")

        async def agent(me: cb.AgentMemory) -> str:
            task = asyncio.create_task(dies())
            await asyncio.wait([task])
            return repr(task.exception())

        made = cb.simulate(agent)
        assert made.ok
        assert made.results == {"agent": "ValueError('no such page')"}

    def test_a_callback_that_raises_fails_the_run_by_the_name_of_its_agent(self) -> None:
        def rings() -> None:
            raise ValueError("the bell is broken")

        async def agent(me: cb.AgentMemory) -> None:
            asyncio.get_running_loop().call_later(1, rings)
            await me.think(seconds=2)

        made = cb.simulate({"web": agent, "other": fine})
        trouble = only_trouble(made)
        assert made.outcome == "failed"
        assert (trouble.agent, trouble.what) == ("web", "raised ValueError: the bell is broken in a callback")
        assert trouble.source == 'raise ValueError("the bell is broken")'

    def test_a_future_that_fails_and_is_dropped_fails_the_run(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            asyncio.get_running_loop().create_future().set_exception(ValueError("lost"))
            await me.think(seconds=2)

        assert str(only_trouble(cb.simulate(agent))) == "agent raised ValueError: lost in a future that nobody awaited"


class TestADeadlock:
    def test_names_each_agent_its_line_and_what_it_waits_for(self) -> None:
        one, other = asyncio.Lock(), asyncio.Lock()

        def philosopher(first: asyncio.Lock, second: asyncio.Lock) -> Any:
            async def eats(me: cb.AgentMemory) -> None:
                async with first:
                    await me.think(seconds=1)
                    async with second:
                        await me.write("ate", True)

            return eats

        made = cb.simulate({"kant": philosopher(one, other), "hume": philosopher(other, one), "guest": fine})
        assert (made.outcome, made.ok, made.seconds) == ("deadlock", False, 1)
        assert [trouble.agent for trouble in made.troubles] == ["kant", "hume"]
        for trouble in made.troubles:
            assert trouble.what == "waits for Lock.acquire, which nobody will end"
            assert (trouble.function, trouble.source) == ("eats", "async with second:")
        assert made.results == {"guest": "done"}
        assert made.state == {"guest/done": True}

    @pytest.mark.parametrize(
        ("waits", "what"),
        [
            (lambda: asyncio.Event().wait(), "Event.wait"),
            (lambda: asyncio.Queue[int]().get(), "Queue.get"),
            (lambda: asyncio.get_running_loop().create_future(), "a Future"),
            (lambda: asyncio.create_task(asyncio.Event().wait(), name="helper"), "the task helper"),
            (lambda: asyncio.gather(asyncio.Event().wait()), "gather"),
            (lambda: asyncio.sleep(float("inf")), "sleep"),
        ],
        ids=["event", "queue", "future", "task", "gather", "sleep"],
    )
    def test_says_what_the_agent_waits_for(self, waits: Callable[[], Awaitable[Any]], what: str) -> None:
        async def helper() -> None:
            await waits()

        async def agent(me: cb.AgentMemory) -> None:
            await helper()

        made = cb.simulate(agent)
        assert made.outcome == "deadlock"
        trouble = only_trouble(made)
        assert trouble.what == f"waits for {what}, which nobody will end"
        assert (trouble.function, trouble.source) == ("helper", "await waits()")

    def test_is_found_within_an_update_and_leaves_the_value_as_it_was(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            async def change(found: Any) -> Any:
                await asyncio.Event().wait()

            await me.shared.update("x", change)

        made = cb.simulate(agent, given={"shared/x": 1})
        assert made.outcome == "deadlock"
        assert made.value("shared/x") == 1
        assert only_trouble(made).source == "await asyncio.Event().wait()"

    def test_is_found_where_one_waits_for_news_that_nobody_writes(self) -> None:
        async def follows(me: cb.AgentMemory) -> None:
            async for event in me.watch():
                if event.key == "shared/never":
                    return

        made = cb.simulate(follows, fine)
        assert made.outcome == "deadlock"
        assert [trouble.agent for trouble in made.troubles] == ["follows"]


class TestAnEndlessLoop:
    def test_of_operations_names_the_agent_and_the_line(self) -> None:
        async def spins(me: cb.AgentMemory) -> None:
            while await me.value("shared/go") is None:
                pass

        made = cb.simulate(fine, spins, max_operations=100, seed=None)
        trouble = only_trouble(made)
        assert made.outcome == "endless"
        assert trouble.agent == "spins"
        assert trouble.what == "never ends (max_operations=100 is spent)"
        assert trouble.source == 'while await me.value("shared/go") is None:'
        assert len(made.history) == 100

    @pytest.mark.parametrize("seed", range(5))
    def test_of_sleeps_names_the_one_who_sleeps_not_the_one_who_worked(self, seed: int) -> None:
        async def sleeps(me: cb.AgentMemory) -> None:
            while True:  # noqa: ASYNC110
                await asyncio.sleep(60)

        async def works(me: cb.AgentMemory) -> None:
            await me.think(seconds=90)
            await me.write("done", True)

        async def waits(me: cb.AgentMemory) -> None:
            await asyncio.Event().wait()

        made = cb.simulate(sleeps, works, waits, max_operations=50, seed=seed)
        assert made.outcome == "endless"
        assert str(only_trouble(made)).startswith("sleeps never ends")
        assert only_trouble(made).source.startswith("await asyncio.sleep(60)")
        assert made.results == {"works": None}

    def test_that_touches_nothing_names_the_agent_and_the_line(self) -> None:
        async def spins(me: cb.AgentMemory) -> None:
            while True:  # noqa: ASYNC110
                await asyncio.sleep(0)

        made = cb.simulate(fine, spins, max_steps=1000)
        assert made.outcome == "endless"
        assert only_trouble(made).agent == "spins"
        assert only_trouble(made).source.startswith("await asyncio.sleep(0)")

    def test_in_a_task_of_an_agent_that_has_ended_names_whoever_is_left(self) -> None:
        async def starts(me: cb.AgentMemory) -> None:
            async def spins() -> None:
                while True:
                    await me.value("shared/go")

            tasks.append(asyncio.create_task(spins()))

        async def waits(me: cb.AgentMemory) -> None:
            await done.wait()

        tasks: list[Any] = []
        done = asyncio.Event()
        made = cb.simulate(starts, waits, max_operations=100)
        assert made.outcome == "endless"
        assert [trouble.agent for trouble in made.troubles] == ["waits"]

    def test_can_be_replayed(self) -> None:
        async def spins(me: cb.AgentMemory) -> None:
            while True:
                await me.shared.update("x", lambda n: (n or 0) + 1)

        made = cb.simulate(spins, spins, max_operations=200, seed=4)
        again = cb.simulate(spins, spins, max_operations=200, replay=made.token)
        assert made.outcome == again.outcome == "endless"
        assert str(made.history) == str(again.history)


class TestWhatASimulationCannotRepeat:
    async def thread(self) -> None:
        await asyncio.to_thread(print, "never")

    async def executor(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, print, "never")

    async def connection(self) -> None:
        await asyncio.open_connection("127.0.0.1", 9)

    async def server(self) -> None:
        await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)

    async def name(self) -> None:
        await asyncio.get_running_loop().getaddrinfo("localhost", 80)

    async def process(self) -> None:
        await asyncio.create_subprocess_exec("true")

    async def factory(self) -> None:
        asyncio.get_running_loop().set_task_factory(None)

    @pytest.mark.parametrize(
        ("what", "told"),
        [
            ("thread", "a thread (to_thread, run_in_executor or call_soon_threadsafe) was used"),
            ("executor", "a thread (to_thread, run_in_executor or call_soon_threadsafe) was used"),
            ("connection", "the network was used"),
            ("server", "the network was used"),
            ("name", "the network was used"),
            ("process", "a subprocess or a pipe was used"),
            ("factory", "the event loop's set_task_factory() was used"),
        ],
    )
    def test_is_refused_and_said_and_changes_nothing(self, what: str, told: str) -> None:
        outside = getattr(self, what)

        async def agent(me: cb.AgentMemory) -> None:
            await outside()
            await me.write("never", True)

        made = cb.simulate({"web": agent, "other": fine})
        assert made.outcome == "failed"
        assert made.results == {"other": "done"}
        assert made.state == {"other/done": True}
        assert isinstance(made.errors["web"], cb.CommonboardError)
        trouble = only_trouble(made)
        assert told in trouble.what
        assert "use me.think(seconds)" in trouble.what
        assert trouble.function == what

    def test_every_verb_of_an_event_loop_works_or_is_refused_by_name(self) -> None:
        async def agent(me: cb.AgentMemory) -> dict[str, str]:
            loop, told = asyncio.get_running_loop(), {}
            for name, verb in vars(asyncio.AbstractEventLoop).items():
                if not name.startswith("_") and getattr(type(loop), name) is verb:
                    told[name] = "asyncio's own, which raises NotImplementedError without a word"
            return told

        assert cb.simulate(agent).results == {"agent": {}}

    @pytest.mark.parametrize("kind", [asyncio.Lock, asyncio.Event, asyncio.Queue])
    def test_what_belongs_to_another_loop_is_explained(self, kind: Callable[[], Any]) -> None:
        shared = kind()
        waits = {"Lock": "acquire", "Event": "wait", "Queue": "get"}[kind.__name__]

        async def agent(me: cb.AgentMemory | None) -> None:
            async with asyncio.TaskGroup() as group:
                for _ in range(2):
                    group.create_task(asyncio.wait_for(getattr(shared, waits)(), 0.01))

        with pytest.raises(ExceptionGroup):
            asyncio.run(agent(None))  # its waiting has bound it to that loop
        told = only_trouble(cb.simulate(agent)).what
        assert "it belongs to another event loop; make locks, queues and tasks inside the agents" in told
        assert "0x" not in told  # an address would be another one in each run

    def test_an_operation_in_a_context_of_nobody_is_refused(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            await asyncio.create_task(me.write("x", 1), context=contextvars.Context())

        made = cb.simulate(agent)
        assert made.outcome == "failed"
        assert "called by no agent" in only_trouble(made).what
        assert made.state == {}


def test_an_agent_that_closes_a_generator_badly_is_not_swallowed() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        async def pages() -> AsyncIterator[int]:
            try:
                yield 1
            finally:
                raise ValueError("torn page")

        async for _ in pages():
            break
        await me.think(seconds=1)

    made = cb.simulate(agent)
    assert made.outcome == "failed"
    assert only_trouble(made).what == "raised ValueError: torn page in a task that it started and never awaited"
