"""Stubs: what was answered live is repeated in a simulation, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.helpers import run

import commonboard as cb


async def model(question: str) -> dict[str, str]:
    return {"answer": question.upper()}


def test_it_asks_live_once_and_repeats_in_a_simulation() -> None:
    asked: list[str] = []

    async def counted(question: str) -> dict[str, str]:
        asked.append(question)
        return await model(question)

    ask = cb.stub(counted)
    assert run(ask("why")) == {"answer": "WHY"}
    assert run(ask("why")) == {"answer": "WHY"}

    async def agent(me: cb.AgentMemory) -> Any:
        return await ask("why")

    assert cb.simulate(agent).results["agent"] == {"answer": "WHY"}
    assert asked == ["why"]


def test_in_a_simulation_it_answers_nothing_new() -> None:
    ask = cb.stub(model)

    async def agent(me: cb.AgentMemory) -> Any:
        return await ask("why")

    made = cb.simulate(agent)
    assert isinstance(made.errors["agent"], cb.SimulationError)
    assert "ask it live once" in str(made.errors["agent"])
    assert ask.answers == {}


def test_what_it_gives_cannot_change_what_it_keeps() -> None:
    ask = cb.stub(model)
    first = run(ask("why"))
    first["answer"] = "changed"
    assert run(ask("why")) == {"answer": "WHY"}


def test_answers_travel_as_plain_data() -> None:
    ask = cb.stub(model)
    run(ask("why"))
    assert run(cb.stub(answers=ask.answers)("why")) == {"answer": "WHY"}
    with pytest.raises(cb.InvalidArgumentError, match="nobody to ask"):
        run(cb.stub(answers=ask.answers)("how"))


def test_a_policy_that_asks_is_explored_and_keeps_the_reduction() -> None:
    ask = cb.stub(answers={})
    for mine, theirs in (("a", "b"), ("b", "a")):
        ask.answers[f'{{"args":["{mine}","{theirs}"],"options":{{}}}}'] = "both"

    async def settles(base: Any, mine: Any, theirs: Any) -> Any:
        return cb.Keep(await ask(mine.value, theirs.value))

    async def agent(me: cb.AgentMemory) -> None:
        await me.shared.update("x", lambda found: me.name)

    met = cb.at_the_end(lambda state: state["shared/x"] in ("a", "b", "both"), "one of the three")
    verdict = cb.explore({"a": agent, "b": agent}, policy=settles, check=met)
    assert (verdict.holds, verdict.explored.why) == (True, "")  # type: ignore[union-attr]


def test_what_cannot_be_asked_is_no_stub() -> None:
    with pytest.raises(cb.errors.InvalidArgumentError, match="stub takes an async function, not an int"):
        cb.stub(3)  # type: ignore[arg-type]
    with pytest.raises(cb.errors.InvalidArgumentError, match=r"answers= takes the \.answers of an earlier stub, not a list"):
        cb.stub(answers=["a"])  # type: ignore[arg-type]
