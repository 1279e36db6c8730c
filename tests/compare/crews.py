"""Scenarios and policies at the top of a module, as another process needs them; and how to read a value by its tags."""

from __future__ import annotations

import asyncio
from typing import Any

import commonboard as cb
from commonboard.errors import ConflictError, NotAdmittedError
from commonboard.history import GIVEN
from commonboard.sim.scenario import Scenario, State, scenario

Plan = tuple[tuple[tuple[str, int], ...], ...]
"""For each agent the keys that it adds a tag to, with the virtual seconds that it thinks while it does."""
PLAN: Plan = ((("a", 3), ("b", 0)), (("a", 1), ("a", 2)), (("b", 0), ("a", 0)))


def tag(agent: str, number: int) -> str:
    return f"{agent}#{number}"


@scenario
def tagged(plan: Plan = PLAN, stubborn: bool = False) -> Scenario:
    """Every change adds a tag of its own to a list, so a value says itself whose changes are in it.

    Args:
        plan: what each agent does.
        stubborn: an agent that is told of a refusal goes on to what it wants to do next.
    """

    def adds(steps: tuple[tuple[str, int], ...]) -> Any:
        async def agent(me: cb.AgentMemory) -> None:
            for number, (key, seconds) in enumerate(steps, 1):

                async def change(found: Any, number: int = number, seconds: int = seconds) -> Any:
                    await me.think(seconds=seconds, tokens=10)
                    return (found or []) + [tag(me.name, number)]

                try:
                    await me.shared.update(key, change)
                except (ConflictError, NotAdmittedError):
                    if not stubborn:
                        raise

        return agent

    names = [f"agent-{place}" for place in range(1, len(plan) + 1)]
    wanted = {
        tag(name, number): (key, (name, number))
        for name, steps in zip(names, plan, strict=True)
        for number, (key, _) in enumerate(steps, 1)
    }
    return Scenario(
        name="tagged",
        story="Everybody adds tags to lists.",
        agents={name: adds(steps) for name, steps in zip(names, plan, strict=True)},
        given={f"shared/{key}": ["old"] for key in dict.fromkeys(key for steps in plan for key, _ in steps)},
        intents=tuple(wanted),
        kept=lambda state, intent: intent in state[f"shared/{wanted[intent][0]}"],
        by=lambda intent: wanted[intent][1],
        crdt=cb.ORSet,
    )


# --- built of functions that any process can import, not of functions inside a function ---


async def signs(me: cb.AgentMemory) -> None:
    await me.shared.update("guests", _signed(me.name))


class _signed:  # a function with a memory, which pickles
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, guests: Any) -> Any:
        return (guests or []) + [self.name]


def has_signed(state: State, name: str) -> bool:
    return name in (state.get("shared/guests") or [])


guest_book = Scenario("guest book", "Everybody signs.", {"a": signs, "b": signs}, {}, ("a", "b"), has_signed, by=str)


@scenario
def waits_for_ever(agents: int = 2) -> Scenario:
    async def wait(me: cb.AgentMemory) -> None:
        await asyncio.Event().wait()

    return Scenario("waits", "Nobody ends.", {f"waiter-{n}": wait for n in range(agents)}, intents=("x",), by=lambda x: GIVEN)


# --- policies ---


def keeps_mine(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Version:
    return mine


def keeps_theirs(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Version:
    return theirs


def writes_mine(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Keep:
    return cb.Keep(mine.value)


def refuses(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Reject:
    return cb.Reject("somebody was here before you")


class EverySecondTime(cb.ConflictPolicy):
    """Remembers what it did, which no policy should: with one object for all runs, a run would depend on those before it."""

    def __init__(self) -> None:
        self.asked = 0

    def resolve(self, base: Any, mine: cb.Version, theirs: cb.Version) -> Any:
        self.asked += 1
        return cb.RETRY if self.asked % 2 else theirs
