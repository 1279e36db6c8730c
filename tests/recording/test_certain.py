"""The order of one key: what is claimed is so in every order that fits the record; of plain writes all that is so is claimed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import permutations, product

import pytest

from commonboard.recording.certain import KeyOrder, Span
from commonboard.recording.facts import Fact, Moment, Shown

KEY = "shared/x"
SEEDS = 150


@dataclass(eq=False)
class Call:
    kind: str
    begin: int
    end: int
    text: str | None
    expected: str | None = None
    saw: str | None = None
    mark: str | None = None


def made_up(seed: int, kinds: str, there: str | None) -> list[Call]:
    """Calls of a store that really behaves like one place, each with a moment at which it happened."""
    draw = random.Random(seed)
    number = draw.randint(2, 6)
    moments = list(range(3 * number))
    draw.shuffle(moments)
    calls = []
    for place in range(number):
        begin, at, end = sorted(moments[3 * place : 3 * place + 3])
        kind = draw.choice(kinds.split())
        call = Call(kind, begin, end, None, mark=f"r:{place}")
        call.text = {"set": draw.choice(["a", "b", f"u{place}"]), "cas": draw.choice(["a", "b", f"u{place}"])}.get(kind)
        call.expected = draw.choice([None, "a", "b"])
        calls.append((at, call))
    calls.sort(key=lambda one: one[0])
    board, mark = there, "elsewhere" if there is not None else None
    done = []
    for _, call in calls:
        if call.kind == "read":
            call.text, call.saw = board, mark
        elif call.kind == "cas" and call.expected != board:
            continue
        else:
            board, mark = call.text, call.mark if call.text is not None else None
        done.append(call)
    return sorted(done, key=lambda call: call.begin)


def judged(calls: list[Call]) -> tuple[KeyOrder, dict[Call, Fact]]:
    facts, writes, looks = {}, [], []
    for call in calls:
        kind = {"set": "write", "cas": "compare-and-set"}.get(call.kind, call.kind)
        fact = facts[call] = Fact("web", kind, KEY, Moment(call.begin, call.begin, "r"), text=call.text, versioned=False)  # type: ignore[arg-type]
        fact.mark, fact.expected = call.mark, call.expected
        shown = Shown(KEY, call.saw, call.text) if call.kind == "read" else None
        (looks if shown else writes).append(Span(fact, call.begin, call.end, shown))
    return KeyOrder(KEY, writes, looks), facts


def worlds(calls: list[Call]) -> list[list[Call]]:
    """Every order of effects that fits what was seen, whatever was there before: the writes that changed something."""
    found = []
    for order in permutations(calls):
        if any(later.end < earlier.begin for place, earlier in enumerate(order) for later in order[place + 1 :]):
            continue
        for there in (None, "a", "b", "something else"):
            changed = replay(order, there)
            if changed is not None and changed not in found:
                found.append(changed)
    return found


def replay(order: tuple[Call, ...], there: str | None) -> list[Call]:
    board: str | None = there
    mark = "elsewhere" if there is not None else None
    changed = []
    for call in order:
        if call.kind == "read":
            if (board, mark) != (call.text, call.saw):
                return None
            continue
        if call.kind == "cas" and call.expected != board:
            return None
        if not (call.text is None and board is None):
            changed.append(call)
        board, mark = call.text, call.mark if call.text is not None else None
    return changed


@pytest.mark.parametrize("kinds", ["set read", "set delete read", "set cas read", "set cas delete read read"])
def test_what_is_claimed_is_so_in_every_order_that_fits(kinds: str) -> None:
    for seed, there in product(range(SEEDS), (None, "a")):
        calls = made_up(seed, kinds, there)
        order, facts = judged(calls)
        possible = worlds(calls)
        assert possible
        claimed = {
            call: order.clusters[facts[call]].made for call in calls if call.kind != "read" and facts[call] in order.clusters
        }
        for call, made in claimed.items():
            cluster = order.clusters[facts[call]]
            if cluster.empty:
                assert all(call not in world for world in possible)
            if made is None:
                continue
            assert all(call in world for world in possible)
            for other, theirs in claimed.items():
                if theirs is not None and theirs < made:
                    for world in possible:
                        assert world.index(other) < world.index(call)
                        if theirs == made - 1:
                            assert world.index(other) == world.index(call) - 1


def test_of_plain_writes_all_that_is_certain_is_claimed() -> None:
    unknown = 0
    for seed in range(SEEDS):
        calls = made_up(seed, "set read", None)
        order, facts = judged(calls)
        assert "fits no order" not in order.doubt
        possible = worlds(calls)
        for call in calls:
            if call.kind == "set":
                places = {world.index(call) + 1 for world in possible}
                unknown += len(places) > 1
                assert order.clusters[facts[call]].made == (places.pop() if len(places) == 1 else None)
    assert unknown > SEEDS / 2


def test_the_orders_of_plain_writes_are_those_that_fit() -> None:
    for seed in range(SEEDS):
        calls = made_up(seed, "set set read", None)
        order, facts = judged(calls)
        of = {fact: call for call, fact in facts.items()}
        found = []
        for segments in order.orders(1000):
            clusters = [cluster for (block,) in segments for cluster in block.clusters]
            found.append([of[cluster.write.fact] for cluster in clusters if cluster.write is not None])
        assert len(found) == len({tuple(map(id, one)) for one in found})
        assert sorted(map(repr, found)) == sorted(map(repr, worlds(calls)))


def test_reads_that_fit_no_order_leave_every_version_unknown() -> None:
    first, second = Call("set", 0, 1, "a", mark="r:0"), Call("set", 2, 3, "b", mark="r:1")
    stale = Call("read", 4, 5, "a", saw="r:0")
    order, facts = judged([first, second, stale])
    assert "fits no order" in order.doubt
    assert order.clusters == {}
    assert judged([first, second])[0].doubt == ""
    assert facts[first].text == "a"


def test_what_somebody_else_wrote_in_between_leaves_every_version_unknown() -> None:
    mine, theirs = Call("set", 0, 1, "a", mark="r:0"), Call("read", 2, 3, "b", saw=None)
    assert "fits no order" in judged([mine, theirs])[0].doubt
    other = Call("read", 4, 5, "c", saw=None)
    assert "written by nobody in the record" in judged([theirs, other])[0].doubt
