"""What a history says that each operation saw: beside what the simulated replicas themselves remember."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import commonboard as cb
from commonboard.check.observed import Observed, observed
from commonboard.history import GIVEN, History, Operation


async def asks(me: cb.AgentMemory) -> None:
    await me.shared.write("q", "why")
    await me.shared.update("sum", lambda n: (n or 0) + 1)
    await me.value("shared/a")
    await me.shared.update("q", lambda q: f"{q}?")


async def answers(me: cb.AgentMemory) -> None:
    if await me.value("shared/q"):
        await me.shared.write("a", "because")
    await me.shared.update("sum", lambda n: (n or 0) + 1)
    await me.shared.update("q", lambda q: f"{q}!")


async def deletes(me: cb.AgentMemory) -> None:
    await me.value("shared/q")
    await me.shared.delete("q")
    await me.shared.update("sum", lambda n: (n or 0) + 1)


CREW = {"web": asks, "docs": answers, "synth": deletes}
WORLDS = {
    "two": cb.World(replicas=2),
    "three": cb.World(replicas=3),
    "eventual": cb.World(replicas=2, visibility="eventual"),
    "faults": cb.World(replicas=3, drops=2, duplicates=1, partitions=1),
    "crashes": cb.World(replicas=2, crashes=1, durable=False),
    "all": cb.World(replicas=2, visibility="eventual", crashes=1, durable=False, agent_crashes=1, lost_answers=1),
}
POLICIES = [cb.LastWriterWins(), cb.Optimistic(), cb.ThreeWay(lambda base, mine, theirs: f"{mine}{theirs}")]


def probed(made: cb.Run) -> Iterator[tuple[Observed, int, Any]]:
    """A read of every key on every replica after the run, and the value that the replica shows."""
    operations = list(made.history)
    places = []
    for replica, keys in made.copies.items():
        versions = {entry.key: entry.version for entry in made.boards[replica]}
        for key, siblings in keys.items():
            if key in versions and siblings:
                op = Operation(len(operations), "probe", "read", key, saw=versions[key], replica=replica)
                places.append((len(operations), siblings[-1]))
                operations.append(op)
    seen = observed(History(operations, replicas=made.history.replicas))
    for place, sibling in places:
        yield seen, place, sibling


def dots(seen: Observed, place: int) -> set[str]:
    key, mask = seen.operations[place].key, seen.seen[place]
    writes = [seen.operations[write] for number, write in enumerate(seen.writes[key]) if mask >> number & 1]
    return {op.dot or f"{GIVEN}:1" for op in writes}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_what_a_replica_shows_rests_on_what_the_replica_remembers(world: cb.World, policy: Any) -> None:
    count = 0
    for seed in range(40):
        made = cb.simulate(CREW, policy=policy, seed=seed, world=world, given={"shared/sum": 0})
        for seen, place, sibling in probed(made):
            count += 1
            live = {seen.operations[write].dot or f"{GIVEN}:1" for write in seen.saw[place] or ()}
            assert live == set(sibling.live), (made.token, seen.operations[place])
            assert dots(seen, place) == set(sibling.seen), (made.token, seen.operations[place])
    assert count > 100
