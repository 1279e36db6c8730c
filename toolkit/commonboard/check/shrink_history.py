"""Make a refuted history small: leave calls out as long as no order can be found for the rest."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from commonboard.check.model import Call, Model
from commonboard.check.wgl import Search


@dataclass(slots=True)
class Shrunk:
    """What is left of a refuted history.

    Attributes:
        calls: the calls that are left, by when they began.
        search: the search that refuted them.
        minimal: whether each of them is needed; `False` if the budget was spent before that was sure.
    """

    calls: list[Call]
    search: Search
    minimal: bool


class Shrinker:
    """Leaves out calls, in blocks that get smaller, and looks whether what is left is still refuted.

    Only calls that may go are left out (`removable`), so the result accounts for the whole: had the whole an order, the
    result would have one, too.

    Blocks are tried from the oldest to the newest, and every search stops after a number of steps, so that the same history
    always comes to the same.

    Args:
        search: the search that refuted the whole.
        budget: how many steps there are, for all searches together.
    """

    def __init__(self, search: Search, budget: int) -> None:
        self._model: Model = search.model
        self._key: Hashable = search.key
        self._given, self._limit, self._left = search.when.given, 1_000 + 10 * search.steps, budget
        self._found = search
        self._calls = sorted(search.when.calls, key=lambda call: call.begin)

    def run(self) -> Shrunk:
        """Shrink until each call is needed, or the budget is spent."""
        last = self._found.when.calls[self._found.reached]
        self._try([call for call in self._calls if last.end is None or call.begin <= last.end])
        size = max(1, len(self._calls) // 2)
        while self._left > 0:
            went = self._pass(size)
            if size == 1 and not went:
                break
            size = max(1, min(size, len(self._calls)) // 2)
        return Shrunk(self._calls, self._found, self._left > 0)

    def _pass(self, size: int) -> bool:
        went, place = False, 0
        while place < len(self._calls) and self._left > 0:
            block = removable(self._model, self._calls, self._calls[place : place + size])
            gone = set(map(id, block))
            if block and self._try([call for call in self._calls if id(call) not in gone]):
                went = True
                place += size - len(block)
            else:
                place += size
        return went

    def _try(self, calls: Iterable[Call]) -> bool:
        kept = list(calls)
        search = Search(self._model, self._key, [*self._given, *kept])
        refuted = search.run(min(self._limit, self._left)) is False
        self._left -= max(1, search.steps)
        if refuted:
            self._calls, self._found = kept, search
        return refuted


def removable(model: Model, calls: Sequence[Call], block: Sequence[Call]) -> list[Call]:
    """The calls of a block that may be left out together without making up a fault.

    A read may always go. A call that somebody may have seen must stay as long as they do: else what is left could be wrong
    in a way in which the whole is not. The model says who may have seen whom (`rests_on`); what was written over before
    somebody looked, they cannot have seen. And of several writes of a value that was read, one stays, so that no value
    seems to come from nowhere.
    """
    free = list(block)
    while True:
        gone = set(map(id, free))
        stay = [call for call in calls if id(call) not in gone]
        observers = [call for call in stay if model.is_read(call) or call.result is not None]
        writers = [call for call in stay if not model.is_read(call)]
        block, free = free, [call for call in free if _may_go(model, call, calls, observers, writers)]
        if len(free) == len(block):
            return free


def _may_go(model: Model, call: Call, calls: Sequence[Call], observers: Sequence[Call], writers: Sequence[Call]) -> bool:
    if model.is_read(call):
        return True
    over = _overwritten(model, call, calls)
    return all(
        over < observer.begin and any(_rests_on(model, observer, writer) for writer in writers)
        for observer in observers
        if _rests_on(model, observer, call)
    )


def _overwritten(model: Model, call: Call, calls: Sequence[Call]) -> float:
    """From when on nothing of the call was left, because another, which began after it had returned, wrote over it."""
    if call.end is None:
        return math.inf
    later = (other for other in calls if other.begin > call.end and model.overwrites(other))
    return min((other.end for other in later if other.end is not None), default=math.inf)


def _rests_on(model: Model, observer: Call, writer: Call) -> bool:
    before = observer.end is None or writer.begin <= observer.end
    return observer is not writer and before and model.rests_on(observer, writer)
