"""A run that finds what an earlier one changed is another program: no pass may rest on it."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from tests.explorer.programs import ONCE

import commonboard as cb


class Flag:
    up = False


@pytest.mark.parametrize("reduction", ["auto", "none"])
def test_it_is_noticed_in_a_list(reduction: Any) -> None:
    done: list[str] = []

    async def agent(me: cb.AgentMemory) -> None:
        await me.value("shared/x")
        first = not done
        await me.write("step", 1)
        if first:
            done.append(me.name)
            await me.write("first", True)

    # 12 of the 18 interleavings break it, where each begins with an empty list.
    assert cb.explore(agent, agent, check=ONCE, reduction=reduction).holds is not True


def test_it_is_noticed_in_a_flag_that_is_a_class_attribute() -> None:
    Flag.up = False

    async def agent(me: cb.AgentMemory) -> None:
        await me.value("shared/x")
        first = not Flag.up
        await me.write("step", 1)
        if first:
            Flag.up = True
            await me.write("first", True)

    assert cb.explore(agent, agent, check=ONCE).holds is not True


def test_it_is_noticed_in_a_list_that_says_how_much_there_is_to_do() -> None:
    todo = list(range(7))

    async def agent(me: cb.AgentMemory) -> None:
        if todo:
            await me.write("step", todo.pop())
        await me.write("step", "done")

    verdict = cb.explore(agent, agent)
    assert verdict.holds is True  # it is put back before each run
    assert "todo" in str(verdict)
    assert todo == list(range(7))


@pytest.mark.parametrize("period", [4, 5])
def test_it_is_noticed_in_a_number_that_says_how_much_there_is_to_do(period: int) -> None:
    rounds = 0

    async def agent(me: cb.AgentMemory) -> None:
        nonlocal rounds
        rounds += 1
        for number in range(rounds % period + 1):
            await me.write("step", number)

    assert cb.explore(agent, agent).holds is True  # it is put back before each run
    assert rounds == 0


def test_it_is_noticed_in_a_lock_that_was_made_outside() -> None:
    lock = asyncio.Lock()

    async def agent(me: cb.AgentMemory) -> None:
        async with lock:
            await me.shared.update("n", lambda found: (found or 0) + 1)

    # The lock does its work, and a single simulation ends well: that is no violation.
    assert cb.explore(agent, agent, policy=cb.LastWriterWins()).holds is not False


def test_what_is_different_in_every_run_is_noticed() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        await me.write("id", str(uuid.uuid4()))

    assert cb.explore(agent, agent).holds is None
