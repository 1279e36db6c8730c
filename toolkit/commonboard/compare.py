"""`compare`: the same scenario under several policies, many times, as one table.

A run depends on its scenario, its policy, its seed and its world alone; so it does not matter where it is made, and any
`concurrent.futures.Executor` may make it: threads, processes, loky, or a cluster's.
"""

from __future__ import annotations

import copy
import math
import os
import pickle
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, NamedTuple

from commonboard.check.comparison import Comparison, Number, Row, Seed, world_label
from commonboard.check.fates import FATES, fates, told
from commonboard.errors import CommonboardError, InvalidArgumentError
from commonboard.policies import ConflictPolicy, LastWriterWins, Merge, Optimistic, as_policy
from commonboard.sim import Run, Scenario, World, simulate
from commonboard.sim.trouble import died

_CHUNK: Final = 50
"""Runs that go to an executor together: tens of milliseconds of work, beside which sending them is cheap."""
_PATIENCE: Final = 2.0
"""Seconds after which a bar tells how far it has come."""
_KNOBS: Final = {"agents": "agents", "keys": "keys", "think": "seconds"}
"""The arguments that turn a knob, and what scenarios call it."""


class ComparisonError(CommonboardError, RuntimeError):
    """A run failed for a reason of its own, so its row cannot be trusted; or the runs could not be sent to the executor."""


class PolicyIgnoredWarning(UserWarning):
    """An agent gives `update` a policy of its own, which is used in every row: the rows differ less than their names say."""


class Tally(NamedTuple):
    """What one run came to: the number of each of `FATES`, what it cost, who set a policy of its own, and why it failed."""

    fates: tuple[int, ...] = ()
    retries: int = 0
    seconds: float = 0.0
    tokens: int = 0
    own_policies: tuple[tuple[str, str], ...] = ()
    failure: str = ""

    @property
    def lost(self) -> bool:
        """Whether anything is gone without its agent having been told."""
        count = dict(zip(FATES, self.fates, strict=True))
        return count["overwritten"] + count["discarded"] + count["unknown"] > 0


@dataclass(frozen=True, slots=True)
class Task:
    """Some runs of one row: plain data, for a process elsewhere."""

    scenario: Scenario
    label: str
    policy: ConflictPolicy
    world: World
    seeds: tuple[Seed, ...]


def compare(
    scenario: Scenario,
    policies: Any = None,
    *,
    seeds: int | Iterable[Seed] = 200,
    agents: int | Iterable[int] | None = None,
    keys: int | Iterable[int] | None = None,
    think: Number | Iterable[Number] | None = None,
    executor: Any = None,
    world: World | Iterable[World] | None = None,
) -> Comparison:
    """Run a scenario under several policies, with the same seeds, and count what became of all that the agents meant to do.

    Each run gets a fresh copy of its policy. The same arguments give the same table, on any executor.

    Args:
        scenario: a `Scenario`, which names its `intents`.
        policies: a list of policies, or a dict of label to policy. Unless given: `LastWriterWins()`, `Optimistic()`, and
            `Merge` with the scenario's own CRDT if it has one.
        seeds: how many runs a row, or the seeds themselves.
        agents, keys, think: numbers for the scenario: how many agents, how many keys they share, and the virtual seconds that
            a change thinks. A list makes a row for each number: only one of the three may be a list.
        executor: makes the runs, as any `concurrent.futures.Executor` does, with other processes if it has them; they are
            made one after another if none is given. It is left running.
        world: a `World`, or a list of them, such as `[World(), World(replicas=2)]`: one store beside two replicas.

    Raises:
        InvalidArgumentError: an argument is not as above, or the scenario has no such number.
        ComparisonError: a run failed (an agent raised something else than that its write was refused, or all waited for each
            other), or could not be sent. It names scenario, policy, seed and replay token.
        PolicyError: one of the policies is none.

    >>> from commonboard import scenarios
    >>> table = compare(scenarios.counter(increments=2), seeds=50, think=30)
    >>> [(row.policy, row.intended, row.kept, row.overwritten, row.retries) for row in table]
    [('LastWriterWins', 200, 100, 100, 0), ('Optimistic', 200, 200, 0, 114), ('Merge(PNCounter)', 200, 200, 0, 119)]
    """
    if not isinstance(scenario, Scenario):
        raise InvalidArgumentError(
            f"compare takes a cb.Scenario, which says what its agents mean to get done, not a {type(scenario).__name__}"
        )
    base, knob, variants = _variants(scenario, {"agents": agents, "keys": keys, "think": think})
    labelled, worlds, chosen = _policies(policies, scenario), _worlds(world), _seeds(seeds)
    places = [(place, label, at) for place in worlds for label in labelled for at in variants]
    tasks = [
        Task(variants[at], label, labelled[label], worlds[place], chosen[first : first + _CHUNK])
        for place, label, at in places
        for first in range(0, len(chosen), _CHUNK)
    ]
    tallies = list(_all(tasks, executor, len(places) * len(chosen)))
    _warn(tallies)
    rows = []
    for number, (place, label, at) in enumerate(places):
        rows.append(_row(label, place, at, chosen, tallies[number * len(chosen) : (number + 1) * len(chosen)]))
    return Comparison(rows, scenario=base, policies=labelled, worlds=worlds, seeds=chosen, knob=knob, variants=variants)


