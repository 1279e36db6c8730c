"""Our types under the laws, beside their specification and through every small history; and the checks themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import commonboard.crdt
from commonboard.crdt import (
    CrdtTypeError,
    CrdtValueError,
    GCounter,
    LawError,
    ORSet,
    PNCounter,
    Update,
    check_laws,
    check_spec,
    counter_spec,
    search,
    set_spec,
)
from commonboard.crdt.scripts import describe
from commonboard.errors import CommonboardError

UPDATES: dict[type[Any], list[tuple[Any, ...]]] = {
    ORSet: [("add", "x"), ("add", "y"), ("add", 1), ("add", True), ("remove", "x"), ("remove", "y"), ("remove", 1), ("clear",)],
    PNCounter: [("add", 1), ("add", -1), ("add", 5), ("add", 0), ("add", -7)],
    GCounter: [("inc",), ("inc", 3), ("inc", 0)],
}


def scripts(kind: type[Any], most: int) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    replica = st.sampled_from("abc")
    update = st.tuples(replica, st.sampled_from(UPDATES[kind])).map(lambda pair: (pair[0], *pair[1]))
    receive = st.tuples(replica, st.just("<-"), replica).filter(lambda step: step[0] != step[2])
    return st.lists(update | receive, max_size=most)


# --- our own types -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", UPDATES)
@settings(derandomize=True, max_examples=60, deadline=None)
@given(data=st.data())
def test_the_laws_hold_on_the_states_of_random_histories(kind: type[Any], data: st.DataObject) -> None:
    report = check_laws(kind, scripts=[data.draw(scripts(kind, 10))])
    assert report.holds is not False, str(report)  # None: a short history leaves some law untried
    assert report[0].checked > 0


@pytest.mark.parametrize("kind", UPDATES)
@settings(derandomize=True, max_examples=150, deadline=None)
@given(data=st.data())
def test_random_histories_read_what_the_specification_says(kind: type[Any], data: st.DataObject) -> None:
    check_spec(kind, data.draw(scripts(kind, 14))).assert_holds()


@pytest.mark.parametrize("kind", UPDATES)
def test_the_laws_hold_on_all_histories_with_three_updates(kind: type[Any]) -> None:
    report = check_laws(kind)
    report.assert_holds()
    assert [row.law for row in report] == [
        "commutative",
        "associative",
        "idempotent",
        "identity",
        "inflating",
        "pure",
        "round trip",
        "no error",
    ]
    assert all(row.checked > 20 for row in report)


# The number of situations is exact: it changes only if the search does, or if a type starts to behave differently.
SITUATIONS: dict[type[Any], int] = {ORSet: 8_141, PNCounter: 8_141, GCounter: 1_083}


@pytest.mark.parametrize("kind", SITUATIONS)
def test_every_history_with_three_updates_reads_what_the_specification_says(kind: type[Any]) -> None:
    report = search(kind, events=3)
    report.assert_holds()
    assert report.explored == SITUATIONS[kind]
    assert report.bound == f"all histories of 3 replicas with at most 3 updates ({SITUATIONS[kind]:,} situations)"


def test_every_history_with_two_elements_clear_and_three_updates_at_two_replicas() -> None:
    ops = [("add", "x"), ("remove", "x"), ("add", "y"), ("clear",)]
    search(ORSet, events=3, ops=ops, replicas=("a", "b")).assert_holds()


@pytest.mark.slow
def test_every_history_of_a_set_with_four_updates() -> None:
    report = search(ORSet, events=4)
    report.assert_holds()
    assert report.explored == 138_557


@pytest.mark.slow
def test_every_history_of_a_set_with_two_elements_and_three_updates() -> None:
    search(ORSet, events=3, ops=[("add", "x"), ("remove", "x"), ("add", "y"), ("clear",)]).assert_holds()


@pytest.mark.slow
@pytest.mark.parametrize("kind", UPDATES)
@settings(derandomize=True, max_examples=3_000, deadline=None)
@given(data=st.data())
def test_many_long_random_histories(kind: type[Any], data: st.DataObject) -> None:
    check_spec(kind, data.draw(scripts(kind, 40))).assert_holds()


# --- the specifications --------------------------------------------------------------------------------------------------


def update(replica: str, n: int, name: str, *args: Any, saw: list[tuple[str, int]] | None = None) -> Update:
    return Update((replica, n), name, args, frozenset(saw or []))


def test_the_set_specification_lets_a_remove_hit_only_what_it_saw() -> None:
    first, second = update("a", 1, "add", "x"), update("b", 1, "add", "x")
    remove = update("a", 2, "remove", "x", saw=[("a", 1)])
    assert set_spec([first, remove]) == []
    assert set_spec([first, second, remove]) == ["x"]
    assert set_spec([remove]) == []


def test_the_set_specification_knows_clear_and_keeps_other_elements_apart() -> None:
    adds = [update("a", 1, "add", "x"), update("a", 2, "add", 1), update("a", 3, "add", True)]
    seen = [("a", 1), ("a", 2), ("a", 3)]
    assert repr(set_spec([*adds, update("b", 1, "remove", 1, saw=seen)])) == "[True, 'x']"
    assert set_spec([*adds, update("b", 1, "clear", saw=seen[:2])]) == [True]


def test_the_counter_specification_counts_each_update_once() -> None:
    assert counter_spec([update("a", 1, "inc"), update("b", 1, "inc", 3), update("a", 2, "add", -5)]) == -1


@pytest.mark.parametrize("spec", [set_spec, counter_spec])
def test_a_specification_refuses_an_update_that_it_does_not_know(spec: Any) -> None:
    with pytest.raises(CrdtValueError, match="'pop'"):
        spec([update("a", 1, "pop")])


# --- the checks, as a learner uses them ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("empty", "merge", "ops", "broken"),
    [
        (set(), lambda a, b: a | b, {"add x": lambda s, me: s | {"x"}, "add y": lambda s, me: s | {"y"}}, set()),
        (0, max, {"count": lambda n, me: n + 1}, set()),
        (0, lambda a, b: a + b, {"count": lambda n, me: n + 1}, {"idempotent", "inflating"}),
        (0, lambda a, b: (a + b) / 2, {"count": lambda n, me: n + 1}, {"associative", "identity", "inflating"}),
        ([], lambda a, b: a, {"x": lambda s, me: [*s, me]}, {"commutative", "identity"}),
        ([], lambda a, b: a + b, {"x": lambda s, me: [*s, me]}, {"commutative", "idempotent", "inflating"}),
        ([], lambda a, b: a if len(a) >= len(b) else b, {"x": lambda s, me: [*s, me]}, {"commutative"}),
        (set(), lambda a, b: a & b, {"x": lambda s, me: s | {me}}, {"identity", "inflating"}),
    ],
    ids=["union", "maximum", "sum", "mean", "mine", "one after the other", "the longer one", "intersection"],
)
def test_the_laws_that_a_merge_of_plain_values_breaks(empty: Any, merge: Any, ops: Any, broken: set[str]) -> None:
    report = check_laws(empty, merge=merge, ops=ops, events=2)
    assert {row.law for row in report if row.holds is False} == broken
    assert report.holds is (not broken)


def test_a_counterexample_names_the_shortest_history_and_both_answers() -> None:
    report = check_laws([], merge=lambda a, b: a, ops={("put", 1): lambda s, me: [*s, me]}, events=2)
    row = next(row for row in report if row.law == "commutative")
    assert row.counterexample == "after put(1)@a: a.merge(b) gives ['a'], the other way round []"
    assert "commutative  FAILS" in str(report)


@dataclass
class GrowSet:
    """A learner's first own set."""

    replica: str = field(compare=False)
    items: set[str] = field(default_factory=set)

    def add(self, item: str) -> None:
        self.items.add(item)

    def merge(self, other: GrowSet) -> GrowSet:
        return type(self)(self.replica, self.items | other.items)

    @property
    def value(self) -> set[str]:
        return self.items


