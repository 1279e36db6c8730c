"""What became of each intent: exactly one fate, the right one, told apart by an independent reading of the values."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.compare.crews import (
    EverySecondTime,
    guest_book,
    keeps_mine,
    keeps_theirs,
    refuses,
    tag,
    tagged,
    writes_mine,
)
from tests.helpers import FiveMethods
from tests.sim.orders import every

import commonboard as cb
from commonboard import scenarios
from commonboard.check.fates import FATES, fates, told
from commonboard.errors import ConflictError, InvalidArgumentError, NotAdmittedError, SchemaError

POLICIES: list[Any] = [
    cb.LastWriterWins(),
    cb.FirstWriterWins(),
    cb.Optimistic(),
    cb.Optimistic(attempts=1),
    cb.Optimistic(attempts=2, backoff=1),
    cb.SingleWriter("web"),
    cb.SingleWriter("agent-1"),
    cb.AppendOnly(),
    keeps_mine,
    keeps_theirs,
    writes_mine,
    refuses,
    EverySecondTime(),
]
SCENARIOS = [
    scenarios.research_crew,
    scenarios.consolidation,
    scenarios.consolidation(seconds=45, notes=("a", "b", "c", "d", "e")),
    scenarios.counter,
    scenarios.counter(agents=3, increments=3, seconds=5),
    scenarios.counter(agents=3, increments=3, keys=2),
    scenarios.claim_the_task,
    scenarios.claim_the_task(agents=4),
    guest_book,
    tagged,
    tagged(stubborn=True),
]


def names(run: cb.Run) -> list[str]:
    return [fate.name for fate in fates(run)]


def by_intent(run: cb.Run) -> dict[Any, str]:
    return {fate.intent: fate.name for fate in fates(run)}


class TestEveryIntentHasExactlyOneFate:
    @given(
        scenario=st.sampled_from(SCENARIOS),
        policy=st.sampled_from([*POLICIES, "merge"]),
        seed=st.integers(0, 10**6),
        replicas=st.sampled_from([1, 1, 2, 3]),
    )
    @settings(max_examples=300)
    def test_whatever_the_scenario_the_policy_the_seed_and_the_world(
        self, scenario: cb.Scenario, policy: Any, seed: int, replicas: int
    ) -> None:
        if policy == "merge":
            policy = cb.Optimistic() if scenario.crdt is None else cb.Merge(scenario.crdt)
        run = cb.simulate(scenario, policy=policy, seed=seed, world=cb.World(replicas=replicas))
        assert len(run.troubles) == len(told(run))  # nothing went wrong but refusals
        found = fates(run)
        assert [fate.intent for fate in found] == list(scenario.intents)
        counts = Counter(fate.name for fate in found)
        assert set(counts) <= set(FATES)
        assert sum(counts.values()) == len(scenario.intents)
        assert counts["kept"] == len(scenario.intents) - len(run.lost)
        assert counts["unknown"] == 0
        if counts["overwritten"]:
            assert cb.no_lost_updates(run).holds is False
        if counts["rejected"]:
            assert run.errors or any(call.outcome == "refused" for call in run.calls)
        if replicas == 1 or isinstance(policy, cb.Merge):
            assert counts["unresolved"] == 0
        if counts["unresolved"]:
            assert run.unresolved > 0

    @pytest.mark.parametrize("policy", [cb.LastWriterWins(), cb.Optimistic(), cb.FirstWriterWins(), keeps_mine])
    def test_in_every_order_of_a_small_program(self, policy: Any) -> None:
        orders = 0
        for run in every(scenarios.counter(increments=2), policy=policy):
            counts = Counter(names(run))
            assert counts["kept"] == run.value("shared/count")
            assert counts["unknown"] == counts["rejected"] == counts["unresolved"] == 0
            orders += 1
        assert orders >= 70


# --- an independent oracle: what the values themselves say ---


def has(op: cb.Operation, intent: str) -> bool:
    return op.text is not None and intent in op.value


def by_values(run: cb.Run, intent: str) -> str:
    """The fate of a tag on one store, read off the values of its key: no lineage, and no version but to find what was read."""
    agent, number = intent.split("#")
    call = [call for call in run.calls if call.agent == agent][int(number) - 1 : int(number)]
    if not call:
        return "rejected"
    versions = {op.made: op for op in run.history.writes(call[0].key) if op.made is not None}
    ordered = sorted(versions)
    last = max((version for version in ordered if has(versions[version], intent)), default=None)
    if last is None:
        return "rejected" if call[0].outcome == "refused" else "discarded"
    if last == ordered[-1]:
        return "kept"
    gone = versions[next(version for version in ordered if version > last)]
    saw = versions[gone.saw] if gone.saw is not None else None
    return "discarded" if saw is not None and has(saw, intent) else "overwritten"


class TestTheFateIsTheRightOne:
    @pytest.mark.parametrize("stubborn", [False, True])
    @pytest.mark.parametrize(
        "policy", [*POLICIES[:5], cb.SingleWriter("agent-1"), keeps_mine, keeps_theirs, writes_mine, refuses]
    )
    def test_as_the_values_say(self, policy: Any, stubborn: bool) -> None:
        seen = Counter[str]()
        for seed in range(60):
            run = cb.simulate(tagged(stubborn=stubborn), policy=policy, seed=seed)
            expected = {intent: by_values(run, intent) for intent in tagged.intents}
            assert by_intent(run) == expected, run.token
            seen.update(expected.values())
        assert seen["kept"] > 0

    @pytest.mark.parametrize("policy", POLICIES[:3])
    def test_as_the_values_say_in_every_order(self, policy: Any) -> None:
        small = tagged(plan=((("a", 0),), (("a", 0),), (("a", 0),)))
        orders = 0
        for run in every(small, policy=policy):
            assert by_intent(run) == {intent: by_values(run, intent) for intent in small.intents}, run.token
            orders += 1
        assert orders >= 90

    @given(
        plan=st.lists(
            st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4)), min_size=1, max_size=3).map(tuple),
            min_size=1,
            max_size=4,
        ).map(tuple),
        policy=st.sampled_from([*POLICIES[:5], keeps_mine, keeps_theirs, refuses]),
        seed=st.integers(0, 10**6),
        stubborn=st.booleans(),
    )
    @settings(max_examples=150)
    def test_as_the_values_say_whatever_the_agents_do(self, plan: Any, policy: Any, seed: int, stubborn: bool) -> None:
        scenario = tagged(plan=plan, stubborn=stubborn)
        run = cb.simulate(scenario, policy=policy, seed=seed)
        assert by_intent(run) == {intent: by_values(run, intent) for intent in scenario.intents}

    @pytest.mark.parametrize("replicas", [2, 3])
    @pytest.mark.parametrize("policy", [cb.Optimistic(), cb.Optimistic(attempts=1), refuses])
    def test_what_is_unresolved_stands_in_a_value_beside_the_one_that_is_shown(self, policy: Any, replicas: int) -> None:
        unresolved = 0
        for seed in range(60):
            run = cb.simulate(tagged, policy=policy, seed=seed, world=cb.World(replicas=replicas))
            for intent, name in by_intent(run).items():
                hidden = [sibling.text for siblings in run.siblings.values() for sibling in siblings[:-1]]
                assert (name == "unresolved") is (name != "kept" and any(f'"{intent}"' in str(text) for text in hidden))
                unresolved += name == "unresolved"
        assert unresolved > 0

    @pytest.mark.parametrize("replicas", [2, 3])
    def test_what_a_meeting_of_replicas_drops_is_overwritten_as_the_check_says(self, replicas: int) -> None:
        met = 0
        for seed in range(60):
            run = cb.simulate(tagged, policy=cb.LastWriterWins(), seed=seed, world=cb.World(replicas=replicas))
            assert set(names(run)) <= {"kept", "overwritten"}
            lost = [op for finding in cb.no_lost_updates(run).findings for op in finding.operations]
            for intent, name in by_intent(run).items():
                if name == "overwritten":  # the change itself is in a finding, or something later that had it
                    assert any(has(op, intent) for op in lost)
                    met += 1
        assert met > 0

    def test_of_two_that_read_the_same_the_first_to_write_is_overwritten(self) -> None:
        run = next(run for run in every(scenarios.research_crew(seconds=0), policy=cb.LastWriterWins()) if run.lost)
        (lost,) = run.lost
        assert [fate.name for fate in fates(run) if fate.intent == lost] == ["overwritten"]

    def test_what_a_policy_lets_go_is_discarded_and_nobody_is_told(self) -> None:
        run = next(run for run in every(scenarios.counter, policy=cb.FirstWriterWins()) if run.lost)
        assert names(run) == ["kept", "discarded"]
        assert run.errors == {}

    def test_what_an_agent_tidies_away_is_discarded(self) -> None:
        async def tidies(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)
            await me.shared.update("list", lambda found: [each for each in found if each != "b"])

        assert names(cb.simulate(_listing({"a": _adds("a"), "b": _adds("b"), "tidy": tidies}, "ab"))) == ["kept", "discarded"]

    def test_what_is_refused_is_rejected_and_so_is_what_its_agent_then_never_came_to(self) -> None:
        run = cb.simulate(tagged(plan=((("a", 0),), (("a", 2), ("b", 0)))), policy=cb.SingleWriter("agent-1"))
        assert by_intent(run) == {tag("agent-1", 1): "kept", tag("agent-2", 1): "rejected", tag("agent-2", 2): "rejected"}

    def test_an_agent_that_hears_of_a_refusal_and_goes_on_has_only_lost_that_one(self) -> None:
        plan = ((("a", 0), ("a", 0)), (("a", 5), ("b", 0)))
        run = cb.simulate(tagged(plan=plan, stubborn=True), policy=cb.Optimistic(attempts=1))
        assert run.errors == {}
        assert by_intent(run)[tag("agent-2", 1)] == "rejected"
        assert by_intent(run)[tag("agent-2", 2)] == "kept"

    def test_an_agent_that_hears_of_a_refusal_and_stops_has_been_told_of_the_rest(self) -> None:
        async def stops(me: cb.AgentMemory) -> None:
            try:
                await _adds("a")(me)
                await _adds("b")(me)
            except NotAdmittedError:
                return

        scenario = _listing({"me": stops}, "ab", by=lambda intent: ("me", "ab".index(intent) + 1))
        run = cb.simulate(scenario, policy=cb.SingleWriter("you"))
        assert run.errors == {}
        assert names(run) == ["rejected", "rejected"]

    def test_changes_are_counted_in_the_order_of_their_beginnings_whatever_they_are(self) -> None:
        async def appends_then_updates(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)
            await me.shared.append("list", "a")
            await me.think(seconds=9)
            await _adds("b")(me)

        agents = {"me": appends_then_updates, "slow": _adds("c", seconds=5)}
        whose: dict[str, Any] = {"a": ("me", 1), "b": ("me", 2), "c": "slow"}
        run = cb.simulate(_listing(agents, "abc", by=whose.get), policy=cb.LastWriterWins())
        assert names(run) == ["overwritten", "kept", "kept"]

    def test_agents_that_were_refused_within_a_group_of_tasks_were_told(self) -> None:
        async def two(me: cb.AgentMemory) -> None:
            async with asyncio.TaskGroup() as group:
                for name in "ab":
                    group.create_task(_adds(name)(me))

        run = cb.simulate(
            _listing({"two": two}, "ab", by=lambda intent: ("two", "ab".index(intent) + 1)), policy=cb.SingleWriter("x")
        )
        assert isinstance(run.errors["two"], BaseExceptionGroup)
        assert told(run) == ["two"]
        assert names(run) == ["rejected", "rejected"]

    def test_two_updates_of_one_agent_at_once_are_told_apart(self) -> None:
        async def both(me: cb.AgentMemory) -> None:
            await asyncio.gather(_adds("a", 1)(me), _adds("b", 2)(me))

        scenario = _listing({"both": both}, "ab", by=lambda intent: ("both", "ab".index(intent) + 1))
        assert names(cb.simulate(scenario, policy=cb.LastWriterWins())) == ["overwritten", "kept"]
        assert names(cb.simulate(scenario, policy=cb.FirstWriterWins())) == ["kept", "discarded"]

    def test_appends_and_blind_writes_are_changes_too(self) -> None:
        async def appends(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)
            await me.shared.append("list", "a")

        async def overwrites(me: cb.AgentMemory) -> None:
            await me.think(seconds=2)
            await me.shared.write("list", ["b"])

        slow = _adds("c", seconds=5)
        assert names(cb.simulate(_listing({"a": appends, "c": slow}, "ac"), policy=cb.LastWriterWins())) == [
            "overwritten",
            "kept",
        ]
        assert names(cb.simulate(_listing({"a": appends, "b": overwrites}, "ab"))) == ["overwritten", "kept"]
        assert names(cb.simulate(_listing({"a": appends, "c": slow}, "ac"), policy=cb.Optimistic())) == ["kept", "kept"]

    def test_what_was_given_has_a_fate_as_well(self) -> None:
        async def forgets(me: cb.AgentMemory) -> None:
            await me.shared.update("list", lambda found: ["a"])

        async def blind(me: cb.AgentMemory) -> None:
            await me.shared.write("list", ["a"])

        for replicas in (1, 2):
            world = cb.World(replicas=replicas)
            for agent, fate in ((forgets, "discarded"), (blind, "overwritten"), (_adds("a"), "kept")):
                scenario = _listing({"b": _nothing, "a": agent}, ["a", "old"], by=lambda x: "given" if x == "old" else x)
                assert names(cb.simulate(scenario, world=world)) == ["kept", fate]

    def test_what_is_gone_from_the_hidden_value_too_is_discarded(self) -> None:
        async def adds_and_takes_back(me: cb.AgentMemory) -> None:
            await _adds("a")(me)
            await me.shared.update("list", lambda found: [each for each in found if each != "a"])

        async def adds_often(me: cb.AgentMemory) -> None:
            for item in "bcd":
                await _adds(item)(me)

        agents = {"a": adds_and_takes_back, "b": adds_often}
        scenario = _listing(agents, "abcd", by=lambda x: ("a", 1) if x == "a" else ("b", "bcd".index(x) + 1))
        gone = 0
        for seed in range(150):
            run = cb.simulate(scenario, seed=seed, world=cb.World(replicas=2))
            hidden = [sibling.text or "" for sibling in run.siblings["shared/list"][:-1]]
            if "a" not in run.value("shared/list"):
                assert (names(run)[0] == "unresolved") is any('"a"' in text for text in hidden)
                # Both of a's writes are hidden, and the second took back what the first had added.
                gone += bool(hidden) and names(run) == ["discarded", "kept", "kept", "kept"]
        assert gone > 0


class TestWhereItCannotBeTold:
    def test_a_scenario_without_by_does_not_tell(self) -> None:
        plain = _listing({"a": _adds("a"), "b": _adds("b", seconds=3)}, "ab", by=None)
        assert names(cb.simulate(plain, policy=cb.LastWriterWins())) == ["unknown", "kept"]

    def test_by_may_say_that_nobody_knows(self) -> None:
        plain = _listing({"a": _adds("a"), "b": _adds("b", seconds=3)}, "ab", by=lambda intent: None)
        assert names(cb.simulate(plain, policy=cb.LastWriterWins())) == ["unknown", "kept"]

    def test_an_agent_that_makes_several_changes_must_say_which(self) -> None:
        async def twice(me: cb.AgentMemory) -> None:
            await me.shared.update("other", lambda found: 1)
            await _adds("a")(me)

        agents = {"a": twice, "b": _adds("b", seconds=3)}
        assert names(cb.simulate(_listing(agents, "ab"), policy=cb.LastWriterWins())) == ["unknown", "kept"]
        second = _listing(agents, "ab", by=lambda intent: ("a", 2) if intent == "a" else "b")
        assert names(cb.simulate(second, policy=cb.LastWriterWins())) == ["overwritten", "kept"]

    def test_an_agent_that_never_tries_was_not_told(self) -> None:
        assert names(cb.simulate(_listing({"a": _nothing}, "a"))) == ["unknown"]

    def test_an_update_that_failed_for_another_reason_was_not_refused(self) -> None:
        async def fails(me: cb.AgentMemory) -> None:
            with pytest.raises(SchemaError):
                await me.shared.update("list", lambda found: ["a"], schema=int)

        assert names(cb.simulate(_listing({"a": fails}, "a"))) == ["unknown"]

    def test_of_changes_that_are_alike_nobody_knows_which_is_missing_if_they_ended_in_different_ways(self) -> None:
        async def counts(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)
            await me.shared.update("n", lambda n: n + 1, policy=cb.LastWriterWins() if me.name == "a" else None)

        async def counts_double(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)
            await me.shared.update("n", lambda n: n + 2)

        scenario = _sum({"a": counts, "b": counts, "c": counts, "d": counts_double}, 4)
        unknown = 0
        for seed in range(300):
            run = cb.simulate(scenario, policy=cb.Optimistic(attempts=1), seed=seed)
            missing = Counter(names(run)) - Counter({"kept": 4})
            if missing["unknown"]:
                # Two changes are not in the sum, which is only one too small since d counted double.
                assert missing == {"unknown": 1}
                assert sorted(call.outcome for call in run.calls) == ["refused", "wrote", "wrote", "wrote"]
                assert cb.no_lost_updates(run).findings
                unknown += 1
        assert unknown > 0

    def test_a_change_that_nobody_made_and_nobody_was_told_of_is_unknown(self) -> None:
        assert names(cb.simulate(_sum({"a": _counts, "b": _nothing}, 2))) == ["kept", "unknown"]

    def test_more_changes_than_intents_cannot_be_told_apart(self) -> None:
        async def takes_all(me: cb.AgentMemory) -> None:
            await me.think(seconds=9)
            await me.shared.update("n", lambda n: 0)

        assert names(cb.simulate(_sum({"a": _counts, "b": _counts, "c": takes_all}, 2))) == ["unknown", "unknown"]
        assert names(cb.simulate(_sum({"a": _counts, "b": _counts, "c": takes_all}, 3))) == ["discarded"] * 3

    def test_a_hidden_value_that_holds_less_than_its_changes_come_to_does_not_tell(self) -> None:
        async def counts_and_takes_back(me: cb.AgentMemory) -> None:
            await me.shared.update("n", lambda n: n + 1)
            await me.shared.update("n", lambda n: n - 1)

        async def counts_often(me: cb.AgentMemory) -> None:
            for _ in range(3):
                await me.shared.update("n", lambda n: n + 1)

        seen = Counter[str]()
        for seed in range(150):
            run = cb.simulate(_sum({"a": counts_and_takes_back, "b": counts_often}, 5), seed=seed, world=cb.World(replicas=2))
            *hidden, _ = run.siblings["shared/n"]
            found = [name for name in names(run) if name != "kept"]
            if [sibling.text for sibling in hidden] == ["0"] and len(hidden[0].seen) == 3:  # given, plus one, minus one
                assert set(found) == {"unknown"}
            seen.update(found)
        assert seen["unknown"] > 0
        assert seen["unresolved"] > 0

    @pytest.mark.parametrize(("whose", "match"), [("nobody", "no agent is called 'nobody'"), (("a", 0), "counted from 1")])
    def test_a_by_that_names_nobody_is_an_error(self, whose: Any, match: str) -> None:
        scenario = _listing({"a": _nothing}, "a", by=lambda intent: whose)
        with pytest.raises(InvalidArgumentError, match=match):
            fates(cb.simulate(scenario))

    def test_agents_without_a_scenario_have_no_intents(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"simulate a cb\.Scenario"):
            fates(cb.simulate({"a": _nothing}))


class TestTheCallsOfARun:
    def test_say_how_each_update_ended(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            await me.shared.update("n", lambda n: 1)
            with pytest.raises(ConflictError):
                await me.shared.update("n", _meanwhile(me), policy=cb.Optimistic(attempts=1))
            await me.shared.update("n", _meanwhile(me), policy=cb.FirstWriterWins())
            with pytest.raises(ZeroDivisionError):
                await me.shared.update("n", lambda n: 1 / 0)

        calls = cb.simulate({"me": agent}).calls
        assert [(call.agent, call.key, call.outcome, call.own_policy) for call in calls] == [
            ("me", "shared/n", "wrote", False),
            ("me", "shared/n", "refused", True),
            ("me", "shared/n", "stood", True),
            ("me", "shared/n", "failed", False),
        ]
        assert calls[0].operation is not None
        assert (calls[0].operation.kind, calls[0].operation.made) == ("compare-and-set", 1)
        assert [call.operation for call in calls[1:]] == [None, None, None]

    def test_are_noted_on_a_store_that_keeps_no_versions_too(self) -> None:
        for policy in (cb.LastWriterWins(), cb.Merge(cb.ORSet)):
            run = cb.simulate(_adds("a"), policy=policy, store=FiveMethods)
            assert [(call.outcome, call.operation) for call in run.calls] == [("wrote", None)]


def _adds(item: str, seconds: float = 0) -> Any:
    async def agent(me: cb.AgentMemory) -> None:
        async def change(found: Any) -> Any:
            await me.think(seconds=seconds)
            return (found or []) + [item]

        await me.shared.update("list", change)

    return agent


async def _nothing(me: cb.AgentMemory) -> None:
    pass


async def _counts(me: cb.AgentMemory) -> None:
    await me.shared.update("n", lambda n: n + 1)


def _sum(agents: Any, intents: int) -> cb.Scenario:
    def kept(state: Any, number: int) -> bool:
        return bool(state["shared/n"] >= number)

    return cb.Scenario("sum", "", agents, {"shared/n": 0}, tuple(range(1, intents + 1)), kept, by=lambda number: "shared/n")


def _meanwhile(me: cb.AgentMemory) -> Any:
    async def change(found: Any) -> Any:
        await me.shared.write("n", 7)
        return 8

    return change


def _listing(agents: Any, intents: Any, by: Any = str) -> cb.Scenario:
    def kept(state: Any, intent: Any) -> bool:
        return intent in state.get("shared/list", [])

    return cb.Scenario("listing", "", agents, {"shared/list": ["old"]}, tuple(intents), kept, by=by)


def test_what_is_no_run_is_an_error() -> None:
    told = r"fates takes the run of a scenario, as cb\.simulate or cb\.run_live gives it, not an int"
    with pytest.raises(TypeError, match=told) as caught:
        fates(3)  # type: ignore[arg-type]
    assert isinstance(caught.value, cb.CommonboardError)
