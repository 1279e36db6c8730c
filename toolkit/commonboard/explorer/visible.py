"""`visible(obj)`: an object that agents share beside the board, whose uses count as operations."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from commonboard.errors import InvalidArgumentError, kind_of
from commonboard.explorer.spinning import PLAIN

_READS = frozenset(
    {"get", "keys", "values", "items", "index", "count", "copy", "startswith", "endswith", "issubset", "issuperset"}
)


class Visible:
    """A stand-in for a shared object: what is done to it is done to the object, and noted.

    Everything an agent does with it between two operations belongs to the first of the two: `explore` then knows that two
    such steps do not commute. Before each run the object is put back to what it was.
    """

    def __init__(self, obj: Any) -> None:
        object.__setattr__(self, "_first", copy.deepcopy(obj))
        object.__setattr__(self, "_obj", obj)
        object.__setattr__(self, "_used", "")

    def __repr__(self) -> str:
        return f"visible({self._obj!r})"

    def __getattr__(self, name: str) -> Any:
        made = getattr(self._obj, name)
        if name in _READS and callable(made):
            return self._reading(made)
        self._note(callable(made) or _is_mutable(made))
        return made

    def _reading(self, method: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            made = method(*args, **options)
            self._note(_is_mutable(made))
            return made

        return call

    def __setattr__(self, name: str, value: Any) -> None:
        self._note(True)
        setattr(self._obj, name, value)

    def __getitem__(self, key: Any) -> Any:
        found = self._obj[key]
        self._note(_is_mutable(found))
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        self._note(True)
        self._obj[key] = value

    def __delitem__(self, key: Any) -> None:
        self._note(True)
        del self._obj[key]

    def __iadd__(self, other: Any) -> Visible:
        self._note(True)
        object.__setattr__(self, "_obj", self._obj.__iadd__(other))
        return self

    def __iter__(self) -> Iterator[Any]:
        self._note(any(map(_is_mutable, self._obj)))
        return iter(self._obj)

    def __len__(self) -> int:
        self._note(False)
        return len(self._obj)

    def __contains__(self, item: Any) -> bool:
        self._note(False)
        return item in self._obj

    def __bool__(self) -> bool:
        self._note(False)
        return bool(self._obj)

    def __eq__(self, other: Any) -> bool:
        self._note(False)
        return bool(self._obj == (other._obj if isinstance(other, Visible) else other))

    __hash__ = None  # type: ignore[assignment]

    def _note(self, writes: bool) -> None:
        object.__setattr__(self, "_used", "written" if writes or self._used == "written" else "read")


def _is_mutable(value: Any) -> bool:
    """Whether what is handed out could be changed afterwards, without anybody noticing: to look at it may be to change it."""
    if isinstance(value, (tuple, frozenset)):
        return any(map(_is_mutable, value))
    return not isinstance(value, PLAIN)


def visible(obj: Any) -> Any:
    """Make an object that agents share beside the board count: `explore` takes its uses for operations.

    Args:
        obj: a list, a dict, or an object of your own that can be deep-copied.

    Returns:
        A stand-in for it; give that to the agents instead.

    Raises:
        InvalidArgumentError: it cannot change, or cannot be copied.

    >>> import commonboard as cb
    >>> seen = cb.visible([])
    >>> async def looks(me):
    ...     first = not seen
    ...     await me.shared.write("greeting", "hello")
    ...     if first:
    ...         seen.append(me.name)
    >>> once = cb.always(lambda state: len(seen) <= 1, "one of them is first")
    >>> cb.explore(looks, looks, check=once).holds
    False
    """
    if isinstance(obj, Visible):
        return obj
    if isinstance(obj, PLAIN):
        raise InvalidArgumentError(f"visible takes an object that can change, such as a list, not {kind_of(obj)}")
    try:
        return Visible(obj)
    except Exception as error:  # whatever an object raises that cannot be copied
        raise InvalidArgumentError(f"visible takes what can be deep-copied, and {kind_of(obj)} cannot: {error}") from error


def used(thing: Visible) -> str:
    """What was done to it since it was last asked: `read`, `written`, or nothing."""
    found: str = thing._used
    object.__setattr__(thing, "_used", "")
    return found


def put_back(thing: Visible) -> None:
    """Make it what it was when it became visible."""
    object.__setattr__(thing, "_obj", copy.deepcopy(thing._first))
    object.__setattr__(thing, "_used", "")
