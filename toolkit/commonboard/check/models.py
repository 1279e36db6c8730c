"""The usual models: register, compare-and-set register, key-value, counter, set and append-only log.

Each says how a shared object of that kind behaves when its calls come one after another; `linearizable` asks whether the
calls that did overlap could have come in some such order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from commonboard.check.model import ILLEGAL, LOST, UNKNOWN, Call, Model, Outlook, State, frozen, seen
from commonboard.errors import InvalidArgumentError


class Register(Model):
    """One value: `read` gives it, `write` replaces it. With keys, a register for each.

    Args:
        initial: the value before the first write.
    """

    kinds: ClassVar[tuple[str, ...]] = ("read", "write")
    noun = "the register"

    def __init__(self, initial: Any = None) -> None:
        self._initial: State = frozen(initial)

    def initial(self, key: Hashable) -> State:
        return self._initial

    def key_of(self, call: Call) -> Hashable:
        return call.key

    def step(self, state: State, call: Call) -> State:
        written: State = frozen(call.argument)
        return written if call.kind == "write" else seen(state, call)

    def is_read(self, call: Call) -> bool:
        return call.kind == "read"

    def rests_on(self, observer: Call, writer: Call) -> bool:
        return observer.kind == "read" and bool(frozen(observer.result) == frozen(writer.argument))

    def overwrites(self, call: Call) -> bool:
        return call.kind == "write" or (call.kind == "compare-and-set" and call.result is True) or call.kind == "delete"

    def show(self, state: State) -> str:
        return "empty" if state is None else self.value(state)

    def describe(self, call: Call) -> str:
        if call.kind == "write":
            return f"writes {self.value(call.argument)}{self.got(call)}"
        return f"reads {self.value(call.result)}" if call.result is not UNKNOWN else "reads"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self._initial is None else repr(self._initial)})"


class CompareAndSetRegister(Register):
    """A register with `compare-and-set`: its argument is `(old, new)`, its result whether it found `old` and wrote `new`."""

    kinds: ClassVar[tuple[str, ...]] = ("read", "write", "compare-and-set")

    def check(self, call: Call) -> None:
        super().check(call)
        if call.kind == "compare-and-set":
            if not (isinstance(call.argument, (tuple, list)) and len(call.argument) == 2):
                raise InvalidArgumentError(f"a compare-and-set takes (old, new), not {call.argument!r} (by {call.who})")
            _check_truth(call)

    def step(self, state: State, call: Call) -> State:
        if call.kind != "compare-and-set":
            return super().step(state, call)
        old, new = map(frozen, call.argument)
        if call.result is not UNKNOWN and bool(call.result) != (state == old):
            return ILLEGAL
        return new if state == old else state

    def is_read(self, call: Call) -> bool:
        if call.kind == "compare-and-set":
            old, new = map(frozen, call.argument)
            return bool(old == new) or (call.result is not UNKNOWN and not call.result)
        return super().is_read(call)

    def rests_on(self, observer: Call, writer: Call) -> bool:
        wrote = frozen(writer.argument[1] if writer.kind == "compare-and-set" else writer.argument)
        if observer.kind == "read":
            return bool(frozen(observer.result) == wrote)
        if observer.kind != "compare-and-set":
            return False
        return bool((frozen(observer.argument[0]) == wrote) == (observer.result is UNKNOWN or bool(observer.result)))

    def describe(self, call: Call) -> str:
        if call.kind != "compare-and-set":
            return super().describe(call)
        old, new = map(self.value, call.argument)
        if call.result is UNKNOWN:
            return f"would replace {old} by {new}{self.got(call)}"
        return f"replaces {old} by {new}" if call.result else f"is refused to replace {old} by {new}"


class KeyValue(CompareAndSetRegister):
    """A store of keys: `read`, `write`, `compare-and-set`, `delete`, and `append`, which adds text to the end of the text there.

    What a write, a delete or an append gave back is not looked at.

    Args:
        initial: what a key holds before the first write; `None`: it is absent, as after a delete.
    """

    kinds = ("read", "write", "compare-and-set", "append", "delete")
    noun = "the key"

    def check(self, call: Call) -> None:
        super().check(call)
        if call.kind == "append" and not isinstance(call.argument, str):
            raise InvalidArgumentError(f"an append to a {type(self).__name__} takes text, not {call.argument!r} (by {call.who})")

    def step(self, state: State, call: Call) -> State:
        if call.kind == "append":
            if state is LOST:
                return LOST
            return (state or "") + call.argument if state is None or isinstance(state, str) else ILLEGAL
        return None if call.kind == "delete" else super().step(state, call)

    def rests_on(self, observer: Call, writer: Call) -> bool:
        if observer.kind not in ("read", "compare-and-set"):
            return False
        if writer.kind == "delete" or (observer.kind == "compare-and-set" and observer.result is False):
            return True
        saw = observer.result if observer.kind == "read" else observer.argument[0]
        wrote = writer.argument[1] if writer.kind == "compare-and-set" else writer.argument
        if isinstance(saw, str) and isinstance(wrote, str):
            return wrote in saw
        return bool(frozen(saw) == frozen(wrote))

    def outlook(self, read: Call, ahead: Sequence[Call]) -> Outlook | None:
        # A text that only grows shows its whole past, so a wrong order of appends is seen long before the read is reached.
        wanted, reads = read.result, [call.result for call in ahead if call.kind == "read" and call.result is not UNKNOWN]
        writes = [call for call in ahead if call.kind == "write"]
        if not all(isinstance(text, str) for text in [wanted, *reads, *[call.argument for call in writes]]):
            return None
        if any(call.kind in ("compare-and-set", "delete") for call in ahead):
            return None
        start = any(wanted.startswith(call.argument) for call in writes if read.end is None or call.begin <= read.end)

        def look(state: State) -> State:
            text = "" if state is None else state
            if isinstance(text, str) and wanted.startswith(text):
                return state
            if not start:
                return ILLEGAL
            return state if isinstance(text, str) and any(read.startswith(text) for read in reads) else LOST

        return look

    def show(self, state: State) -> str:
        return "absent" if state is None else self.value(state)

    def describe(self, call: Call) -> str:
        if call.kind == "append":
            return f"appends {self.value(call.argument)}{self.got(call)}"
        if call.kind == "delete":
            return f"deletes it{self.got(call)}"
        return "finds nothing" if call.kind == "read" and call.result is None else super().describe(call)


class Counter(Model):
    """A number: `add` (its argument may be below 0; its result is the new number, where it gives one) and `read`.

    Args:
        initial: the number before the first add.

    Raises:
        InvalidArgumentError: that is no number.
    """

    kinds = ("add", "read")
    noun = "the counter"

    def __init__(self, initial: int = 0) -> None:
        if not isinstance(initial, (int, float)):
            raise InvalidArgumentError(f"a Counter begins at a number, not {initial!r:.60}")
        self._initial = initial

    def initial(self, key: Hashable) -> State:
        return self._initial

    def key_of(self, call: Call) -> Hashable:
        return call.key

    def check(self, call: Call) -> None:
        super().check(call)
        if call.kind == "add" and not isinstance(call.argument, (int, float)):
            raise InvalidArgumentError(f"a Counter adds a number, not {call.argument!r} (by {call.who})")
        if call.kind == "read" and call.result is not UNKNOWN and not isinstance(call.result, (int, float)):
            raise InvalidArgumentError(f"a read of a Counter gives a number, not {call.result!r} (by {call.who})")

    def step(self, state: State, call: Call) -> State:
        assert isinstance(state, (int, float))
        if call.kind == "read":
            return seen(state, call)
        total = state + call.argument
        return total if call.result in (None, UNKNOWN, total) else ILLEGAL

    def is_read(self, call: Call) -> bool:
        return call.kind == "read"

    def describe(self, call: Call) -> str:
        if call.kind == "read":
            return f"reads {self.value(call.result)}" if call.result is not UNKNOWN else "reads"
        return f"adds {self.value(call.argument)}{self.got(call)}"


class Set(Model):
    """A set: `add` and `remove` an element, `contains` (its result is true or false) and `read`, which gives all elements."""

    kinds = ("add", "remove", "contains", "read")
    noun = "the set"

    def initial(self, key: Hashable) -> State:
        return frozenset()

    def key_of(self, call: Call) -> Hashable:
        return call.key

    def check(self, call: Call) -> None:
        super().check(call)
        if call.kind == "read" and call.result is not UNKNOWN and not _is_collection(call.result):
            raise InvalidArgumentError(f"a read of a Set gives its elements, not {call.result!r} (by {call.who})")
        if call.kind == "contains":
            _check_truth(call)

    def step(self, state: State, call: Call) -> State:
        assert isinstance(state, frozenset)
        if call.kind == "add":
            return state | {frozen(call.argument)}
        if call.kind == "remove":
            return state - {frozen(call.argument)}
        if call.result is UNKNOWN:
            return state
        sees = _elements(call) == state if call.kind == "read" else bool(call.result) == (frozen(call.argument) in state)
        return state if sees else ILLEGAL

    def is_read(self, call: Call) -> bool:
        return call.kind in ("contains", "read")

    def rests_on(self, observer: Call, writer: Call) -> bool:
        if observer.kind not in ("contains", "read"):
            return False
        if observer.result is UNKNOWN:
            return True
        if observer.kind == "contains":
            there = bool(observer.result)
            return bool(observer.argument == writer.argument) and there == (writer.kind == "add")
        return (frozen(writer.argument) in _elements(observer)) == (writer.kind == "add")

    def describe(self, call: Call) -> str:
        what = self.value(call.argument)
        if call.result is UNKNOWN and self.is_read(call):
            return "reads" if call.kind == "read" else f"looks for {what}"
        if call.kind == "read":
            return f"reads {self.value(_elements(call))}"
        if call.kind == "contains":
            return f"finds {what}" if call.result else f"does not find {what}"
        return f"{call.kind}s {what}{self.got(call)}"


class AppendLog(Model):
    """A list that only grows: `append` an item (its result is its place, from 0, where it gives one), `read` all of it."""

    kinds = ("append", "read")
    noun = "the log"

    def initial(self, key: Hashable) -> State:
        return ()

    def key_of(self, call: Call) -> Hashable:
        return call.key

    def check(self, call: Call) -> None:
        super().check(call)
        if call.kind == "read" and call.result is not UNKNOWN and not isinstance(call.result, (tuple, list)):
            raise InvalidArgumentError(f"a read of an AppendLog gives a list of its items, not {call.result!r} (by {call.who})")

    def step(self, state: State, call: Call) -> State:
        assert isinstance(state, tuple)
        if call.kind == "read":
            return seen(state, call)
        return (*state, frozen(call.argument)) if call.result in (None, UNKNOWN, len(state)) else ILLEGAL

    def is_read(self, call: Call) -> bool:
        return call.kind == "read"

    def rests_on(self, observer: Call, writer: Call) -> bool:
        if observer.kind == "append":
            return isinstance(observer.result, int)
        return observer.result is UNKNOWN or frozen(writer.argument) in frozen(observer.result)

    def outlook(self, read: Call, ahead: Sequence[Call]) -> Outlook | None:
        if read.result is UNKNOWN:
            return None  # it fits wherever it stands
        wanted: tuple[Any, ...] = frozen(read.result)
        return lambda state: state if isinstance(state, tuple) and wanted[: len(state)] == state else ILLEGAL

    def describe(self, call: Call) -> str:
        if call.kind == "read":
            return f"reads {self.value(call.result)}" if call.result is not UNKNOWN else "reads"
        place = "" if call.result in (None, UNKNOWN) else f" at place {call.result}"
        return f"appends {self.value(call.argument)}{place or self.got(call)}"


def _check_truth(call: Call) -> None:
    if call.result is not UNKNOWN and not isinstance(call.result, bool):
        told = f"a {call.kind} gives True, False or UNKNOWN, not {call.result!r:.60} (by {call.who})"
        raise InvalidArgumentError(f"{told}; say in the call's result= which it was")


def _elements(call: Call) -> frozenset[Any]:
    return frozenset(map(frozen, call.result))


def _is_collection(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
