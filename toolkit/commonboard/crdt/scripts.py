"""Small histories of a few replicas, run on anyone's CRDT: what the checks in `laws.py` work on.

A step is a plain tuple: `("a", "add", "x")` is replica a calling `add("x")`, and `("b", "<-", "a")` is b receiving a's state
and merging it into its own. A script is a list of steps. Both print as `add('x')@a` and `b<-a`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from commonboard.crdt.base import CrdtTypeError
from commonboard.errors import CommonboardError

Op = tuple[Any, ...]
"""One local update: `("add", "x")` means `state.add("x")`."""
Step = tuple[Any, ...]
"""`("a", "add", "x")`, a local update at a; or `("b", "<-", "a")`, b merges a's state into its own."""
RECEIVE: Final = "<-"

Change = Callable[[Any, str], Any]
"""A local update of a plain state: from (state, replica) to the new state."""
Ops = Iterable[Op] | Mapping[Any, Change]
"""Which local updates to try: tuples that name methods, or a mapping from such a tuple (or a label) to a function."""


class SubjectError(CommonboardError, RuntimeError):
    """The type under test raised an error, or answered with nothing."""


def show_step(step: Step) -> str:
    """The step as text: `add('x')@a` or `b<-a`."""
    if step[1] == RECEIVE:
        return f"{step[0]}{RECEIVE}{step[2]}"
    return f"{step[1]}({', '.join(map(repr, step[2:]))})@{step[0]}"


def show_script(steps: Sequence[Step]) -> str:
    """The steps in one line."""
    return "  ".join(map(show_step, steps)) if steps else "(no step at all)"


class Subject:
    """How the checks handle the type under test. It always works on deep copies, so a careless type cannot disturb it.

    Args:
        kind: a class or function that makes the empty state of a replica, given its id; or the empty state itself.
        ops: the local updates to try; `None` takes what the type offers (`add` and `remove`, `inc`, or `add`).
        merge: how two states merge; `None` means `left.merge(right)`.
        value: what a reader sees of a state; `None` means `state.value`, or the state itself if it is a list, a dict, a number …
    """

    def __init__(
        self,
        kind: Any,
        ops: Ops | None = None,
        merge: Callable[[Any, Any], Any] | None = None,
        value: Callable[[Any], Any] | None = None,
    ) -> None:
        self._kind = kind
        self._merge = merge
        self._value = value
        self._changes: dict[Op, Change] = {}
        if isinstance(ops, Mapping):
            self._changes = {label if isinstance(label, tuple) else (label,): change for label, change in ops.items()}
        self.ops: list[Op] = list(self._changes) or ([tuple(op) for op in ops] if ops is not None else self._own_ops())

    def fresh(self, replica: str) -> Any:
        """The empty state of a replica."""
        if not callable(self._kind):
            return copy.deepcopy(self._kind)
        return _try(f"making the empty state from the replica's id, {replica!r},", lambda: self._kind(replica))

    def apply(self, state: Any, replica: str, op: Op) -> Any:
        """The state after a local update."""
        return self.raw_apply(copy.deepcopy(state), replica, op)

    def raw_apply(self, state: Any, replica: str, op: Op) -> Any:
        """The state after a local update, which may change the object given."""
        change = self._changes.get(op)
        what = show_step((replica, *op))
        if change is not None:
            return _answer(what, lambda: change(state, replica))
        answer = _try(what, lambda: getattr(state, op[0])(*op[1:]))
        return state if answer is None else answer

    def merged(self, left: Any, right: Any) -> Any:
        """The two states merged."""
        return self.raw_merge(copy.deepcopy(left), copy.deepcopy(right))

    def raw_merge(self, left: Any, right: Any) -> Any:
        """The two states merged, without copying them before."""
        merge = self._merge
        return _answer("merge", lambda: left.merge(right) if merge is None else merge(left, right))

    def value(self, state: Any) -> Any:
        """What a reader sees; a Python set as a sorted list, so that it prints the same everywhere."""
        look = self._value or _own_value
        value = _try("value", lambda: look(copy.deepcopy(state)))
        return sorted(value, key=describe) if isinstance(value, (set, frozenset)) else value

    def same(self, left: Any, right: Any) -> bool:
        """Whether two states are the same: by `==` where the type defines it, else by what a reader sees."""
        if any("__eq__" in vars(kind) for kind in type(left).__mro__[:-1]):
            return bool(left == right)
        return bool(self.value(left) == self.value(right))

    def round_trip(self, state: Any) -> tuple[str, str, Any]:
        """The text of a state, the text after reading it back, and what was read back."""
        text = _try("to_json", state.to_json)
        back = _try("from_json", lambda: type(state).from_json(text))
        return text, _try("to_json", back.to_json), back

    def _own_ops(self) -> list[Op]:
        empty = self.fresh("a")
        if hasattr(empty, "add") and hasattr(empty, "remove"):
            return [("add", "x"), ("remove", "x")]
        if hasattr(empty, "inc"):
            return [("inc", 1)]
        if hasattr(empty, "add"):
            return [("add", 1), ("add", -1)] if isinstance(self.value(empty), int) else [("add", "x"), ("add", "y")]
        raise CrdtTypeError(
            f"{type(empty).__name__} has no add, remove or inc; say what to try: ops=[('put', 'x')] for methods, "
            "or ops={'put x': lambda state, replica: new_state} for plain values"
        )


