"""Faulty sets and counters, each killed by a named layer. A suite that no mutant fails is no test.

Several of these faults were found in published packages. Two mutants are equivalent: they keep more than they must and
behave the same; they must pass, or the checks would be too strict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import pytest

from commonboard.crdt import GCounter, ORSet, PNCounter, check_laws, check_spec, search
from commonboard.crdt.clocks import below, join, survivors
from commonboard.crdt.codec import element_key
from commonboard.crdt.laws import LAWS


def merged_by(rule: Callable[..., Any], a: ORSet, b: ORSet) -> dict[Any, Any]:
    keys = sorted(a._live | b._live, key=str)
    rows = {key: tuple(sorted(rule(a._live.get(key, ()), a._clock, b._live.get(key, ()), b._clock))) for key in keys}
    return {key: dots for key, dots in rows.items() if dots}


class RuleSet(ORSet):
    """An ORSet whose merge asks `rule` which dots of an element live on."""

    @staticmethod
    def rule(mine: Any, my_clock: Any, theirs: Any, their_clock: Any) -> Any:
        return survivors(mine, my_clock, theirs, their_clock)

    def merge(self, other: Self) -> Self:
        merged = self.copy()
        merged._live = merged_by(self.rule, self, other)
        merged._clock = join(self._clock, other._clock)
        return merged


class UnionOfTags(RuleSet):
    """No context: what either side holds stays. A removed element comes back."""

    @staticmethod
    def rule(mine: Any, my_clock: Any, theirs: Any, their_clock: Any) -> Any:
        return {*mine, *theirs}


class BothPresentMeansKeep(RuleSet):
    """An element that is on both sides is kept, though each side removed the other's add."""

    @staticmethod
    def rule(mine: Any, my_clock: Any, theirs: Any, their_clock: Any) -> Any:
        live = survivors(mine, my_clock, theirs, their_clock)
        return live or ({*mine, *theirs} if mine and theirs else ())


class KeepsUnionIfOnBothSides(RuleSet):
    """Dots that one side removed stay while the other side holds the element."""

    @staticmethod
    def rule(mine: Any, my_clock: Any, theirs: Any, their_clock: Any) -> Any:
        return {*mine, *theirs} if mine and theirs else survivors(mine, my_clock, theirs, their_clock)


class NonStrictDominance(RuleSet):
    """A short cut: whoever has seen as much or more wins whole. With equal vectors a remove is lost."""

    def merge(self, other: Self) -> Self:
        if below(other._clock, self._clock):
            return self.copy()
        if below(self._clock, other._clock):
            return self._with_my_replica(other)
        return super().merge(other)

    def _with_my_replica(self, other: Self) -> Self:
        return other.bind(self.replica) if self.replica else other.copy()


class ForgetsToMergeTheVector(RuleSet):
    def merge(self, other: Self) -> Self:
        merged = super().merge(other)
        merged._clock = dict(self._clock)
        return merged


class NoNewDotForPresentElement(RuleSet):
    """An add of what is there makes no dot, so a remove elsewhere takes the second add away."""

    def add(self, element: Any) -> None:
        if element not in self:
            super().add(element)


class AddKeepsOldDots(RuleSet):
    """Equivalent: the dots seen before stay beside the new one."""

    def add(self, element: Any) -> None:
        before = self.dots(element)
        super().add(element)
        self._live[element_key(element)] = tuple(sorted({*before, *self.dots(element)}))


class RemoveTicksTheVector(RuleSet):
    """Equivalent: a remove uses up a number too."""

    def remove(self, element: Any) -> None:
        super().remove(element)
        self._clock[self._me()] = self._clock.get(self._me(), 0) + 1


class MergeAddsEverythingAgain(RuleSet):
    """`merge` written as `+`: every merge makes new dots."""

    def merge(self, other: Self) -> Self:
        return self + other


class MergesInPlace(RuleSet):
    def merge(self, other: Self) -> Self:
        merged = super().merge(other)
        self._live, self._clock = merged._live, merged._clock
        return self


class SharesTheVector(RuleSet):
    """The result of a merge holds the very dict of the left side where the right side is not ahead."""

    def merge(self, other: Self) -> Self:
        merged = super().merge(other)
        if below(other._clock, self._clock):
            merged._clock = self._clock
        return merged


