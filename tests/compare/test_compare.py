"""`compare`: the rows are the runs added up; what cannot be compared is an error, and what is not compared a warning."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.compare.crews import EverySecondTime, guest_book, keeps_theirs, refuses, tagged, waits_for_ever
from tests.helpers import run

import commonboard as cb
from commonboard import scenarios
from commonboard.check.comparison import Comparison, NoRowError, Row, world_label
from commonboard.check.fates import FATES, fates
from commonboard.compare import ComparisonError, PolicyIgnoredWarning, compare
from commonboard.errors import InvalidArgumentError, PolicyError
from commonboard.sim.scenario import Scenario, scenario

MODULE = sys.modules["commonboard.compare"]
TWO_WORLDS = [cb.World(), cb.World(replicas=2)]


class TestTheRows:
    @pytest.mark.parametrize("subject", [scenarios.research_crew, scenarios.counter(agents=3, increments=2, seconds=4), tagged])
    @pytest.mark.parametrize("world", [cb.World(), cb.World(replicas=2)])
    def test_are_the_runs_added_up(self, subject: Scenario, world: cb.World) -> None:
        policies = [cb.LastWriterWins(), cb.Optimistic(attempts=2), keeps_theirs]
        table = compare(subject, policies, seeds=20, world=world)
        assert [row.policy for row in table] == ["LastWriterWins", "Optimistic", "keeps_theirs"]
        for row, policy in zip(table, policies, strict=True):
            runs = [cb.simulate(subject, policy=policy, seed=seed, world=world) for seed in range(20)]
            found = [fate.name for made in runs for fate in fates(made)]
            assert {name: getattr(row, name) for name in FATES} == {name: found.count(name) for name in FATES}
            assert (row.runs, row.intended) == (20, 20 * len(subject.intents))
            assert row.retries == sum(made.retries for made in runs)
            assert row.tokens == sum(made.tokens for made in runs)
            assert row.virtual_s == pytest.approx(sum(made.seconds for made in runs))
            quietly = ("overwritten", "discarded", "unknown")
            lost = [any(fate.name in quietly for fate in fates(made)) for made in runs]
            assert row.losses == tuple(seed for seed, gone in enumerate(lost) if gone)

    @pytest.mark.parametrize("subject", [getattr(scenarios, name) for name in scenarios.__all__])
    def test_account_for_everything_that_was_intended(self, subject: Scenario) -> None:
        policies = [cb.LastWriterWins(), cb.FirstWriterWins(), cb.Optimistic(attempts=1), refuses]
        for row in compare(subject, policies, seeds=25, world=[cb.World(), cb.World(replicas=3)]):
            assert row.kept + row.overwritten + row.discarded + row.rejected + row.unresolved == row.intended
            assert row.unknown == 0
            assert row.lost == row.overwritten + row.discarded

    def test_are_of_three_policies_unless_told_otherwise(self) -> None:
        assert [row.policy for row in compare(scenarios.counter, seeds=2)] == ["LastWriterWins", "Optimistic", "Merge(PNCounter)"]
        assert [row.policy for row in compare(scenarios.consolidation, seeds=2)][2:] == ["Merge(ORSet)"]
        assert [row.policy for row in compare(scenarios.claim_the_task, seeds=2)] == ["LastWriterWins", "Optimistic"]

    def test_have_shares_and_means(self) -> None:
        row = Row("p", "one store", None, 10, 200, 150, 20, 5, 4, 16, 5, 7, 300.0, 4500, (1, 2, 3))
        assert (row.lost, row.lost_percent, row.runs_lost) == (30, 15.0, 3)
        assert (row.virtual_s_per_run, row.tokens_per_kept) == (30.0, 30.0)
        assert dataclasses.replace(row, kept=0).tokens_per_kept is None

    def test_what_was_refused_or_stands_beside_is_not_lost(self) -> None:
        (told,) = compare(scenarios.research_crew, [cb.SingleWriter("nobody")], seeds=3)
        assert (told.rejected, told.lost, told.runs_lost) == (6, 0, 0)
        (apart,) = compare(scenarios.research_crew, [cb.Optimistic()], seeds=20, world=cb.World(replicas=2))
        assert apart.unresolved > 0
        assert (apart.lost, apart.runs_lost) == (0, 0)

    def test_what_is_missing_for_a_reason_that_nobody_knows_is_lost(self) -> None:
        silent = dataclasses.replace(scenarios.research_crew, by=None)
        (row,) = compare(silent, [cb.LastWriterWins()], seeds=20)
        (told,) = compare(scenarios.research_crew, [cb.LastWriterWins()], seeds=20)
        assert (row.unknown, row.overwritten) == (told.overwritten, 0)
        assert row.lost == told.lost > 0
        assert row.losses == told.losses

    def test_a_policy_may_be_given_alone_or_as_a_function(self) -> None:
        assert [row.policy for row in compare(scenarios.counter, cb.LastWriterWins(), seeds=1)] == ["LastWriterWins"]
        assert [row.policy for row in compare(scenarios.counter, refuses, seeds=1)] == ["refuses"]

    def test_two_policies_of_one_kind_need_labels(self) -> None:
        hasty, patient = cb.Optimistic(attempts=1), cb.Optimistic(attempts=9)
        with pytest.raises(InvalidArgumentError, match=r"two policies are called 'Optimistic'; give a dict of label to policy"):
            compare(scenarios.counter, [hasty, patient], seeds=1)
        table = compare(scenarios.counter(agents=3), {"hasty": hasty, "patient": patient}, seeds=30)
        assert table.row("hasty").rejected > table.row("patient").rejected == 0
        assert table.row(hasty) is table.row("hasty")

    def test_seeds_may_be_chosen(self) -> None:
        chosen = compare(scenarios.research_crew, [cb.LastWriterWins()], seeds=[3, "spring", 4])
        assert chosen.seeds == (3, "spring", 4)
        assert chosen[0].runs == 3
        assert compare(scenarios.research_crew, [cb.LastWriterWins()], seeds=range(10)) == compare(
            scenarios.research_crew, [cb.LastWriterWins()], seeds=10
        )


class TestContention:
    def test_a_list_of_agents_makes_a_row_each(self) -> None:
        table = compare(scenarios.counter, [cb.LastWriterWins(), cb.Optimistic()], agents=[1, 2, 4], think=10, seeds=4)
        assert [(row.policy, row.at, row.intended) for row in table] == [
            ("LastWriterWins", 1, 4),
            ("LastWriterWins", 2, 8),
            ("LastWriterWins", 4, 16),
            ("Optimistic", 1, 4),
            ("Optimistic", 2, 8),
            ("Optimistic", 4, 16),
        ]
        assert [row.lost for row in table] == [0, 4, 12, 0, 0, 0]
        assert [row.virtual_s_per_run for row in table][3:] == [10, 20, 40]

    def test_more_keys_make_fewer_conflicts(self) -> None:
        table = compare(scenarios.counter, [cb.LastWriterWins()], agents=4, keys=(1, 2, 4), think=5, seeds=5)
        assert [row.lost for row in table] == [15, 10, 0]

    def test_thinking_longer_costs_more(self) -> None:
        table = compare(scenarios.consolidation, [cb.Optimistic()], think=iter([0, 0.5, 120]), seeds=3)
        assert [row.at for row in table] == [0, 0.5, 120]
        assert table[0].tokens < table[2].tokens

    def test_what_the_scenario_was_called_with_before_stays(self) -> None:
        table = compare(scenarios.counter(agents=5, increments=2), [cb.Optimistic()], think=[0, 1], seeds=1)
        assert [row.intended for row in table] == [10, 10]

    def test_a_whole_number_of_another_library_is_one(self) -> None:
        numpy = pytest.importorskip("numpy")
        table = compare(scenarios.counter, [cb.Optimistic()], agents=numpy.arange(1, 3), seeds=1)
        assert [(row.at, type(row.at)) for row in table] == [(1, int), (2, int)]

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"agents": 3}, r"agents= turns 'agents', which .*research crew.* does not have; it has seconds \(think=\)"),
            ({"keys": [1, 2]}, "keys= turns 'keys'"),
        ],
    )
    def test_a_knob_that_the_scenario_lacks_is_an_error(self, options: Any, match: str) -> None:
        with pytest.raises(InvalidArgumentError, match=match):
            compare(scenarios.research_crew, seeds=1, **options)

    def test_a_scenario_without_numbers_has_no_knob(self) -> None:
        with pytest.raises(InvalidArgumentError, match="it has none that compare can turn"):
            compare(guest_book, seeds=1, think=1)


class TestWorlds:
    def test_one_store_beside_two_replicas(self) -> None:
        table = compare(scenarios.research_crew, seeds=30, world=TWO_WORLDS)
        assert [(row.world, row.policy) for row in table] == [
            (world, policy)
            for world in ("one store", "2 replicas")
            for policy in ("LastWriterWins", "Optimistic", "Merge(ORSet)")
        ]
        alone = compare(scenarios.research_crew, seeds=30, world=cb.World(replicas=2))
        assert table[3:] == list(alone)
        assert all(row.unresolved == 0 for row in table[:3])
        assert table.row("Optimistic", world="2 replicas").unresolved > 0

    def test_are_told_apart_by_all_that_was_set(self) -> None:
        assert world_label(cb.World()) == "one store"
        assert world_label(cb.World(replicas=3)) == "3 replicas"
        assert world_label(cb.World(replicas=3, latency=0)) == "3 replicas"
        assert world_label(cb.World(replicas=2, latency=5)) == "2 replicas, latency=5"
        assert world_label(cb.World(agent_crashes=1)) == "one store, agent_crashes=1"

    def test_the_same_world_twice_is_an_error(self) -> None:
        with pytest.raises(InvalidArgumentError, match="world= has 'one store' twice"):
            compare(scenarios.counter, seeds=1, world=[cb.World(), cb.World(replicas=1)])


class TestRunsAgain:
    def test_any_of_the_runs_can_be_had_again(self) -> None:
        table = compare(scenarios.counter, agents=[2, 3], seeds=10, think=1, world=TWO_WORLDS)
        made = table.run("LastWriterWins", 7, at=3, world="2 replicas")
        same = cb.simulate(scenarios.counter(agents=3, seconds=1), policy=cb.LastWriterWins(), seed=7, world=cb.World(replicas=2))
        assert (made.token, str(made.history)) == (same.token, str(same.history))
        assert table.run("Optimistic", "never compared", at=2, world=cb.World()).ok

    def test_the_first_loss_is_a_run_to_look_at(self) -> None:
        table = compare(scenarios.research_crew, seeds=50)
        made = table.first_loss("LastWriterWins")
        assert made.lost
        assert made.seed == table.row("LastWriterWins").losses[0]
        assert cb.no_lost_updates(made).holds is False
        with pytest.raises(NoRowError, match="nothing was lost in any of the 50 runs under 'Optimistic'"):
            table.first_loss("Optimistic")
        with pytest.raises(NoRowError, match="nothing was lost in the one run under 'Optimistic'"):
            compare(scenarios.research_crew, seeds=1).first_loss("Optimistic")

    def test_the_first_loss_of_several_rows_is_the_first_of_all(self) -> None:
        table = compare(scenarios.counter, [cb.LastWriterWins()], agents=[1, 3], seeds=20, think=1)
        assert len(table.first_loss("LastWriterWins").agents) == 3

    def test_a_row_that_is_not_there_or_not_the_only_one_is_an_error(self) -> None:
        table = compare(scenarios.counter, [cb.LastWriterWins(), cb.Optimistic()], agents=[2, 3], seeds=1, world=TWO_WORLDS)
        with pytest.raises(NoRowError, match=r"no row for 'Merge'; there are rows for 'LastWriterWins', 'Optimistic'; at 2, 3"):
            table.row("Merge")
        with pytest.raises(NoRowError, match=r"no row for 'Optimistic', at=9"):
            table.row("Optimistic", at=9)
        with pytest.raises(NoRowError, match=r"no row for 'Optimistic', world='5 replicas'.*in 'one store', '2 replicas'"):
            table.row("Optimistic", world=cb.World(replicas=5))
        with pytest.raises(NoRowError, match=r"4 rows .*world='one store', world='2 replicas', at=2, at=3"):
            table.row("Optimistic")
        with pytest.raises(NoRowError, match="2 rows"):
            table.run("Optimistic", 1, at=3)
        assert table.row("Optimistic", at=3, world="one store").at == 3


# --- the same again ---


def fresh(policy: Any, seeds: Any) -> Comparison:
    return compare(scenarios.counter(agents=3, increments=2), [policy], seeds=seeds)


class TestTheSameAgain:
    def test_each_run_has_a_policy_of_its_own(self) -> None:
        policy = EverySecondTime()
        whole = fresh(policy, 20)
        assert policy.asked == 0
        parts = [fresh(policy, [seed])[0] for seed in reversed(range(20))]
        assert whole[0].kept == sum(row.kept for row in parts)
        assert whole[0].retries == sum(row.retries for row in parts)
        assert str(fresh(policy, 20)) == str(whole)

    def test_a_run_again_has_one_too(self) -> None:
        table = fresh(EverySecondTime(), 5)
        assert table.run("EverySecondTime", 2).retries > 0
        assert table.policies["EverySecondTime"].asked == 0  # type: ignore[attr-defined]

    def test_whatever_the_seed_of_hashes(self) -> None:
        code = (
            "from commonboard import World, scenarios\n"
            "from commonboard.compare import compare\n"
            "worlds = [World(), World(replicas=2)]\n"
            "table = compare(scenarios.consolidation, seeds=15, think=[0, 60], world=worlds)\n"
            "print([tuple(getattr(row, name) for name in row.__slots__) for row in table])"
        )
        first, second = (told_by_another_process(code, seed) for seed in "12")
        assert first == second
        assert first[0].startswith("[('LastWriterWins', 'one store', 0,")

    def test_where_another_loop_is_running(self) -> None:
        async def in_a_notebook() -> Comparison:
            await asyncio.sleep(0)
            return compare(scenarios.counter, seeds=5)

        assert run(in_a_notebook()) == compare(scenarios.counter, seeds=5)

    def test_nothing_heavy_is_loaded_and_no_bar_is_drawn_for_a_short_one(self) -> None:
        code = (
            "import sys\n"
            "from commonboard import scenarios\n"
            "from commonboard.compare import compare\n"
            "compare(scenarios.counter, seeds=3)\n"
            "print(sorted({'IPython', 'matplotlib', 'numpy', 'pandas', 'tqdm'} & set(sys.modules)))"
        )
        assert told_by_another_process(code, "0") == ("[]\n", "")


def told_by_another_process(code: str, hash_seed: str) -> tuple[str, str]:
    quiet = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_CURRENT_TEST")}
    environment = quiet | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=100)
    return done.stdout, done.stderr


class Bar:
    """Stands in for tqdm's."""

    def __init__(self, total: int, initial: int, **options: Any) -> None:
        self.total, self.done, self.closed = total, initial, False
        made.append(self)

    def update(self, runs: int) -> None:
        self.done += runs

    def close(self) -> None:
        self.closed = True