class States:
    """The states seen so far, each once, named by number; merges and updates are made once and remembered."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._all: list[Any] = []
        self._numbers: dict[str, int] = {}
        self._merges: dict[tuple[int, int], int] = {}
        self._updates: dict[tuple[int, str, Op], int] = {}
        self._same: dict[tuple[int, int], bool] = {}
        self._values: dict[int, Any] = {}

    def __getitem__(self, number: int) -> Any:
        return self._all[number]

    def number(self, state: Any) -> int:
        """The number of a state."""
        text = describe(state)
        if text not in self._numbers:
            self._numbers[text] = len(self._all)
            self._all.append(copy.deepcopy(state))
        return self._numbers[text]

    def merge(self, left: int, right: int) -> int:
        """The number of the merged state."""
        pair = (left, right)
        if pair not in self._merges:
            self._merges[pair] = self.number(self.subject.merged(self._all[left], self._all[right]))
        return self._merges[pair]

    def update(self, state: int, replica: str, op: Op) -> int:
        """The number of the state after a local update."""
        key = (state, replica, op)
        if key not in self._updates:
            self._updates[key] = self.number(self.subject.apply(self._all[state], replica, op))
        return self._updates[key]

    def same(self, left: int, right: int) -> bool:
        """Whether the two states are the same."""
        pair = (left, right)
        if left == right:
            return True
        if pair not in self._same:
            self._same[pair] = self.subject.same(self._all[left], self._all[right])
        return self._same[pair]

    def value(self, state: int) -> Any:
        """What a reader sees of it."""
        if state not in self._values:
            self._values[state] = self.subject.value(self._all[state])
        return self._values[state]

    def contrast(self, left: int, right: int, than: str = "and") -> str:
        """Two states that differ, in words: their values, or all that is in them where a reader sees the same."""
        mine, theirs = self.value(left), self.value(right)
        if describe(mine) != describe(theirs):
            return f"{mine!r}, {than} {theirs!r}"
        return f"{mine!r} both times, but held as {_content(self._all[left])} and as {_content(self._all[right])}"


def describe(value: Any) -> str:
    """All that is in an object, as text that does not depend on addresses, nor on the order of sets and dicts."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    parts: list[str] = []
    if isinstance(value, dict):
        parts += sorted(f"{describe(key)}: {describe(item)}" for key, item in value.items())
    elif isinstance(value, (set, frozenset)):
        parts += sorted(map(describe, value))
    elif isinstance(value, (list, tuple)):
        parts += map(describe, value)
    inner = value.__getstate__()
    if inner is not None:
        parts.append(describe(inner))
    elif not isinstance(value, (dict, set, frozenset, list, tuple)):
        parts.append(repr(value))
    return f"{type(value).__name__}({', '.join(parts)})"


def _content(state: Any) -> str:
    return str(state.to_json()) if hasattr(state, "to_json") else describe(state)


def _own_value(state: Any) -> Any:
    if type(state).__module__ == "builtins":
        return state
    value = state.value
    return value() if callable(value) else value


def _try(what: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        raise SubjectError(f"{what} raised {type(error).__name__}: {error}") from error


def _answer(what: str, call: Callable[[], Any]) -> Any:
    answer = _try(what, call)
    if answer is None:
        raise SubjectError(f"{what} returned None; it must return the new state and leave the old one as it is")
    return answer
