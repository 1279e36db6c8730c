"""The search for an order: Wing and Gong (1993), as Lowe made it fast (2017), split by key as Horn and Kroening showed (2015).

It asks whether the calls on one object can be put in an order in which the model allows each, and in which a call that
ended before another began stands before it. `decide` asks this for each key in turn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from commonboard.check.model import ILLEGAL, Call, Model, Outlook, State, frozen
from commonboard.errors import InvalidArgumentError
from commonboard.history import GIVEN

FIRST_TURN = 1_000
"""How many steps each key gets in the first round; in each later round, twice as many as in the one before."""

_Place = tuple[int, int, int, int]  # first, taken, used, state: see Search


class Search:
    """The search for an order of the calls on one key. It stops where its steps are spent, and can go on from there.

    Calls that returned are numbered by when they did; those that never did come after them. A place in the search is:

    - `first`: the lowest number of a call that has no place in the order yet. All that returned before it have one.
    - `taken`: a bit for each call from `first` on that has one already: only calls that overlap `first` can.
    - `used`: a bit for each call that never returned and is taken to have happened.
    - `state`: the number of the model's state.

    From a place, any call may come next that began before `first` returned. One step is one call tried at one place, so
    the count is the same on every machine. Five things keep it small; none can change the answer:

    1. Calls that never returned may have happened or not. They are tried last, so where all else fails; of several equal
       ones only the earliest; reads among them are left out.
    2. A place is left alone if the same calls that returned led to the same state before, with no call used that is not
       used here: whatever can be done from here can be done from there. So one that changes nothing leads nowhere.
    3. A read that fits is taken at once, and nothing else is tried: in any order that works it can be moved to here.
    4. The model is asked once for each state and kind of call. Its states may be without number; none is made in advance.
    5. A model may have an `outlook`: it sees early that a read still to come fits no more, and which states are alike.

    Args:
        model: what the object does.
        key: the object.
        calls: the calls on it. Those by `given` happened before all others, in the order of the list.
        outlook: whether to use the model's outlook.

    Attributes:
        steps: how many steps were taken so far.
        answer: `True` if there is an order, `False` if there is none, `None` as long as that is open.
        order: the longest order found that is legal; where the answer is `True`, a whole one.
        reached: the highest `first` of all places: what began after that call returned had no part in a refusal.

    Raises:
        InvalidArgumentError: a state is not hashable, or what was given does not fit the model.
    """

    def __init__(self, model: Model, key: Hashable, calls: Iterable[Call], *, outlook: bool = True) -> None:
        self.model, self.key = model, key
        self.when = Timing(model, calls)
        self.steps = 0
        self.answer: bool | None = None
        self.order: list[Call] = []
        self.reached = 0
        self._moves = Moves(model, self.when, model.initial(key), outlook)
        self._path: list[int] = []
        self._deepest, self._at_deepest = 0, True
        self._entered: dict[tuple[int, int, int], list[int]] = {}
        start = (0, 0, 0, self._moves.start)
        self._enter(start)
        self._stack = [self._next(start)]
        if not self.when.count:
            self.answer = True

    def run(self, steps: int) -> bool | None:
        """Go on for about so many steps; gives the answer, or `None` if it is still open."""
        limit = self.steps + steps
        while self.answer is None and self.steps < limit:
            for place, number in self._stack[-1]:
                if self._enter(place):
                    self._go_down(place, number)
                    break
                if self.steps >= limit:
                    return None
            else:
                self._go_back()
        return self.answer

    def _go_down(self, place: _Place, number: int) -> None:
        if number >= self.when.count:
            self._keep()  # the path without a call that may never have happened is the better one to tell
        self._path.append(number)
        self._stack.append(self._next(place))
        first, taken, _, _ = place
        self.reached = max(self.reached, min(first, self.when.count - 1))
        if first + taken.bit_count() > self._deepest:
            self._deepest, self._at_deepest = first + taken.bit_count(), True
        if first == self.when.count:
            self._keep()
            self.answer = True

    def _go_back(self) -> None:
        self._keep()
        self._stack.pop()
        if self._path:
            self._path.pop()
        else:
            self.answer = False

    def _keep(self) -> None:
        """Remember the path, if it is the longest so far. Only turning back asks for it, so it costs little."""
        if self._at_deepest:
            self.order = [self.when.calls[number] for number in self._path]
            self._at_deepest = False

    def _enter(self, place: _Place) -> bool:
        first, taken, used, state = place
        entered = self._entered.setdefault((first, taken, state), [])
        if any(before & used == before for before in entered):
            return False
        entered.append(used)
        return True

    def _next(self, place: _Place) -> Iterator[tuple[_Place, int]]:
        """The places that one call leads to, and the call's number; one call tried is one step."""
        first, taken, used, state = place
        when, move = self.when, self._moves.move
        waiting = [number for number in when.overlaps(first) if not taken >> (number - first) & 1]
        for number in waiting:
            if when.is_read[number]:
                self.steps += 1
                if move(state, number) == state:
                    yield (*_taken(first, taken, number), used, state), number
                    return
        for number in waiting:
            if not when.is_read[number]:
                self.steps += 1
                after = self._moves.look(move(state, number), *(then := _taken(first, taken, number)))
                if after >= 0:
                    yield (*then, used, after), number
        for place_of, number in enumerate(range(when.count, when.count + when.begun(first))):
            twin = when.twins[place_of]
            if used >> place_of & 1 or (twin is not None and not used >> twin & 1):
                continue
            self.steps += 1
            after = self._moves.look(move(state, number), first, taken)
            if after >= 0:
                yield (first, taken, used | 1 << place_of, after), number