made: list[Bar] = []


class TestTheBar:
    @pytest.fixture(autouse=True)
    def _slow_clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made.clear()
        clock = iter(range(10**6))
        monkeypatch.setattr(MODULE.time, "monotonic", lambda: next(clock))  # each look is a second later
        monkeypatch.setattr("tqdm.auto.tqdm", Bar)
        monkeypatch.delenv("CI", raising=False)

    @staticmethod
    def _compare() -> None:
        compare(scenarios.claim_the_task, [cb.LastWriterWins()], seeds=260)

    def test_comes_after_two_seconds_with_what_is_done_by_then(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PYTEST_CURRENT_TEST")
        self._compare()
        (bar,) = made
        assert (bar.total, bar.done, bar.closed) == (260, 260, True)

    def test_does_not_come_on_ci(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PYTEST_CURRENT_TEST")
        monkeypatch.setenv("CI", "true")
        self._compare()
        assert made == []

    def test_does_not_come_in_a_test_or_under_nbval(self) -> None:
        self._compare()
        assert made == []

    def test_goes_when_a_run_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PYTEST_CURRENT_TEST")
        with pytest.raises(ComparisonError, match="ZeroDivisionError"):
            compare(scenarios.counter, [cb.LastWriterWins(), divides], seeds=200)
        assert [bar.closed for bar in made] == [True]


def divides(base: Any, mine: Any, theirs: Any) -> Any:
    return 1 / 0


def _fails_late() -> Scenario:
    """An agent that fails in an order which is rare."""

    async def counts(me: cb.AgentMemory) -> None:
        for _ in range(6):
            await me.shared.update("n", lambda n: (n or 0) + 1)
        assert await me.value("shared/n") < 11 or me.name == "a"

    return Scenario("late", "", {"a": counts, "b": counts}, intents=(1,), kept=lambda state, intent: True)


# --- what cannot be compared ---


class TestARunThatFails:
    def test_because_of_an_agent_names_scenario_policy_seed_and_token(self) -> None:
        failing = _fails_late()
        with pytest.raises(
            ComparisonError, match=r"'late' under 'LastWriterWins', one store, seed \d+: failed: b raised"
        ) as told:
            compare(failing, [cb.Optimistic(attempts=50), cb.LastWriterWins()][1:], seeds=400)
        token = str(told.value).rpartition("replay='")[2].rstrip("'")
        assert isinstance(cb.simulate(failing, policy=cb.LastWriterWins(), replay=token).errors["b"], AssertionError)

    def test_because_all_wait_is_no_row_either(self) -> None:
        with pytest.raises(
            ComparisonError, match=r"'waits' under 'LastWriterWins', one store, seed 0: deadlock: waiter-0 waits for"
        ):
            compare(waits_for_ever, seeds=3)

    def test_because_of_a_refusal_and_something_else_is_told_by_what_else(self) -> None:
        async def breaks(me: cb.AgentMemory) -> None:
            raise KeyError("bug")

        async def writes(me: cb.AgentMemory) -> None:
            await me.shared.update("n", lambda n: 1)

        crew = Scenario("both", "", {"a": writes, "b": breaks}, intents=(1,))
        with pytest.raises(ComparisonError, match=r"failed: b raised KeyError.*replay='cb1-") as told:
            compare(crew, [cb.SingleWriter("nobody")], seeds=1)
        assert "may not change" not in str(told.value)

    def test_because_of_a_task_that_nobody_awaited(self) -> None:
        async def forgets(me: cb.AgentMemory) -> None:
            async def stray() -> None:
                raise ValueError("unseen")

            task = asyncio.create_task(stray())
            await me.think(seconds=1)
            assert task.done()

        with pytest.raises(ComparisonError, match="unseen"):
            compare(Scenario("stray", "", {"a": forgets}, intents=(1,)), [cb.LastWriterWins()], seeds=1)

    def test_because_of_the_policy_between_replicas_shows_the_line(self) -> None:
        with pytest.raises(
            ComparisonError, match=r"'divides', 2 replicas, seed \d+: the simulation raised ZeroDivisionError.*1 / 0"
        ):
            compare(scenarios.research_crew, [divides], seeds=9, world=cb.World(replicas=2))

    def test_because_of_the_scenarios_own_oracle(self) -> None:
        crew = dataclasses.replace(guest_book, kept=lambda state, intent: state["nowhere"])
        with pytest.raises(ComparisonError, match=r"the scenario's kept or by raised KeyError: 'nowhere'.*replay='cb1-"):
            compare(crew, seeds=1)

    def test_is_the_first_in_order_wherever_the_runs_are_made(self) -> None:
        told = []
        with ThreadPoolExecutor(2) as threads:
            for executor in (None, threads, threads):
                with pytest.raises(ComparisonError) as failed:
                    compare(_fails_late(), [cb.LastWriterWins()], seeds=400, executor=executor)
                told.append(str(failed.value))
        assert len(set(told)) == 1


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"seeds": 0}, "at least 1 run"),
            ({"seeds": []}, "seeds= is empty"),
            ({"seeds": [1, 2, 1]}, "seeds= has 1 twice"),
            ({"seeds": "abc"}, "seeds= takes a list, not 'abc'"),
            ({"seeds": True}, "seeds= takes a list, not True"),
            ({"seeds": [True]}, "a seed is a whole number or text, not True"),
            ({"seeds": [None]}, "a seed is a whole number or text, not None"),
            ({"agents": 0}, "agents= takes a whole number of at least 1"),
            ({"agents": 1.5}, "agents= takes a whole number of at least 1"),
            ({"agents": True}, "agents= takes a whole number of at least 1"),
            ({"agents": []}, "agents= is empty"),
            ({"agents": [2, 2]}, "agents= has 2 twice"),
            ({"agents": {"a": 1}}, "agents= takes a whole number of at least 1, or a list of them, not 'a'"),
            ({"keys": "2"}, "keys= takes a list, not '2'"),
            ({"think": -1}, "think= takes a number of virtual seconds, 0 or more"),
            ({"think": float("inf")}, "think= takes a number of virtual seconds"),
            ({"think": [1, float("nan")]}, "think= takes a number of virtual seconds"),
            ({"agents": [1, 2], "keys": [1, 2]}, "agents= and keys= are lists; one knob at a time"),
            ({"world": 2}, "world= takes a list, not 2"),
            ({"world": []}, "world= is empty"),
            ({"world": [2]}, r"world= takes a cb\.World, or a list of them, not 2"),
            ({"policies": []}, "policies= is empty"),
            ({"policies": {}}, "policies= is empty"),
            ({"policies": "optimistic"}, "policies= takes a list"),
            ({"executor": 3}, r"executor= takes a concurrent\.futures\.Executor"),
        ],
    )
    def test_that_make_no_sense_are_refused(self, options: Any, match: str) -> None:
        with pytest.raises(InvalidArgumentError, match=match):
            compare(scenarios.counter, **({"seeds": 1} | options))

    def test_a_policy_that_is_none_is_a_policy_error(self) -> None:
        with pytest.raises(PolicyError, match="make a policy of it with Optimistic"):
            compare(scenarios.counter, [cb.Optimistic], seeds=1)

    def test_a_policy_that_cannot_be_copied_is_refused_by_name(self) -> None:
        policy = cb.Optimistic()
        policy.lock = threading.Lock()  # type: ignore[attr-defined]
        with pytest.raises(
            InvalidArgumentError, match=r"the policy 'Optimistic' cannot be copied, and each run needs a fresh one"
        ):
            compare(scenarios.counter, [policy], seeds=1)

    def test_agents_alone_are_no_scenario(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"takes a cb\.Scenario.*not a dict"):
            compare({"a": None}, seeds=1)  # type: ignore[arg-type]

    def test_a_scenario_without_intents_leaves_nothing_to_count(self) -> None:
        with pytest.raises(InvalidArgumentError, match="names no intents"):
            compare(dataclasses.replace(guest_book, intents=()), seeds=1)


