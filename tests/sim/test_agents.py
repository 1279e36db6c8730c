"""Who takes part in a simulation, what they find when they begin, and what is refused before anything happens."""

from __future__ import annotations

import asyncio
import functools
import warnings
from typing import Any

import pytest

import commonboard as cb
from commonboard.errors import AgentError, InvalidArgumentError, NameNotAllowedError, PolicyError, SimulationError, TurnError


async def counter(me: cb.AgentMemory) -> str:
    await me.shared.update("count", lambda n: (n or 0) + 1)
    return me.name


async def reader(me: cb.AgentMemory) -> Any:
    return await me.value("shared/count")


class TestNames:
    def test_a_dict_names_the_agents(self) -> None:
        made = cb.simulate({"web": counter, "docs": counter})
        assert made.agents == ["web", "docs"]
        assert made.results == {"web": "web", "docs": "docs"}
        assert made.history.agents == ["web", "docs"]

    def test_functions_are_named_after_themselves_and_numbered_where_one_is_given_twice(self) -> None:
        assert cb.simulate(counter, reader, counter).agents == ["counter-1", "reader", "counter-2"]

    def test_a_list_is_as_good_as_the_functions_themselves(self) -> None:
        assert cb.simulate([counter, counter]).agents == ["counter-1", "counter-2"]
        assert cb.simulate((counter, reader)).agents == ["counter", "reader"]

    def test_a_scenario_brings_its_agents_and_what_is_given(self) -> None:
        made = cb.simulate(cb.scenarios.counter)
        assert made.agents == ["counter-1", "counter-2"]
        assert made.scenario is cb.scenarios.counter
        assert made.value("shared/count") == 2

    def test_what_makes_a_coroutine_is_an_agent_too(self) -> None:
        async def adds(me: cb.AgentMemory, amount: int) -> int:
            await me.write("amount", amount)
            return amount

        class Adder:
            async def __call__(self, me: cb.AgentMemory) -> int:
                return await adds(me, 3)

        crew = {"a": functools.partial(adds, amount=1), "b": lambda me: adds(me, 2), "c": Adder()}
        assert cb.simulate(crew).results == {"a": 1, "b": 2, "c": 3}

    def test_the_agents_see_no_wall_clock_and_no_random_id(self) -> None:
        async def agent(me: cb.AgentMemory) -> list[str]:
            await me.think(seconds=90)
            await me.write("x", 1)
            entry = await me.read("agent/x")
            assert entry is not None
            return [me.replica, entry.created_at.isoformat()]

        assert cb.simulate(agent).results == {"agent": ["agent~1", "2026-01-01T00:01:30+00:00"]}


