"""The model of a board: what `linearizable` holds a run or a history against."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from commonboard.check.model import ILLEGAL, UNKNOWN, Call, State
from commonboard.check.models import CompareAndSetRegister
from commonboard.errors import InvalidArgumentError
from commonboard.history import History, Operation
from commonboard.values import ENCODING, canonical_json, decode

_Version = tuple[str | None, str, int | None]  # replica, key, version


class Board(CompareAndSetRegister):
    """Keys with any JSON values, each judged by itself: one place where every operation happens at one moment.

    Values stand here as JSON text, so that `1`, `true` and `"1"` are three values; `None` means that the key is absent.
    `from_history` takes these operations of a `History` for calls:

    - a read saw its value;
    - a write and a delete set theirs. What was given was there before all calls;
    - a compare-and-set that happened also saw what it replaced; one that was refused saw nothing and did nothing, since
      it may have met an equal value of another version;
    - an append (its argument is the item, its result the whole list) saw what it added to.

    What its caller never heard of may have happened at any later time, or never. Thoughts, merges and faults are no calls.
    A list looks at many keys at one moment, which no key by itself can tell, so it is left out; so is that the writes of one
    commit happen together. On replicas, agents see what their replica shows: a stale read is a read of a value that was no
    longer there.
    """

    kinds = ("read", "write", "compare-and-set", "append", "delete")
    noun = "the key"

    def __init__(self) -> None:
        super().__init__(None)

    def check(self, call: Call) -> None:
        super().check(call)
        if call.operation is not None:
            return  # it comes from a history, which holds nothing else
        values = [*call.argument] if call.kind == "compare-and-set" else [call.argument, call.result]
        if not all(_is_json(value) for value in values):
            raise InvalidArgumentError(
                f"a Board holds JSON text, such as '\"done\"' or '[1]', and this {call.kind} by {call.who} is of other things; "
                "for calls with plain values give linearizable a model, such as models.KeyValue()"
            )

    def step(self, state: State, call: Call) -> State:
        if call.kind == "delete":
            return None
        if call.kind != "append":
            return super().step(state, call)
        items = [] if state is None else json.loads(str(state))
        if not isinstance(items, list):
            return ILLEGAL
        after = canonical_json([*items, json.loads(call.argument)])
        return after if call.result in (None, UNKNOWN, after) else ILLEGAL

    def rests_on(self, observer: Call, writer: Call) -> bool:
        saw = _saw(observer)
        if saw is UNKNOWN:
            return observer.kind == "append"  # whoever sees the list that it left sees what it added to
        if writer.kind == "append" and not isinstance(writer.result, str):
            return True
        return saw == _wrote(writer) or (observer.kind == "append" and writer.kind == "delete" and saw == "[]")

    def overwrites(self, call: Call) -> bool:
        # The result of an append is the whole list, so it says what was there just as a compare-and-set does.
        return super().overwrites(call) or (call.kind == "append" and call.result not in (None, UNKNOWN))

    def name(self, key: Hashable) -> str:
        return self.noun if key is None else str(key)

    def from_history(self, history: History) -> list[Call]:
        was: dict[_Version, str | None] = {
            (op.replica, op.key, op.made): _text(op) for op in history if op.made is not None and op.ok
        }
        return [call for op in history if (call := _call(op, was)) is not None]

    def value(self, value: Any) -> str:
        text = "nothing" if value is None else str(value)
        return text if len(text) <= 80 else f"{text[:40]} … {text[-38:]}"

    def show(self, state: State) -> str:
        return "absent" if state is None else self.value(state)

    def describe(self, call: Call) -> str:
        if call.kind == "append":
            return f"appends {self.value(call.argument)}{self.got(call)}"
        return "deletes it" if call.kind == "delete" else super().describe(call)


def _saw(call: Call) -> Any:
    """The value that a call came upon; `UNKNOWN` if it did not look."""
    if call.kind == "read":
        return call.result
    if call.kind == "compare-and-set":
        return call.argument[0]
    if call.kind == "append" and isinstance(call.result, str):
        return canonical_json(json.loads(call.result)[:-1])
    return UNKNOWN


def _wrote(call: Call) -> Any:
    """The value that a call left."""
    if call.kind == "compare-and-set":
        return call.argument[1]
    return {"write": call.argument, "append": call.result}.get(call.kind)


def _is_json(value: Any) -> bool:
    if value is None or value is UNKNOWN:
        return True
    try:
        return isinstance(value, str) and canonical_json(json.loads(value)) == value
    except ValueError:
        return False


def _text(op: Operation) -> str | None:
    return None if op.text is None else canonical_json(decode(op.text, {ENCODING: op.encoding}, op.key))


def _call(op: Operation, was: dict[_Version, str | None]) -> Call | None:
    """The call that an operation stands for, if it is one."""
    text = _text(op)
    kind: str = op.kind
    argument: Any = text
    result: Any = None
    if kind == "read":
        argument, result = None, text
    elif not op.ok or kind not in ("write", "compare-and-set", "append", "delete"):
        return None
    elif kind == "compare-and-set":
        place = (op.replica, op.key, op.replaced)
        if place in was or op.replaced == 0:
            argument, result = (was.get(place), text), True
        else:
            kind = "write"  # what it replaced is not in the history
    elif kind == "append":
        items = json.loads(text or "null")
        kind = "append" if items and isinstance(items, list) else "write"
        argument, result = (canonical_json(items[-1]), text) if kind == "append" else (text, None)
    end = op.end if op.acknowledged else None
    return Call(op.agent, kind, argument, result, op.key, begin=op.begin, end=end, operation=op)
