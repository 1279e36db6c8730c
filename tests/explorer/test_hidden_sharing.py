"""Sharing that is easily missed: through modules, through two names of one object, through what a cache holds."""

from __future__ import annotations

import functools
import os
import types
from typing import Any

import pytest
from tests.explorer.programs import ONCE

import commonboard as cb


def racing(untouched: Any, touch: Any) -> Any:
    """Looks, does something else, and touches: 36 of the 62 schedules of two of them break `ONCE`."""

    async def agent(me: cb.AgentMemory) -> None:
        await me.value("shared/x")
        first = untouched()
        await me.write("step", 1)
        if first:
            touch(me.name)
            await me.write("first", True)

    return agent


@pytest.mark.parametrize("kind", ["a dict", "an object"])
def test_two_names_of_one_list_stay_names_of_one_list(kind: str) -> None:
    done: list[str] = []
    box: Any = {"done": done} if kind == "a dict" else types.SimpleNamespace(done=done)
    agent = racing((lambda: not box["done"]) if kind == "a dict" else (lambda: not box.done), done.append)
    explored = cb.explore(agent, agent, check=ONCE).explored
    assert (explored.completed, explored.violating) == (62, 36)
    assert (box["done"] if kind == "a dict" else box.done) is done


def test_an_attribute_of_a_module_is_noticed() -> None:
    settings = types.ModuleType("settings")
    settings.first = None  # type: ignore[attr-defined]
    agent = racing(lambda: settings.first is None, lambda name: setattr(settings, "first", name))
    assert cb.explore(agent, agent, check=ONCE).holds is not True


def test_the_environment_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMONBOARD_FIRST", raising=False)
    agent = racing(lambda: not os.environ.get("COMMONBOARD_FIRST"), lambda name: monkeypatch.setenv("COMMONBOARD_FIRST", name))
    assert cb.explore(agent, agent, check=ONCE).holds is not True


def test_what_a_cache_holds_is_noticed() -> None:
    @functools.lru_cache
    def loaded() -> str:
        return "loaded"

    agent = racing(lambda: loaded.cache_info().currsize == 0, lambda name: loaded())
    assert cb.explore(agent, agent, check=ONCE).holds is not True


def test_the_second_of_two_closures_is_read_as_well_as_the_first() -> None:
    def counting() -> Any:
        n = 0

        def count() -> int:
            nonlocal n
            n += 1
            return n

        return count

    async def polls(me: cb.AgentMemory) -> None:
        first, second = counting(), counting()
        assert first is not second
        while not await me.value("shared/ready"):
            if second() == 4:
                await me.shared.write("gave up", me.name)
                return

    async def sets(me: cb.AgentMemory) -> None:
        await me.shared.write("ready", True)

    never = cb.at_the_end(lambda state: "shared/gave up" not in state, "nobody gives up")
    assert cb.explore(polls, sets, check=never).holds is False
