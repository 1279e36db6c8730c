"""What agents share beside the board is noticed: then schedules are not treated alike, and the verdict says why."""

from __future__ import annotations

import asyncio
import functools
import random
from dataclasses import dataclass
from typing import Any

import pytest
from tests.explorer.programs import ONCE, explored_of, refused

import commonboard as cb

BOARD: list[str] = []
TOTAL = 0
LOG: list[str] = []
NOTES: dict[str, Any] = {}


def note(text: str) -> None:
    LOG.append(text)


HELPERS = {"note": note}


@pytest.fixture(autouse=True)
def _clean() -> None:
    global TOTAL
    TOTAL = 0
    BOARD.clear()
    LOG.clear()
    Tally.count = 0
    Tally.names.clear()


class Tally:
    names: list[str] = []  # noqa: RUF012 - that agents share it is what is tested
    count = 0


async def between(me: cb.AgentMemory, first: bool) -> None:
    await me.write("step", 1)
    if first:
        await me.write("first", True)


class TestSharedObjectsAreNoticed:
    def test_a_list_in_a_closure(self) -> None:
        done: list[str] = []

        async def agent(me: cb.AgentMemory) -> None:
            await between(me, not done)
            done.append(me.name)

        refused(explored_of(agent, agent), "done", "cb.visible(…)")

    def test_a_dict_in_a_closure_of_a_function_that_the_agent_calls(self) -> None:
        done: dict[str, bool] = {}

        def mark(name: str) -> None:
            done[name] = True

        async def agent(me: cb.AgentMemory) -> None:
            await between(me, True)
            mark(me.name)

        refused(explored_of(agent, agent), "done")

    def test_a_global_list(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            await between(me, not BOARD)
            BOARD.append(me.name)

        refused(explored_of(agent, agent), "BOARD")

    def test_a_default_argument(self) -> None:
        async def agent(me: cb.AgentMemory, done: list[str] = []) -> None:  # noqa: B006 - that it is shared is what is tested
            await between(me, not done)
            done.append(me.name)

        refused(explored_of(agent, agent), "default 1 of agent")

    def test_a_bound_argument(self) -> None:
        async def agent(done: list[str], me: cb.AgentMemory) -> None:
            await between(me, not done)
            done.append(me.name)

        bound = functools.partial(agent, [])
        refused(explored_of({"a": bound, "b": bound}), "an argument of")

    def test_an_attribute_of_the_object_whose_methods_are_the_agents(self) -> None:
        class Crew:
            def __init__(self) -> None:
                self.done: list[str] = []
                self.count = 0

            async def work(self, me: cb.AgentMemory) -> None:
                await between(me, self.count == 0)
                self.count += 1

        crew = Crew()
        refused(explored_of({"a": crew.work, "b": crew.work}), "__self__")

    def test_an_attribute_of_an_object_in_a_closure(self) -> None:
        @dataclass
        class Box:
            count: int = 0

        box = Box()

        async def agent(me: cb.AgentMemory) -> None:
            await between(me, box.count == 0)
            box.count += 1

        refused(explored_of(agent, agent), "box")

    def test_a_list_that_is_a_class_attribute(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            await between(me, not Tally.names)
            Tally.names.append(me.name)

        refused(explored_of(agent, agent), "Tally.names")

    def test_a_list_that_a_decorator_keeps(self) -> None:
        calls: list[str] = []

        def counted(fn: Any) -> Any:
            @functools.wraps(fn)
            async def wrapper(me: cb.AgentMemory) -> None:
                await fn(me)
                calls.append(me.name)

            return wrapper

        @counted
        async def agent(me: cb.AgentMemory) -> None:
            await between(me, True)

        refused(explored_of(agent, agent), "calls")

    def test_random_numbers_that_agents_draw_from_one_source(self) -> None:
        source = random.Random(7)

        async def agent(me: cb.AgentMemory) -> None:
            await me.write("drawn", source.random())

        refused(explored_of(agent, agent), "source")

    def test_an_iterator(self) -> None:
        tickets = iter(range(100))

        async def agent(me: cb.AgentMemory) -> None:
            await me.write("ticket", next(tickets))

        verdict = cb.explore(agent, agent)
        assert verdict.holds is None  # nobody can put an iterator back
        assert "the same choices gave another run the second time" in verdict.why

    def test_a_number_that_agents_rebind(self) -> None:
        count = 0

        async def agent(me: cb.AgentMemory) -> None:
            nonlocal count
            mine = count
            await between(me, mine == 0)
            count = mine + 1

        refused(explored_of(agent, agent), "count")

    def test_a_number_that_agents_rebind_and_nobody_writes(self) -> None:
        """It shows in no operation: only that somebody died of it."""
        count = 0

        async def agent(me: cb.AgentMemory) -> None:
            nonlocal count
            mine = count
            await me.write("step", 1)
            count = mine + 1
            await me.write("step", 2)
            assert count > mine

        refused(explored_of(agent, agent), "count")

    def test_a_global_number_that_agents_rebind(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            global TOTAL
            mine = TOTAL
            await me.write("step", 1)
            TOTAL = mine + 1
            await me.write("step", 2)

        refused(explored_of(agent, agent), "TOTAL")

    def test_a_number_that_is_a_class_attribute(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            mine = Tally.count
            await me.write("step", 1)
            Tally.count = mine + 1

        refused(explored_of(agent, agent), "Tally.count")

    def test_an_attribute_of_a_function(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            mine = agent.count  # type: ignore[attr-defined]
            await me.write("step", 1)
            agent.count = mine + 1  # type: ignore[attr-defined]

        agent.count = 0  # type: ignore[attr-defined]
        refused(explored_of(agent, agent), "agent.count")

    def test_a_list_that_a_function_in_a_table_changes(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            await me.write("step", 1)
            HELPERS["note"](me.name)

        refused(explored_of(agent, agent), "LOG")

    def test_a_list_that_a_callable_object_changes(self) -> None:
        class Worker:
            async def __call__(self, me: cb.AgentMemory) -> None:
                await me.write("step", 1)
                LOG.append(me.name)

        worker = Worker()
        refused(explored_of({"a": worker, "b": worker}), "LOG")

    def test_a_list_that_another_method_changes(self) -> None:
        class Worker:
            async def work(self, me: cb.AgentMemory) -> None:
                await me.write("step", 1)
                self.remember(me.name)

            def remember(self, text: str) -> None:
                LOG.append(text)

        worker = Worker()
        refused(explored_of({"a": worker.work, "b": worker.work}), "LOG")

    def test_random_numbers_in_an_object(self) -> None:
        class Worker:
            def __init__(self) -> None:
                self.source = random.Random(7)

            async def work(self, me: cb.AgentMemory) -> None:
                await me.write("step", 1)
                self.source.random()

        worker = Worker()
        refused(explored_of({"a": worker.work, "b": worker.work}), "__self__")

    def test_what_is_put_back_at_the_end(self) -> None:
        busy: list[str] = []

        async def agent(me: cb.AgentMemory) -> None:
            await me.value("shared/x")
            if busy:
                await me.write("met", True)
                return
            busy.append(me.name)
            try:
                await me.write("step", 1)
            finally:
                busy.remove(me.name)

        met = cb.at_the_end(lambda state: not any(key.endswith("/met") for key in state), "they never meet")
        verdict = cb.explore(agent, agent, check=met)
        assert verdict.holds is False
        refused(verdict.explored)


class TestSharedPrimitivesAreNoticed:
    @pytest.mark.parametrize("kind", [asyncio.Lock, asyncio.Event, asyncio.Queue, asyncio.Semaphore, asyncio.Condition])
    def test_in_a_closure(self, kind: Any) -> None:
        thing = kind()

        async def agent(me: cb.AgentMemory) -> None:
            assert thing is not None
            await between(me, False)

        refused(explored_of(agent, agent), "thing", "order of waking")

    def test_in_an_attribute(self) -> None:
        class Crew:
            def __init__(self) -> None:
                self.lock = asyncio.Lock()

            async def work(self, me: cb.AgentMemory) -> None:
                async with self.lock:
                    await between(me, False)

        crew = Crew()
        refused(explored_of({"a": crew.work, "b": crew.work}), "beside the board")

    @pytest.mark.parametrize("kind", ["lock", "event", "queue"])
    def test_made_inside_one_agent_and_handed_over(self, kind: str) -> None:
        handed: dict[str, Any] = {}

        async def gives(me: cb.AgentMemory) -> None:
            handed["it"] = {"lock": asyncio.Lock, "event": asyncio.Event, "queue": asyncio.Queue}[kind]()
            if kind == "lock":
                await handed["it"].acquire()
            await me.write("step", 1)
            if kind == "lock":
                handed["it"].release()
            elif kind == "event":
                handed["it"].set()
            else:
                handed["it"].put_nowait("go")

        async def takes(me: cb.AgentMemory) -> None:
            thing = handed.get("it")
            if thing is None:
                return  # it began first
            await {"lock": lambda: thing.acquire(), "event": lambda: thing.wait(), "queue": lambda: thing.get()}[kind]()
            await me.write("step", 1)

        verdict = cb.explore(gives, takes, check=ONCE)
        assert verdict.holds is True
        assert verdict.explored.method == "every schedule run anew"
        assert "gives wakes takes" in verdict.explored.why or "handed" in verdict.explored.why

    def test_an_agent_that_relies_on_another_s_beginning_first_is_found(self) -> None:
        handed: dict[str, asyncio.Event] = {}

        async def gives(me: cb.AgentMemory) -> None:
            handed["it"] = asyncio.Event()
            await me.write("step", 1)
            handed["it"].set()

        async def takes(me: cb.AgentMemory) -> None:
            await handed["it"].wait()
            await me.write("step", 1)

        crew = {"gives": gives, "takes": takes}
        assert cb.simulate(crew).ok
        handed.clear()
        verdict = cb.explore(crew)
        assert verdict.holds is False
        assert "takes raised KeyError: 'it'" in str(verdict)
        assert verdict.explored.why.endswith("An agent may begin late, too.")
        handed.clear()
        again = cb.simulate(crew, replay=verdict.token)
        assert again.token == verdict.token
        assert [trouble.what for trouble in again.troubles] == ["raised KeyError: 'it'"]

    def test_a_lock_of_an_agent_s_own_is_no_matter(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            lock, queue = asyncio.Lock(), asyncio.Queue[int]()

            async def job() -> None:
                async with lock:
                    await me.write("step", 1)
                queue.put_nowait(1)

            await asyncio.gather(job(), job())
            assert queue.qsize() == 2

        assert explored_of(agent, agent).method == "equal states merged"
