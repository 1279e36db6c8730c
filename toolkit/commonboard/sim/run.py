"""`simulate`: run agents once, deterministically, and keep everything that happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from commonboard.errors import InvalidArgumentError
from commonboard.policies import Optimistic, as_policy
from commonboard.sim.choices import Choices, Listed, Replay, Retrace, seeded
from commonboard.sim.crew import named_agents
from commonboard.sim.driver import Simulation, order
from commonboard.sim.given import Given
from commonboard.sim.result import Run
from commonboard.sim.scenario import Scenario
from commonboard.sim.world import World

__all__ = ["Run", "order", "simulate"]


def simulate(
    *agents: Any,
    policy: Any = None,
    seed: int | str | None = 0,
    timing: str = "exact",
    late_starts: bool = False,
    replay: str | Run | Sequence[int] | None = None,
    given: Given | None = None,
    store: Callable[..., Any] | None = None,
    world: World | None = None,
    turn: int = 0,
    max_operations: int = 20_000,
    max_steps: int = 300_000,
) -> Run:
    """Run agents concurrently, in virtual time, and give everything that happened. The same arguments give the same run.

    Args:
        agents: a dict of name to async function, a `Scenario`, or the functions themselves, which are then named after
            themselves (`counter-1`, `counter-2` where one is given twice).
        policy: what `update` does on a conflict, and what settles siblings between replicas; `Optimistic()` unless given.
        seed: which of the possible orders to take; `None` for the boring one, in which an agent goes on as long as it can.
        timing: `"exact"`: delays last as long as they say, and time passes only when everybody waits. `"free"`: a delay is a
            lower bound, as in `explore`; any timer may be the next to fire, whatever the others wait for.
        late_starts: whether an agent may begin late, too, when others have already acted. It matters only where agents share
            something beside the board; else all begin at once, in the order given.
        replay: the token of an earlier run, to have exactly that again; the run itself, so that the first step that differs
            can be named; or a list of choices, with boring ones after its end.
        given: what the board holds before: `{full key: value}`, or entries such as `await memory.list()` gives.
        store: a factory: of one argument, the simulation's own store, for a decorator around it; of none, for a store of
            another make, each of whose calls is then one step.
        world: `World(replicas=2)` gives the agents copies that tell each other of their writes; it also says what may go wrong.
        turn: the turn that the memory begins with.
        max_operations: how many operations on the store, and how many rounds of waiting, before a run is called endless.
        max_steps: how many steps of the event loop before it is.

    Raises:
        AgentError: an agent is not an async function of one argument, or a name is not allowed.
        PolicyError: the policy is none, or gave an answer that is none.
        ReplayError: the token, or the list of choices, does not belong to this program.
        SimulationError: the store, or the policy between replicas, cannot be simulated.

    >>> async def counter(me):
    ...     await me.shared.update("count", lambda n: (n or 0) + 1)
    >>> simulate(counter, counter, seed=1).value("shared/count")
    2
    """
    scenario = agents[0] if len(agents) == 1 and isinstance(agents[0], Scenario) else None
    crew = named_agents(scenario.agents if scenario else agents[0] if len(agents) == 1 else agents)
    if given is None and scenario is not None:
        given = scenario.given
    replayed = None if replay is None else _replayed(replay)
    if world is not None and not isinstance(world, World):
        raise InvalidArgumentError(f"world= takes a World, such as cb.World(replicas=2), not {world!r:.60}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, str))):
        raise InvalidArgumentError(f"a seed is a whole number, a text, or None for the boring order, not {seed!r:.60}")
    if timing not in ("exact", "free"):
        raise InvalidArgumentError(f"timing is 'exact' or 'free', not {timing!r:.60}")
    if not isinstance(late_starts, bool):
        raise InvalidArgumentError(f"late_starts is True or False, not {late_starts!r:.60}")
    for name, number in (("max_operations", max_operations), ("max_steps", max_steps)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidArgumentError(f"{name} must be a whole number of at least 1, not {number!r:.60}")
    timing, late_starts = getattr(replayed, "timing", timing), getattr(replayed, "late_starts", late_starts)
    max_operations = getattr(replayed, "cut", None) or max_operations
    choices = Choices(replayed or (None if seed is None else seeded(seed)), timing, late_starts)
    settled = Optimistic() if policy is None else as_policy(policy)
    simulation = Simulation(crew, settled, choices, given or {}, store, world or World(), turn, max_operations, max_steps)
    run = simulation.run()
    run.seed, run.scenario = None if replayed else seed, scenario
    if replayed:
        replayed.check(choices)
    return run


def _replayed(replay: Any) -> Any:
    """Who chooses in a replay; anything that looks at the alternatives and chooses will do."""
    if isinstance(replay, str):
        return Replay(replay)
    if isinstance(replay, Run):
        return Retrace(replay.choices)
    if hasattr(replay, "sees"):
        return replay
    if not isinstance(replay, Sequence) or not all(type(number) is int for number in replay):
        raise InvalidArgumentError(f"replay= takes a token, a Run, or a list of whole numbers, not {replay!r:.60}")
    return Listed(replay)