def test_a_type_of_ones_own_needs_only_a_constructor_merge_and_value() -> None:
    laws, spec = check_laws(GrowSet, events=2), search(GrowSet, events=3)
    laws.assert_holds()
    spec.assert_holds()
    assert "round trip" not in [row.law for row in laws]  # it has no text, so nothing is claimed about it


class MergesNothing(GrowSet):
    def merge(self, other: GrowSet) -> Any:
        self.items |= other.items


class Stumbles(GrowSet):
    def merge(self, other: GrowSet) -> GrowSet:
        return self if not other.items else {}["nothing here"]


@pytest.mark.parametrize(
    ("kind", "why"), [(MergesNothing, "merge returned None"), (Stumbles, "merge raised KeyError: 'nothing here'")]
)
def test_an_error_of_the_type_under_test_is_a_finding_with_its_history(kind: Any, why: str) -> None:
    rows = {row.law: row for row in check_laws(kind, events=1)}
    assert rows["no error"].holds is False
    assert why in rows["no error"].counterexample
    found = search(kind, events=1)
    assert (found.holds, found.layer) == (False, "error")
    assert why in found.problem
    replayed = check_spec(kind, [("a", "add", "x"), ("b", "<-", "a")])
    assert (replayed.layer, replayed.script) == ("error", [("a", "add", "x"), ("b", "<-", "a")])


