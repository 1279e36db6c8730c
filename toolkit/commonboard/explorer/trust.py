"""Whether agents share nothing but the board: only then can schedules be treated alike.

What two agents do with a list that both can reach shows in no operation on the store. So before a search the mutable objects
that the agents reach are looked for: in closures, globals, defaults and bound arguments. Some are only read; a few runs tell
which ones change. What cannot be read out counts as changing. A lock or a queue that agents share decides who goes on, so
that is never treated alike. And a future that one agent wakes in another is noticed by the loop.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import copy
import datetime
import decimal
import dis
import enum
import functools
import logging
import pathlib
import random
import re
import types
import uuid
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from commonboard.check.verdict import in_words
from commonboard.explorer.spinning import PLAIN, Unreadable, frozen
from commonboard.explorer.visible import Visible, put_back
from commonboard.sim.trouble import is_plumbing

PRIMITIVES = (
    asyncio.Lock, asyncio.Event, asyncio.Condition, asyncio.Semaphore, asyncio.Queue, asyncio.Future, asyncio.Barrier,
)  # fmt: skip
FUNCTIONS = (types.FunctionType, staticmethod, classmethod)
UNCHANGING = (
    *PLAIN, complex, range, frozenset, slice, type(...), re.Pattern, datetime.date, datetime.time, datetime.timedelta,
    datetime.tzinfo, decimal.Decimal, enum.Enum, pathlib.PurePath, uuid.UUID, logging.Logger, types.BuiltinFunctionType,
    types.MethodWrapperType, types.ModuleType, types.GenericAlias, types.UnionType, property,
)  # fmt: skip


@dataclass(slots=True)
class Shared:
    """Something that can change beside the board, and that agents can reach: a mutable object, or what a name stands for.

    Attributes:
        name: what the code calls it.
        value: the object; for a name, what it stood for.
        before: its contents, when they were looked at.
        cell, names, owner: where the name is bound, if it is one: a closure's cell, a module's dictionary, or a class
            and the name in it.
    """

    name: str
    value: Any
    before: Hashable = None
    cell: types.CellType | None = None
    names: dict[str, Any] | None = None
    owner: tuple[type, str] | None = None
    _kept: Any = None

    @property
    def is_primitive(self) -> bool:
        return isinstance(self.value, PRIMITIVES)

    @property
    def is_readable(self) -> bool:
        """Whether its contents can be read out, so that a change would show."""
        return self.before is not None and not isinstance(self.value, Visible)

    @property
    def now(self) -> Any:
        """What it is now."""
        if self.cell is not None:
            return self.cell.cell_contents
        if self.owner is not None:
            return vars(self.owner[0]).get(self.owner[1])
        return self.value if self.names is None else self.names.get(self.name)

    def look(self) -> None:
        """Remember what it is."""
        self.before = _contents(self.value)
        if self.cell is None and self.names is None and self.owner is None and not isinstance(self.value, Visible):
            self._kept = _kept(self.value)

    @property
    def changed(self) -> bool:
        """Whether it is something else now, or cannot be read out."""
        found = _contents(self.now)
        return found is None or found != self.before

    def put_back(self) -> bool:
        """Make it what it was: no run may find what another one left. Says whether that can be done."""
        if isinstance(self.value, Visible):
            put_back(self.value)
        elif self.cell is not None:
            self.cell.cell_contents = self.value
        elif self.names is not None:
            self.names[self.name] = self.value
        elif self.owner is not None:
            setattr(*self.owner, self.value)
        elif _contents(self.value) != self.before or self.is_primitive:
            return _restored(self.value, self._kept)
        return True


def _kept(value: Any) -> Any:
    """What is needed to make an object again what it is; `None` where that cannot be kept.

    What lies within it is shared too and is put back by itself, so that it stays the same object.
    """
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, functools._lru_cache_wrapper):
        return True if value.cache_info().currsize == 0 else None
    if isinstance(value, (list, bytearray, dict, set, collections.deque)):
        return copy.copy(value)
    if _is_library(type(value)):
        with contextlib.suppress(Exception):  # whatever an object of another library raises: then it cannot be put back
            return copy.deepcopy(vars(value))
        return None
    return dict(vars(value)) if hasattr(value, "__dict__") else None


def _restored(value: Any, kept: Any) -> bool:
    if kept is None:
        return False
    if isinstance(value, random.Random):
        value.setstate(kept)
    elif isinstance(value, functools._lru_cache_wrapper):
        value.cache_clear()
    elif isinstance(value, (list, bytearray)):
        value[:] = kept
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(kept)
    elif isinstance(value, collections.deque):
        value.clear()
        value.extend(kept)
    else:
        vars(value).clear()
        vars(value).update(copy.deepcopy(kept) if _is_library(type(value)) else kept)
    return True


def _contents(value: Any) -> Hashable:
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, functools._lru_cache_wrapper):
        return value.cache_info().currsize
    try:
        return frozen(value, {})
    except (Unreadable, RecursionError):
        return None


def shared_objects(functions: dict[str, Callable[..., Any]], policy: Any) -> list[Shared]:
    """The mutable objects that the agents, and the policy, can reach."""
    found: dict[int, Shared] = {}
    seen: dict[int, Any] = {}
    for name, fn in functions.items():
        _reach(name, fn, found, seen)
    for name, value in vars(policy).items():
        _reach(f"{type(policy).__name__}.{name}", value, found, seen)
    classes = [value for value in seen.values() if isinstance(value, type) and not _is_library(value)]
    things = [*found.values(), *_bindings(functions), *_class_bindings(classes)]
    for thing in things:
        thing.look()
    return things


def _bindings(functions: dict[str, Callable[..., Any]]) -> list[Shared]:
    """The names that agents may bind anew: free variables and globals that stand for what cannot change itself."""
    found: dict[tuple[int, str], Shared] = {}
    todo = [fn for fn in map(_plain_function, functions.values()) if fn is not None]
    for fn in todo:
        code = fn.__code__
        for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
            value = _content_of(cell)
            if isinstance(value, types.FunctionType) and value not in todo:
                todo.append(value)
            elif isinstance(value, PLAIN):
                found.setdefault((id(cell), name), Shared(name, value, cell=cell))
        for module in _modules(fn):
            for name in _names(code):
                value = vars(module).get(name, ...)
                if isinstance(value, PLAIN) and value is not ...:
                    found.setdefault((id(module), name), Shared(name, value, names=vars(module)))
        for name in _stored_globals(code):
            value = fn.__globals__.get(name)
            if isinstance(value, PLAIN):
                found.setdefault((id(fn.__globals__), name), Shared(name, value, names=fn.__globals__))
    return list(found.values())


def _class_bindings(classes: list[type]) -> list[Shared]:
    """The attributes of classes that stand for what cannot change itself, and may be bound anew."""
    return [
        Shared(f"{kind.__name__}.{name}", value, owner=(kind, name))
        for kind in classes
        for name, value in vars(kind).items()
        if isinstance(value, PLAIN) and not name.startswith("__")
    ]


def _modules(fn: types.FunctionType) -> list[types.ModuleType]:
    values = [fn.__globals__.get(name) for name in _names(fn.__code__)] + list(map(_content_of, fn.__closure__ or ()))
    return [value for value in values if isinstance(value, types.ModuleType)]


def _plain_function(fn: Any) -> types.FunctionType | None:
    while isinstance(fn, (functools.partial, types.MethodType)):
        fn = fn.func if isinstance(fn, functools.partial) else fn.__func__
    return fn if isinstance(fn, types.FunctionType) else None


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ...  # not bound yet


def _stored_globals(code: types.CodeType) -> list[str]:
    found = {step.argval: None for step in dis.get_instructions(code) if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(dict.fromkeys(_stored_globals(constant)))
    return list(found)


def _reach(name: str, value: Any, found: dict[int, Shared], seen: dict[int, Any]) -> None:
    if id(value) in seen or isinstance(value, UNCHANGING):
        return
    seen[id(value)] = value
    if isinstance(value, (tuple, staticmethod, classmethod)):
        for item in value if isinstance(value, tuple) else (value.__func__,):
            _reach(name, item, found, seen)
    elif isinstance(value, functools.partial):
        _reach(name, value.func, found, seen)
        for item in (*value.args, *value.keywords.values()):
            _reach(f"an argument of {name}", item, found, seen)
    elif isinstance(value, types.MethodType):
        _reach(f"{name}.__self__", value.__self__, found, seen)
        _reach(name, value.__func__, found, seen)
    elif isinstance(value, types.FunctionType):
        for label, item in _of_function(value):
            _reach(label, item, found, seen)
        if vars(value):
            found[id(value)] = Shared(f"{value.__name__}.{next(iter(vars(value)))}", value)
    elif isinstance(value, type):
        if not _is_library(value):
            for label, item in vars(value).items():
                if isinstance(item, FUNCTIONS) or not (label.startswith("_") or hasattr(type(item), "__get__")):
                    _reach(f"{value.__name__}.{label}", item, found, seen)
    else:
        found[id(value)] = Shared(name, value)
        _reach_into(name, value, found, seen)


def _reach_into(name: str, value: Any, found: dict[int, Shared], seen: dict[int, Any]) -> None:
    """What an object holds, the agents reach too: other objects, and what its functions reach."""
    items: list[Any] = []
    if isinstance(value, dict):
        items = list(value.values())
    elif isinstance(value, (list, set, collections.deque)):
        items = list(value)
    elif hasattr(value, "__dict__") and not _is_library(type(value)):
        items = [*vars(value).values(), type(value)]
    for item in items:
        _reach(name, item, found, seen)


def _of_function(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = fn.__code__
    if is_plumbing(code.co_filename) and not code.co_freevars:
        return
    for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
        value = _content_of(cell)
        if isinstance(value, types.ModuleType):
            yield from ((f"{name}.{each}", vars(value)[each]) for each in _names(code) if each in vars(value))
        yield name, value
    for place, value in enumerate(fn.__defaults__ or ()):
        yield f"default {place + 1} of {fn.__name__}", value
    for name, value in (fn.__kwdefaults__ or {}).items():
        yield name, value
    names = _names(code)
    for name in names:
        value = fn.__globals__.get(name)
        if isinstance(value, types.ModuleType):
            yield from ((f"{name}.{each}", vars(value)[each]) for each in names if each in vars(value))
        elif name in fn.__globals__:
            yield name, value
    wrapped = getattr(fn, "__wrapped__", None)
    if wrapped is not None:
        yield fn.__name__, wrapped


def _names(code: types.CodeType) -> list[str]:
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(dict.fromkeys(_names(constant)))
    return list(found)


def _is_library(kind: type) -> bool:
    module = getattr(kind, "__module__", "")
    if kind is types.SimpleNamespace:
        return False
    if module in ("builtins", "typing"):
        return True
    import sys

    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_plumbing(file)


def changed_attributes(one: Any, other: Any) -> str:
    """Which attributes of two copies of an object hold something else by now, or cannot be read out; empty if none does."""
    found = []
    for name, value in vars(one).items():
        contents = _contents(value)
        if contents is None or contents != _contents(vars(other).get(name)):
            found.append(f"{type(one).__name__}.{name}")
    return in_words(found)


def put_all_back(things: Sequence[Shared]) -> str:
    """Make everything what it was before; gives the names of what cannot be put back."""
    return in_words(list(dict.fromkeys(thing.name for thing in things if not thing.put_back())))


def visible_ones(things: list[Shared]) -> list[Visible]:
    """Those whose changes count as operations."""
    return [thing.value for thing in things if isinstance(thing.value, Visible)]


def distrust(things: list[Shared], meanwhile: Sequence[str] = ()) -> str:
    """Why schedules cannot be treated alike; empty if nothing speaks against it.

    Objects that were made `visible` are left out.

    Args:
        things: what agents can reach beside the board.
        meanwhile: the names of what was seen to change, even if it was changed back.
    """
    others = [thing for thing in things if not isinstance(thing.value, Visible)]
    locks = [thing.name for thing in others if thing.is_primitive]
    if locks:
        return f"the agents share {in_words(list(dict.fromkeys(locks)))}, whose order of waking no operation on the board shows"
    changed = [*meanwhile, *(thing.name for thing in others if thing.changed)]
    if changed:
        mend = "cb.visible(…) around it makes its changes count as operations"
        return f"the agents change {in_words(list(dict.fromkeys(changed)))} beside the board; {mend}"
    return ""
