"""The one choice list: a seed, a token, a list of numbers and a walk over all lists are four uses of it."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.sim.orders import every

import commonboard as cb
from commonboard.errors import InvalidArgumentError, ReplayError
from commonboard.sim.choices import Choices, Replay, from_text, seeded, to_text


async def counter(me: cb.AgentMemory) -> None:
    await me.shared.update("count", lambda n: (n or 0) + 1)


class TestAllOrders:
    """The simulator offers every order there is, each once: compared with a brute force that knows nothing of it."""

    @staticmethod
    def blind(agents: int, increments: int) -> tuple[set[tuple[int, ...]], Counter[int]]:
        """All interleavings of agents that read and then write, and how often each final count comes of them."""
        steps = [agent for agent in range(agents) for _ in range(2 * increments)]
        orders, finals = set(itertools.permutations(steps)), Counter[int]()
        for order in orders:
            count, seen = 0, dict.fromkeys(range(agents))
            for agent in order:
                if seen[agent] is None:
                    seen[agent] = count
                else:
                    count, seen[agent] = seen[agent] + 1, None
            finals[count] += 1
        return orders, finals

    @pytest.mark.parametrize(("agents", "increments"), [(2, 1), (2, 2), (3, 1)])
    def test_of_blind_writers_are_the_interleavings_each_once(self, agents: int, increments: int) -> None:
        orders, finals = self.blind(agents, increments)
        scenario = cb.scenarios.counter(agents=agents, increments=increments)
        runs = list(every(scenario, policy=cb.LastWriterWins()))
        taken = [
            tuple(int(op.agent[-1]) - 1 for op in made.history if op.kind in ("read", "write") and op.agent != "given")
            for made in runs
        ]
        assert len(taken) == len(orders)
        assert set(taken) == orders
        assert Counter(made.value("shared/count") for made in runs) == finals

    def test_of_two_counters_are_six_and_four_of_them_lose_one(self) -> None:
        runs = list(every(cb.scenarios.counter, policy=cb.LastWriterWins()))
        assert len(runs) == 6
        assert [len(made.lost) for made in runs].count(1) == 4
        assert [cb.no_lost_updates(made).holds for made in runs].count(False) == 4
        for made in runs:
            assert len(cb.no_lost_updates(made).findings) == len(made.lost)

    @staticmethod
    def careful(agents: int, increments: int) -> Counter[tuple[int, int]]:
        """The same with compare-and-set and retry: how often each (final count, refused writes) comes of all orders."""
        ends = Counter[tuple[int, int]]()

        def go_on(count: int, refused: int, seen: tuple[int | None, ...], left: tuple[int, ...]) -> None:
            if not any(left):
                ends[count, refused] += 1
            for agent in range(agents):
                if not left[agent]:
                    continue
                if seen[agent] is None:
                    go_on(count, refused, put(seen, agent, count), left)
                elif seen[agent] == count:  # with counters, equal values are equal versions
                    go_on(count + 1, refused, put(seen, agent, None), put(left, agent, left[agent] - 1))
                else:
                    go_on(count, refused + 1, put(seen, agent, count), left)

        def put(items: tuple[Any, ...], place: int, item: Any) -> tuple[Any, ...]:
            return (*items[:place], item, *items[place + 1 :])

        go_on(0, 0, (None,) * agents, (increments,) * agents)
        return ends

    @pytest.mark.parametrize(("agents", "increments"), [(2, 1), (2, 2), (3, 1)])
    def test_of_careful_writers_are_all_there_too(self, agents: int, increments: int) -> None:
        scenario = cb.scenarios.counter(agents=agents, increments=increments)
        runs = list(every(scenario, policy=cb.Optimistic()))
        ends = Counter((made.value("shared/count"), made.retries) for made in runs)
        assert ends == self.careful(agents, increments)
        assert {count for count, _ in ends} == {agents * increments}

    def test_between_two_replicas_are_all_orders_in_which_a_delivery_follows_its_write(self) -> None:
        runs = list(every({"a": counter, "b": counter}, policy=cb.LastWriterWins(), world=cb.World(replicas=2)))
        taken = {
            tuple(op.source or op.agent + op.kind[0] for op in made.history)  # a delivery is named after where it came from
            for made in runs
        }
        chains = (("ar", "aw", "replica-1"), ("br", "bw", "replica-2"))
        orders = set()
        for places in itertools.combinations(range(6), 3):
            rest = [place for place in range(6) if place not in places]
            order = dict(zip((*places, *rest), chains[0] + chains[1], strict=True))
            orders.add(tuple(order[place] for place in range(6)))
        assert len(runs) == len(orders) == 20
        assert taken == orders

    def test_of_agents_that_only_think_there_is_one(self) -> None:
        async def thinker(me: cb.AgentMemory) -> None:
            await me.think(seconds=5)

        (made,) = every(thinker, thinker)
        assert len(made.choices) == 0
        assert made.token.startswith("cb1-0-0-")

    def test_of_a_lone_agent_are_those_of_its_own_tasks(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            await asyncio.gather(me.write("a", 1), me.write("b", 2), me.write("c", 3))

        orders = {tuple(op.key[-1] for op in made.history) for made in every(agent)}
        assert orders == set(itertools.permutations("abc"))


class TestTheBoringChoice:
    def test_lets_an_agent_go_on_as_long_as_it_can(self) -> None:
        made = cb.simulate(cb.scenarios.counter(agents=3, increments=2), policy=cb.LastWriterWins(), seed=None)
        writers = [op.agent for op in made.history if op.kind == "write" and op.agent != "given"]
        assert writers == ["counter-1"] * 2 + ["counter-2"] * 2 + ["counter-3"] * 2
        assert made.value("shared/count") == 6
        assert set(made.choices.numbers) == {0}

    def test_is_taken_after_the_end_of_a_list(self) -> None:
        scenario = cb.scenarios.counter(agents=3)
        boring = cb.simulate(scenario, seed=None)
        assert str(cb.simulate(scenario, replay=[]).history) == str(boring.history)
        first = cb.simulate(scenario, replay=[2])
        assert first.choices.numbers == [2] + [0] * (len(first.choices) - 1)
        assert first.history[1].agent == "counter-3"


class TestASeed:
    def test_gives_the_same_run_again(self) -> None:
        for seed in (0, 1, "monday"):
            one, other = (cb.simulate(cb.scenarios.research_crew, seed=seed) for _ in range(2))
            assert str(one.history) == str(other.history)
            assert (one.token, one.state, one.seed) == (other.token, other.state, seed)

    def test_reaches_every_order_of_a_small_program(self) -> None:
        runs = [cb.simulate(cb.scenarios.counter, policy=cb.LastWriterWins(), seed=seed) for seed in range(100)]
        assert len({made.token for made in runs}) == 6

    def test_chooses_all_alternatives_about_equally_often(self) -> None:
        choose = seeded(1)
        counts = Counter(choose(3) for _ in range(3000))
        assert set(counts) == {0, 1, 2}
        assert all(850 < count < 1150 for count in counts.values())

    def test_draws_from_no_global_generator(self) -> None:
        random.seed(5)
        state = random.getstate()
        cb.simulate(cb.scenarios.counter, seed=3)
        assert random.getstate() == state


class TestAToken:
    @pytest.mark.parametrize("policy", [cb.LastWriterWins(), cb.Optimistic(), cb.FirstWriterWins()], ids=lambda p: p.name)
    @pytest.mark.parametrize("replicas", [1, 2])
    def test_replays_exactly(self, policy: Any, replicas: int) -> None:
        options: Any = {"policy": policy, "world": cb.World(replicas=replicas)}
        for seed in range(10):
            made = cb.simulate(cb.scenarios.counter(agents=3), seed=seed, **options)
            again = cb.simulate(cb.scenarios.counter(agents=3), replay=made.token, **options)
            assert str(again.history) == str(made.history)
            assert (again.token, again.state, again.log) == (made.token, made.state, made.log)
            assert again.seed is None

    def test_stands_for_the_list_of_its_numbers(self) -> None:
        made = cb.simulate(cb.scenarios.counter(agents=4), seed=9)
        again = cb.simulate(cb.scenarios.counter(agents=4), replay=made.choices.numbers)
        assert (again.token, str(again.history)) == (made.token, str(made.history))

    def test_of_another_program_is_refused_and_says_why(self) -> None:
        made = cb.simulate(cb.scenarios.counter(agents=3), seed=1)
        for other in (cb.scenarios.counter(agents=2), cb.scenarios.counter(agents=3, increments=2), cb.scenarios.research_crew):
            with pytest.raises(ReplayError) as caught:
                cb.simulate(other, replay=made.token)
            assert f"the token {made.token} is of another program: replaying it gave cb1-" in str(caught.value)
            assert "use the same agents, policy, given values and world" in str(caught.value)

    def test_of_the_same_shape_with_other_names_is_refused(self) -> None:
        made = cb.simulate({"web": counter, "docs": counter}, seed=1)
        assert len(made.choices) > 0
        with pytest.raises(ReplayError, match="of another program"):
            cb.simulate({"web": counter, "synth": counter}, replay=made.token)

    def test_of_another_policy_is_refused(self) -> None:
        made = cb.simulate(counter, counter, policy=cb.LastWriterWins(), seed=1)
        with pytest.raises(ReplayError, match="of another program"):
            cb.simulate(counter, counter, policy=cb.Optimistic(), replay=made.token)

    def test_of_other_agents_is_refused_even_where_nothing_was_chosen(self) -> None:
        made = cb.simulate({"one": counter})
        with pytest.raises(ReplayError, match="global random, the clock"):
            cb.simulate({"other": counter}, replay=made.token)
        with pytest.raises(ReplayError, match="of another program"):
            cb.simulate({"one": counter}, replay=made.token, given={"shared/x": 1})

    @pytest.mark.parametrize("token", ["", "cb1", "cb1-1-2", "cb2-0-0-0", "cb1-ä-0-0", "seed 7", "cb1-0-0-0-0"])
    def test_that_is_none_is_refused(self, token: str) -> None:
        with pytest.raises(ReplayError, match="is not a replay token"):
            cb.simulate(counter, counter, replay=token)

    def test_that_was_tampered_with_is_refused(self) -> None:
        made = cb.simulate(counter, counter, seed=1)
        tag, packed, count, checksum = made.token.split("-")
        wrong = [to_text(from_text(packed) ^ 1), to_text(from_text(count) + 1), to_text(from_text(checksum) + 1)]
        for place, part in enumerate(wrong, 1):
            parts = [tag, packed, count, checksum]
            parts[place] = part
            with pytest.raises(ReplayError):
                cb.simulate(counter, counter, replay="-".join(parts))

    def test_of_a_small_case_is_short(self) -> None:
        assert max(len(cb.simulate(cb.scenarios.counter(agents=3), seed=seed).token) for seed in range(50)) <= 40

    def test_is_printed_with_the_run(self) -> None:
        made = cb.simulate(counter, counter, seed=1)
        assert f"replay={made.token!r}" in str(made)


class TestAListOfNumbers:
    def test_that_is_too_long_is_refused(self) -> None:
        made = cb.simulate(counter, counter, seed=1)
        numbers = [*made.choices.numbers, 0]
        with pytest.raises(ReplayError, match=f"holds {len(numbers)} choices, but the run came to its end after"):
            cb.simulate(counter, counter, replay=numbers)

    def test_that_chooses_what_there_is_not_is_refused(self) -> None:
        with pytest.raises(ReplayError, match="choice 0 is 2, but there were 2 alternatives"):
            cb.simulate(counter, counter, replay=[2])
        with pytest.raises(ReplayError, match="choice 0 is -1"):
            cb.simulate(counter, counter, replay=[-1])


class _Thing:
    def __init__(self, label: str) -> None:
        self.label = label


@given(st.lists(st.tuples(st.integers(1, 7), st.randoms(use_true_random=False)), max_size=40))
def test_a_token_packs_any_list_of_choices(wheels: list[tuple[int, Any]]) -> None:
    sizes = [size for size, _ in wheels]
    numbers = iter([dice.randrange(size) for size, dice in wheels if size > 1])
    choices = Choices(lambda alternatives: next(numbers))
    things = [[_Thing(f"{place}.{each}") for each in range(size)] for place, size in enumerate(sizes)]
    chosen = [choices.choose(each).label for each in things]
    assert len(choices) == sum(size > 1 for size in sizes)
    assert choices.alternatives == [size for size in sizes if size > 1]

    replay = Replay(choices.token)
    again = Choices(replay)
    assert [again.choose(each).label for each in things] == chosen
    assert again.numbers == choices.numbers
    replay.check(again)


@given(st.integers(0, 10**60))
def test_base_62_is_read_back(number: int) -> None:
    assert from_text(to_text(number)) == number


@pytest.mark.parametrize("replay", [3, ["a"], [1.5], [True], {1, 2}])
def test_what_is_no_replay_is_refused(replay: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="replay= takes a token, a Run, or a list of whole numbers"):
        cb.simulate(cb.scenarios.counter, replay=replay)


@pytest.mark.parametrize("limit", ["max_operations", "max_steps"])
@pytest.mark.parametrize("number", [0, -1, True, "x", 1.5])
def test_limits_that_are_no_number_of_steps_are_refused(limit: str, number: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{limit} must be a whole number of at least 1"):
        cb.simulate(cb.scenarios.counter, **{limit: number})
