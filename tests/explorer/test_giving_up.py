"""A poll that gives up: however it counts its tries, the order in which it gives up is found."""

from __future__ import annotations

import asyncio
import itertools
import random
from functools import partial
from typing import Any, ClassVar

import pytest
from tests.explorer.programs import brute, shown

import commonboard as cb

NEVER = cb.at_the_end(lambda state: "shared/gave up" not in state, "nobody gives up")


async def sets(me: cb.AgentMemory) -> None:
    await me.shared.write("ready", True)


async def give_up(me: cb.AgentMemory) -> None:
    await me.shared.write("gave up", me.name)


class TestAPollThatGivesUp:
    """However it counts, the order in which it gives up is found."""

    async def in_a_for_loop(self, me: cb.AgentMemory) -> None:
        for _ in range(4):
            if await me.value("shared/ready"):
                return
        await give_up(me)

    async def by_a_variable(self, me: cb.AgentMemory) -> None:
        tries = 0
        while not await me.value("shared/ready"):
            tries += 1
            if tries == 4:
                await give_up(me)
                return

    async def by_a_dict(self, me: cb.AgentMemory) -> None:
        state = {"tries": [0]}
        while not await me.value("shared/ready"):
            state["tries"].append(0)
            if len(state["tries"]) == 4:
                await give_up(me)
                return

    async def by_a_closure(self, me: cb.AgentMemory) -> None:
        tries = 0

        def count() -> int:
            nonlocal tries
            tries += 1
            return tries

        while not await me.value("shared/ready"):
            if count() == 4:
                await give_up(me)
                return

    async def by_an_object(self, me: cb.AgentMemory) -> None:
        class Tries:
            count = 0

        tries = Tries()
        while not await me.value("shared/ready"):
            tries.count += 1
            if tries.count == 4:
                await give_up(me)
                return

    async def by_an_iterator(self, me: cb.AgentMemory) -> None:
        tries = itertools.count()
        while not await me.value("shared/ready"):
            if next(tries) == 4:
                await give_up(me)
                return

    async def by_a_generator(self, me: cb.AgentMemory) -> None:
        tries = (number for number in range(9))
        while not await me.value("shared/ready"):
            if next(tries) == 4:
                await give_up(me)
                return

    async def by_recursion(self, me: cb.AgentMemory, tries: int = 0) -> None:
        if not await me.value("shared/ready"):
            await (give_up(me) if tries == 4 else self.by_recursion(me, tries + 1))

    async def by_an_argument(self, me: cb.AgentMemory) -> None:
        async def poll(tries: int) -> bool:
            return bool(await me.value("shared/ready")) or tries == 4

        tries = 0
        while not await poll(tries):
            tries += 1
        if tries == 4:
            await give_up(me)

    async def by_what_was_seen(self, me: cb.AgentMemory) -> None:
        seen: list[Any] = []
        while not await me.value("shared/ready"):
            seen.append(None)
            if len(seen) == 4:
                await give_up(me)
                return

    async def by_an_error(self, me: cb.AgentMemory) -> None:
        class Late(Exception):
            pass

        last = Late(0)
        while not await me.value("shared/ready"):
            last = Late(last.args[0] + 1)
            if last.args[0] == 4:
                await give_up(me)
                return

    async def by_a_list_of_a_kind_of_its_own(self, me: cb.AgentMemory) -> None:
        class Window(list[int]):
            tries = 0

        window = Window()
        while not await me.value("shared/ready"):
            window.tries += 1
            if window.tries == 4:
                await give_up(me)
                return

    async def by_a_partial(self, me: cb.AgentMemory) -> None:
        tries = partial(int, 0)
        while not await me.value("shared/ready"):
            tries = partial(int, tries() + 1)
            if tries() == 4:
                await give_up(me)
                return

    async def by_chance(self, me: cb.AgentMemory) -> None:
        source, drawn = random.Random("chance"), 1.0
        while not await me.value("shared/ready") and drawn > 0.2:
            drawn = round(source.random(), 1)
            if drawn > 0.2:
                drawn = 1.0
        if drawn <= 0.2:
            await give_up(me)

    async def by_the_clock(self, me: cb.AgentMemory) -> None:
        while not await me.value("shared/ready"):
            await asyncio.sleep(1)
            if asyncio.get_running_loop().time() > 4:
                await give_up(me)
                return

    async def by_what_is_half_added_up(self, me: cb.AgentMemory) -> None:
        box = [0]
        while box[0] < 100:
            box.append(box.pop() + 1 + (100 if await me.value("shared/ready") else 0))
            if box[0] == 4:
                await give_up(me)
                return

    async def by_which_list_is_which(self, me: cb.AgentMemory) -> None:
        one, two, three, four = [0], [0], [0], [0]
        while not await me.value("shared/ready"):
            one, two, three = two, three, four
            one[0] += 1
            if two[0] == 1:
                await give_up(me)
                return
            one[0] -= 1
            four = three

    WAYS = ("in_a_for_loop", "by_a_variable", "by_a_dict", "by_a_closure", "by_an_object", "by_an_iterator", "by_a_generator",
            "by_recursion", "by_an_argument", "by_what_was_seen")  # fmt: skip
    OPEN: ClassVar = {
        "by_an_error": "the arguments of an exception of one's own are not read out of a frame",
        "by_a_list_of_a_kind_of_its_own": "the attributes of a list of one's own kind are not read out",
        "by_a_partial": "the arguments of a functools.partial are not read out",
        "by_chance": "the state of a random.Random is not read out",
        "by_the_clock": "the agent's clock is not part of its state",
        "by_what_is_half_added_up": "the values on a frame's stack are not part of its state",
        "by_which_list_is_which": "which names are bound to one list is not part of the state",
    }

    @pytest.mark.parametrize("way", [
        *WAYS, *OPEN,
    ])  # fmt: skip
    def test_is_found_to_give_up(self, way: str) -> None:
        agent = getattr(self, way)
        verdict = cb.explore({"polls": agent, "sets": sets}, check=NEVER)
        assert verdict.holds is False
        again = cb.simulate({"polls": agent, "sets": sets}, replay=verdict.token)
        assert again.value("shared/gave up") == "polls"

    @pytest.mark.parametrize("way", [*WAYS, *OPEN])
    def test_can_give_up_as_brute_force_shows(self, way: str) -> None:
        agents = {"polls": getattr(self, way), "sets": sets}
        truth = brute(agents)
        gave_up = {"shared/gave up" in run.state for _, run in truth.orders}
        assert gave_up == {True, False}

    @pytest.mark.parametrize("way", WAYS)
    def test_is_explored_to_its_end(self, way: str) -> None:
        agents = {"polls": getattr(self, way), "sets": sets}
        outcomes, verdict = shown(agents, "states")
        assert verdict.holds is True
        assert outcomes == brute(agents).outcomes()