class TestPoliciesOfTheAgentsOwn:
    @staticmethod
    def _crew(own: Any) -> Scenario:
        async def signs(me: cb.AgentMemory) -> None:
            await me.shared.update("guests", lambda found: [*(found or []), me.name], policy=own if me.name == "a" else None)

        return dataclasses.replace(guest_book, agents={"a": signs, "b": signs})

    def test_are_warned_of_by_name(self) -> None:
        with pytest.warns(PolicyIgnoredWarning, match=r"policy= of their own.*: 'a' at 'shared/guests'; leave it out") as caught:
            compare(self._crew(cb.LastWriterWins()), seeds=3)
        assert len(caught) == 1
        assert caught[0].filename == __file__

    def test_are_no_worry_where_nobody_has_one(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compare(self._crew(None), seeds=3)


class TestScenarios:
    def test_numbers_that_were_turned_before_stay_turned(self) -> None:
        turned = scenarios.counter(agents=4)(seconds=3)(keys=2)
        assert turned.numbers == {"agents": 4, "increments": 1, "seconds": 3, "keys": 2}
        assert len(turned.agents) == 4
        assert scenarios.counter.numbers["agents"] == 2

    def test_one_that_was_changed_by_hand_does_not_pass_for_what_it_was_made_from(self) -> None:
        changed = dataclasses.replace(scenarios.counter(agents=4), story="another")
        assert changed.knobs is None
        assert scenarios.counter(agents=4).knobs == {"agents": 4}

    def test_one_that_nothing_varies_has_no_numbers(self) -> None:
        assert guest_book.numbers == {}

    def test_the_decorator_takes_the_functions_defaults(self) -> None:
        @scenario
        def greetings(agents: int = 2) -> Scenario:
            return Scenario("greetings", f"{agents} say hello.", {})

        assert (greetings.story, greetings(agents=7).story) == ("2 say hello.", "7 say hello.")
        assert greetings.knobs == {}
