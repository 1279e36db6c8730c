"""What a set and a counter should say, told by the updates alone: an executable specification.

The three laws of merging are necessary, not sufficient: a set that never removes anything obeys them all. What is missing is
the meaning. Here it is, with no merge in it at all: each update remembers which updates its replica had seen, and
the value is a function of the updates that a reader has seen. (Burckhardt, Gotsman, Yang, Zawirski 2014.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from commonboard.crdt.base import CrdtValueError
from commonboard.crdt.clocks import Dot
from commonboard.crdt.codec import element_key, element_of, order_of


class Update(NamedTuple):
    """One local update.

    Attributes:
        id: `(replica, n)`: the n-th update of that replica in this history.
        name, args: what was called, such as `"add", ("x",)`.
        saw: the ids of the updates which its replica had seen just before.
    """

    id: Dot
    name: str
    args: tuple[Any, ...]
    saw: frozenset[Dot]


Spec = Callable[[Sequence[Update]], Any]
"""From the updates that a reader has seen to the value that it should read."""


def set_spec(visible: Sequence[Update]) -> list[Any]:
    """An add-wins set: an element is in if some add of it is visible that no visible remove of it had seen.

    >>> add = Update(("a", 1), "add", ("x",), frozenset())
    >>> remove = Update(("b", 1), "remove", ("x",), frozenset())
    >>> set_spec([add, remove]), set_spec([add, remove._replace(saw=frozenset([("a", 1)]))])
    (['x'], [])
    """
    _only(visible, "set", "add", "remove", "clear")
    kept = {element_key(add.args[0]) for add in visible if add.name == "add" and not _removed(add, visible)}
    return [element_of(key) for key in sorted(kept, key=order_of)]


def counter_spec(visible: Sequence[Update]) -> int:
    """A counter: the sum of the visible amounts, each once. `inc` and `add` add their argument (1 without one).

    >>> counter_spec([Update(("a", 1), "inc", (), frozenset()), Update(("b", 1), "add", (-3,), frozenset())])
    -2
    """
    _only(visible, "counter", "inc", "add")
    return sum(update.args[0] if update.args else 1 for update in visible)


def _removed(add: Update, visible: Sequence[Update]) -> bool:
    key = element_key(add.args[0])
    return any(
        add.id in update.saw and (update.name == "clear" or (update.name == "remove" and element_key(update.args[0]) == key))
        for update in visible
    )


def _only(visible: Sequence[Update], what: str, *names: str) -> None:
    for update in visible:
        if update.name not in names:
            raise CrdtValueError(
                f"the specification of a {what} knows {', '.join(names)}, not {update.name!r}; give a spec= of your own"
            )
