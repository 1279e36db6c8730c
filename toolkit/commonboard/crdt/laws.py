"""Checks for anyone's CRDT: the laws of merging, an executable specification, a search through all small histories.

Three layers, each of which finds faults that the others let pass:

- `check_laws`: whatever a merge means, it must be commutative, associative and idempotent, and updates must only add knowledge.
- `check_spec`: one history, step by step, beside what a set or a counter should say.
- `search`: the same for *every* history of a few replicas up to a number of updates, shortest first, so that the first
  failure is the smallest there is.

All three work on states that a real history reaches. Two states that no history reaches together, such as two that use
one dot for two elements, may break any law, and prove nothing.

A type under test needs little: a constructor that takes the replica's id, methods that change it, `merge(other)` which
returns a new state, and `value`. With `to_json` and `from_json` its round trip is checked too. Plain values do as well:

>>> report = check_laws(0, merge=lambda a, b: a + b, ops={"count": lambda count, replica: count + 1})
>>> print(report[2].law, report[2].holds, report[2].counterexample, sep="; ")
idempotent; False; after count()@a: a merged with itself gives 2, not 1
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations
from typing import Any, Final

from commonboard.crdt.reports import LawReport, LawRow, SpecReport
from commonboard.crdt.scripts import RECEIVE, Ops, Step, Subject, SubjectError, describe, show_script
from commonboard.crdt.specs import Spec
from commonboard.crdt.world import LAYERS, Walk, World, check_layers

REPLICAS: Final = ("a", "b", "c")
ENOUGH: Final = 1_000
"""Once a law is broken, no more situations than this are tried: the states of a faulty merge may grow without end."""
LAWS: Final = ("commutative", "associative", "idempotent", "identity", "inflating", "pure", "round trip", "no error")


def check_laws(
    kind: Any,
    *,
    ops: Ops | None = None,
    merge: Callable[[Any, Any], Any] | None = None,
    value: Callable[[Any], Any] | None = None,
    scripts: Iterable[Sequence[Step]] | None = None,
    events: int = 3,
    replicas: Sequence[str] = REPLICAS,
    budget: int = 20_000,
) -> LawReport:
    """The laws that every merge must obey, on all states of all small histories, or on the states of given scripts.

    - commutative: `a.merge(b)` is the same as `b.merge(a)`;
    - associative: `a.merge(b).merge(c)` is the same as `a.merge(b.merge(c))`;
    - idempotent: `a.merge(a)` is the same as `a`;
    - identity: a merge with the empty state changes nothing;
    - inflating: an update adds knowledge, so the state before it, merged into the state after it, changes nothing;
    - pure: a merge leaves both sides as they are, and shares nothing with them that a later update changes;
    - round trip: `from_json(to_json(a))` is the same as `a`, and same states give the same text (left out without `to_json`).

    Two states are the same by `==` if the type defines it, else by their value. Leave the replica's id out of `==`.

    >>> from commonboard.crdt import ORSet
    >>> check_laws(ORSet, events=2).holds
    True

    Args:
        kind: a class or function that makes the empty state of a replica from its id; or a plain empty state, such as `[]`.
        ops: the updates to try: `[("add", "x"), ("remove", "x")]` names methods; `{"add x": lambda state, replica: …}` gives
            the new state of a plain value. By default what the type offers of `add`, `remove` and `inc`.
        merge, value: functions for a `kind` that has no such method or attribute.
        scripts: histories to run, instead of all small ones (see `scripts.py` for what a step looks like).
        events: the most updates in a history. The number of histories grows steeply with it; 3 is quick, 4 takes its time.
        replicas: their ids.
        budget: the most situations to try; if they run out, what did not fail is not settled (`None`). Once a law has
            failed, a thousand are enough.
    """
    given = None if scripts is None else list(scripts)
    if given is not None and ops is None:
        ops = dict.fromkeys(step[1:] for script in given for step in script if step[1] != RECEIVE).keys()
    world = World(Subject(kind, ops, merge, value), None, replicas)
    laws = _Laws(world)
    if given is not None:
        for script in given:
            laws.judge_script(script)
        return laws.report(f"the states of {len(given)} given histories", settled=True)
    walk = Walk(world, events, budget)
    for node, step, child in walk:
        story = [*walk.story(node), step]
        if isinstance(child, SubjectError):
            laws.record("no error", False, story, str(child))
        else:
            laws.record("no error", True, story, "")
            here = world.index(step[0])
            laws.judge_update(step, node.states[here], child.states[here], story)
            laws.judge(world.names(child), story)
        if laws.broken and len(walk) >= ENOUGH:
            break
    return laws.report(walk.bound(), settled=walk.complete)


def check_spec(
    kind: Any,
    script: Sequence[Step],
    *,
    spec: Spec | None = None,
    merge: Callable[[Any, Any], Any] | None = None,
    value: Callable[[Any], Any] | None = None,
    replicas: Sequence[str] = REPLICAS,
    layers: Sequence[str] = LAYERS,
) -> SpecReport:
    """One history beside its specification. At the end all replicas are merged, in every order, which must agree.

    >>> from commonboard.crdt import ORSet
    >>> report = check_spec(ORSet, [("a", "add", "x"), ("b", "<-", "a"), ("b", "remove", "x"), ("a", "<-", "b")])
    >>> report.holds, [(row.step, row.value) for row in report]
    (True, [("add('x')@a", ['x']), ('b<-a', ['x']), ("remove('x')@b", []), ('a<-b', [])])

    Args:
        kind, merge, value, replicas: as for `check_laws`.
        script: the steps: `("a", "add", "x")` is an update, `("b", "<-", "a")` a merge of a's state into b's.
        spec: from the visible updates to the value; by default `counter_spec` if the value is a number, else `set_spec`.
        layers: what to look for: `"spec"`, `"converge"`, or both.
    """
    world = World(Subject(kind, [], merge, value), spec, replicas)
    return world.replay(script, layers, explored=len(script) + 1, bound="this history", finish=True)


def search(
    kind: Any,
    *,
    events: int = 3,
    ops: Ops | None = None,
    spec: Spec | None = None,
    merge: Callable[[Any, Any], Any] | None = None,
    value: Callable[[Any], Any] | None = None,
    replicas: Sequence[str] = REPLICAS,
    layers: Sequence[str] = LAYERS,
    budget: int = 200_000,
) -> SpecReport:
    """Every history of a few replicas with at most so many updates and any number of merges, shortest first.

    Histories that lead to the same situation are followed once, so this ends. It finds what random tests miss: a
    certain merge of a set goes wrong after 8 particular steps and not before.

    >>> from commonboard.crdt import ORSet
    >>> class AddsAll(ORSet):
    ...     def merge(self, other):
    ...         return self + other
    >>> print(search(AddsAll, layers=["spec"]))
    Fails (spec) after add('x')@a  b<-a  remove('x')@a  a<-b
      add('x')@a     reads ['x']
      b<-a           reads ['x']
      remove('x')@a  reads []
      a<-b           reads ['x'], should read []
      a has seen add('x')@a, remove('x')@a, so it should read [], and reads ['x']

    Args:
        kind, ops, merge, value, replicas: as for `check_laws`.
        spec, layers: as for `check_spec`.
        events: the most updates in a history. One more makes some fifteen times as many situations.
        budget: the most situations to try; if they run out, nothing is settled (`holds` is `None`).
    """
    check_layers(layers)
    world = World(Subject(kind, ops, merge, value), spec, replicas)
    walk = Walk(world, events, budget)
    for node, step, child in walk:
        if isinstance(child, SubjectError) or world.goes_wrong(child, step[0], layers):
            return world.replay([*walk.story(node), step], layers, explored=len(walk), bound=walk.bound())
    return SpecReport([], [], explored=len(walk), bound=walk.bound(), settled=walk.complete)


class _Laws:
    """Tries each law once on each state, pair and triple, and keeps the first failure of each."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._states = world.states
        self._subject = world.subject
        self._empty = world.states.number(world.subject.fresh(world.replicas[0]))
        self._checked = dict.fromkeys(LAWS, 0)
        self._failed: dict[str, str] = {}
        self._done: set[tuple[int, ...]] = set()

    @property
    def broken(self) -> bool:
        return bool(self._failed)

    def record(self, law: str, holds: bool, story: Sequence[Step], what: str) -> None:
        self._checked[law] += 1
        if not holds and law not in self._failed:
            self._failed[law] = f"after {show_script(story)}: {what}"

    def report(self, bound: str, settled: bool) -> LawReport:
        rows: list[LawRow] = []
        for law in LAWS:
            checked, failure = self._checked[law], self._failed.get(law, "")
            if checked or law != "round trip":
                rows.append(LawRow(law, False if failure else True if settled and checked else None, checked, failure))
        return LawReport(rows, bound)

    def judge_script(self, script: Sequence[Step]) -> None:
        """All states that occur in one history."""
        node = self._world.start()
        names = self._world.names(node)
        for done, step in enumerate(script, 1):
            here = self._world.index(step[0])
            before = node.states[here]
            try:
                node = self._world.take(node, step)
            except SubjectError as error:
                self.record("no error", False, script[:done], str(error))
                break
            self.record("no error", True, script, "")
            self.judge_update(step, before, node.states[here], script[:done])
            names.setdefault(node.states[here], f"{step[0]} after step {done}")
        self.judge(names, script)

    def judge_update(self, step: Step, before: int, after: int, story: Sequence[Step]) -> None:
        if step[1] == RECEIVE or not self._new(before, after, -1):
            return
        try:
            both = self._states.merge(after, before)
            self._compare("inflating", both, after, story, f"{step[0]} merged with its state before the last step")
        except SubjectError as error:
            self.record("no error", False, story, str(error))

    def judge(self, names: dict[int, str], story: Sequence[Step]) -> None:
        """All laws on some states of one history, by number, with a name for each."""
        try:
            for state in names:
                if self._new(state):
                    self._alone(state, names[state], story)
            for pair in combinations(names, 2):
                if self._new(*sorted(pair)):
                    self._pair(*pair, names, story)
            for triple in permutations(names, 3):
                if self._new(*triple):
                    self._triple(*triple, names, story)
        except SubjectError as error:
            self.record("no error", False, story, str(error))

    def _alone(self, state: int, name: str, story: Sequence[Step]) -> None:
        merge = self._states.merge
        self._compare("idempotent", merge(state, state), state, story, f"{name} merged with itself")
        self._compare("identity", merge(state, self._empty), state, story, f"{name} merged with the empty state")
        self._compare("identity", merge(self._empty, state), state, story, f"the empty state merged with {name}")
        if hasattr(self._states[state], "to_json"):
            self._round_trip(state, name, story)

    def _pair(self, a: int, b: int, names: dict[int, str], story: Sequence[Step]) -> None:
        merge = self._states.merge
        self._compare("commutative", merge(a, b), merge(b, a), story, f"{names[a]}.merge({names[b]})", "the other way round")
        for left, right in ((a, b), (b, a)):
            self._pure(left, right, f"{names[left]}.merge({names[right]})", story)
        if hasattr(self._states[a], "to_json") and self._states.same(a, b):
            texts = self._states[a].to_json(), self._states[b].to_json()
            what = f"{names[a]} and {names[b]} are the same, but their texts differ: {texts[0]} and {texts[1]}"
            self.record("round trip", texts[0] == texts[1], story, what)

    def _triple(self, a: int, b: int, c: int, names: dict[int, str], story: Sequence[Step]) -> None:
        merge = self._states.merge
        left, right = merge(merge(a, b), c), merge(a, merge(b, c))
        x, y, z = names[a], names[b], names[c]
        self._compare("associative", left, right, story, f"{x}.merge({y}).merge({z})", f"{x}.merge({y}.merge({z}))")

    def _pure(self, a: int, b: int, what: str, story: Sequence[Step]) -> None:
        """A merge, and an update of its result, on objects whose content is compared with what it was."""
        left, right = copy.deepcopy(self._states[a]), copy.deepcopy(self._states[b])
        before = describe(left), describe(right)
        merged = self._subject.raw_merge(left, right)
        self.record("pure", (describe(left), describe(right)) == before, story, f"{what} changes one of the two")
        for op in self._subject.ops:
            self._subject.raw_apply(merged, self._world.replicas[0], op)
        untouched = (describe(left), describe(right)) == before
        self.record("pure", untouched, story, f"the result of {what} shares a part with one of the two: an update changes both")

    def _round_trip(self, state: int, name: str, story: Sequence[Step]) -> None:
        text, again, back = self._subject.round_trip(self._states[state])
        number = self._states.number(back)
        self._compare("round trip", number, state, story, f"{name} read back from its text")
        self.record("round trip", text == again, story, f"{name} is {text}, and after reading it back {again}")

    def _compare(self, law: str, left: int, right: int, story: Sequence[Step], what: str, than: str = "not") -> None:
        same = self._states.same(left, right)
        self.record(law, same, story, "" if same else f"{what} gives {self._states.contrast(left, right, than)}")

    def _new(self, *key: int) -> bool:
        if key in self._done:
            return False
        self._done.add(key)
        return True