def test_a_type_without_known_updates_is_asked_for_them() -> None:
    with pytest.raises(CrdtTypeError, match="ops="):
        check_laws([], merge=lambda a, b: a)


def test_a_script_for_a_replica_that_is_not_there_is_refused() -> None:
    with pytest.raises(CrdtTypeError, match="no replica 'd'"):
        check_spec(ORSet, [("d", "add", "x")])


@pytest.mark.parametrize("layers", ["spec", ["laws"], []])
def test_a_layer_that_does_not_exist_is_refused(layers: Any) -> None:
    for call in (lambda: search(ORSet, events=1, layers=layers), lambda: check_spec(ORSet, [], layers=layers)):
        with pytest.raises(CrdtValueError, match="layers must be a list out of spec, converge"):
            call()


def test_nothing_tried_is_no_pass() -> None:
    assert check_laws(ORSet, scripts=[]).holds is None
    two = check_laws(ORSet, events=1, replicas=("a", "b"))
    assert {row.law: row.holds for row in two}["associative"] is None  # it takes three
    assert two.holds is None
    for call in (lambda: search(ORSet, events=0), lambda: check_laws(ORSet, events=0), lambda: search(ORSet, ops=[])):
        with pytest.raises(CrdtValueError, match="nothing to try"):
            call()


def test_a_class_that_does_not_take_the_replicas_id_is_an_error_that_says_so() -> None:
    with pytest.raises(CommonboardError, match=r"from the replica's id, 'a', raised TypeError"):
        check_laws(lambda: GrowSet("a"))


def test_an_error_while_reading_the_value_is_a_finding_too() -> None:
    class Unreadable(GrowSet):
        @property
        def value(self) -> Any:
            return {"x": 1}["y"] if self.items else []

    found = search(Unreadable, ops=[("add", "x")])
    assert (found.layer, found.script) == ("error", [("a", "add", "x")])
    assert found.problem == "value raised KeyError: 'y'"


def test_a_spent_budget_is_no_pass() -> None:
    laws, spec = check_laws(ORSet, budget=10), search(ORSet, budget=10)
    assert (laws.holds, spec.holds) == (None, None)
    assert "not settled" in str(laws)
    assert "Not settled; nothing failed" in str(spec)
    for report in (laws, spec):
        with pytest.raises(LawError, match="there are more"):
            report.assert_holds()


def test_a_merge_whose_states_grow_without_end_is_answered_all_the_same() -> None:
    report = check_laws(0, merge=lambda a, b: a + b, ops={"count": lambda n, me: n + 1})
    assert {row.law: row.holds for row in report}["idempotent"] is False
    assert {row.law: row.holds for row in report}["commutative"] is None  # not settled, for the states never end


def test_a_report_is_neither_true_nor_false() -> None:
    for report in (check_laws(GCounter, events=1), search(GCounter, events=1), check_spec(GCounter, [])):
        with pytest.raises(CrdtTypeError, match=r"\.holds"):
            bool(report)


def test_a_failure_raises_with_its_story_when_asserted() -> None:
    class Forgets(ORSet):
        def merge(self, other: ORSet) -> ORSet:
            return self.copy()

    with pytest.raises(LawError, match=r"add\('x'\)@a  b<-a\n") as raised:
        search(Forgets).assert_holds()
    assert "b has seen add('x')@a, so it should read ['x'], and reads []" in str(raised.value)
    assert isinstance(raised.value, AssertionError)


