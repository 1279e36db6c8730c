"""The counter: everybody adds one, and the sum is too small."""

from __future__ import annotations

from typing import Any

from commonboard.handle import AgentMemory
from commonboard.sim.scenario import Scenario, State, scenario


def _key(number: int) -> str:
    return "count" if number == 0 else f"count-{number + 1}"


@scenario
def counter(agents: int = 2, increments: int = 1, seconds: float = 0, keys: int = 1) -> Scenario:
    """Each agent adds one, so many times.

    Args:
        agents: how many agents.
        increments: how often each of them adds one.
        seconds: virtual seconds that an agent thinks between its read and its write.
        keys: how many counters there are; each agent goes through them in turn.
    """

    async def count(me: AgentMemory) -> None:
        async def add_one(found: Any) -> Any:
            await me.think(seconds=seconds, tokens=100)
            return (found or 0) + 1

        for number in range(increments):
            await me.shared.update(_key(number % keys), add_one)

    def kept(state: State, intent: Any) -> bool:
        key, number = intent
        return bool((state.get(f"shared/{key}") or 0) >= number)

    wanted = [_key(number % keys) for _ in range(agents) for number in range(increments)]
    intents = tuple((key, wanted[:place].count(key) + 1) for place, key in enumerate(wanted))
    return Scenario(
        name="counter",
        story=f"{agents} agents add one {increments} times each.",
        agents={f"counter-{number}": count for number in range(1, agents + 1)},
        given={f"shared/{_key(number)}": 0 for number in range(keys)},
        intents=intents,
        kept=kept,
    )
