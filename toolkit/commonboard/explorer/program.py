"""What is explored: agents, policy, and all that they begin with; it can be simulated in any order that a search asks for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonboard.explorer.trust import Shared, put_all_back
from commonboard.policies import ConflictPolicy, Optimistic, as_policy
from commonboard.sim import Run, Scenario, World, simulate
from commonboard.sim.crew import named_agents
from commonboard.sim.given import Given


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        crew: the agents by name.
        policy: what `update` does on a conflict, and what settles siblings between replicas.
        given: what the board holds before.
        store: a factory, as for `simulate`.
        world: how the copies of the board hang together.
        turn: the turn that the memory begins with.
        timing: `free` or `exact`.
        late_starts: whether agents may begin late.
        scenario: the scenario that it comes from, if it was one.
        max_operations: how many operations a run may take before it is called endless.
        things: what agents share beside the board: before each run it is made again what it was.
    """

    crew: dict[str, Callable[[Any], Any]]
    policy: ConflictPolicy
    given: Given
    store: Callable[..., Any] | None
    world: World
    turn: int
    timing: str
    scenario: Scenario | None
    max_operations: int = 2_000
    late_starts: bool = False
    things: tuple[Shared, ...] = ()

    def simulate(
        self,
        replay: Any = None,
        seed: int | str | None = None,
        operations: int | None = None,
        policy: ConflictPolicy | None = None,
    ) -> Run:
        """One run of it: with these choices and boring ones after them, or with a seed; at the most so many operations.

        Each run gets a fresh copy of the policy, unless it is given one.
        """
        put_all_back(self.things)
        run = simulate(
            self.crew,
            policy=copy.deepcopy(self.policy) if policy is None else policy,
            seed=seed,
            timing=self.timing,
            late_starts=self.late_starts,
            replay=replay,
            given=self.given,
            store=self.store,
            world=self.world,
            turn=self.turn,
            max_operations=operations or self.max_operations,
        )
        run.scenario = self.scenario
        return run

    def without(self, agent: str) -> Program:
        """The same program without one of its agents."""
        return replace(self, crew={name: fn for name, fn in self.crew.items() if name != agent})


def program_of(
    agents: Sequence[Any],
    policy: Any,
    given: Given | None,
    store: Callable[..., Any] | None,
    world: World | None,
    turn: int,
    timing: str,
) -> Program:
    """The program that the arguments of `explore` describe; what is wrong with them is refused as `simulate` refuses it."""
    scenario = agents[0] if len(agents) == 1 and isinstance(agents[0], Scenario) else None
    crew = named_agents(scenario.agents if scenario else agents[0] if len(agents) == 1 else agents)
    if given is None:
        given = scenario.given if scenario is not None else {}
    settled = Optimistic() if policy is None else as_policy(policy)
    return Program(crew, settled, given, store, world or World(), turn, timing, scenario)
