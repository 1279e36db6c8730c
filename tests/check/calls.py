"""Calls for the tests of linearizability: an oracle that tries all orders, and histories made by objects at work."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from commonboard.check import models
from commonboard.check.board import Board
from commonboard.check.model import ILLEGAL, UNKNOWN, Call, Model
from commonboard.check.wgl import split
from commonboard.history import GIVEN

# For each model: what may be called, with what argument, and with what results.
RESULTS: dict[str, tuple[Model, list[tuple[str, list[Any], list[Any]]]]] = {
    "register": (models.Register(0), [("read", [None], [0, 1, 2]), ("write", [1, 2], [None])]),
    "compare-and-set register": (
        models.CompareAndSetRegister(0),
        [
            ("read", [None], [0, 1, 2]),
            ("write", [1, 2], [None]),
            ("compare-and-set", [(0, 1), (1, 2), (2, 0), (1, 1)], [True, False]),
        ],
    ),
    "key-value": (
        models.KeyValue(),
        [
            ("read", [None], [None, "a", "b", "ab", "ba", "aa"]),
            ("append", ["a", "b"], [None]),
            ("write", ["a", "b"], [None]),
            ("delete", [None], [None]),
            ("compare-and-set", [(None, "a"), ("a", "b"), ("ab", "a")], [True, False]),
        ],
    ),
    "key-value of text alone": (
        models.KeyValue(""),
        [
            ("read", [None], ["", "a", "b", "ab", "ba", "aba", "bab"]),
            ("append", ["a", "b"], [None]),
            ("write", ["a", "b", "ab"], [None]),
        ],
    ),
    "counter": (models.Counter(), [("read", [None], [-1, 0, 1, 2, 3]), ("add", [1, 2, -1], [None, None, 1, 2, 3])]),
    "set": (
        models.Set(),
        [
            ("read", [None], [[], ["a"], ["b"], ["a", "b"]]),
            ("contains", ["a", "b"], [True, False]),
            ("add", ["a", "b"], [None]),
            ("remove", ["a", "b"], [None]),
        ],
    ),
    "log": (
        models.AppendLog(),
        [
            ("read", [None], [[], ["a"], ["b"], ["a", "b"], ["b", "a"], ["a", "a"], ["a", "b", "a"]]),
            ("append", ["a", "b"], [None, None, 0, 1, 2]),
        ],
    ),
    "board": (
        Board(),
        [
            ("read", [None], [None, "1", "[]", '["a"]', '["b"]', '["a","b"]', '["b","a"]']),
            ("write", ["1", "[]", '["a"]'], [None]),
            ("delete", [None], [None]),
            ("compare-and-set", [(None, '["a"]'), ('["a"]', "1"), ("1", '["a","b"]')], [True]),
            ("append", ['"a"', '"b"'], ['["a"]', '["a","b"]', '["b"]', '["b","a"]']),
        ],
    ),
}


def has_order(model: Model, calls: Iterable[Call]) -> bool:
    """Whether some order fits, by trying all of them, without any of the search's shortcuts."""

    def fits(state: Any, left: list[Call]) -> bool:
        if all(call.end is None for call in left):
            return True
        first_end = min(call.end for call in left if call.end is not None)
        for place, call in enumerate(left):
            after = model.step(state, call) if call.begin <= first_end else ILLEGAL
            if after is not ILLEGAL and fits(after, left[:place] + left[place + 1 :]):
                return True
        return False

    for key, part in split(model, calls).items():
        state = model.initial(key)
        for call in part:
            if call.process == GIVEN:
                state = model.step(state, call)
        if not fits(state, [call for call in part if call.process != GIVEN]):
            return False
    return True


