"""Schedules beyond what a search tries: agents in lockstep; and pairs of operations run in both orders, to test the search."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random
from typing import Any

from commonboard.errors import InvalidArgumentError
from commonboard.explorer.moves import Move, Moves, State
from commonboard.explorer.program import Program
from commonboard.explorer.search import independent, numbers
from commonboard.explorer.trust import Shared
from commonboard.history import History
from commonboard.sim import Run


class Lockstep:
    """Choices in which agents take turns, one operation each: where they get in each other's way most.

    Args:
        first: the choices to begin with.
        things: what agents share beside the board, to be looked at before each step.

    Attributes:
        changed: the names of those that were something else at some step.
    """

    def __init__(self, first: Sequence[int] = (), things: Sequence[Shared] = ()) -> None:
        self._first = list(first)
        self._things = list(things)
        self.changed: list[str] = []
        self._acted: dict[str, int] = {}
        self._moment = 0
        self._offered: Sequence[Any] = ()

    def sees(self, alternatives: Sequence[Any]) -> None:
        """Look at what there is to choose from."""
        self._offered = alternatives
        for thing in [thing for thing in self._things if thing.is_readable and thing.changed]:
            self._things.remove(thing)
            self.changed.append(thing.name)
        if len(alternatives) == 1:
            self._note(alternatives[0])

    def __call__(self, alternatives: int) -> int:
        if self._first:
            return self._first.pop(0)
        usual = [n for n, each in enumerate(self._offered) if not getattr(each, "is_fault", False)] or [0]
        chosen = min(usual, key=lambda n: self._acted.get(getattr(self._offered[n], "agent", ""), 0))
        self._note(self._offered[chosen])
        return chosen

    def _note(self, happens: Any) -> None:
        self._moment += 1
        self._acted[getattr(happens, "agent", "")] = self._moment

    def check(self, choices: Any) -> None:
        """Nothing can be wrong with it."""


def sampled(program: Program, number: int) -> list[Run]:
    """Some runs that differ in more than the order of what commutes: agents in turns, one after the other, then at random."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidArgumentError(f"sample takes how many runs to show, at least 1, not {number!r:.60}")
    found: dict[Hashable, Run] = {}
    for tried in range(20 * number + 2):
        if len(found) >= number:
            break
        replay = {0: Lockstep(), 1: []}.get(tried)
        run = program.simulate(replay=replay, seed=None if replay is not None else f"sample {tried}")
        found.setdefault(_outcome(run), run)
    return list(found.values())


def check_pairs(program: Program, moves: Moves, most: int = 12) -> tuple[int, bool]:
    """Run pairs of operations that count as independent in both orders, for real: how many, and whether all came out the same.

    Each run is compared with what the search foresaw, too.
    """
    tried = 0
    for number in range(most):
        walk = _walk(moves, Random(f"pairs {number}"))
        first = program.simulate(replay=numbers(moves, walk))
        if _foreseen(moves, walk) != _seen(first.history):
            return tried, False
        swapped = _swapped(moves, walk, Random(f"swap {number}"))
        if swapped is None:
            continue
        tried += 1
        second = program.simulate(replay=numbers(moves, swapped))
        if _outcome(first) != _outcome(second):
            return tried, False
    return tried, True


def _walk(moves: Moves, random: Random) -> list[tuple[State, Move]]:
    path, state = list[tuple[State, Move]](), moves.start()
    while possible := moves.options(state).offered(-1):
        if len(path) > 500:
            break
        move = possible[int(random.random() * len(possible))]
        path.append((state, move))
        state = moves.step(state, move).state
    return path


def _swapped(moves: Moves, path: list[tuple[State, Move]], random: Random) -> list[tuple[State, Move]] | None:
    """The path with two neighbours exchanged that count as independent; `None` if it has no such pair."""
    pairs = []
    for place in range(len(path) - 1):
        state, move = path[place]
        following = path[place + 1][1]
        if following in moves.options(state).offered(-1) and independent(moves, state, move, following):
            pairs.append(place)
    if not pairs:
        return None
    place = pairs[int(random.random() * len(pairs))]
    order = [move for _, move in path]
    order[place], order[place + 1] = order[place + 1], order[place]
    state, found = moves.start(), []
    for move in order:
        found.append((state, move))
        state = moves.step(state, move).state
    return found


Marks = dict[str, list[Hashable]]
"""What each agent did, with what came of it."""


def _foreseen(moves: Moves, path: list[tuple[State, Move]]) -> Marks:
    state, operations = moves.start(), list[Any]()
    for _, move in path:
        state, records = moves.step(state, move)
        operations += records
    return _marks(operations)


def _seen(history: History) -> Marks:
    return _marks(list(history))


def _marks(operations: Sequence[Any]) -> Marks:
    found: Marks = {}
    for op in operations:
        if op.kind in ("read", "list", "write", "compare-and-set", "append", "delete") and op.agent != "given":
            found.setdefault(op.agent, []).append((op.kind, op.key, op.text, op.saw, op.made, op.ok))
    return found


def _outcome(run: Run) -> Hashable:
    return repr((run.outcome, sorted(run.state.items(), key=lambda item: item[0]), sorted(_seen(run.history).items())))
