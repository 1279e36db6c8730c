"""Prints what many simulations came to, for comparing processes: `python traces.py` and `python traces.py TOKEN …`.

Needs nothing but the library, so that any Python can run it. Exceptions appear by type, since their texts change from
one Python to the next.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import commonboard as cb

SEEDS = 30


def keep_longer(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Version:
    return mine if len(str(mine.value)) >= len(str(theirs.value)) else theirs


def both(base: Any, mine: Any, theirs: Any) -> Any:
    return mine + theirs[len(base) :] if isinstance(base, list) else theirs


async def all_of_asyncio(me: cb.AgentMemory) -> None:
    """Sets of tasks, groups that fail, what completes first: wherever asyncio keeps things in sets, order might slip in."""

    async def job(number: int) -> int:
        await me.shared.append("began", f"{me.name} {number}")
        try:
            await me.think(seconds=number % 3)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        if number == 7:
            raise ValueError(number)
        return number

    cancelled: list[int] = []
    order = [await first for first in asyncio.as_completed([job(number) for number in range(6)])]
    done, pending = await asyncio.wait({asyncio.create_task(job(number)) for number in range(6)}, timeout=1.5)
    order += [task.result() for task in done]
    for task in pending:
        task.cancel()
    await asyncio.wait(pending)
    try:
        async with asyncio.TaskGroup() as group:
            for number in (2, 5, 7, 8, 11, 14):
                group.create_task(job(number))
    except* ValueError:
        await me.write("failed", True)
    names = {f"{me.name}/{number}" for number in range(9)}
    await asyncio.gather(*(me.shared.update(name, lambda n: (n or 0) + 1) for name in sorted(names)))
    await me.write("order", [order, cancelled])


CREWS: dict[str, Any] = {
    "counter": cb.scenarios.counter(agents=3),
    "claim": cb.scenarios.claim_the_task,
    "consolidation": cb.scenarios.consolidation,
    "crew": cb.scenarios.research_crew,
    "asyncio": {"web": all_of_asyncio, "docs": all_of_asyncio},
}
POLICIES: dict[str, Any] = {
    "last writer wins": cb.LastWriterWins(),
    "first writer wins": cb.FirstWriterWins(),
    "optimistic": cb.Optimistic(backoff=0.5),
    "append only": cb.AppendOnly(),
    "three way": cb.ThreeWay(both),
    "function": keep_longer,
    "set": cb.Merge(cb.ORSet),
    "counter": cb.Merge(cb.PNCounter),
}
FITS = {"set": ("consolidation", "crew", "asyncio"), "counter": ("counter",)}
"""Which crews keep lists, and which count: no other value can be merged as a set, or as a counter."""


def told(made: cb.Run) -> str:
    """All that a run says, every field of every operation included."""
    operations = [dataclasses.astuple(op) for op in made.history]
    errors = {name: type(error).__name__ for name, error in made.errors.items()}
    boards = {name: [(e.key, repr(e.value), e.version) for e in page] for name, page in made.boards.items()}
    verdict = cb.no_lost_updates(made) if made.ok else None
    return "\n".join(
        [
            str(made.history),
            repr(operations),
            repr(made.state),
            repr(boards),
            repr(errors),
            made.token,
            made.outcome,
            str(verdict),
        ]
    )


def traces() -> Iterator[str]:
    """One line for each crew, policy and world: a digest of all its runs."""
    for crew, agents in CREWS.items():
        seeds = 3 if crew == "asyncio" else SEEDS
        for policy, settled in POLICIES.items():
            for replicas in (1, 2, 3) if crew in FITS.get(policy, CREWS) else ():
                digest = hashlib.sha256()
                for seed in range(seeds):
                    made = cb.simulate(agents, policy=settled, seed=seed, world=cb.World(replicas=replicas))
                    digest.update(told(made).encode())
                yield f"{crew}, {policy}, {replicas}: {digest.hexdigest()[:16]} {made.outcome}"


def replayed(tokens: list[str]) -> Iterator[str]:
    """For each crew, its run with seed 7, replayed if there is a token for it: the token, and a digest."""
    for place, agents in enumerate(CREWS.values()):
        how: Any = {"replay": tokens[place]} if tokens else {"seed": 7}
        made = cb.simulate(agents, policy=cb.LastWriterWins(), world=cb.World(replicas=2), **how)
        yield f"{made.token} {hashlib.sha256(told(made).encode()).hexdigest()[:16]}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print("\n".join(replayed([each for each in sys.argv[1:] if each != "record"])))
    else:
        print("\n".join(traces()))
