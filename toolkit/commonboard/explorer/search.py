"""Searches over the graph of a program: all of it, the cheapest way to a failure, one schedule for each class of equals.

`exhaust` goes layer by layer and treats equal states as one, so that it settles programs with millions of interleavings, and
still counts them. `cheapest` finds the failure that is easiest to explain: the fewest faults and preemptions first, then the
fewest steps. `classes` completes one schedule for each class of interleavings that differ only in the order of operations
which commute: sleep sets, after Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems" (1996).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from commonboard.explorer.moves import Move, Moves, Options, State, Step, conflict
from commonboard.history import Operation

Tick = Callable[[int], None]
"""Told how many states, or schedules, have been done."""


@dataclass(kw_only=True)
class Judge:
    """What counts as a failure. The base sees what is one whatever the check: a deadlock, an agent that dies or never ends.

    A subclass adds `operation` for a check that judges each operation alone, `state` for one that judges each state, or `end`
    for one that judges the final state.

    Attributes:
        unknown: what could not be judged, if something could not.
        touched: the kinds of faults that touched something in some schedule.
    """

    unknown: str = ""
    touched: dict[str, None] = field(default_factory=dict)

    def operation(self, op: Operation) -> bool:
        """Whether this operation breaks the check."""
        return False

    def state(self, moves: Moves, state: State) -> bool:
        """Whether this state breaks the check."""
        return False

    def end(self, moves: Moves, state: State, path: Callable[[], list[tuple[State, Move]]]) -> str:
        """What the final state breaks; empty if nothing. `path()` gives a way there."""
        return ""

    def broken(self, moves: Moves, step: Step) -> bool:
        """Whether one step breaks the check."""
        written = any(op.made is not None for op in step.records)
        return any(map(self.operation, step.records)) or (written and self.state(moves, step.state))


def trouble(moves: Moves, state: State, options: Options) -> str:
    """What is wrong with a state whatever the check; empty if nothing."""
    for node in moves.nodes(state):
        if node.trouble is not None and not node.told:
            return "never ends" if "never ends" in node.trouble.what else "died" if node.done else "deadlock"
    if not options.over and not options.world and not any(options.agents):
        return "deadlock"
    if options.over and any(node.unseen is not None for node in moves.nodes(state)):
        return "died"
    return ""


def forced(moves: Moves, state: State, options: Options) -> list[Move]:
    """The moves to try: all, unless an agent only waits for its one timer, which commutes with all that the others do."""
    for node in moves.nodes(state):
        if node.is_local and not options.over:
            return options.agents[node.place]
    return options.offered(-1)


@dataclass(slots=True)
class Census:
    """What `exhaust` found.

    Attributes:
        states: how many states there are.
        complete: whether it saw all of them, or ran out of its budget.
        interleavings: how many orders there are in all; `None` where agents may turn in circles, or it is not complete.
        violating: how many of them fail.
        failure: what the first failure is; empty if there is none.
        path: a way to it.
        finals: how many different final states there are.
        told: in how many an agent ended because it was refused, and was told so.
        unresolved: in how many a key ends with several values side by side.
    """

    states: int = 0
    complete: bool = True
    interleavings: int | None = 0
    violating: int | None = 0
    failure: str = ""
    path: list[tuple[State, Move]] = field(default_factory=list)
    finals: int = 0
    told: int = 0
    unresolved: int = 0


def exhaust(moves: Moves, judge: Judge, budget: int, tick: Tick, counted: int | None = None) -> Census:
    """Every state there is, up to the budget, layer by layer; counts the interleavings that lead through them.

    Once a failure was found, what is left to do is to count; that ends after `counted` states in all.
    """
    census = Census()
    layer: dict[tuple[State, bool], int] = {(moves.start(), False): 1}
    parents: dict[tuple[State, bool], tuple[tuple[State, bool], Move] | None] = {(moves.start(), False): None}
    final: dict[State, str] = {}
    total = bad = 0
    while layer:
        following: dict[tuple[State, bool], int] = {}
        for here, ways in layer.items():
            state, broken = here
            if census.states >= (counted if counted is not None and census.failure else budget):
                census.complete, census.interleavings, census.violating = False, None, None
                return census
            census.states += 1
            if census.states % 500 == 0:
                tick(census.states)
            options = moves.options(state)
            wrong = trouble(moves, state, options)
            options_now = [] if wrong else forced(moves, state, options)
            if not options_now:
                if not wrong and not broken:
                    if state not in final:
                        final[state] = ends(moves, judge, state, lambda here=here: _walked(parents, here))  # type: ignore[misc]
                    wrong = final[state]
                if wrong and not census.failure:
                    census.failure, census.path = wrong, _walked(parents, here)
                total += ways
                census.told += ways if any(node.told for node in moves.nodes(state)) else 0
                census.unresolved += ways if moves.world(moves.finish(state).state).unresolved() else 0
                bad += ways if wrong or broken else 0
                continue
            for move in options_now:
                step = moves.step(state, move)
                fails = broken or judge.broken(moves, step)
                if fails and not census.failure:
                    census.failure, census.path = "check", [*_walked(parents, here), (state, move)]
                there = (step.state, fails)
                if there not in parents:
                    parents[there] = (here, move)
                elif moves.learner.spins and there not in following:
                    continue  # it was met in an earlier layer: a circle
                following[there] = following.get(there, 0) + ways
        layer = following
    census.finals = len(final)
    census.interleavings, census.violating = (None, None) if moves.learner.spins else (total, bad)
    return census


def ends(moves: Moves, judge: Judge, state: State, path: Callable[[], list[tuple[State, Move]]]) -> str:
    """What is wrong once all has come to its end; empty if nothing."""
    last = moves.finish(state)
    judge.touched.update(dict.fromkeys(fault.kind for fault in moves.world(last.state).book.faults if fault.touched))
    return "check" if judge.broken(moves, last) else judge.end(moves, last.state, path)


def _walked(
    parents: dict[tuple[State, bool], tuple[tuple[State, bool], Move] | None], here: tuple[State, bool]
) -> list[tuple[State, Move]]:
    found: list[tuple[State, Move]] = []
    step = parents[here]
    while step is not None:
        found.append((step[0][0], step[1]))
        step = parents[step[0]]
    return found[::-1]


@dataclass(slots=True)
class Found:
    """The cheapest failure.

    Attributes:
        failure: what fails.
        cost: how many preemptions and faults it takes.
        path: the moves, each with the state before it.
    """

    failure: str
    cost: int
    path: list[tuple[State, Move]]


@dataclass(slots=True)
class Cheapest:
    """What `cheapest` found: the failure, if any, and how far it looked.

    Attributes:
        found: the failure that is easiest to explain.
        done: every schedule with at most so many preemptions and faults was looked at; -1: not even those without any.
        everything: whether there is nothing beyond.
        states: how many states it visited, each once for every agent that may have acted last.
    """

    found: Found | None
    done: int
    everything: bool
    states: int


def cheapest(moves: Moves, judge: Judge, bound: int | None, budget: int, tick: Tick) -> Cheapest:
    """The failure with the fewest preemptions and faults, and of those the one with the fewest steps."""
    start = (moves.start(), -1)
    best: dict[tuple[State, int], tuple[int, int]] = {start: (0, 0)}
    parents: dict[tuple[State, int], tuple[tuple[State, int], Move]] = {}
    heap: list[tuple[int, int, int, tuple[State, int], str]] = [(0, 0, 0, start, "")]
    count = visited = 0
    beyond = False
    while heap:
        cost, length, _, here, failure = heapq.heappop(heap)
        if failure:
            return Cheapest(Found(failure, cost, _way(parents, here)), cost - 1, False, visited)
        if best[here] < (cost, length):
            continue
        if visited >= budget:
            return Cheapest(None, cost - 1, False, visited)
        visited += 1
        if visited % 500 == 0:
            tick(visited)
        state, last = here
        options = moves.options(state)
        wrong = trouble(moves, state, options)
        possible = [] if wrong else forced(moves, state, options)
        if not possible:
            wrong = wrong or ends(moves, judge, state, lambda here=here: _way(parents, here))  # type: ignore[misc]
            if wrong:
                count += 1
                heapq.heappush(heap, (cost, length, count, here, wrong))
            continue
        for move in possible:
            more = cost + price(moves, state, last, move, options)
            if bound is not None and more > bound:
                beyond = True
                continue
            step = moves.step(state, move)
            acts = move.place >= 0 and move.slot < len(moves.node(state, move.place).asks)
            there = (step.state, move.place if acts else last)
            fails = judge.broken(moves, step)
            known = best.get(there)
            if fails or known is None or (more, length + 1) < known:
                count += 1
                if fails:
                    there = (step.state, -2 - count)  # a place of its own, so that nothing leads on from it
                best[there] = (more, length + 1)
                parents[there] = (here, move)
                heapq.heappush(heap, (more, length + 1, count, there, "check" if fails else ""))
    return Cheapest(None, bound if bound is not None else 10**9, not beyond, visited)


def price(moves: Moves, state: State, last: int, move: Move, options: Options) -> int:
    """1 for a fault, and for a preemption: another agent acts though the last one could have gone on."""
    if moves.is_fault(state, move):
        return 1
    if move.place < 0:
        return 0
    if last < 0 or move.place == last or move.slot >= len(moves.node(state, move.place).asks):
        return 0
    node = moves.node(state, last)
    return int(not node.paused and bool(node.asks) and any(m.slot < len(node.asks) for m in options.agents[last]))


def _way(parents: dict[tuple[State, int], tuple[tuple[State, int], Move]], here: tuple[State, int]) -> list[tuple[State, Move]]:
    found: list[tuple[State, Move]] = []
    while here in parents:
        here, move = parents[here]
        found.append((here[0], move))
    return found[::-1]


def numbers(moves: Moves, path: list[tuple[State, Move]]) -> list[int]:
    """The choices of a simulation that takes this path; where there is only one thing to do there is no choice.

    The path is walked on a world of its own: equal worlds may hold the same messages in another order of sending, which
    is the order in which a simulation offers them.
    """
    found, last, world = [], -1, moves.worlds[moves.start()[0]].copy()
    for state, move in path:
        offered = moves.options(state).offered(last, moves.offers(state, world))
        if len(offered) > 1:
            found.append(offered.index(move))
        moves.retrace(world, state, move)
        if move.place >= 0 and move.slot < len(moves.node(state, move.place).asks):
            last = move.place
    return found


@dataclass(slots=True)
class Schedule:
    """A complete schedule: its moves, each with the state before it, the operations, and the final state."""

    path: list[tuple[State, Move]]
    records: list[Operation]
    state: State
    failure: str


def classes(moves: Moves, sleeping: bool = True) -> Iterator[Schedule | None]:
    """One complete schedule for each class of equal interleavings (every interleaving, with `sleeping=False`).

    `None` stands for a schedule that was begun and cut, since all that was left to do had been tried elsewhere.
    """
    path: list[tuple[State, Move]] = []
    records: list[Operation] = []
    stack: list[tuple[State, list[Move], dict[Move, None], int]] = []
    on_path: dict[State, int] = {}
    state = moves.start()

    @lru_cache(maxsize=50_000)  # many schedules pass through one state
    def ahead(state: State) -> tuple[str, list[Move]]:
        options = moves.options(state)
        wrong = trouble(moves, state, options)
        return wrong, [] if wrong else forced(moves, state, options)

    def enter(state: State, asleep: dict[Move, None]) -> Schedule | bool | None:
        wrong, possible = ahead(state)
        awake = [move for move in possible if move not in asleep]
        if not possible:
            return Schedule(list(path), list(records), state, wrong)
        if not awake or state in on_path:
            return None  # it was tried in another order; or the agents go round in a circle
        on_path[state] = len(stack)
        stack.append((state, awake[::-1], asleep, len(records)))
        return True

    entered = enter(state, {})
    if not isinstance(entered, bool):
        yield entered
    while stack:
        state, todo, asleep, length = stack[-1]
        del path[len(stack) - 1 :], records[length:]
        if not todo:
            del on_path[stack.pop()[0]]
            continue
        move = todo.pop()
        step = moves.step(state, move)
        still = {other: None for other in asleep if independent(moves, state, move, other)} if sleeping else {}
        if sleeping:
            asleep[move] = None
        path.append((state, move))
        records += step.records
        entered = enter(step.state, still)
        if not isinstance(entered, bool):
            yield entered
            path.pop()


def independent(moves: Moves, state: State, one: Move, other: Move) -> bool:
    """Whether two moves commute here: neither changes what the other does, or whether it can happen."""
    if one.place == other.place and one.place >= 0:
        return False
    here, there = moves.touches(state, one), moves.touches(state, other)
    if -2 in (here[0], there[0]):
        return True
    if -1 in (here[0], there[0]):
        return False
    if here[1] is not None and there[1] is not None and here[1].writes and there[1].writes:
        world = moves.world(state)
        if world.has_clocks or (len(world.sites) > 1 and here[0] == there[0]):
            return False  # writes at one replica are numbered one after the other; and clocks count all writes
    if here[0] != there[0]:
        return True
    if here[1] is None or there[1] is None:
        return False
    learner = moves.learner
    return not conflict(here[1], there[1], {"": None} if learner.positions else learner.listed)


def livelock(moves: Moves) -> list[tuple[State, Move]] | None:
    """The shortest way to a state from which no end can be reached any more; `None` if there is no such state.

    Only for programs whose states are finitely many, as `exhaust` has shown.
    """
    start = moves.start()
    parents: dict[State, tuple[State, Move]] = {}
    before: dict[State, list[State]] = {start: []}
    queue, ends = [start], list[State]()
    for state in queue:
        options = moves.options(state)
        possible = forced(moves, state, options)
        if not possible:
            ends.append(state)
        for move in possible:
            there = moves.step(state, move).state
            if there not in before:
                before[there] = []
                parents[there] = (state, move)
                queue.append(there)
            before[there].append(state)
    reach = dict.fromkeys(ends)
    for state in ends:
        for earlier in before[state]:
            if earlier not in reach:
                reach[earlier] = None
                ends.append(earlier)
    lost = next((state for state in queue if state not in reach), None)
    if lost is None:
        return None
    found: list[tuple[State, Move]] = []
    while lost in parents:
        lost, move = parents[lost]
        found.append((lost, move))
    return found[::-1]