@st.composite
def any_calls(draw: st.DrawFn, name: str, most: int = 6) -> list[Call]:
    """Calls with any results, at any times, some of which never return; most of such histories have no order."""
    _, kinds = RESULTS[name]
    calls = []
    for number in range(draw(st.integers(1, most))):
        kind, arguments, results = draw(st.sampled_from(kinds))
        begin, length = draw(st.integers(0, 8)), draw(st.one_of(st.none(), st.integers(0, 5), st.integers(0, 5)))
        end = None if length is None else begin + length
        result = UNKNOWN if draw(st.integers(0, 11)) == 7 else draw(st.sampled_from(results))
        calls.append(_call(number, kind, draw(st.sampled_from(arguments)), result, begin, end))
    return calls


@st.composite
def fair_calls(draw: st.DrawFn, name: str, most: int = 12) -> list[Call]:
    """Calls on an object at work, each of which happens at one moment between its begin and its end: there is an order."""
    model, kinds = RESULTS[name]
    calls, state = [], model.initial(None)
    for number in range(draw(st.integers(1, most))):
        kind, arguments, results = draw(st.sampled_from(kinds))
        argument = draw(st.sampled_from(arguments))
        begin = 10 * number - draw(st.integers(0, 35))
        end = 10 * number + draw(st.integers(0, 35))
        if not model.is_read(_call(number, kind, argument, results[-1], begin, end)) and draw(st.integers(0, 5)) == 0:
            call = _call(number, kind, argument, UNKNOWN, begin, None)  # nobody hears of it, and it may not have happened
            after = model.step(state, call)
            state = after if draw(st.booleans()) and after is not ILLEGAL else state
            calls.append(call)
            continue
        fitting = [made for result in results if (made := _call(number, kind, argument, result, begin, end))]
        fitting = [call for call in fitting if model.step(state, call) is not ILLEGAL]
        if fitting:
            calls.append(draw(st.sampled_from(fitting)))
            state = model.step(state, calls[-1])
    return calls


def _call(process: int, kind: str, argument: Any, result: Any, begin: int, end: int | None) -> Call:
    return Call(process, kind, argument, result, begin=begin, end=end)


def many_clients(seed: int, clients: int = 50, keys: int = 10, each: int = 34, wrong: int = 0) -> list[Call]:
    """Clients that read, append to and write texts, each without a pause, and never wait for one another.

    Args:
        seed: what the chances are drawn from.
        clients: how many there are.
        keys: how many keys they share.
        each: how many calls each of them makes.
        wrong: how many late reads miss the text that came first.
    """
    rng = random.Random(seed)
    board = {f"k{number}": "" for number in range(keys)}
    due: list[tuple[float, int, str]] = [(rng.random(), client, "call") for client in range(clients)]
    under_way: dict[int, list[Any]] = {}
    made: list[Call] = []
    left, moment = [each] * clients, 0
    while due:
        now, client, what = min(due)
        due.remove((now, client, what))
        moment += 1
        if what == "call" and left[client]:
            left[client] -= 1
            kind = ["append"] * 50 + ["read"] * 45 + ["write"] * 5
            under_way[client] = [kind[rng.randrange(100)], f"k{rng.randrange(keys)}", f"({client}.{left[client]})", moment, None]
            due.append((now + rng.random(), client, "happen"))
        elif what == "happen":
            kind_, key, text, _, _ = under_way[client]
            under_way[client][4] = board[key]
            board[key] = {"append": board[key] + text, "write": text}.get(kind_, board[key])
            due.append((now + rng.random(), client, "return"))
        elif what == "return":
            kind_, key, text, begin, seen = under_way.pop(client)
            argument, result = (None, seen) if kind_ == "read" else (text, None)
            made.append(Call(client, kind_, argument, result, key, begin=begin, end=moment))
            due.append((now, client, "call"))
    return _spoilt(made, wrong, rng)


def _spoilt(calls: Sequence[Call], wrong: int, rng: random.Random) -> list[Call]:
    found = list(calls)
    late = [place for place, call in enumerate(found) if call.kind == "read" and call.result and place > len(found) * 2 // 3]
    for place in [late[rng.randrange(len(late))] for _ in range(wrong)]:
        call = found[place]
        text = call.result[call.result.index(")") + 1 :]
        found[place] = Call(call.process, "read", None, text, call.key, begin=call.begin, end=call.end)
    return found