def work(task: Task) -> list[Tally]:
    """Make the runs of a task. It raises nothing that a run raised: a failure is part of a tally."""
    return [_tally(task, seed) for seed in task.seeds]


_ONE_AT_A_TIME = threading.RLock()
"""A simulation replaces things that its whole process shares (the collector, `asyncio.as_completed`): threads take turns."""


def _tally(task: Task, seed: Seed) -> Tally:
    whose, token = "the simulation", ""
    try:
        with _ONE_AT_A_TIME:
            run = simulate(task.scenario, policy=copy.deepcopy(task.policy), seed=seed, world=task.world)
        whose, token = "the scenario's kept or by", f"; replay={run.token!r}"
        failure = _failure(run)
        names = [] if failure else [fate.name for fate in fates(run)]
    except Exception as error:  # whatever a policy or an oracle may raise: it is told by whoever asked for the run
        failure = str(died(whose, error))
    if failure:
        where = f"{task.scenario.name!r} under {task.label!r}, {world_label(task.world)}, seed {seed!r}"
        return Tally(failure=f"{where}: {failure}{token}")
    own = dict.fromkeys((call.agent, call.key) for call in run.calls if call.own_policy)
    return Tally(tuple(map(names.count, FATES)), run.retries, run.seconds, run.tokens, tuple(own))


def _failure(run: Run) -> str:
    """Why a run cannot be counted; empty if every agent came to its end, or was told that a write of its was refused."""
    refused = told(run)
    if run.outcome in ("finished", "failed") and len(run.troubles) == len(refused):
        return ""
    others = [trouble for trouble in run.troubles if trouble.agent not in refused]
    return f"{run.outcome}: {'; '.join(map(str, others or run.troubles))}"


def _row(label: str, world: str, at: Number | None, seeds: tuple[Seed, ...], tallies: list[Tally]) -> Row:
    counts = dict(zip(FATES, map(sum, zip(*(tally.fates for tally in tallies), strict=True)), strict=True))
    return Row(
        policy=label,
        world=world,
        at=at,
        runs=len(seeds),
        intended=sum(counts.values()),
        **counts,
        retries=sum(tally.retries for tally in tallies),
        virtual_s=round(math.fsum(tally.seconds for tally in tallies), 9),
        tokens=sum(tally.tokens for tally in tallies),
        losses=tuple(seed for seed, tally in zip(seeds, tallies, strict=True) if tally.lost),
    )


# --- where the runs are made ---


def _all(tasks: list[Task], executor: Any, total: int) -> Iterator[Tally]:
    """The tallies of all tasks, in order, wherever they are made.

    Raises:
        ComparisonError: for the first run, in order, that failed.
    """
    made = (work(task) for task in tasks) if executor is None else _sent(tasks, executor)
    with closing(_Bar(total)) as bar, closing(made):
        for tallies in made:
            for tally in tallies:
                if tally.failure:
                    raise ComparisonError(f"a run failed, so there is no table. {tally.failure}")
                yield tally
            bar.move(len(tallies))