class TextWithoutTheVector(RuleSet):
    """The text keeps only what the live dots cover, so what was seen and removed is forgotten on reading it back."""

    def to_json(self) -> str:
        kept = self.copy()
        kept._clock = {replica: count for dots in self._live.values() for replica, count in dots}
        return ORSet.to_json(kept)


class TombstoneSet:
    """Right: the textbook set with tombstones. It grows for ever."""

    def __init__(self, replica: str) -> None:
        self.replica = replica
        self.tags: set[tuple[str, str, int]] = set()
        self.tombs: set[tuple[str, str, int]] = set()
        self.count = 0

    def tag(self, element: str) -> tuple[str, str, int]:
        self.count += 1
        return element, self.replica, self.count

    def add(self, element: str) -> None:
        self.tags.add(self.tag(element))

    def remove(self, element: str) -> None:
        gone = {tag for tag in self.tags if tag[0] == element}
        self.tags -= gone
        self.tombs |= gone

    def merge(self, other: Self) -> Self:
        merged = type(self)(self.replica)
        merged.count = self.count
        merged.tombs = self.tombs | other.tombs
        merged.tags = (self.tags | other.tags) - merged.tombs
        return merged

    @property
    def value(self) -> list[str]:
        return sorted({tag[0] for tag in self.tags})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TombstoneSet) and (self.tags, self.tombs) == (other.tags, other.tombs)


class DropsTombstonesOnMerge(TombstoneSet):
    def merge(self, other: Self) -> Self:
        merged = super().merge(other)
        merged.tombs = set()
        return merged


class TagIsTheElement(TombstoneSet):
    """The two-phase set: what was removed once can never be added again."""

    def tag(self, element: str) -> tuple[str, str, int]:
        return element, "", 0

    def add(self, element: str) -> None:
        if self.tag(element) not in self.tombs:
            super().add(element)


class RemoveWins:
    """Adds and removes are both observed; where they are concurrent the remove wins. Lawful, but another type."""

    def __init__(self, replica: str) -> None:
        self.inside, self.outside = ORSet(replica), ORSet(replica)

    def add(self, element: str) -> None:
        self.inside.add(element)
        self.outside.remove(element)

    def remove(self, element: str) -> None:
        self.outside.add(element)
        self.inside.remove(element)

    def merge(self, other: Self) -> Self:
        merged = type(self)("any")
        merged.inside, merged.outside = self.inside.merge(other.inside), self.outside.merge(other.outside)
        return merged

    @property
    def value(self) -> list[str]:
        return [element for element in self.inside if element not in self.outside]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoveWins) and (self.inside, self.outside) == (other.inside, other.outside)


class SumsOnMerge(PNCounter):
    def merge(self, other: Self) -> Self:
        merged = self.copy()
        for replica, count in other._added.items():
            merged._added[replica] = merged._added.get(replica, 0) + count
        for replica, count in other._taken.items():
            merged._taken[replica] = merged._taken.get(replica, 0) + count
        return merged


class OneSlotForAll(PNCounter):
    """Every replica calls itself by one name: two concurrent +1 make 1."""

    def _me(self) -> str:
        return "the counter"

    def add(self, k: int = 1) -> None:
        me, self._replica = self._replica, self._me()
        super().add(k)
        self._replica = me


class OneSignedNumber(PNCounter):
    """One signed number for each replica, merged by maximum: a -1 never leaves its replica."""

    def add(self, k: int = 1) -> None:
        self._added[self._me()] = self._added.get(self._me(), 0) + k

    def merge(self, other: Self) -> Self:
        merged = self.copy()
        merged._added = {
            replica: max(counts)
            for replica in sorted(self._added | other._added)
            if (counts := [side[replica] for side in (self._added, other._added) if replica in side])
        }
        return merged


class ClampsAtZero(PNCounter):
    @property
    def value(self) -> int:
        return max(0, super().value)


class OneNumberMergedByMaximum(GCounter):
    """The counter that everybody writes first."""

    def inc(self, k: int = 1) -> None:
        self._counts["all"] = self._counts.get("all", 0) + k


class Killed(NamedTuple):
    """Which layer finds the fault, at most 2 updates for the laws, 3 for the search (4 where it says so)."""

    laws: frozenset[str] = frozenset()
    spec: int = 0  # steps of the shortest history that reads a wrong value; 0: none
    converge: int = 0  # steps of the shortest history after which replicas that have seen the same differ; 0: none