def _taken(first: int, taken: int, number: int) -> tuple[int, int]:
    """`first` and `taken` once this call has its place, too."""
    taken |= 1 << (number - first)
    while taken & 1:
        taken >>= 1
        first += 1
    return first, taken


class Timing:
    """Which calls there are on one key, and which of them overlap.

    Attributes:
        given: the calls that happened before all others.
        calls: first those that returned, by when they did; then those that never did and are no reads, by when they began.
        count: how many returned.
        is_read: for each that returned, whether it changes nothing.
        next_read: for each that returned, the first read from there on; `count` if there is none.
        kinds: for each call the number of its kind: calls that a model cannot tell apart have the same.
        twins: for each that never returned, which of them is the last earlier one of the same kind.
    """

    def __init__(self, model: Model, calls: Iterable[Call]) -> None:
        every = list(calls)
        self.given = [call for call in every if call.process == GIVEN]
        others = [call for call in every if call.process != GIVEN]
        returned = sorted((call for call in others if call.end is not None), key=lambda call: (call.end, call.begin))
        never = sorted((call for call in others if call.end is None and not model.is_read(call)), key=lambda call: call.begin)
        self.calls, self.count = returned + never, len(returned)
        self.is_read = [model.is_read(call) for call in returned]
        self.next_read = [self.count] * (self.count + 1)
        for number in reversed(range(self.count)):
            self.next_read[number] = number if self.is_read[number] else self.next_read[number + 1]
        self.kinds = _kinds(self.calls)
        last: dict[int, int] = {}
        self.twins: list[int | None] = []
        for place, kind in enumerate(self.kinds[self.count :]):
            self.twins.append(last.get(kind))
            last[kind] = place
        self._ends: list[int] = [call.end for call in returned if call.end is not None]
        self._never_begins = [call.begin for call in never]
        self._by_begin = sorted(range(self.count), key=lambda number: returned[number].begin)
        self._begun = 0
        self._overlaps: list[list[int]] = []

    def overlaps(self, first: int) -> list[int]:
        """The calls from `first` on that returned, and began before `first` returned (or as it did)."""
        while len(self._overlaps) <= first:
            place = len(self._overlaps)
            if place == self.count:
                return []
            found = [number for number in self._overlaps[-1] if number >= place] if place else []
            while self._begun < self.count and self.calls[self._by_begin[self._begun]].begin <= self._ends[place]:
                found.append(self._by_begin[self._begun])
                self._begun += 1
            self._overlaps.append(sorted(found))
        return self._overlaps[first]

    def begun(self, first: int) -> int:
        """How many of those that never returned began before `first` returned (or as it did)."""
        return bisect_right(self._never_begins, self._ends[first]) if first < self.count else 0

    def most_at_once(self) -> int:
        """How many calls that returned were under way at one time, at most."""
        return max((len(self.overlaps(first)) for first in range(self.count)), default=0)


def _kinds(calls: Iterable[Call]) -> list[int]:
    kinds: dict[Hashable, int] = {}
    found = []
    for place, call in enumerate(calls):
        kind: Hashable = (call.kind, call.key, frozen(call.argument), frozen(call.result))
        try:
            number = kinds.setdefault(kind, len(kinds))
        except TypeError:  # not hashable even when frozen: a kind of its own
            number = kinds.setdefault((place,), len(kinds))
        found.append(number)
    return found


