"""The counter: everybody adds one, and the sum is too small."""

from __future__ import annotations

from typing import Any

from commonboard.crdt import PNCounter
from commonboard.handle import AgentMemory
from commonboard.sim.scenario import Agent, Scenario, State, scenario


def _key(number: int) -> str:
    return "count" if number == 0 else f"count-{number + 1}"


@scenario
def counter(agents: int = 2, increments: int = 1, seconds: float = 0, keys: int = 1) -> Scenario:
    """Each agent adds one, so many times.

    An intent is `(key, number)`: the counter is to reach the number. Whose addition is missing from a sum, nobody can tell.

    Args:
        agents: how many agents.
        increments: how often each of them adds one.
        seconds: virtual seconds that an agent thinks between its read and its write.
        keys: how many counters there are; each agent goes through them in turn, and each begins with another one.
    """

    def keys_of(place: int) -> list[str]:
        return [_key((place + number) % keys) for number in range(increments)]

    def counts(mine: list[str]) -> Agent:
        async def count(me: AgentMemory) -> None:
            async def add_one(found: Any) -> Any:
                await me.think(seconds=seconds, tokens=100)
                return (found or 0) + 1

            for key in mine:
                await me.shared.update(key, add_one)

        return count

    def kept(state: State, intent: Any) -> bool:
        key, number = intent
        return bool((state.get(f"shared/{key}") or 0) >= number)

    wanted = [key for place in range(agents) for key in keys_of(place)]
    intents = tuple((key, wanted[:place].count(key) + 1) for place, key in enumerate(wanted))
    return Scenario(
        name="counter",
        story=f"{agents} agents add one {increments} times each.",
        agents={f"counter-{place + 1}": counts(keys_of(place)) for place in range(agents)},
        given={f"shared/{_key(number)}": 0 for number in range(keys)},
        intents=intents,
        kept=kept,
        by=lambda intent: f"shared/{intent[0]}",
        crdt=PNCounter,
    )
