"""One program of agents under one way of working, and its proof: a witness that replays, or a search that was exhausted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from commonboard.check import Exhausted, Verdict, Violation
from commonboard.explorer import explore
from commonboard.handle import AgentMemory
from commonboard.sim import Run, World, simulate

Answer = Literal["permits", "prevents", "does not apply", "unknown"]
Check = Callable[[Any], Verdict]

BOUND = 2
"""A witness is looked for among the schedules with at most so many preemptions and faults first: it is then easy to read."""
FIRST_BUDGET = 5_000
BUDGET = 100_000


@dataclass(frozen=True)
class Program:
    """Agents, and all that they run in.

    Attributes:
        agents: the agents by name.
        policy: the conflict policy.
        given: what the board holds before, by full key.
        check: what must be true.
        worlds: the worlds to try, each of which may do all that the one before it may.
    """

    agents: Mapping[str, Callable[[AgentMemory], Any]]
    policy: Any
    given: Mapping[str, Any]
    check: Check
    worlds: tuple[World, ...] = (World(),)

    def proof(self, budget: int = BUDGET) -> tuple[Answer, Verdict, World]:
        """The answer, the verdict that it rests on, and the world that it was found in.

        Args:
            budget: how many states to visit, or schedules to run, before the answer is `unknown`.
        """
        first = (
            FIRST_BUDGET if isinstance(budget, int) and budget > FIRST_BUDGET else budget
        )  # what is no number, explore refuses
        for world in self.worlds:
            found = self._explore(world, bound=BOUND, budget=first)
            if isinstance(found, Violation):
                break
        else:
            found = self._explore(world, budget=budget)
        if isinstance(found, Violation):
            again = self.fails(self.again(found, world))
            return ("permits" if again else "unknown"), found, world
        return ("prevents" if isinstance(found, Exhausted) else "unknown"), found, world

    def again(self, found: Violation, world: World) -> Run:
        """The run of a violation again, by its token."""
        return simulate(dict(self.agents), policy=self.policy, given=self.given, world=world, replay=found.token)

    def fails(self, run: Run) -> bool:
        """Whether this run breaks the check, or goes round in a circle."""
        return run.outcome == "endless" or isinstance(self.check(run), Violation)

    def _explore(self, world: World, **bounds: int) -> Verdict:
        return explore(
            dict(self.agents),
            policy=self.policy,
            given=self.given,
            check=self.check,
            world=world,
            progress=False,
            samples=0,
            **bounds,  # type: ignore[arg-type]
        )
