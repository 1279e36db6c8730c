"""The scenarios: what each means to get done, who loses it under which policy, and that two independent oracles agree."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sim.orders import every

import commonboard as cb
from commonboard import scenarios

SEEDS = 50
ALL = [getattr(scenarios, name) for name in scenarios.__all__]
KEEPS_LISTS = [scenarios.consolidation, scenarios.research_crew]


def runs(scenario: cb.Scenario, policy: Any, **options: Any) -> list[cb.Run]:
    made = [cb.simulate(scenario, policy=policy, seed=seed, **options) for seed in range(SEEDS)]
    assert all(each.ok for each in made)
    return made


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
class TestEveryScenario:
    def test_loses_something_under_last_writer_wins_in_some_orders_and_in_others_not(self, scenario: cb.Scenario) -> None:
        lost = [len(made.lost) for made in runs(scenario, cb.LastWriterWins())]
        assert sum(each > 0 for each in lost) > 0
        if scenario is not scenarios.consolidation:  # its lead thinks so long that the others always come between
            assert 0 in lost

    def test_loses_nothing_under_optimistic(self, scenario: cb.Scenario) -> None:
        for made in runs(scenario, cb.Optimistic()):
            assert made.lost == []
            assert cb.no_lost_updates(made).holds is True

    def test_is_told_alike_by_its_own_oracle_and_by_the_check_of_versions(self, scenario: cb.Scenario) -> None:
        for made in runs(scenario, cb.LastWriterWins()):
            assert bool(made.lost) is (cb.no_lost_updates(made).holds is False), made.token

    def test_is_told_alike_between_replicas_under_last_writer_wins(self, scenario: cb.Scenario) -> None:
        for made in runs(scenario, cb.LastWriterWins(), world=cb.World(replicas=3)):
            assert bool(made.lost) <= (cb.no_lost_updates(made).holds is False), made.token

    def test_says_what_happens_and_who_takes_part(self, scenario: cb.Scenario) -> None:
        assert scenario.story.endswith(".")
        assert scenario.name in scenario._repr_markdown_()
        assert all(f"`{name}`" in scenario._repr_markdown_() for name in scenario.agents)
        assert "0x" not in repr(scenario)
        assert cb.simulate(scenario).scenario is scenario

    def test_called_without_numbers_is_the_same_again(self, scenario: cb.Scenario) -> None:
        again = scenario()
        assert (again.name, again.intents, dict(again.given)) == (scenario.name, scenario.intents, dict(scenario.given))
        assert str(cb.simulate(again, seed=3).history) == str(cb.simulate(scenario, seed=3).history)
        assert again().name == scenario.name

    def test_refuses_a_knob_that_it_does_not_have(self, scenario: cb.Scenario) -> None:
        with pytest.raises(TypeError, match="colour"):
            scenario(colour="red")

    def test_begins_with_none_of_its_intents_done_but_what_was_given(self, scenario: cb.Scenario) -> None:
        given = dict(scenario.given)
        if scenario is scenarios.claim_the_task:  # nobody has worked without the task yet
            assert scenario.lost(given) == []
        else:
            assert len(scenario.lost(given)) >= 2


@pytest.mark.parametrize("scenario", KEEPS_LISTS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("replicas", [1, 3])
def test_lists_that_are_merged_as_sets_lose_nothing_with_one_store_or_with_three(scenario: cb.Scenario, replicas: int) -> None:
    for made in runs(scenario, cb.Merge(cb.ORSet), world=cb.World(replicas=replicas)):
        assert made.lost == []
        assert cb.no_lost_updates(made).holds is True


class TestTheCounter:
    @pytest.mark.parametrize("replicas", [1, 2, 3])
    def test_merged_as_a_counter_loses_nothing(self, replicas: int) -> None:
        for made in runs(scenarios.counter(agents=3, increments=2), cb.Merge(cb.PNCounter), world=cb.World(replicas=replicas)):
            assert (made.lost, made.value("shared/count")) == ([], 6)

    def test_misses_as_many_intents_as_the_sum_is_too_small(self) -> None:
        scenario = scenarios.counter(agents=3, increments=3)
        for made in runs(scenario, cb.LastWriterWins()):
            assert len(made.lost) == 9 - made.value("shared/count")

    def test_comes_in_any_size(self) -> None:
        scenario = scenarios.counter(agents=4, increments=2, seconds=5, keys=2)
        assert list(scenario.agents) == [f"counter-{number}" for number in range(1, 5)]
        assert dict(scenario.given) == {"shared/count": 0, "shared/count-2": 0}
        assert len(scenario.intents) == len(set(scenario.intents)) == 8
        made = cb.simulate(scenario, policy=cb.Optimistic())
        assert made.state == {"shared/count": 4, "shared/count-2": 4}
        assert made.seconds >= 10
        assert made.lost == []

    def test_drops_whoever_came_second_under_first_writer_wins_and_only_its_own_oracle_sees_it(self) -> None:
        lost = 0
        for made in every(scenarios.counter, policy=cb.FirstWriterWins()):
            assert cb.no_lost_updates(made).holds is True
            lost += len(made.lost)
        assert lost > 0


class TestTheClaim:
    def test_is_worked_on_twice_exactly_when_both_think_it_is_theirs(self) -> None:
        for made in every(scenarios.claim_the_task, policy=cb.LastWriterWins()):
            workers = [name for name in ("web", "docs") if made.value(f"{name}/did")]
            assert made.value("shared/task-7/owner") in workers
            assert made.lost == [name for name in workers if name != made.value("shared/task-7/owner")]
            assert len(workers) in (1, 2)

    @pytest.mark.parametrize("policy", [cb.Optimistic(), cb.FirstWriterWins()], ids=lambda policy: policy.name)
    def test_is_worked_on_once_where_the_second_sees_the_first(self, policy: Any) -> None:
        for made in every(scenarios.claim_the_task, policy=policy):
            assert len([name for name in ("web", "docs") if made.value(f"{name}/did")]) == 1
            assert (made.lost, made.tokens) == ([], 3000)

    def test_between_replicas_converges_and_is_worked_on_twice_all_the_same(self) -> None:
        twice = 0
        for made in every(scenarios.claim_the_task, policy=cb.LastWriterWins(), world=cb.World(replicas=2)):
            owners = {next(e.value for e in page if e.key == "shared/task-7/owner") for page in made.boards.values()}
            assert len(owners) == 1
            twice += len(made.lost)
        assert twice > 0

    @pytest.mark.parametrize("agents", [2, 3, 5])
    def test_comes_with_any_number_of_agents(self, agents: int) -> None:
        made = cb.simulate(scenarios.claim_the_task(agents=agents, seconds=7), policy=cb.Optimistic())
        assert len(made.agents) == agents
        assert made.seconds == 7


class TestTheConsolidation:
    def test_loses_what_was_added_while_the_lead_was_thinking(self) -> None:
        for made in runs(scenarios.consolidation, cb.LastWriterWins()):
            assert set(made.lost) <= {"prices rose in May", "a rival cut prices"}
            assert made.lost == [note for note in ("prices rose in May", "a rival cut prices") if note not in _notes(made)]

    def test_tidies_away_what_was_there_twice_under_optimistic(self) -> None:
        for made in runs(scenarios.consolidation, cb.Optimistic()):
            assert sorted(_notes(made)) == sorted(["churn is up", "support is slow", "prices rose in May", "a rival cut prices"])

    def test_costs_the_lead_its_thinking_again_under_optimistic(self) -> None:
        blind, careful = (
            cb.simulate(scenarios.consolidation, policy=policy) for policy in (cb.LastWriterWins(), cb.Optimistic())
        )
        assert careful.tokens > blind.tokens
        assert careful.seconds > blind.seconds

    def test_comes_with_any_notes_and_any_time(self) -> None:
        scenario = scenarios.consolidation(seconds=10, notes=("a", "b", "c"))
        assert [intent for intent in scenario.intents if len(intent) == 1] == ["a", "b", "c"]
        made = cb.simulate(scenario, policy=cb.LastWriterWins())
        assert made.lost == []  # the lead is done before anybody adds anything
        assert {"a", "b", "c"} <= set(_notes(made))


class TestTheResearchCrew:
    def test_loses_one_question_at_the_most(self) -> None:
        lost = {tuple(made.lost) for made in every(scenarios.research_crew, policy=cb.LastWriterWins())}
        assert lost == {(), (scenarios.crews.WEB_ASKS,), (scenarios.crews.DOCS_ASKS,)}

    def test_nobody_crashes_and_the_brief_is_written_all_the_same(self) -> None:
        for made in runs(scenarios.research_crew, cb.LastWriterWins()):
            assert made.troubles == []
            assert made.value("synth/brief")["open"] == len(made.value("shared/open_questions")) == 3 - len(made.lost)

    def test_cites_what_nobody_found(self) -> None:
        made = cb.simulate(scenarios.research_crew)
        found = [*made.value("web/findings"), *made.value("docs/findings")]
        assert [cited for cited in made.value("synth/brief")["cites"] if cited not in found] == [scenarios.crews.INVENTED]

    def test_comes_with_other_questions_and_other_times(self) -> None:
        made = cb.simulate(scenarios.research_crew(seconds=5, given=("What now?",)), policy=cb.Optimistic())
        assert made.seconds == 10
        assert made.value("shared/open_questions")[0] == "What now?"


def test_the_names_of_all_scenarios_are_there() -> None:
    assert sorted(scenario.name for scenario in ALL) == ["claim the task", "consolidation", "counter", "research crew"]
    assert all(isinstance(scenario, cb.Scenario) for scenario in ALL)


def test_an_own_scenario_takes_part_like_any_other() -> None:
    async def adds(me: cb.AgentMemory) -> None:
        await me.shared.update("names", lambda names: [*(names or []), me.name])

    mine = cb.Scenario(
        name="guest book",
        story="Everybody signs.",
        agents={"a": adds, "b": adds},
        intents=("a", "b"),
        kept=lambda state, intent: intent in state.get("shared/names", []),
    )
    assert {len(made.lost) for made in every(mine, policy=cb.LastWriterWins())} == {0, 1}
    assert all(made.lost == [] for made in every(mine))


def _notes(made: cb.Run) -> list[str]:
    return list(made.value("shared/notes"))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"agents": [len]}, "a dict of name to async function"),
        ({"intents": "ab"}, "not one text"),
    ],
)
def test_a_scenario_that_could_not_be_judged_is_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(cb.CommonboardError, match=told):
        cb.Scenario("one", "", **{"agents": {}, **wrong})


def test_an_oracle_that_forgets_its_return_is_no_verdict() -> None:
    forgets = cb.Scenario("one", "", {}, intents=("a",), kept=lambda state, intent: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(cb.CommonboardError, match="it says True or False"):
        forgets.lost({})
