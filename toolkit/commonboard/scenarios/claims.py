"""Claim the task: two agents see that nobody took it, and both take it."""

from __future__ import annotations

from typing import Any

from commonboard.handle import AgentMemory
from commonboard.sim.scenario import Scenario, State, scenario


@scenario
def claim_the_task(agents: int = 2, seconds: float = 60) -> Scenario:
    """Each agent claims task 7 if nobody has, and does the work if the claim is its own.

    An intent is an agent's name. It is kept unless the agent did the work of a task that is somebody else's.

    Args:
        agents: how many agents.
        seconds: virtual seconds that the work takes.
    """

    async def claim(me: AgentMemory) -> None:
        def mine_if_free(owner: Any) -> Any:
            return owner or me.name

        entry = await me.shared.update("task-7/owner", mine_if_free, reason="task 7 was free")
        if entry is not None and entry.value == me.name:
            await me.think(seconds=seconds, tokens=3000)
            await me.write("did", "task 7", reason="task 7 was mine")

    def kept(state: State, intent: Any) -> bool:
        return state.get(f"{intent}/did") is None or state.get("shared/task-7/owner") == intent

    names = ("web", "docs", "synth")[:agents] if agents <= 3 else tuple(f"claim-{n}" for n in range(1, agents + 1))
    return Scenario(
        name="claim the task",
        story=f"{agents} agents look whether task 7 is free, take it, and do the work.",
        agents=dict.fromkeys(names, claim),
        intents=names,
        kept=kept,
        by=str,
    )
