"""What agents keep beside the board where nobody can see it: it shows in that the same choices do not give the same run again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import commonboard as cb

ONE = cb.at_the_end(lambda state: sum("first" in key for key in state) <= 1, "one is first")
COUNT = 0


class Base:
    _seen: dict[str, int] = {}  # noqa: RUF012 - the shared dictionary is the point


class Derived(Base):
    pass


def racing(untouched: Callable[[], bool], touch: Callable[[str], Any]) -> Any:
    async def agent(me: cb.AgentMemory) -> None:
        first = untouched()
        await me.write("x", 1)
        if first:
            touch(me.name)
            await me.write("first", True)

    return agent


def counts() -> None:
    global COUNT
    COUNT += 1


@pytest.mark.parametrize("where", ["a helper's global", "a class of a class", "a new global", "an attribute set at run time"])
def test_what_nobody_can_see_is_no_pass(where: str) -> None:
    agent = {
        "a helper's global": racing(lambda: COUNT == 0, lambda name: counts()),
        "a class of a class": racing(lambda: not Derived._seen, lambda name: Derived._seen.update({name: 1})),
        "a new global": racing(lambda: "SEEN" not in globals(), lambda name: globals().update(SEEN=name)),
        "an attribute set at run time": racing(lambda: not hasattr(counts, "used"), lambda name: setattr(counts, "used", name)),
    }[where]
    verdict = cb.explore(agent, agent, check=ONE)
    assert verdict.holds is not True


def test_a_file_is_no_pass(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    agent = racing(lambda: not mark.exists(), lambda name: mark.write_text(name))
    verdict = cb.explore(agent, agent, check=ONE)
    assert verdict.holds is None
    assert "the same choices gave another run the second time" in str(verdict)


def test_an_iterator_that_goes_on_is_neither_a_pass_nor_a_failure() -> None:
    numbers = itertools.count(1)

    async def agent(me: cb.AgentMemory) -> None:
        await me.write("id", next(numbers))

    assert cb.explore(agent, agent).holds is None


def test_what_is_changed_and_changed_back_is_noticed() -> None:
    busy: list[str] = []

    async def agent(me: cb.AgentMemory) -> None:
        busy.append(me.name)
        await me.write("x", 1)
        if len(busy) > 1:
            await me.shared.write("met", 1)
        busy.pop()

    apart = cb.at_the_end(lambda state: "shared/met" not in state, "they never meet")
    verdict = cb.explore(agent, agent, check=apart)
    assert verdict.holds is False
    assert verdict.explored is not None
    assert "busy" in verdict.explored.why
    assert busy == []


def test_an_agent_that_ended_because_it_was_refused_is_counted() -> None:
    async def adds(me: cb.AgentMemory) -> None:
        async with me.transaction() as tx:
            await tx.shared.write("n", await tx.value("shared/n") + 1)

    verdict = cb.explore(adds, adds, given={"shared/n": 0})
    assert verdict.holds is True
    assert verdict.explored is not None
    assert (verdict.explored.told, verdict.explored.interleavings) == (4, 6)


def test_keys_that_end_with_several_values_are_counted() -> None:
    async def adds(me: cb.AgentMemory) -> None:
        await me.shared.update("n", lambda found: (found or 0) + 1)

    verdict = cb.explore(adds, adds, world=cb.World(replicas=2))
    assert verdict.explored is not None
    assert (verdict.explored.unresolved, verdict.explored.interleavings) == (12, 20)


def test_a_predicate_on_a_run_is_no_check_and_is_told_what_to_do() -> None:
    with pytest.raises(cb.InvalidArgumentError, match=r"check=cb\.at_the_end"):
        cb.explore(racing(lambda: True, lambda name: None), check=lambda run: True)


def test_an_error_in_a_check_says_which_run_it_judged() -> None:
    with pytest.raises(AttributeError) as raised:
        cb.explore(racing(lambda: True, lambda name: None), check=lambda run: run.nope)
    assert any("when it judged the run replay='cf1-" in note for note in raised.value.__notes__)


def test_a_predicate_must_be_a_function() -> None:
    with pytest.raises(cb.InvalidArgumentError, match="a predicate on the board"):
        cb.at_the_end(3)  # type: ignore[arg-type]
