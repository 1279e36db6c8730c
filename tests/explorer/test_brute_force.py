"""Every reduction beside brute force: the same classes, the same outcomes, the same counts, on programs drawn at random."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

import pytest
from hypothesis import assume, example, given, settings, strategies as st
from tests.explorer import programs as p

import commonboard as cb

Step = tuple[str, str]
Program = tuple[tuple[Step, ...], ...]
KINDS = ("read", "write", "update", "retry", "create", "delete", "list", "claim", "append", "own", "rewrite", "think")
KEYS = ("x", "y")
WEIGHT = {"update": 2, "retry": 2, "claim": 2, "rewrite": 2, "think": 0}
POLICIES: dict[str, Any] = {"last writer wins": cb.LastWriterWins(), "optimistic": cb.Optimistic()}


def agent(steps: tuple[Step, ...]) -> Any:
    """The agent that takes these steps; what it returns is all that it has seen."""

    async def does(me: cb.AgentMemory) -> list[Any]:
        seen = []
        for step, short in steps:
            seen.append(await DOES[step](me, short))
        return seen

    return does


async def read(me: cb.AgentMemory, short: str) -> Any:
    return await me.value(f"shared/{short}")


async def write(me: cb.AgentMemory, short: str) -> Any:
    return (await me.shared.write(short, me.name)).version


async def update(me: cb.AgentMemory, short: str) -> Any:
    entry = await me.shared.update(short, lambda found: f"{found or ''}{me.name}")
    return None if entry is None else entry.value


async def retry(me: cb.AgentMemory, short: str) -> Any:
    attempts = 1
    while not await me.shared.compare_and_set(short, found := await me.value(f"shared/{short}"), f"{found or ''}{me.name}"):
        attempts += 1
    return attempts


async def create(me: cb.AgentMemory, short: str) -> Any:
    try:
        return (await me.shared.write(short, me.name, expect=cb.ABSENT)).version
    except cb.ConflictError as refused:
        return refused.found_version


async def delete(me: cb.AgentMemory, short: str) -> Any:
    await me.shared.delete(short)


async def lists(me: cb.AgentMemory, short: str) -> Any:
    prefix = "" if short == "y" else "shared"
    return [(entry.key, entry.value) for entry in await me.list(prefix)]


async def claim(me: cb.AgentMemory, short: str) -> Any:
    there = [entry.key for entry in await me.list("shared")]
    if f"shared/{short}" not in there:
        await me.shared.write(short, me.name)
    return there


async def append(me: cb.AgentMemory, short: str) -> Any:
    return (await me.shared.append(f"log {short}", me.name)).value


async def own(me: cb.AgentMemory, short: str) -> Any:
    return (await me.write(short, 1)).version


async def rewrite(me: cb.AgentMemory, short: str) -> Any:
    there = await me.read(f"shared/{short}")
    try:
        entry = await me.shared.write(short, me.name, expect=cb.ABSENT if there is None else there.version)
    except cb.ConflictError:
        return "refused"
    return entry.version


async def think(me: cb.AgentMemory, short: str) -> Any:
    await me.think(seconds=1)


DOES: dict[str, Any] = {
    "read": read, "write": write, "update": update, "retry": retry, "create": create, "delete": delete, "list": lists,
    "claim": claim, "append": append, "own": own, "rewrite": rewrite, "think": think,
}  # fmt: skip


def crew(program: Program) -> dict[str, Any]:
    return {name: agent(steps) for name, steps in zip("abcd", program, strict=False)}


def size(program: Program) -> int:
    """How many interleavings there are at least."""
    lengths = [sum(WEIGHT.get(step, 1) for step, _ in steps) for steps in program]
    total, ways = 0, 1
    for length in lengths:
        for n in range(1, length + 1):
            total += 1
            ways = ways * total // n
    return ways


def agrees(program: Program, policy: str, most: int) -> bool:
    """Compare all; `False` if there are too many interleavings."""
    if size(program) > most:
        return False
    agents, options = crew(program), {"policy": POLICIES[policy], "given": {"shared/x": "old"}}
    try:
        truth = p.brute(agents, 4 * most, **options)
    except p.TooMany:
        return False
    by_state, states = p.shown(agents, "states", **options)
    by_class, sleeping = p.shown(agents, "sleep sets", **options)
    by_history, _ = p.shown(agents, "auto", "history", **options)
    by_run, every = p.shown(agents, "none", **options)
    assert by_state == by_class == by_history == by_run == truth.outcomes()
    assert [v.holds for v in (states, sleeping, every)] == [True] * 3
    assert every.explored.completed == len(truth.orders)
    assert sleeping.explored.completed == truth.classes()
    # A timer that fires is no operation, and is not counted where it changes nothing.
    orders: dict[Any, cb.Run] = dict(truth.orders)
    assert states.explored.interleavings == len(orders)
    bad = {events for events, run in orders.items() if p.failed(run)}
    lost = {how: cb.explore(agents, reduction=how, **options) for how in ("states", "sleep sets", "none")}  # type: ignore[arg-type]
    for how, verdict in lost.items():
        assert (verdict.holds is False) is bool(bad), how
    if lost["states"].explored.interleavings is not None:
        assert (lost["states"].explored.interleavings, lost["states"].explored.violating) == (len(orders), len(bad))
    assert lost["sleep sets"].explored.violating == truth.classes(p.failed)
    return True


steps = st.tuples(st.sampled_from(KINDS), st.sampled_from(KEYS))


def programs(agents: int, operations: int) -> Any:
    return st.lists(st.lists(steps, min_size=1, max_size=operations).map(tuple), min_size=2, max_size=agents).map(tuple)


@given(programs(4, 3), st.sampled_from(sorted(POLICIES)))
@settings(max_examples=25)
@example(((("claim", "x"), ("claim", "y")), (("claim", "y"), ("claim", "x"))), "optimistic")
@example(((("create", "y"), ("delete", "y")), (("create", "y"), ("list", "y"))), "optimistic")
@example(((("retry", "x"),), (("retry", "x"),), (("delete", "x"),)), "optimistic")
@example(((("update", "x"), ("think", "x"), ("read", "x")), (("think", "x"), ("update", "x"))), "last writer wins")
def test_all_reductions_agree_with_brute_force(program: Program, policy: str) -> None:
    assume(agrees(program, policy, 40))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_all_reductions_agree_with_brute_force_on_bigger_programs(seed: int) -> None:
    drawn, done = random.Random(f"programs {seed}"), 0
    while done < 3:
        many = drawn.choice((2, 3, 3, 4, 4))
        program = tuple(tuple((drawn.choice(KINDS), drawn.choice(KEYS)) for _ in range(drawn.randint(1, 3))) for _ in range(many))
        if size(program) >= 100:
            done += agrees(program, drawn.choice(sorted(POLICIES)), 600)


class TestTheOracle:
    """The brute force itself: two ways to count classes, and programs whose classes are known."""

    def test_counts_the_same_classes_by_normal_forms_and_by_exchanging_neighbours(self) -> None:
        for program in (
            ((("claim", "x"), ("read", "y")), (("create", "y"), ("own", "x"))),
            ((("update", "x"),), (("retry", "x"),), (("read", "y"),)),
        ):
            truth = p.brute(crew(program))
            assert truth.classes() == p.swapped_classes([events for events, _ in truth.orders], truth.listed)

    def test_tells_what_depends(self) -> None:
        def event(agent: str, what: str, key: str) -> p.Event:
            return p.Event(agent, 1, what, key)

        write, other = event("a", "writes", "shared/x"), event("b", "writes", "shared/y")
        assert not p.depends(write, other, [])
        assert p.depends(write, other, ["shared"])
        assert not p.depends(write, other, ["b", "share"])
        assert p.depends(write, event("b", "lists", "shared"), [])
        assert not p.depends(write, event("b", "lists", "share"), [])
        assert not p.depends(event("a", "reads", "x"), event("b", "reads", "x"), [])

    def test_knows_the_classes_of_two_writers_of_one_key(self) -> None:
        truth = p.brute([agent((("write", "y"), ("write", "y")))] * 2)
        assert (len(truth.orders), truth.classes()) == (6, 6)


def straight(program: Any) -> dict[str, Any]:
    """Agents that take these steps, written as the brute force writes them."""
    verbs = {"reads": "read", "writes": "write", "deletes": "delete", "lists": "list"}
    return crew(tuple(tuple((verbs[what], key.removeprefix("shared/")) for what, key in steps) for steps in program))


def drawn_straight(seed: str, agents: int, operations: int) -> Any:
    """A program without choices of its own."""
    source = random.Random(seed)
    made = []
    for _ in range(agents):
        whats = [source.choice(("reads", "reads", "writes", "lists")) for _ in range(operations)]
        made.append([(what, "shared" if what == "lists" else f"shared/{source.choice('xyz')}") for what in whats])
    return made


@pytest.mark.parametrize("seed", range(25))
def test_classes_equal_those_counted_without_any_simulator(seed: int) -> None:
    agents, operations = [(2, 3), (3, 2), (4, 1), (2, 2), (3, 1)][seed % 5]
    program = drawn_straight(f"straight {seed}", agents, operations)
    interleavings, classes = p.without_running(program)
    verdict = p.shown(straight(program), "sleep sets")[1]
    assert verdict.explored.completed == classes
    assert p.shown(straight(program), "states")[1].explored.interleavings == interleavings


@pytest.mark.slow
def test_four_agents_of_three_operations_have_as_many_classes_as_arithmetic_says() -> None:
    program = drawn_straight("four by three 0", 4, 3)
    interleavings, classes = p.without_running(program)
    assert interleavings == 369_600
    assert p.shown(straight(program), "sleep sets", "end")[1].explored.completed == classes > 500
    assert p.shown(straight(program), "states")[1].explored.interleavings == interleavings


@pytest.mark.parametrize(
    ("policy", "begins"),
    [(cb.FirstWriterWins(), None), (cb.Merge(cb.PNCounter), None), (cb.AppendOnly(), []), (cb.ThreeWay(max), 0)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_other_policies_agree_with_brute_force_too(policy: Any, begins: Any) -> None:
    async def adds(me: cb.AgentMemory) -> str:
        def change(found: Any) -> Any:
            if isinstance(found, cb.PNCounter):
                found.add(1)
                return found
            return [*found, me.name] if isinstance(found, list) else (found or 0) + 1

        entry = await me.shared.update("n", change)
        return "" if entry is None else str(entry.version)

    agents, options = {"a": adds, "b": adds, "c": adds}, {"policy": policy}
    if begins is not None:
        options["given"] = {"shared/n": begins}
    truth = p.brute(agents, **options)
    assert len(truth.orders) >= 90
    for how in ("states", "sleep sets", "none"):
        assert p.shown(agents, how, **options)[0] == truth.outcomes(), how
    states = p.shown(agents, "states", **options)[1]
    assert states.explored.interleavings == len(truth.orders)
    assert p.shown(agents, "sleep sets", **options)[1].explored.completed == truth.classes()


def test_operations_that_one_agent_has_under_way_at_once_agree_with_brute_force() -> None:
    async def both(me: cb.AgentMemory) -> list[Any]:
        return await asyncio.gather(update(me, "x"), read(me, "y"))

    async def one(me: cb.AgentMemory) -> list[Any]:
        return await asyncio.gather(write(me, "x"), write(me, "y"))

    agents = {"a": both, "b": one}
    options: dict[str, Any] = {"policy": cb.LastWriterWins()}
    truth = p.brute(agents, **options)
    for how in ("states", "sleep sets"):
        assert p.shown(agents, how, **options)[0] == truth.outcomes(), how
    assert p.shown(agents, "states", **options)[1].explored.interleavings == len(truth.orders)
    lost = cb.explore(agents, **options)
    assert lost.explored.violating == sum(truth.fails())


def test_every_pair_of_operations_commutes_or_not_as_it_really_does() -> None:
    """Two agents, one operation each: the orders are one class only where they come to the same."""
    for one, other in itertools.combinations_with_replacement(KINDS[:-1], 2):
        agents = crew(((("write", "y"), (one, "x")), ((other, "y"),)))
        truth = p.brute(agents, given={"shared/x": "old"})
        assert p.shown(agents, "states", given={"shared/x": "old"})[0] == truth.outcomes(), (one, other)


@pytest.mark.parametrize("how", ["states", "sleep sets"])
def test_pages_of_a_list_agree_with_brute_force(how: str) -> None:
    async def pages(me: cb.AgentMemory) -> list[list[str]]:
        first = await me.list("shared", limit=1)
        rest = await me.list("shared", limit=2, after=first.cursor) if first.cursor else []
        return [[entry.key for entry in first], [entry.key for entry in rest]]

    agents = {"pages": pages, "b": agent((("create", "x"), ("delete", "y"))), "c": agent((("create", "y"),))}
    truth = p.brute(agents)
    outcomes, verdict = p.shown(agents, how)
    assert outcomes == truth.outcomes()
    if how == "states":
        assert verdict.explored.interleavings == len(truth.orders)
