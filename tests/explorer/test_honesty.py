"""A verdict is never optimistic: a spent budget, a bound, a check that cannot tell are no pass, and it says what it tried."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.explorer.programs import brute, counter, failed, racers

import commonboard as cb

LAST = cb.LastWriterWins()


def tallied(sizes: list[int]) -> dict[str, Any]:
    return {f"agent-{n}": counter(size, f"key {n}") for n, size in enumerate(sizes)}


class TestABudget:
    def test_that_is_spent_is_no_pass(self) -> None:
        verdict = cb.explore(tallied([3, 3]), budget=10, samples=5)
        assert isinstance(verdict, cb.BudgetSpent)
        assert verdict.holds is None
        assert "there is more" in verdict.sentence
        assert verdict.explored.interleavings is None
        with pytest.raises(cb.check.CheckFailed):
            verdict.assert_holds()

    @pytest.mark.parametrize("reduction", ["states", "sleep sets", "none"])
    def test_is_kept(self, reduction: Any) -> None:
        agents = {"a": counter(3), "b": counter(3)}
        verdict = cb.explore(agents, policy=cb.Optimistic(), reduction=reduction, budget=20, samples=3)
        assert isinstance(verdict, cb.BudgetSpent)
        explored = verdict.explored
        assert max(explored.states, explored.completed + explored.cut) <= 21
        assert explored.random == 3

    def test_that_is_just_enough_is_a_pass(self) -> None:
        states = cb.explore(tallied([2, 2])).explored.states
        assert cb.explore(tallied([2, 2]), budget=states).holds is True
        assert cb.explore(tallied([2, 2]), budget=states - 1, samples=0).holds is None

    @pytest.mark.parametrize("reduction", ["sleep sets", "none"])
    def test_of_schedules_that_is_just_enough_is_a_pass(self, reduction: Any) -> None:
        agents = {"a": counter(), "b": counter()}
        explored = cb.explore(agents, policy=cb.Optimistic(), reduction=reduction).explored
        enough = explored.completed + explored.cut
        assert cb.explore(agents, policy=cb.Optimistic(), reduction=reduction, budget=enough).holds is True
        assert cb.explore(agents, policy=cb.Optimistic(), reduction=reduction, budget=enough - 1, samples=0).holds is None

    @pytest.mark.parametrize("reduction", ["states", "sleep sets", "none"])
    def test_that_is_spent_after_a_failure_was_met_is_a_violation(self, reduction: Any) -> None:
        verdict = cb.explore(counter(2), counter(2), policy=LAST, reduction=reduction, budget=60)
        assert verdict.holds is False
        assert "70 interleavings" not in str(verdict)

    def test_leaves_random_schedules_beyond_that_find_a_violation_and_it_is_shrunk(self) -> None:
        agents = {"a": counter(3), "b": counter(3)}
        verdict = cb.explore(agents, policy=LAST, budget=1, samples=50)
        assert verdict.holds is False
        assert verdict.explored.random >= 1
        numbers = verdict.run.choices.numbers
        assert sum(number > 0 for number in numbers) <= 2
        assert failed(cb.simulate(agents, policy=LAST, replay=verdict.token))
        assert verdict.scope

    def test_is_spent_on_a_poll_that_keeps_all_it_saw(self) -> None:
        async def polls(me: cb.AgentMemory) -> None:
            seen = []
            while not await me.value("shared/ready"):
                seen.append(1)

        async def sets(me: cb.AgentMemory) -> None:
            await me.shared.write("ready", True)

        verdict = cb.explore(polls, sets, budget=300, samples=2)
        assert verdict.holds is None
        assert isinstance(verdict, cb.BudgetSpent)


class TestABound:
    def test_of_no_preemption_holds_for_counters_and_says_its_bound(self) -> None:
        verdict = cb.explore(counter(), counter(), policy=LAST, bound=0, samples=0)
        assert verdict.holds is True
        assert "at most 0 preemptions" in verdict.sentence

    def test_leaves_random_schedules_beyond_it(self) -> None:
        verdict = cb.explore(counter(), counter(), policy=LAST, bound=0, samples=50)
        assert verdict.holds is False
        assert verdict.findings[0].kind == "lost update"

    def test_of_one_finds_what_one_preemption_makes(self) -> None:
        verdict = cb.explore(counter(), counter(), policy=LAST, bound=1, samples=0)
        assert (verdict.holds, verdict.explored.preemptions) == (False, 1)

    def test_that_leaves_nothing_out_says_so(self) -> None:
        verdict = cb.explore(tallied([1, 1]), bound=50)
        assert verdict.holds is True
        assert verdict.explored.done is None

    def test_agrees_with_brute_force(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.write("step", 1)
            if await me.value("docs/step"):
                await me.shared.update("n", lambda found: (found or 0) + 1)

        async def docs(me: cb.AgentMemory) -> None:
            await me.write("step", 1)
            if await me.value("web/step"):
                await me.shared.update("n", lambda found: (found or 0) + 1)

        agents = {"web": web, "docs": docs}
        truth = brute(agents, policy=LAST)
        for bound in range(4):
            worst = any(failed(run) for cost, (_, run) in zip(truth.switches, truth.orders, strict=True) if cost <= bound)
            assert cb.explore(agents, policy=LAST, bound=bound, samples=0).holds is not worst, bound

    def test_goes_with_every_reduction(self) -> None:
        for how in ("states", "none"):
            verdict = cb.explore(counter(), counter(), policy=LAST, bound=0, samples=0, reduction=how)
            assert verdict.holds is True, how


class TestACheck:
    def test_that_cannot_tell_makes_the_verdict_unknown(self) -> None:
        def cannot(run: cb.Run) -> cb.check.Verdict:
            return cb.Unknown("fit", "this run", why="nobody asked")

        for judges in ("history", "end"):
            cannot.judges = judges  # type: ignore[attr-defined]
            verdict = cb.explore(counter(), counter(), check=cannot)
            assert isinstance(verdict, cb.Unknown)
            assert "nobody asked" in verdict.why

    def test_that_cannot_tell_in_one_order_makes_the_verdict_unknown(self) -> None:
        def cannot(run: cb.Run) -> cb.check.Verdict:
            if run.retries:
                return cb.Unknown("fit", "this run", why="somebody was refused")
            return cb.Holds("fit", "this run", history=run.history, token=run.token)

        for how in ("auto", "none"):
            verdict = cb.explore(counter(), counter(), policy=cb.Optimistic(), check=cannot, reduction=how)  # type: ignore[arg-type]
            assert isinstance(verdict, cb.Unknown), how
            assert "somebody was refused" in verdict.why

    def test_that_cannot_tell_of_the_first_run_alone_can_tell_of_the_others(self) -> None:
        async def reads(me: cb.AgentMemory) -> None:
            if not await me.value("shared/x"):
                await me.value("shared/y")

        verdict = cb.explore(reads, reads)
        assert isinstance(verdict, cb.Unknown)
        assert "nothing was written" in verdict.why

    @pytest.mark.parametrize("answer", [None, True, "fine", 0], ids=str)
    def test_that_gives_no_verdict_is_refused(self, answer: Any) -> None:
        with pytest.raises(cb.InvalidArgumentError, match=r"the check gave .*; a check takes a Run"):
            cb.explore(counter(), counter(), check=lambda run: answer)

    @pytest.mark.parametrize("check", [7, "no_lost_updates", []], ids=str)
    def test_that_cannot_be_called_is_refused(self, check: Any) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="check= takes a function of a Run"):
            cb.explore(counter(), counter(), check=check)

    def test_that_raises_is_not_swallowed(self) -> None:
        def breaks(run: cb.Run) -> cb.check.Verdict:
            raise ZeroDivisionError("in the check")

        with pytest.raises(ZeroDivisionError, match="in the check"):
            cb.explore(counter(), counter(), check=breaks)

    def test_that_is_a_predicate_without_an_answer_is_refused(self) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="says True or False"):
            cb.explore(counter(), counter(), check=cb.at_the_end(lambda state: state.get("shared/n"), "some"))  # type: ignore[arg-type, return-value]

    def test_that_judges_histories_cannot_be_asked_of_merged_states(self) -> None:
        def history(run: cb.Run) -> cb.check.Verdict:
            return cb.no_lost_updates(run)

        with pytest.raises(cb.InvalidArgumentError, match="judges whole histories"):
            cb.explore(counter(), counter(), check=history, reduction="states")
        asked = {"policy": LAST, "check": history}
        assert cb.explore(counter(), counter(), **asked).explored.violating == 4  # of 6 interleavings
        assert cb.explore(counter(), counter(), reduction="sleep sets", **asked).explored.violating == 2  # of 4 classes

    def test_of_every_moment_cannot_be_asked_of_sleep_sets_which_leave_moments_out(self) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="boards in between"):
            cb.explore(counter(), check=cb.always(lambda state: True, "anything"), reduction="sleep sets")

    @pytest.mark.parametrize("reduction", ["auto", "states", "none"])
    def test_of_every_moment_finds_what_is_so_for_a_moment(self, reduction: Any) -> None:
        async def flips(me: cb.AgentMemory) -> None:
            await me.write("on", True)
            await me.write("on", False)

        apart = cb.always(lambda state: not (state.get("a/on") and state.get("b/on")), "never both")
        agents = {"a": flips, "b": flips}
        truth = brute(agents)
        verdict = cb.explore(agents, check=apart, reduction=reduction)
        assert any(truth.fails(apart))
        assert verdict.holds is False

    @pytest.mark.parametrize("reduction", ["auto", "states"])
    def test_of_every_moment_is_asked_after_writes_only(self, reduction: Any) -> None:
        small = cb.always(lambda state: state["shared/n"] <= 2, "small")
        verdict = cb.explore(counter(), counter(), check=small, reduction=reduction)
        assert (verdict.holds, verdict.explored.why) == (True, "")

    def test_of_the_state_does_not_see_the_order_of_its_keys_unless_all_orders_are_tried(self) -> None:
        async def writes(me: cb.AgentMemory) -> None:
            await me.write("x", 1)

        first = cb.at_the_end(lambda state: next(iter(state)) == "a/x", "a is first")
        verdict = cb.explore({"a": writes, "b": writes}, check=first)
        assert verdict.holds is first_of_all_holds({"a": writes, "b": writes}, first)

    def test_of_histories_is_not_told_that_all_hold_where_it_sees_the_order_of_what_commutes(self) -> None:
        async def writes(me: cb.AgentMemory) -> None:
            await me.write("x", 1)

        def b_is_last(run: cb.Run) -> cb.check.Verdict:
            kind = cb.Holds if run.history[-1].agent == "b" else cb.Violation
            found = [] if kind is cb.Holds else [cb.check.Finding("order", "a came last")]
            return kind("b is last", "this run", found, history=run.history, token=run.token)

        assert cb.explore({"a": writes, "b": writes}, check=b_is_last).holds is not True


def first_of_all_holds(agents: Any, check: Any) -> bool:
    return not any(brute(agents).fails(check))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"bound": -1}, "bound must be a whole number of at least 0"),
        ({"bound": 1.5}, "bound must be a whole number"),
        ({"bound": True}, "bound must be a whole number"),
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"samples": -1}, "samples must be a whole number of at least 0"),
        ({"timing": "virtual"}, "timing is 'free' or 'exact', not 'virtual'"),
        ({"reduction": "dpor"}, "reduction is 'auto', 'states', 'sleep sets' or 'none', not 'dpor'"),
    ],
)
def test_what_is_out_of_range_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(cb.InvalidArgumentError, match=told):
        racers(**options)


def test_no_agents_are_refused_as_simulate_refuses_them() -> None:
    with pytest.raises(cb.AgentError):
        cb.explore()
    with pytest.raises(cb.AgentError):
        cb.explore({})
    with pytest.raises(cb.AgentError):
        cb.explore(lambda me: None)


class TestErrorsInAgents:
    async def dies_after_another(self, me: cb.AgentMemory) -> None:
        if await me.value("shared/x"):
            raise ValueError("somebody was here")
        await me.shared.write("x", me.name)

    def test_are_found_in_the_order_that_has_them(self) -> None:
        agents = {"a": self.dies_after_another, "b": self.dies_after_another}
        anything = cb.at_the_end(lambda state: True, "anything goes")
        truth = brute(agents)
        verdict = cb.explore(agents, check=anything)
        assert verdict.findings[0].kind == "died"
        assert (verdict.explored.interleavings, verdict.explored.violating) == (len(truth.orders), sum(truth.fails(anything)))

    @pytest.mark.parametrize("reduction", ["states", "none"])
    def test_leave_the_other_agents_interleavings_to_be_counted(self, reduction: Any) -> None:
        async def other(me: cb.AgentMemory) -> None:
            await me.write("p", 1)
            await me.write("q", 1)

        agents = {"a": self.dies_after_another, "b": self.dies_after_another, "c": other}
        truth = brute(agents)
        explored = cb.explore(agents, reduction=reduction).explored
        assert explored.interleavings == len(truth.orders)
        assert explored.violating == sum(truth.fails())

    def test_that_tell_an_agent_that_it_was_refused_are_none(self) -> None:
        async def claims(me: cb.AgentMemory) -> None:
            await me.shared.write("owner", me.name, expect=cb.ABSENT)

        verdict = cb.explore(claims, claims)
        assert verdict.holds is True
        truth = brute([claims, claims])
        assert any(run.errors for _, run in truth.orders)

    def test_of_an_agent_that_a_policy_does_not_admit_are_none(self) -> None:
        async def adds(me: cb.AgentMemory) -> None:
            await me.shared.update("n", lambda found: (found or 0) + 1)

        verdict = cb.explore({"owner": adds, "other": adds}, policy=cb.SingleWriter("owner"))
        assert verdict.holds is True

    def test_that_cancel_an_agent_are_found(self) -> None:
        async def cancelled(me: cb.AgentMemory) -> None:
            await me.write("x", 1)
            raise asyncio.CancelledError

        assert cb.explore(cancelled).holds is False

    def test_that_come_as_a_group_are_found(self) -> None:
        async def grouped(me: cb.AgentMemory) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(me.write("x", object()))
                group.create_task(me.write("y", 1))

        verdict = cb.explore(grouped)
        assert verdict.holds is False
        assert verdict.findings[0].kind == "died"

    def test_an_agent_that_never_waits_and_never_ends_is_found(self) -> None:
        async def spins(me: cb.AgentMemory) -> None:
            await me.write("x", 1)
            while True:  # noqa: ASYNC110 - an agent that does so is what is tested
                await asyncio.sleep(0)

        verdict = cb.explore(spins, counter())
        assert verdict.holds is False
        assert verdict.findings[0].kind == "never ends"