class Moves:
    """A model, asked once for each state and kind of call. States are numbers here; `-1` is illegal."""

    def __init__(self, model: Model, when: Timing, initial: State, outlook: bool) -> None:
        self._model, self._when = model, when
        self._states: list[State] = []
        self._numbers: dict[State, int] = {}
        self._moves: dict[tuple[int, int], int] = {}
        self._looks: dict[tuple[int, int], tuple[Outlook | None, dict[int, int]]] = {}
        self._has_outlook = outlook and type(model).outlook is not Model.outlook
        state = initial
        for call in when.given:
            state = model.step(state, call)
            if state is ILLEGAL:
                raise InvalidArgumentError(f"what was given does not fit {model!r}: {call}")
        self.start = self._number(state)

    def move(self, state: int, number: int) -> int:
        """The state after a call."""
        kind = self._when.kinds[number]
        after = self._moves.get((state, kind))
        if after is None:
            after = self._number(self._model.step(self._states[state], self._when.calls[number]))
            self._moves[state, kind] = after
        return after

    def look(self, state: int, first: int, taken: int) -> int:
        """The state as the model's outlook sees it from this place: the same, one that is as good, or illegal."""
        if not self._has_outlook or state < 0:
            return state
        read = self._next_read(first, taken)
        if read is None:
            return state
        if (first, read) not in self._looks:
            calls = self._when.calls
            self._looks[first, read] = self._model.outlook(calls[read], calls[first:]), {}
        outlook, known = self._looks[first, read]
        if outlook is None:
            return state
        if state not in known:
            known[state] = self._number(outlook(self._states[state]))
        return known[state]

    def _next_read(self, first: int, taken: int) -> int | None:
        following = self._when.next_read
        number = following[first]
        while number < self._when.count and taken >> (number - first) & 1:
            number = following[number + 1]
        return number if number < self._when.count else None

    def _number(self, state: State) -> int:
        if state is ILLEGAL:
            return -1
        try:
            number = self._numbers.get(state)
        except TypeError:
            raise InvalidArgumentError(
                f"{self._model!r} gave a state that is not hashable: {state!r:.80}; return commonboard.check.model.frozen(state)"
            ) from None
        if number is None:
            number = self._numbers[state] = len(self._states)
            self._states.append(state)
        return number


@dataclass(slots=True)
class Decision:
    """What the search came to.

    Attributes:
        answer: `True` if the calls on each key can be put in order, `False` if those on one cannot, `None` if that is open.
        steps: how many steps it took, over all keys.
        refuted: the search of the key that was refuted.
        open: the searches that had no answer when the budget was spent.
        done: the searches that found an order.
    """

    answer: bool | None
    steps: int
    refuted: Search | None
    open: list[Search]
    done: list[Search]


def decide(model: Model, calls: Sequence[Call], budget: int) -> Decision:
    """Search key by key, each in its turn: a key that is refuted early does not wait for one that takes long.

    Args:
        model: what the object does.
        calls: what was called, in any order.
        budget: how many steps there are, for all keys together.
    """
    searches = [Search(model, key, part) for key, part in split(model, calls).items()]
    done: list[Search] = []
    steps, turn = 0, FIRST_TURN
    while searches:
        for search in list(searches):
            if steps >= budget:
                return Decision(None, steps, None, searches, done)
            before = search.steps
            answer = search.run(min(turn, budget - steps))
            steps += search.steps - before
            if answer is False:
                return Decision(False, steps, search, searches, done)
            if answer:
                searches.remove(search)
                done.append(search)
        turn *= 2
    return Decision(True, steps, None, searches, done)


def split(model: Model, calls: Iterable[Call]) -> dict[Hashable, list[Call]]:
    """The calls on each key, in the order of the list.

    Raises:
        InvalidArgumentError: a key is not hashable.
    """
    parts: dict[Hashable, list[Call]] = {}
    for call in calls:
        key = model.key_of(call)
        try:
            parts.setdefault(key, []).append(call)
        except TypeError:
            raise InvalidArgumentError(
                f"the {call.kind} by {call.who} is about the key {key!r:.80}, which is not hashable; "
                "return commonboard.check.model.frozen(key)"
            ) from None
    return parts