def _sent(tasks: list[Task], executor: Any) -> Generator[list[Tally], None, None]:
    if not callable(getattr(executor, "submit", None)) or isinstance(executor, type):
        raise InvalidArgumentError(
            f"executor= takes a concurrent.futures.Executor, or what works like one, not {executor!r:.80}; "
            "it needs submit(function, argument), which gives a future"
        )
    futures: list[Any] = []
    try:
        for task in tasks:
            try:
                futures.append(executor.submit(work, task))
            except Exception as error:
                raise _not_sent(task, executor, error) from error
        for task, future in zip(tasks, futures, strict=True):
            try:
                yield future.result()
            except Exception as error:  # `work` raises none of its own
                raise _not_sent(task, executor, error) from error
    finally:
        for future in futures:
            future.cancel()


def _not_sent(task: Task, executor: Any, error: Exception) -> ComparisonError:
    """What to do about a task that did not reach another process, or did not come back."""
    kind, said = type(executor).__name__, f"{type(error).__name__}: {error}"
    # loky, dask and their like send functions by value with cloudpickle, which they have loaded.
    by_value = None if isinstance(executor, ProcessPoolExecutor) else sys.modules.get("cloudpickle")
    parts = {f"the scenario {task.scenario.name!r}": task.scenario, f"the policy {task.label!r}": task.policy}
    for name, part in {} if isinstance(executor, ThreadPoolExecutor) else parts.items():
        try:
            data = (by_value or pickle).dumps(part)
        except Exception as why:
            return ComparisonError(
                f"{name} cannot be sent to the processes of {kind}: {type(why).__name__}: {why}. Define its functions and "
                "classes at the top of a module that can be imported; or use an executor that sends functions by value, such "
                "as loky's; or threads, or none"
            )
        if b"__main__" in data and not by_value:
            return ComparisonError(
                f"{name} is defined in a notebook or a script, where the processes of {kind} do not find it ({said}). "
                "Move it into a module of its own; or use an executor that sends functions by value, such as loky's; or none"
            )
    return ComparisonError(f"{kind} could not make the runs of {task.scenario.name!r} under {task.label!r}: {said}")