@pytest.mark.parametrize(
    ("layers", "problem"),
    [
        (["converge"], "merging all replicas in two orders gives 1, and 2"),
        (["spec"], "with all replicas merged, a has seen put(1)@a, put(2)@b, so it should read 2, and reads 1"),
    ],
)
def test_replicas_are_merged_in_every_order_at_the_end_of_a_script(layers: list[str], problem: str) -> None:
    script = [("a", "put", 1), ("b", "put", 2)]
    report = check_spec(Register, script, spec=greatest, layers=layers)
    assert (report.holds, report.problem) == (False, problem)
    assert all(row.ok for row in report)  # no single step was wrong


def greatest(visible: Any) -> Any:
    return max((update.args[0] for update in visible), default=None)


class Register:
    """Keeps the left side: replicas agree only by luck."""

    def __init__(self, replica: str) -> None:
        self.replica = replica
        self.value: Any = None

    def put(self, value: Any) -> None:
        self.value = value

    def merge(self, other: Register) -> Register:
        merged = Register(self.replica)
        merged.value = other.value if self.value is None else self.value
        return merged


def test_a_spec_of_ones_own_can_be_given() -> None:
    script = [("a", "put", 1), ("a", "put", 2)]
    assert check_spec(Register, script, spec=greatest).holds is True
    assert check_spec(Register, [*script, ("a", "put", 1)], spec=greatest).layer == "spec"


def test_a_spec_of_ones_own_is_compared_in_order_and_by_type() -> None:
    def in_order(visible: Any) -> list[Any]:
        return [update.args[0] for update in visible]

    script = [("a", "put", 1), ("a", "put", True)]
    ops = {("put", 1): lambda s, me: [*s, 1]}
    assert search([], merge=lambda a, b: a or b, ops=ops, spec=in_order, events=2, replicas="a").holds is True
    assert search([], merge=lambda a, b: a or b, ops=ops, spec=lambda v: [True for _ in v], events=1).layer == "spec"
    assert check_spec(Register, script, spec=lambda v: v[-1].args[0] if v else None, replicas="a").holds is True
    assert check_spec(Register, script, spec=lambda v: len(v) and 1, replicas="a").layer == "spec"


def test_a_set_may_give_its_elements_in_any_order() -> None:
    class Newest(GrowSet):
        @property
        def value(self) -> Any:
            return sorted(self.items, reverse=True)

    search(Newest, ops=[("add", "x"), ("add", "y")], events=2).assert_holds()


def test_the_same_content_is_described_the_same_however_it_was_put_together() -> None:
    # 0 and 8 fall on one place in a small set, so the order in which they come out is that in which they went in.
    assert describe({0, 8}) == describe({8, 0})
    assert describe({"a": 1, "b": {0, 8}}) == describe({"b": {8, 0}, "a": 1})
    different = [1, 1.0, True, "1", None, [1], (1,), {1}, {1: 1}, b"1", GrowSet("1"), date(2026, 1, 1), date(2026, 1, 2)]
    assert len({describe(value) for value in different}) == len(different)


REPORT = """
from commonboard.crdt import ORSet, check_laws, search

class Keeps:
    def __init__(self, replica):
        self.items = set()
    def add(self, item):
        self.items |= {item, "of " + item}
    def merge(self, other):
        merged = Keeps("")
        merged.items = self.items & other.items
        return merged
    @property
    def value(self):
        return self.items

ops = [("add", "x"), ("add", "y"), ("add", "z")]
print(check_laws(Keeps, ops=ops, events=2), search(Keeps, ops=ops), (ORSet("a") + {"x", "y", "z"}).to_json(), sep="\\n")
"""


def test_reports_and_texts_do_not_depend_on_the_order_of_sets() -> None:
    def run(seed: str) -> str:
        source = str(Path(commonboard.crdt.__file__).parents[2])
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": source}
        return subprocess.run([sys.executable, "-c", REPORT], env=env, capture_output=True, text=True, check=True).stdout

    first = run("1")
    assert "reads ['of x', 'x']" in first
    assert first == run("2") == run("3")
