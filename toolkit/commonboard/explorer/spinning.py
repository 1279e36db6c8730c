"""The local state of an agent that waits, read out of its frames, so that an agent that turns in a circle is noticed.

`while not await me.value("shared/ready"): ...` could go on for ever. If the agent is at the same place, with the same
variables, has twice seen the same and changed nothing, then it is in the same state as before, and a search need not
follow it again. Nothing is guessed: what cannot be read out exactly counts as a state that never comes back.

What a frame holds beside its variables, such as the iterator of a `for` loop or one half of a sum, only the garbage
collector can tell; so it is asked.
"""

from __future__ import annotations

import asyncio
import collections
import datetime
import decimal
import functools
import gc
import random
import types
import uuid
from collections.abc import Hashable, Iterable
from typing import Any

from commonboard.handle import AgentMemory, Namespace, Sightings
from commonboard.sim.trouble import is_plumbing

PLAIN = (type(None), bool, int, float, str, bytes, complex, range, type(...))
DATED = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, uuid.UUID)
ITERATORS: tuple[type[Any], ...] = (type(iter([])), type(iter(())), type(iter(range(0))), enumerate)


Memo = dict[int, tuple[int, Any]]
"""The objects met so far, by identity: each with its number."""


class Unreadable(Exception):
    """Something in a frame cannot be read out exactly."""


def local_state(main: asyncio.Task[Any], tasks: Iterable[asyncio.Task[Any]]) -> Hashable:
    """Where an agent's tasks are, and what their frames hold; `None` where it cannot be told exactly."""
    if main.done():
        return None
    memo: Memo = {}
    try:
        return tuple([_chain(task, memo) for task in tasks if not task.done()])
    except (Unreadable, RecursionError):
        return None


def _chain(task: asyncio.Task[Any], memo: Memo) -> Hashable:
    frames: list[Hashable] = []
    waits: Any = task.get_coro()
    while waits is not None and not isinstance(waits, asyncio.Future):
        if not isinstance(waits, types.CoroutineType):
            if type(waits).__name__ == "FutureIter":
                break
            raise Unreadable
        frame, awaited = waits.cr_frame, waits.cr_await
        if frame is not None:
            own = not is_plumbing(waits.cr_code.co_filename)
            variables = frame.f_locals
            held = [
                each for each in gc.get_referents(waits) if each is not awaited and each is not frame and each is not variables
            ]
            frames.append((waits.cr_code, frame.f_lasti, tuple(variables), _held(held, own, memo)))
        waits = awaited
    return tuple(frames)


def _held(things: list[Any], own: bool, memo: Memo) -> Hashable:
    found: list[Hashable] = []
    for thing in things:
        if isinstance(thing, types.CodeType):
            continue
        try:
            found.append(frozen(thing, memo))
        except Unreadable:
            if own:
                raise
            # The library's own objects: what varies in them is in plain variables too, or in what the agent has seen.
    return tuple(found)


def frozen(value: Any, memo: Memo | None = None) -> Hashable:
    """A value as something that can be compared later, when the value itself may have changed.

    Where one object is met twice, that is part of it.

    Args:
        value: any value.
        memo: what was met so far.

    Raises:
        Unreadable: it holds what cannot be read out, such as a generator.
    """
    kind = type(value)
    if kind in PLAIN or kind in DATED:
        return kind, value
    memo = {} if memo is None else memo
    if id(value) in memo:
        return "met before", memo[id(value)][0]
    memo[id(value)] = len(memo), value  # kept alive: what is made on the way must not get the identity of what was met
    if kind in (list, tuple):
        return kind, tuple([frozen(item, memo) for item in value])
    if kind in (dict, types.MappingProxyType, collections.OrderedDict, collections.defaultdict, collections.Counter):
        return kind, tuple([(frozen(k, memo), frozen(v, memo)) for k, v in value.items()])
    if kind in (set, frozenset):
        return kind, frozenset([frozen(item, {}) for item in value])
    if kind is bytearray:
        return kind, bytes(value)
    if kind is collections.deque:
        return kind, value.maxlen, tuple([frozen(item, memo) for item in value])
    if kind in (AgentMemory, Namespace, Sightings):
        return _of_the_library(value, memo)
    if isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType)):
        return "name", value.__name__
    if kind is types.FunctionType:
        cells = [_content(cell) for cell in value.__closure__ or ()]
        return "function", value.__code__, frozen(cells, memo), frozen(value.__defaults__, memo), frozen(vars(value), memo)
    if kind is types.MethodType:
        return "method", frozen(value.__func__, memo), frozen(value.__self__, memo)
    if kind is types.CellType:
        return "cell", frozen(_content(value), memo)
    if kind is functools.partial:
        return kind, frozen(value.func, memo), frozen(value.args, memo), frozen(value.keywords, memo)
    if kind in ITERATORS:
        return kind, frozen(value.__reduce__()[1:], memo)
    if isinstance(value, random.Random):
        return kind, value.getstate()
    if kind is asyncio.Timeout:
        return kind, value._state.name  # when it is due does not matter: where time is free, any timer may be the next
    return _object(value, memo)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ...  # not bound yet


def _of_the_library(value: Any, memo: Memo) -> Hashable:
    if isinstance(value, Sightings):
        return Sightings, frozen(value._agent, memo), frozen(value._listings, memo)
    if isinstance(value, AgentMemory):
        return AgentMemory, value.name, frozen(value._sightings, memo)
    return Namespace, value._name, value._actor


def _object(value: Any, memo: Memo) -> Hashable:
    kind = type(value)
    if kind.__module__ in _OPAQUE or kind.__module__.partition(".")[0] in _OPAQUE:
        raise Unreadable
    held: tuple[Hashable, ...] = ()
    if isinstance(value, BaseException):
        held = (frozen(value.args, memo),)
    elif isinstance(value, (list, tuple)):
        held = tuple([frozen(item, memo) for item in value])
    elif isinstance(value, dict):
        held = tuple([(frozen(k, memo), frozen(v, memo)) for k, v in value.items()])
    elif isinstance(value, (set, frozenset)):
        held = (frozenset([frozen(item, {}) for item in value]),)
    elif isinstance(value, PLAIN):
        held = (str(value),)
    slots = [name for each in kind.__mro__ for name in _slots(each) if hasattr(value, name)]
    if not held and not slots and not hasattr(value, "__dict__"):
        raise Unreadable
    facts = {name: getattr(value, name) for name in slots} | dict(getattr(value, "__dict__", {}))
    return kind, held, tuple([(name, frozen(fact, memo)) for name, fact in facts.items()])


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__weakref__", "__dict__")]


_OPAQUE = frozenset(
    ("asyncio", "_asyncio", "builtins", "itertools", "contextvars", "_contextvars", "_io", "_thread", "threading")
    + ("commonboard.memory", "commonboard.sim.memory", "commonboard.sim.lives", "commonboard.sim.store", "commonboard.sim.loop")
    + ("commonboard.stores.port", "commonboard.stores.in_memory", "commonboard.transactions", "commonboard.sim.looks")
)
