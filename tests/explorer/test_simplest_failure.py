"""What is shown of a failure: the fewest preemptions, a short token that replays, a story and a picture."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.explorer.programs import brute, counter, failed, racers

import commonboard as cb

LAST = cb.LastWriterWins()


def hidden(patience: int) -> dict[str, Any]:
    """Two agents that lose something only where one is interrupted, after the other was, so many times."""

    async def web(me: cb.AgentMemory) -> None:
        for number in range(patience):
            await me.write("step", number)
            if await me.value("docs/step") != number:
                return
        await me.shared.update("n", lambda found: (found or 0) + 1)

    async def docs(me: cb.AgentMemory) -> None:
        for number in range(patience):
            await me.write("step", number)
            if await me.value("web/step") != number:
                return
        await me.shared.update("n", lambda found: (found or 0) + 1)

    return {"web": web, "docs": docs}


PROGRAMS: dict[str, Any] = {
    "two counters": {"a": counter(), "b": counter()},
    "two counters twice": {"a": counter(2), "b": counter(2)},
    "one that has to be interrupted once": hidden(1),
    "one that has to be interrupted often": hidden(2),
    "a dispatcher": {"a": counter(2, "x"), "b": counter(1, "x"), "c": counter(1, "y")},
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_run_that_is_shown_has_the_fewest_preemptions(name: str) -> None:
    agents = PROGRAMS[name]
    truth = brute(agents, policy=LAST)
    fewest = min(switches for switches, (_, run) in zip(truth.switches, truth.orders, strict=True) if failed(run))
    verdict = cb.explore(agents, policy=LAST)
    assert verdict.explored.preemptions == fewest
    shown = brute_switches(verdict, {name: agents[name] for name in verdict.run.agents})
    assert shown == fewest


def brute_switches(verdict: Any, agents: Any) -> int:
    from tests.explorer.programs import Watching

    watching = Watching(verdict.run.choices.numbers)
    cb.simulate(agents, policy=LAST, timing="free", replay=watching)
    return watching.switches


def test_the_programs_need_different_numbers_of_preemptions() -> None:
    found = {name: cb.explore(agents, policy=LAST).explored.preemptions for name, agents in PROGRAMS.items()}
    assert len(set(found.values())) >= 3, found


@pytest.mark.parametrize("reduction", ["states", "sleep sets", "none"])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_token_gives_exactly_the_run_that_is_shown(name: str, reduction: Any) -> None:
    agents = PROGRAMS[name]
    verdict = cb.explore(agents, policy=LAST, reduction=reduction)
    assert verdict.holds is False
    again = cb.simulate({name: agents[name] for name in verdict.run.agents}, policy=LAST, replay=verdict.token)
    assert str(again.history) == str(verdict.run.history)
    assert (again.token, again.state, again.results) == (verdict.token, verdict.run.state, verdict.run.results)
    assert cb.no_lost_updates(again).holds is False
    assert len(verdict.token) <= 40


def test_who_is_not_needed_is_left_out_and_that_is_said() -> None:
    verdict = cb.explore({"a": counter(), "idle": counter(1, "y"), "b": counter()}, policy=LAST)
    assert verdict.run.agents == ["a", "b"]
    assert "a and b suffice" in str(verdict)
    assert verdict.explored.interleavings == 90


def test_who_is_needed_stays() -> None:
    """The two race only once the third has opened; without it, something else would go wrong."""

    async def racer(me: cb.AgentMemory) -> None:
        if await me.value("shared/open"):
            await me.shared.update("n", lambda found: (found or 0) + 1)

    async def opens(me: cb.AgentMemory) -> None:
        await me.shared.write("open", True)

    verdict = cb.explore({"a": racer, "b": racer, "opens": opens}, policy=LAST)
    assert verdict.findings[0].kind == "lost update"
    assert verdict.run.agents == ["a", "b", "opens"]


def test_no_other_kind_of_failure_is_told_when_an_agent_is_left_out() -> None:
    async def racer(me: cb.AgentMemory) -> None:
        while not await me.value("shared/ready"):
            pass
        await me.shared.update("n", lambda found: (found or 0) + 1)

    async def sets(me: cb.AgentMemory) -> None:
        await me.shared.write("ready", True)

    verdict = cb.explore({"a": racer, "b": racer, "sets": sets}, policy=LAST)
    assert verdict.findings[0].kind == "lost update"


def test_no_deadlock_is_told_that_only_a_left_out_agent_makes() -> None:
    async def racer(me: cb.AgentMemory) -> None:
        async for event in me.watch():
            if event.key == "shared/ready":
                break
        await me.shared.update("n", lambda found: (found or 0) + 1)

    async def sets(me: cb.AgentMemory) -> None:
        await me.shared.write("ready", True)

    verdict = cb.explore({"a": racer, "b": racer, "sets": sets}, policy=LAST)
    assert verdict.findings[0].kind == "lost update"


def test_the_verdict_tells_the_story() -> None:
    told = str(racers())
    assert "counter-1 saw that shared/n did not exist; counter-2 then made version 1; counter-1 wrote version 2" in told
    assert "replay='cf1-" in told
    assert "1  preemptions and faults in the run that is shown" in told


def test_the_verdict_draws_the_run() -> None:
    verdict = racers()
    picture = str(verdict.spacetime())
    assert "counter-1" in picture
    assert "counter-2" in picture
    assert "shared/n" in picture
    assert "<table" in verdict._repr_html_() or "<pre" in verdict._repr_html_()
    assert len(verdict.to_frame()) >= 1


def test_a_failed_assertion_carries_the_story_the_picture_as_text_and_the_token() -> None:
    verdict = racers()
    with pytest.raises(cb.check.CheckFailed) as caught:
        verdict.assert_holds()
    told = str(caught.value)
    assert str(verdict) in told
    assert str(verdict.spacetime()) in told
    assert verdict.token in told


def test_nothing_is_raised_where_it_holds() -> None:
    cb.explore(counter(), counter(), policy=cb.Optimistic()).assert_holds()


def test_a_verdict_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(racers())


def test_a_failure_of_the_final_state_is_shown_in_the_simplest_run_too() -> None:
    right = cb.at_the_end(lambda state: state["shared/n"] == 2, "both are counted")
    verdict = cb.explore(counter(), counter(), policy=LAST, check=right)
    assert (verdict.holds, verdict.explored.preemptions, verdict.run.value("shared/n")) == (False, 1, 1)
    assert verdict.explored.violating == sum(run.value("shared/n") != 2 for _, run in brute([counter()] * 2, policy=LAST).orders)
    assert "both are counted" in str(verdict).lower()


def test_a_failure_at_one_moment_is_shown() -> None:
    async def moves(me: cb.AgentMemory) -> None:
        await me.shared.write("from", 0)
        await me.shared.write("to", 1)

    async def looks(me: cb.AgentMemory) -> None:
        await me.value("shared/from")

    kept = cb.always(lambda state: state.get("shared/from", 0) + state.get("shared/to", 0) == 1, "nothing is on its way")
    verdict = cb.explore(moves, looks, given={"shared/from": 1, "shared/to": 0}, check=kept)
    assert (verdict.holds, verdict.explored.preemptions) == (False, 0)
    assert "after moves's write" in str(verdict).lower()


def test_a_scenario_is_judged_by_what_its_agents_meant() -> None:
    verdict = cb.explore(cb.scenarios.counter, policy=LAST)
    truth = brute(cb.scenarios.counter, policy=LAST)
    assert verdict.check == "every intent kept"
    assert verdict.explored.violating == sum(bool(run.lost) for _, run in truth.orders)
    assert cb.explore(cb.scenarios.counter, policy=cb.Optimistic()).holds is True
    assert cb.explore(cb.scenarios.counter, policy=cb.FirstWriterWins()).holds is False


def test_a_lost_update_that_needs_one_step_is_found_under_every_reduction_with_the_same_story() -> None:
    stories = {str(racers(reduction=how).findings[0]) for how in ("states", "sleep sets", "none")}
    assert len(stories) == 1


def test_the_boring_run_is_shown_where_it_fails_itself() -> None:
    async def fails(me: cb.AgentMemory) -> None:
        await me.write("x", 1)
        raise ValueError("no such page")

    verdict = cb.explore(fails, counter())
    assert verdict.findings[0].kind == "died"
    assert "no such page" in str(verdict)
    assert 'raise ValueError("no such page")' in str(verdict)
    assert verdict.explored.preemptions == 0


def test_the_picture_of_a_broken_property_tells_what_led_there() -> None:
    async def leaves(me: cb.AgentMemory) -> None:
        other = {"web": "docs", "docs": "web"}[me.name]
        if await me.value(f"{other}/on_call"):
            await me.write("on_call", False)

    given = {"web/on_call": True, "docs/on_call": True}
    somebody = cb.at_the_end(lambda board: board["web/on_call"] or board["docs/on_call"], "somebody is on call")
    verdict = cb.explore({"web": leaves, "docs": leaves}, given=given, check=somebody)
    told = [(op.agent, op.kind, op.key) for op in verdict.findings[0].operations]
    last, other = told[-1][0], {"web": "docs", "docs": "web"}[told[-1][0]]
    assert told == [
        (last, "read", f"{other}/on_call"), (other, "write", f"{other}/on_call"), (last, "write", f"{last}/on_call"),
    ]  # fmt: skip


def test_the_picture_of_a_deadlock_shows_who_waits() -> None:
    async def waits(me: cb.AgentMemory) -> None:
        await me.write("x", 1)
        await asyncio.Event().wait()

    assert str(cb.explore(waits).spacetime()).count("waits") > 1
