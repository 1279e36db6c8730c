"""Faults of an agent's own code, and of a policy: no way of working prevents them. Each has a right program beside it."""

# ruff: noqa: D103 - what an agent does is told by the story of its row

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from commonboard.anomaly_grid.program import Check, Program
from commonboard.check import at_the_end, converges
from commonboard.errors import ConflictError, OutcomeUnknownError
from commonboard.handle import AgentMemory
from commonboard.policies import Keep, Version
from commonboard.sim import World


@dataclass(frozen=True)
class Fault:
    """One fault, wrong and right.

    Attributes:
        name: the field's name for it.
        sentence: what it is.
        story: what the agents of the program do.
        shown: the code that is wrong, and the code that is right.
        wrong, right: the two programs.
        outside: where it is found outside.
        named_by: who named or described it.
    """

    name: str
    sentence: str
    story: str
    shown: tuple[Callable[..., Any], Callable[..., Any]]
    wrong: Program
    right: Program
    outside: str = ""
    named_by: str = ""

    @property
    def source(self) -> str:
        """The wrong code and the right one, as they stand in the file."""
        return "\n\n\n".join(inspect.getsource(code).rstrip() for code in self.shown)


def _agents(
    wrong: Callable[[AgentMemory], Any],
    right: Callable[[AgentMemory], Any],
    check: Check,
    given: Mapping[str, Any],
    names: tuple[str, ...] = ("a", "b"),
    **faults: Any,
) -> dict[str, Any]:
    """What differs is the agents."""
    programs = [Program(dict.fromkeys(names, agent), None, given, check, (World(**faults),)) for agent in (wrong, right)]
    return {"shown": (wrong, right), "wrong": programs[0], "right": programs[1]}


def _policies(wrong: Callable[..., Any], right: Callable[..., Any], write: Callable[[AgentMemory], Any]) -> dict[str, Any]:
    """What differs is the policy, between two copies."""
    programs = [
        Program({"a": write, "b": write}, policy, {"shared/x": []}, converges, (World(replicas=2),)) for policy in (wrong, right)
    ]
    return {"shown": (wrong, right), "wrong": programs[0], "right": programs[1]}


async def retries_blindly(me: AgentMemory) -> None:
    entry = await me.read("shared/count")
    assert entry is not None
    made, version = entry.value + 1, entry.version or 0
    while True:
        try:
            await me.shared.write("count", made, expect=version)
            return
        except ConflictError as refused:
            version = refused.found_version or 0


async def computes_again(me: AgentMemory) -> None:
    while True:
        entry = await me.read("shared/count")
        assert entry is not None
        try:
            await me.shared.write("count", entry.value + 1, expect=entry.version or 0)
            return
        except ConflictError:
            continue


async def pays_again(me: AgentMemory) -> None:
    try:
        await me.shared.append("paid", me.name)
    except OutcomeUnknownError:
        await me.shared.append("paid", me.name)


async def pays_once(me: AgentMemory) -> None:
    def once(paid: Any) -> Any:
        return paid if me.name in paid else [*paid, me.name]

    try:
        await me.shared.update("paid", once)
    except OutcomeUnknownError:
        await me.shared.update("paid", once)


async def is_too_polite(me: AgentMemory) -> None:
    other = {"a": "b", "b": "a"}[me.name]
    await me.write("wants", True)
    while await me.value(f"{other}/wants"):
        await me.write("wants", False)
        await me.write("wants", True)
    await me.shared.write("count", await me.value("shared/count") + 1)
    await me.write("wants", False)


async def lets_a_go_first(me: AgentMemory) -> None:
    other = {"a": "b", "b": "a"}[me.name]
    await me.write("wants", True)
    while await me.value(f"{other}/wants"):
        if me.name == "b":
            await me.write("wants", False)
            while await me.value("a/wants"):
                pass
            await me.write("wants", True)
    await me.shared.write("count", await me.value("shared/count") + 1)
    await me.write("wants", False)


async def writes_name(me: AgentMemory) -> None:
    await me.shared.write("x", [me.name])


def keeps_mine_on_a_tie(base: Version | None, mine: Version, theirs: Version) -> Version:
    return theirs if theirs.stamp > mine.stamp else mine


def tells_ties_by_name(base: Version | None, mine: Version, theirs: Version) -> Version:
    return theirs if (theirs.stamp, theirs.actor or "") > (mine.stamp, mine.actor or "") else mine


def mine_then_theirs(base: Version | None, mine: Version, theirs: Version) -> Keep:
    return Keep(mine.value + theirs.value)


def union(base: Version | None, mine: Version, theirs: Version) -> Keep:
    return Keep(sorted({*mine.value, *theirs.value}))


_COUNTED = at_the_end(lambda state: bool(state["shared/count"] == 2), "both additions count")

FAULTS: tuple[Fault, ...] = (
    Fault(
        "blind retry",
        "A write is refused because something has changed, and is tried again with the value that was made of the old one.",
        "Two agents add one to a counter by compare-and-set. The right one makes its value anew for each try.",
        **_agents(retries_blindly, computes_again, _COUNTED, {"shared/count": 0}),
        outside="letta-ai/letta#3366: refused writes are normal, so every client has to do something after one.",
        named_by="the literature on optimistic concurrency: the whole read, change and write is what is to be done again",
    ),
    Fault(
        "duplicate effect",
        "The answer to a write is lost, it is sent again, and it happens twice.",
        "An agent pays, and pays again if it was not told what became of it. The right one looks whether it has paid.",
        **_agents(
            pays_again,
            pays_once,
            at_the_end(lambda state: bool(state["shared/paid"] == ["a"]), "it is paid once"),
            {"shared/paid": []},
            names=("a",),
            lost_answers=1,
        ),
        named_by="at-least-once delivery; the remedy is in Helland, “Idempotence is not a medical condition” (2012)",
    ),
    Fault(
        "livelock",
        "Agents make way for each other for ever: all are busy, and nobody gets anywhere.",
        "Two agents each say that they want the board for themselves, and step back if the other does too. "
        "With the right one, `b` waits until `a` is done.",
        **_agents(is_too_polite, lets_a_go_first, _COUNTED, {"shared/count": 0, "a/wants": False, "b/wants": False}),
        named_by="Dijkstra, “Cooperating sequential processes” (1965): “after you”-blocking",
    ),
    Fault(
        "tie divergence",
        "Of two writes with equal stamps each copy keeps its own, so the copies differ for ever.",
        "Two agents write at two copies. The right policy tells ties by the writer's name, which is the same everywhere.",
        **_policies(keeps_mine_on_a_tie, tells_ties_by_name, writes_name),
        named_by="Lamport (1978): ties of clocks are broken by a total order of the processes",
    ),
    Fault(
        "merge that is not commutative",
        "What a merge gives depends on which side it is made, so copies that have seen the same writes differ.",
        "Two agents write a list each at two copies. The wrong policy puts its own first; the right one makes a sorted union.",
        **_policies(mine_then_theirs, union, writes_name),
        named_by="Shapiro et al. (2011): a merge must be commutative, associative and idempotent",
    ),
)
"""All faults."""
