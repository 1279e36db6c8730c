"""`visible(obj)`: what agents share beside the board counts, so that a race on it is found and schedules are treated alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.explorer.programs import ONCE, counter

import commonboard as cb


@dataclass
class Box:
    count: int = 0
    items: list[str] = field(default_factory=list)

    def add(self, item: str) -> None:
        self.items.append(item)
        self.count += 1


async def between(me: cb.AgentMemory, first: bool) -> None:
    await me.write("step", 1)
    if first:
        await me.write("first", True)


def racing(thing: Any, untouched: Any, touch: Any) -> Any:
    """Looks at a thing, does something else, and touches it: two of them may both find it untouched."""

    async def agent(me: cb.AgentMemory) -> None:
        await me.value("shared/x")
        first = untouched(thing)
        await me.write("step", 1)
        if first:
            touch(thing, me.name)
            await me.write("first", True)

    return agent


THINGS: dict[str, tuple[Any, Any, Any]] = {
    "a list": ([], lambda thing: not thing, lambda thing, name: thing.append(name)),
    "a list by its length": ([], lambda thing: len(thing) == 0, lambda thing, name: thing.extend([name])),
    "a dict": ({}, lambda thing: "it" not in thing, lambda thing, name: thing.update(it=name)),
    "an item of a dict": ({"it": 0}, lambda thing: thing["it"] == 0, lambda thing, name: thing.__setitem__("it", 1)),
    "a set": (set(), lambda thing: not list(thing), lambda thing, name: thing.add(name)),
    "an attribute": (Box(), lambda thing: thing.count == 0, lambda thing, name: setattr(thing, "count", 1)),
    "a method": (Box(), lambda thing: thing.count == 0, lambda thing, name: thing.add(name)),
}


def fresh_runs(thing: Any, untouched: Any, touch: Any) -> list[bool]:
    """Whether each schedule fails when it begins with a thing that nobody has touched, one by one."""
    from copy import deepcopy

    found, numbers = list[bool](), list[int]()
    while True:
        agent = racing(deepcopy(thing), untouched, touch)
        run = cb.simulate(agent, agent, timing="free", late_starts=True, replay=numbers)
        found.append(ONCE(run).holds is False)
        numbers, wheels = run.choices.numbers, run.choices.alternatives
        while numbers and numbers[-1] + 1 == wheels[len(numbers) - 1]:
            numbers.pop()
        if not numbers:
            return found
        numbers[-1] += 1


@pytest.mark.parametrize("name", THINGS)
def test_a_race_on_it_is_found(name: str) -> None:
    thing, untouched, touch = THINGS[name]
    truth = fresh_runs(thing, untouched, touch)
    assert set(truth) == {True, False}
    agent = racing(cb.visible(thing), untouched, touch)
    verdict = cb.explore(agent, agent, check=ONCE)
    assert verdict.holds is False
    assert verdict.explored.method == "sleep sets, every schedule run anew"


@pytest.mark.parametrize("name", THINGS)
def test_every_schedule_begins_with_the_thing_as_it_was(name: str) -> None:
    thing, untouched, touch = THINGS[name]
    truth = fresh_runs(thing, untouched, touch)
    agent = racing(cb.visible(thing), untouched, touch)
    explored = cb.explore(agent, agent, check=ONCE, reduction="none").explored
    assert (explored.completed, explored.violating) == (len(truth), sum(truth))


def test_schedules_that_differ_only_in_what_commutes_are_treated_alike() -> None:
    log = cb.visible([])

    async def agent(me: cb.AgentMemory) -> None:
        await me.write("a", 1)
        await me.write("b", 1)
        log.append(me.name)
        await me.write("c", 1)

    verdict = cb.explore(agent, agent, agent)
    assert verdict.holds is True
    assert verdict.explored.why == ""
    # Only the order of the three appends matters.
    assert verdict.explored.completed == 6


def test_what_is_only_read_leaves_one_class() -> None:
    names = cb.visible(["web", "docs"])

    async def agent(me: cb.AgentMemory) -> None:
        await me.write("a", len(names))
        await me.write("b", names[0])

    verdict = cb.explore(agent, agent)
    assert (verdict.holds, verdict.explored.completed) == (True, 1)


@pytest.mark.parametrize(
    ("thing", "untouched", "touch"),
    [
        ({"names": []}, lambda thing: not thing["names"], lambda thing, name: thing["names"].append(name)),
        (Box(), lambda thing: not thing.items, lambda thing, name: thing.items.append(name)),
        ({"names": []}, lambda thing: not thing.get("names"), lambda thing, name: thing.get("names").append(name)),
    ],
    ids=["an item of a dict", "an attribute", "what get gave"],
)
def test_a_change_of_what_lies_within_it_is_a_change_of_it(thing: Any, untouched: Any, touch: Any) -> None:
    shown = cb.visible(thing)

    async def notes(me: cb.AgentMemory) -> None:
        await me.write("before", untouched(shown))
        touch(shown, me.name)
        await me.write("after", 1)

    explored = cb.explore({"a": notes, "b": notes}).explored
    # One touches it between its two writes; the other looks before or after that.
    assert explored.completed > 1


def test_the_token_gives_the_run_that_is_shown() -> None:
    shown = cb.visible([])
    agent = racing(shown, lambda thing: not thing, lambda thing, name: thing.append(name))
    verdict = cb.explore(agent, agent, check=ONCE)
    assert ONCE(verdict.run).holds is False
    again = cb.simulate(agent, agent, replay=verdict.token)
    assert str(again.history) == str(verdict.run.history)


def test_it_is_left_as_it_was_found() -> None:
    shown = cb.visible(["given"])

    async def agent(me: cb.AgentMemory) -> None:
        await me.write("step", 1)
        shown.append(me.name)
        await me.write("step", 2)

    cb.explore(agent, agent)
    assert shown == ["given"]


def test_it_behaves_as_the_object_does() -> None:
    names = cb.visible(["web"])
    names.append("docs")
    names += ["lead"]
    names[0] = "WEB"
    assert list(names) == ["WEB", "docs", "lead"]
    assert len(names) == 3
    assert "lead" in names
    assert names[1:] == ["docs", "lead"]
    assert names == ["WEB", "docs", "lead"]
    assert repr(names) == "visible(['WEB', 'docs', 'lead'])"
    del names[0]
    assert names.index("lead") == 1
    assert bool(cb.visible({})) is False
    box = cb.visible(Box())
    box.count += 2
    assert box.count == 2
    assert cb.visible(box) is box


def test_another_shared_object_beside_it_still_counts() -> None:
    shown, hidden = cb.visible([]), []  # type: ignore[var-annotated]

    async def agent(me: cb.AgentMemory) -> None:
        await me.write("step", 1)
        shown.append(me.name)
        hidden.append(me.name)

    explored = cb.explore(agent, agent).explored
    assert explored.method == "every schedule run anew"
    assert "hidden" in explored.why
    assert "shown" not in explored.why


def test_a_lost_update_on_the_board_is_found_beside_it() -> None:
    shown = cb.visible([])

    async def agent(me: cb.AgentMemory) -> None:
        await me.shared.update("n", lambda found: (found or 0) + 1)
        shown.append(me.name)

    verdict = cb.explore(agent, agent, policy=cb.LastWriterWins())
    assert verdict.holds is False
    assert verdict.findings[0].kind == "lost update"
    same = cb.explore(counter(), counter(), policy=cb.LastWriterWins(), reduction="sleep sets")
    assert verdict.explored.completed >= same.explored.completed


def test_between_replicas_nothing_that_is_visible_is_told_apart() -> None:
    seen = cb.visible([])

    async def agent(me: cb.AgentMemory) -> None:
        seen.append(me.name)
        await me.shared.write(me.name, 1)

    verdict = cb.explore(agent, agent, agent, world=cb.World(replicas=2), policy=cb.LastWriterWins())
    assert verdict.explored is not None
    assert verdict.explored.method == "every schedule run anew"
    assert "between replicas" in verdict.explored.why


def test_what_cannot_be_made_visible_is_refused() -> None:
    for thing in (3, "text", None):
        with pytest.raises(cb.errors.InvalidArgumentError, match="visible takes an object that can change"):
            cb.visible(thing)
    with pytest.raises(cb.errors.InvalidArgumentError, match="visible takes what can be deep-copied, and a generator cannot"):
        cb.visible(letter for letter in "ab")