class TestWhatIsGiven:
    def test_is_on_the_board_before_the_agents_begin(self) -> None:
        made = cb.simulate(reader, given={"shared/count": 40})
        assert made.results == {"reader": 40}
        given, read = made.history
        assert (given.agent, given.made, given.value) == ("given", 1, 40)
        assert (read.agent, read.saw) == ("reader", 1)

    def test_may_be_the_entries_of_a_memory_with_who_wrote_them_and_when(self) -> None:
        async def before() -> Any:
            memory = cb.SharedMemory(cb.InMemoryStore(clock=cb.LogicalClock()))
            await memory.write("web", "findings", ["churn is up"])
            await memory.write("docs", "note", "plain text")
            return await memory.list()

        async def agent(me: cb.AgentMemory) -> Any:
            entry = await me.read("web/findings")
            assert entry is not None
            return [entry.value, entry.metadata["agent"], entry.created_at.second, await me.value("docs/note")]

        with asyncio.Runner() as runner:
            entries = runner.run(before())
        assert cb.simulate(agent, given=entries).results == {"agent": [["churn is up"], "web", 0, "plain text"]}

    def test_reads_back_equal_even_if_a_text_was_once_stored_as_json(self) -> None:
        entry = cb.MemoryEntry("shared/count", "seven", {"sharedMemoryValueEncoding": "json"})
        assert cb.simulate(reader, given=[entry]).results == {"reader": "seven"}

    def test_is_not_changed_by_the_agents(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            questions = await me.value("shared/questions")
            questions.append("mine")
            await me.shared.write("questions", questions)

        given = {"shared/questions": ["first"]}
        assert cb.simulate(agent, given=given).value("shared/questions") == ["first", "mine"]
        assert given == {"shared/questions": ["first"]}

    def test_replaces_what_the_scenario_gives(self) -> None:
        assert cb.simulate(cb.scenarios.counter, given={"shared/count": 10}).value("shared/count") == 12

    def test_must_be_storable(self) -> None:
        with pytest.raises(cb.UnstorableValueError, match="set"):
            cb.simulate(reader, given={"shared/count": {1, 2}})

    def test_may_have_expired_by_the_turn(self) -> None:
        entry = cb.MemoryEntry("shared/count", 7, expires_at_turn=3)
        assert cb.simulate(reader, given=[entry], turn=2).results == {"reader": 7}
        assert cb.simulate(reader, given=[entry], turn=3).results == {"reader": None}


class TestWhatIsRefused:
    def not_async(me: Any) -> str:  # type: ignore[misc]
        return "done"

    async def generator(me: Any) -> Any:  # type: ignore[misc]
        yield 1

    async def nobody() -> None:  # type: ignore[misc]
        pass

    async def two(me: Any, you: Any) -> None:  # type: ignore[misc]
        pass

    @pytest.mark.parametrize(
        ("agents", "told"),
        [
            ((), "there are no agents"),
            (({},), "there are no agents"),
            (([],), "there are no agents"),
            ((None,), "None is no agent"),
            ((5,), "an int is no agent"),
            (("counter",), "a str is no agent"),
            ((counter, 5), "the agent 'int' is an int"),
            (({"web": "counter"},), "the agent 'web' is a str"),
            ((not_async,), "the agent 'not_async' is not async (calling it gave a str)"),
            ((counter, not_async), "the agent 'not_async' is not async (calling it gave a str)"),
            ((generator,), "the agent 'generator' is an async generator"),
            ((nobody,), "the agent 'nobody' is a function that cannot be called with a handle"),
            ((two,), "the agent 'two' is a function that cannot be called with a handle"),
            ((cb.scenarios.counter, cb.scenarios.counter), "is a scenario, which is simulated alone"),
            (({"given": counter},), "'given' is what the simulation calls"),
        ],
    )
    def test_what_is_no_agent_is_named(self, agents: tuple[Any, ...], told: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(AgentError) as caught:
                cb.simulate(*agents)
        assert told in str(caught.value)

    def test_a_coroutine_is_told_from_a_function(self) -> None:
        me: Any = None
        coroutine = counter(me)
        with pytest.raises(AgentError, match="a coroutine is no agent; give async functions"):
            cb.simulate(coroutine)
        coroutine.close()

    @pytest.mark.parametrize("name", ["", "a/b", "shared", "__commonboard__", 7])
    def test_a_name_that_cannot_head_keys_is_refused(self, name: Any) -> None:
        with pytest.raises(NameNotAllowedError):
            cb.simulate({name: counter})

    def test_two_agents_of_one_name_are_refused_not_dropped(self) -> None:
        async def other(me: cb.AgentMemory) -> None:
            pass

        other.__name__ = "counter-2"
        with pytest.raises(AgentError, match="two agents would be called 'counter-2'"):
            cb.simulate(counter, counter, other)

    def test_an_agent_that_is_not_async_stops_the_run_before_the_others_have_begun(self) -> None:
        begun = []

        async def first(me: cb.AgentMemory) -> None:
            begun.append(me.name)

        def plain(me: cb.AgentMemory) -> None:
            return None

        with pytest.raises(AgentError, match="an agent is an async function of its handle: async def plain"):
            cb.simulate(first, plain, first)
        assert begun == []

    def test_an_agent_that_fails_when_it_is_called_closes_the_others(self) -> None:
        def breaks(me: cb.AgentMemory) -> Any:
            raise RuntimeError("not today")

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeError, match="not today"):
                cb.simulate(counter, breaks)

    @pytest.mark.parametrize(
        ("options", "error", "told"),
        [
            ({"policy": "newest"}, PolicyError, "is not a policy"),
            ({"policy": cb.LastWriterWins}, PolicyError, "make a policy of it"),
            ({"policy": lambda mine: mine}, PolicyError, "three arguments"),
            ({"turn": -1}, TurnError, "turn must be a whole number"),
            ({"given": {"": 1}}, cb.CommonboardError, "the key is empty"),
            ({"given": {"orders": 1}}, cb.CommonboardError, "given= takes full keys, such as 'shared/orders'"),
            ({"given": ["a"]}, cb.CommonboardError, "not a str"),
            ({"given": 42}, cb.CommonboardError, "not an int"),
            ({"world": 2}, cb.CommonboardError, "world= takes a World"),
            ({"seed": 1.5}, cb.CommonboardError, "a seed is a whole number"),
            ({"store": cb.InMemoryStore()}, SimulationError, "leave store= out"),
            ({"store": lambda a, b: None}, SimulationError, "takes a factory of no argument, or of one"),
            ({"store": lambda: None}, cb.CommonboardError, "is not a memory store"),
            ({"store": lambda: cb.InMemoryStore}, cb.CommonboardError, "is a class, not a store"),
        ],
    )
    def test_an_option_that_makes_no_sense_is_refused(self, options: Any, error: type[Exception], told: str) -> None:
        with pytest.raises(error) as caught:
            cb.simulate(counter, **options)
        assert told in str(caught.value)

    @pytest.mark.parametrize("replicas", [0, -1, 1.5, True, "two"])
    def test_a_world_has_a_whole_number_of_replicas(self, replicas: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="replicas must be a whole number"):
            cb.World(replicas=replicas)

    def test_a_scenario_that_has_no_variants_says_so(self) -> None:
        with pytest.raises(TypeError, match="nothing to turn"):
            cb.Scenario("mine", "", {"counter": counter})(agents=3)
