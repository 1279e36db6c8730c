"""Fates: what became of each thing that the agents of a scenario meant to get done.

Whether an intent is in the final state, the scenario's oracle says. What happened to one that is not, is found by the
version that each writer had seen. The change that the intent needed (`Scenario.by` says whose) was refused, was let go by
the policy, or was written; and a written one lives on in every version whose writer had seen it, or had seen one that it
lives on in. If the final version is not among those, somebody wrote over it unseen; if it is, somebody who had seen it
left it out.

So each intent has exactly one fate:

- `kept`: it is in the final state;
- `overwritten`: its change was written, and somebody who had not seen it wrote over it;
- `discarded`: the policy, or an agent, had seen it and left it out;
- `rejected`: it was refused, and its agent was told, by a `ConflictError` or a `NotAdmittedError`;
- `unresolved`: it is in a value that stands beside the one that is shown, and nobody has settled the two yet;
- `unknown`: the run and the scenario do not tell. Nothing is guessed.

The built-in scenarios have no unknown fates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from commonboard.errors import ConflictError, InvalidArgumentError, NotAdmittedError, SubjectError, kind_of
from commonboard.handle import SHARED
from commonboard.history import GIVEN, Operation
from commonboard.sim import Run, Scenario
from commonboard.sim.memory import UpdateCall
from commonboard.sim.scenario import Whose
from commonboard.values import decode, plain

FateName = Literal["kept", "overwritten", "discarded", "rejected", "unresolved", "unknown"]
FATES: Final[tuple[FateName, ...]] = ("kept", "overwritten", "discarded", "rejected", "unresolved", "unknown")


class Fate(NamedTuple):
    """What became of one intent: its name is one of `FATES`."""

    intent: Any
    name: FateName


def fates(run: Run) -> list[Fate]:
    """The fate of each intent of the scenario that ran, in the order of its intents.

    Raises:
        SubjectError: this is no run.
        InvalidArgumentError: no scenario ran, or its `by` names somebody who does not take part.

    >>> from commonboard import scenarios, simulate, LastWriterWins
    >>> [fate.name for fate in fates(simulate(scenarios.research_crew, policy=LastWriterWins(), seed=2))]
    ['kept', 'kept']
    """
    if not hasattr(run, "scenario"):  # a `LiveRun` has one too
        raise SubjectError(f"fates takes the run of a scenario, as cb.simulate or cb.run_live gives it, not {kind_of(run)}")
    scenario = run.scenario
    if scenario is None:
        raise InvalidArgumentError("only a scenario says what its agents meant to get done; simulate a cb.Scenario")
    state = run.state
    names: list[FateName] = ["kept" if scenario.kept(state, intent) else "unknown" for intent in scenario.intents]
    if "unknown" in names and scenario.by is not None:
        judge = _Judge(run, scenario, state)
        alike: dict[str, list[int]] = {}
        for place, intent in enumerate(scenario.intents):
            whose = scenario.by(intent)
            if isinstance(whose, str) and "/" in whose:
                alike.setdefault(whose, []).append(place)
            elif names[place] != "kept" and whose is not None:
                names[place] = judge.one(intent, whose)
        for key, places in alike.items():
            lost = [place for place in places if names[place] != "kept"]
            found = judge.several(key, [scenario.intents[place] for place in places], len(lost)) if lost else []
            for place, name in zip(lost, found, strict=True):
                names[place] = name
    return [Fate(intent, name) for intent, name in zip(scenario.intents, names, strict=True)]


def told(run: Run) -> list[str]:
    """The agents that ended by an error which tells them that a write of theirs was refused, and by nothing else."""
    return [name for name, error in run.errors.items() if _is_refusal(error)]


def _is_refusal(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_refusal(each) for each in error.exceptions)
    return isinstance(error, (ConflictError, NotAdmittedError))


@dataclass(slots=True)
class _Sibling:
    """A value that stands beside the one that is shown: the changes that live on in it, and the state as it would be."""

    living: set[int]
    state: dict[str, Any]


@dataclass(slots=True)
class _Key:
    """Where the changes of one key live on, by the index of their operations."""

    shown: set[int]
    hidden: list[_Sibling]
    arrived: frozenset[str] | None
    """The dots of all that has reached the first replica; `None` where there is one store."""


class _Judge:
    """Finds the fate of what is not in the final state of one run."""

    def __init__(self, run: Run, scenario: Scenario, state: dict[str, Any]) -> None:
        self._run = run
        self._kept = scenario.kept
        self._state = state
        self._given: dict[str, Operation] = {}
        self._made: dict[tuple[str | None, str, int], Operation] = {}
        self._by_dot: dict[str, Operation] = {}
        self._newest: dict[str, Operation] = {}
        for op in run.history:
            if op.made is None or not op.ok:
                continue
            if op.kind != "merge" and op.dot is not None:
                self._by_dot[op.dot] = op
            # Every replica is given the same, so it is one change.
            self._made[op.replica, op.key, op.made] = self._given.setdefault(op.key, op) if op.agent == GIVEN else op
            self._newest[op.key] = op
        self._keys: dict[str, _Key] = {}
        self._changes = _changes(run)
        refused = [call.agent for call in run.calls if call.outcome == "refused"]
        self._told = set(told(run)).union(refused)

    def one(self, intent: Any, whose: Whose) -> FateName:
        """The fate of an intent that one change gets done: an agent's only one, or its n-th."""
        agent, number = self._named(intent, whose)
        mine = [change for change in self._changes if change.agent == agent]
        if number is None and len(mine) > 1:
            return "unknown"
        if (number or 1) > len(mine):
            return "rejected" if agent in self._told else "unknown"
        change = mine[(number or 1) - 1]
        name = self._of(change)
        if name == "unresolved":  # unless it is gone from there too
            there = [hidden for hidden in self._key(change.key).hidden if _index(change) in hidden.living]
            return "unresolved" if any(self._kept(hidden.state, intent) for hidden in there) else "discarded"
        return name or "discarded"

    def _named(self, intent: Any, whose: Whose) -> tuple[str, int | None]:
        agent, number = (whose, None) if isinstance(whose, str) else whose
        if agent not in self._run.agents and agent != GIVEN:
            raise InvalidArgumentError(
                f"by({intent!r}) gives {whose!r}, but no agent is called {agent!r}; it may give "
                f"{', '.join(map(repr, self._run.agents))}, {GIVEN!r}, or a full key such as 'shared/count'"
            )
        if number is not None and number < 1:
            raise InvalidArgumentError(f"by({intent!r}) gives {whose!r}, but an agent's changes are counted from 1")
        return agent, number

    def several(self, key: str, intents: Sequence[Any], lost: int) -> list[FateName]:
        """The fates of those that are lost among intents for which every change of one key is as good as another."""
        changes = [change for change in self._changes if change.key == key and change.agent != GIVEN]
        never_made = len(intents) - len(changes)
        found = [name for change in changes if (name := self._of(change)) is not None]
        if "unresolved" in found and not self._all_there(key, intents, changes):
            found = ["unknown" if name == "unresolved" else name for name in found]
        # An agent that comes to its end has made all its changes; so those that are missing are of agents that were told.
        found += ["rejected" if self._told else "unknown"] * never_made
        if len(found) <= lost and never_made >= 0:
            return found + ["discarded"] * (lost - len(found))
        return [found[0] if len(set(found)) == 1 else "unknown"] * lost

    def _all_there(self, key: str, intents: Sequence[Any], changes: list[UpdateCall]) -> bool:
        """Whether the values that are not shown hold as much as the changes that live on in them come to."""
        return all(
            sum(self._kept(hidden.state, intent) for intent in intents)
            >= sum(_index(change) in hidden.living for change in changes)
            for hidden in self._key(key).hidden
        )

    def _of(self, change: UpdateCall) -> FateName | None:
        """The fate of a change, or `None` where it lives on in what is shown."""
        if change.operation is None:
            # An agent that is told of a refusal may stop what else it is at.
            given_up = change.outcome == "cancelled" and change.agent in self._told
            ends: dict[str, FateName] = {"stood": "discarded", "refused": "rejected"}
            return "rejected" if given_up else ends.get(change.outcome, "unknown")
        place, key = change.operation.index, self._key(change.key)
        if place in key.shown:
            return None
        if any(place in hidden.living for hidden in key.hidden):
            return "unresolved"
        if key.arrived is None or change.agent == GIVEN or change.operation.dot in key.arrived:
            return "overwritten"
        return "unknown"

    def _key(self, key: str) -> _Key:
        if key not in self._keys:
            siblings = self._run.siblings.get(key, [])
            if siblings:
                *beside, top = ((self._living(self._written(key, each.live)), each) for each in siblings)
                hidden = [_Sibling(living, self._with(key, each.text, each.metadata)) for living, each in beside]
                self._keys[key] = _Key(top[0], hidden, frozenset[str]().union(*(each.seen for each in siblings)))
            else:
                newest = self._newest.get(key)
                self._keys[key] = _Key(self._living([newest] if newest else []), [], None)
        return self._keys[key]

    def _with(self, key: str, text: str | None, metadata: dict[str, Any]) -> dict[str, Any]:
        """The final state, if this were what is shown of a key."""
        others = {name: value for name, value in self._state.items() if name != key}
        return others if text is None else others | {key: plain(decode(text, metadata, key))}

    def _living(self, newest: Iterable[Operation]) -> set[int]:
        """The changes that live on in a value: the newest in it, what their writers had seen, what those had seen, and so on."""
        found, todo = set[int](), list(newest)
        while todo:
            op = todo.pop()
            if op.index not in found:
                found.add(op.index)
                before = self._made.get((op.replica, op.key, op.saw)) if op.saw is not None else None
                if before is not None:
                    todo += self._written(op.key, before.live) if before.kind in ("merge", "fault") else [before]
        return found

    def _written(self, key: str, dots: Iterable[str]) -> list[Operation]:
        """The writes of these names; what was given has a name that belongs to no agent."""
        found = (self._by_dot.get(dot) or self._given.get(key) for dot in dots)
        return [op for op in found if op is not None]


def _changes(run: Run) -> list[UpdateCall]:
    """Each change of the shared block that somebody set about, in the order of their beginnings: updates, and other writes."""
    updates = [call for call in run.calls if call.key.startswith(f"{SHARED}/")]
    claimed = {_index(call) for call in updates}
    given = set[str]()
    others = []
    for op in run.history.writes():
        twice = op.agent == GIVEN and op.key in given
        if op.key.startswith(f"{SHARED}/") and op.index not in claimed and not twice:
            others.append(UpdateCall(op.agent, op.key, op.begin, False, "wrote", op))
        given.update([op.key] if op.agent == GIVEN else [])
    return sorted([*updates, *others], key=lambda change: change.begin)


def _index(change: UpdateCall) -> int | None:
    return None if change.operation is None else change.operation.index