class _Bar:
    """A progress bar that comes after two seconds, and never in a test, under nbval or on CI."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._bar: Any = None
        quiet = any(os.environ.get(name) for name in ("CI", "PYTEST_CURRENT_TEST"))
        self._from = math.inf if quiet else time.monotonic() + _PATIENCE

    def move(self, runs: int) -> None:
        """So many more are done."""
        self._done += runs
        if self._bar is not None:
            self._bar.update(runs)
        elif time.monotonic() > self._from and self._done < self._total:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._total, initial=self._done, desc="compare", unit="run", leave=False)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


# --- what was asked for ---


def _variants(scenario: Scenario, turned: dict[str, Any]) -> tuple[Scenario, str, dict[Number | None, Scenario]]:
    """The scenario with what is fixed, the knob that is swept, and the scenario for each of its numbers."""
    if not scenario.intents:
        raise InvalidArgumentError(f"{scenario!r} names no intents, so there is nothing to count; give it intents= and kept=")
    asked = {name: value for name, value in turned.items() if value is not None}
    for name in asked:
        if _KNOBS[name] not in scenario.numbers:
            has = ", ".join(f"{theirs} ({ours}=)" for ours, theirs in _KNOBS.items() if theirs in scenario.numbers)
            raise InvalidArgumentError(
                f"{name}= turns {_KNOBS[name]!r}, which {scenario!r} does not have; it has {has or 'none that compare can turn'}"
            )
    swept = [name for name, value in asked.items() if not isinstance(value, Real)]
    if len(swept) > 1:
        raise InvalidArgumentError(f"{' and '.join(f'{name}=' for name in swept)} are lists; one knob at a time can be swept")
    fixed = {_KNOBS[name]: _number(name, value) for name, value in asked.items() if name not in swept}
    base = scenario(**fixed) if fixed else scenario
    if not swept:
        return base, "", {None: base}
    (knob,) = swept
    numbers = _once(knob, [_number(knob, value) for value in _listed(knob, asked[knob])])
    return base, knob, {number: base(**{_KNOBS[knob]: number}) for number in numbers}


def _number(name: str, value: Any) -> Number:
    kind, least = (Real, 0) if name == "think" else (Integral, 1)
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= float(value) < math.inf:
        what = "a number of virtual seconds, 0 or more" if name == "think" else "a whole number of at least 1"
        raise InvalidArgumentError(f"{name}= takes {what}, or a list of them, not {value!r}")
    return int(value) if isinstance(value, Integral) else float(value)


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidArgumentError(f"{name}= takes a list, not {values!r:.80}")
    return list(values)


def _once(name: str, items: list[Any]) -> list[Any]:
    """The items, of which there is at least one, and none twice: each makes rows or runs of its own."""
    if not items:
        raise InvalidArgumentError(f"{name}= is empty; give at least one")
    twice = next((item for item, count in Counter(items).items() if count > 1), None)
    if twice is not None:
        raise InvalidArgumentError(f"{name}= has {twice!r} twice; give each once")
    return items


def _seeds(seeds: Any) -> tuple[Seed, ...]:
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if seeds < 1:
            raise InvalidArgumentError(f"seeds= takes at least 1 run, not {seeds}")
        return tuple(range(seeds))
    listed = _listed("seeds", seeds)
    for seed in listed:
        if isinstance(seed, bool) or not isinstance(seed, (int, str)):
            raise InvalidArgumentError(f"a seed is a whole number or text, not {seed!r}")
    return tuple(_once("seeds", listed))


def _worlds(world: Any) -> dict[str, World]:
    every = [World()] if world is None else [world] if isinstance(world, World) else _listed("world", world)
    for one in every:
        if not isinstance(one, World):
            raise InvalidArgumentError(f"world= takes a cb.World, or a list of them, not {one!r:.80}")
    return dict(zip(_once("world", [world_label(one) for one in every]), every, strict=True))


def _policies(policies: Any, scenario: Scenario) -> dict[str, ConflictPolicy]:
    """The policies by label."""
    if policies is None:
        policies = [LastWriterWins(), Optimistic(), *([Merge(scenario.crdt)] if scenario.crdt is not None else [])]
    if isinstance(policies, Mapping):
        labelled = {str(label): as_policy(policy) for label, policy in policies.items()}
    else:
        every = [as_policy(policy) for policy in ([policies] if _is_one(policies) else _listed("policies", policies))]
        labelled = {policy.name: policy for policy in every}
        names = [policy.name for policy in every]
        twice = [name for name in labelled if names.count(name) > 1]
        if twice:
            raise InvalidArgumentError(
                f"two policies are called {twice[0]!r}; give a dict of label to policy, such as "
                f"{{'patient': {twice[0]}(…), 'hasty': {twice[0]}(…)}}"
            )
    if not labelled:
        raise InvalidArgumentError("policies= is empty; give at least one")
    for label, policy in labelled.items():
        try:
            copy.deepcopy(policy)
        except Exception as error:
            raise InvalidArgumentError(
                f"the policy {label!r} cannot be copied, and each run needs a fresh one: {type(error).__name__}: {error}"
            ) from error
    return labelled


def _is_one(policies: Any) -> bool:
    return isinstance(policies, ConflictPolicy) or callable(policies)


def _warn(tallies: list[Tally]) -> None:
    own = dict.fromkeys(pair for tally in tallies for pair in tally.own_policies)
    if own:
        who = ", ".join(f"{agent!r} at {key!r}" for agent, key in own)
        warnings.warn(
            f"these agents give update a policy= of their own, which is used in every row: {who}; leave it out to compare",
            PolicyIgnoredWarning,
            stacklevel=3,
        )