def laws(*names: str) -> frozenset[str]:
    return frozenset(names)


RIGHT: list[type[Any]] = [ORSet, RuleSet, TombstoneSet, AddKeepsOldDots, RemoveTicksTheVector, PNCounter, GCounter]
MUTANTS: dict[type[Any], Killed] = {
    UnionOfTags: Killed(laws("inflating"), spec=4, converge=4),
    KeepsUnionIfOnBothSides: Killed(laws("inflating"), converge=4),
    NonStrictDominance: Killed(laws("commutative"), spec=4, converge=4),
    ForgetsToMergeTheVector: Killed(laws("commutative", "associative", "identity", "inflating", "no error"), spec=4, converge=2),
    NoNewDotForPresentElement: Killed(spec=5),
    MergeAddsEverythingAgain: Killed(
        laws("commutative", "associative", "idempotent", "identity", "inflating"), spec=4, converge=2
    ),
    MergesInPlace: Killed(laws("pure")),
    SharesTheVector: Killed(laws("pure")),
    TextWithoutTheVector: Killed(laws("round trip")),
    DropsTombstonesOnMerge: Killed(laws("associative", "idempotent", "identity", "inflating"), spec=5, converge=3),
    TagIsTheElement: Killed(spec=3),
    RemoveWins: Killed(spec=3),
    SumsOnMerge: Killed(laws("idempotent", "inflating"), spec=3, converge=3),
    OneSlotForAll: Killed(spec=3),
    OneSignedNumber: Killed(laws("inflating", "round trip", "no error"), spec=4, converge=4),
    ClampsAtZero: Killed(spec=1),
    OneNumberMergedByMaximum: Killed(spec=3),
}


def steps_to(layer: str, kind: type[Any], events: int = 3) -> int:
    report = search(kind, events=events, layers=[layer])
    assert report.holds is not None
    return len(report.script)


@pytest.mark.parametrize("kind", RIGHT, ids=lambda kind: kind.__name__)
def test_what_behaves_right_passes_every_layer(kind: type[Any]) -> None:
    check_laws(kind, events=2).assert_holds()
    search(kind, events=3).assert_holds()


@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.__name__)
def test_the_laws_that_a_faulty_type_breaks(kind: type[Any]) -> None:
    assert {row.law for row in check_laws(kind, events=2) if row.holds is False} == MUTANTS[kind].laws


@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.__name__)
def test_the_shortest_history_on_which_a_faulty_type_reads_a_wrong_value(kind: type[Any]) -> None:
    assert steps_to("spec", kind) == MUTANTS[kind].spec


@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.__name__)
def test_the_shortest_history_after_which_replicas_of_a_faulty_type_differ(kind: type[Any]) -> None:
    assert steps_to("converge", kind) == MUTANTS[kind].converge


@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.__name__)
def test_every_faulty_type_is_killed_by_some_layer(kind: type[Any]) -> None:
    assert MUTANTS[kind] != Killed()


def test_every_law_is_broken_by_some_faulty_type() -> None:
    broken = frozenset().union(*(killed.laws for killed in MUTANTS.values()))
    assert broken == set(LAWS)


def test_the_fault_that_random_testing_misses_is_found_after_eight_steps() -> None:
    assert search(BothPresentMeansKeep, events=3).holds is True
    assert check_laws(BothPresentMeansKeep, events=2).holds is True
    found = search(BothPresentMeansKeep, events=4, layers=["spec"])
    assert [row.step for row in found] == [
        "add('x')@a",
        "add('x')@b",
        "c<-a",
        "remove('x')@a",
        "a<-b",
        "remove('x')@b",
        "b<-c",
        "a<-b",
    ]
    assert found[-1].value == ["x"]
    assert found[-1].expected == []


@pytest.mark.slow
def test_a_union_of_dots_on_both_sides_reads_a_wrong_value_after_eight_steps_too() -> None:
    assert steps_to("spec", KeepsUnionIfOnBothSides, events=4) == 8
    assert steps_to("converge", BothPresentMeansKeep, events=4) == 9


def test_a_history_that_the_search_found_fails_again_when_replayed() -> None:
    found = search(NoNewDotForPresentElement)
    again = check_spec(NoNewDotForPresentElement, found.script)
    assert again.holds is False
    assert again.problem == found.problem
    assert check_spec(ORSet, found.script).holds is True
