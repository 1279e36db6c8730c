"""Checks of one's own: what must be true of the board, at the end or at every moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from commonboard.check.lost_updates import no_lost_updates
from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation
from commonboard.entry import under
from commonboard.errors import InvalidArgumentError
from commonboard.history import GIVEN, History, Operation
from commonboard.sim.trouble import is_told
from commonboard.values import plain

State = Mapping[str, Any]
"""The values by full key, as plain data; a key without an entry is not in it."""


@dataclass(frozen=True)
class Property:
    """A predicate on the board, as a check. Call it with a `Run`; `explore` takes it as `check=`.

    Attributes:
        true: `true(state)` says whether it is so; `state` is `{full key: value}`.
        name: what must be true, in words.
        at_every_moment: whether it must be so after each operation, or only when all agents have come to their end.
    """

    true: Callable[[State], bool]
    name: str
    at_every_moment: bool
    judges: ClassVar[str] = "state"

    def __call__(self, run: Any) -> Verdict:
        """Judge one run.

        Raises:
            InvalidArgumentError: the predicate gave neither `True` nor `False`.
        """
        history: History = run.history
        if not self.at_every_moment:
            if not run.ok and (run.outcome != "failed" or not all(map(is_told, run.errors.values()))):
                why = f"the run did not finish ({run.outcome}: {'; '.join(map(str, run.troubles))})"
                return Unknown(self.name, "this run", why=why, history=history, token=run.token)
            if not self.is_true(run.state):
                lost = no_lost_updates(history).findings[:1]
                led = list(lost[0].operations) if lost else _led_there(history, history.writes()[-1:])
                return self._violation(run, run.state, led)
            return Holds(self.name, "this run", history=history, token=run.token)
        replicas: list[str | None] = [*history.replicas] or [None]
        for replica in replicas:
            for op in history:
                if op.made is None or not op.ok or op.replica != replica or op.agent == GIVEN or _goes_on(history, op):
                    continue
                state = {key: plain(cell.value) for key, cell in history.board_at(op.index, replica).items()}
                if not self.is_true(state):
                    return self._violation(run, state, _led_there(history, [op]))
        return Holds(self.name, "this run", history=history, token=run.token)

    def is_true(self, state: State) -> bool:
        """The predicate's answer, if it is one."""
        try:
            answer = self.true(dict(sorted(state.items())))  # in an order that says nothing of who came first
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise InvalidArgumentError(
                f"the predicate of {self.name!r} raised {told} for the board {_shown(state)}; a key without an entry is not "
                "in it: state.get(key) gives None there"
            ) from error
        if not isinstance(answer, bool):
            raise InvalidArgumentError(f"the predicate of {self.name!r} gave {answer!r:.60}; it says True or False")
        return answer

    def _violation(self, run: Any, state: State, operations: list[Operation]) -> Verdict:
        when = f"After {operations[-1].agent}'s {operations[-1].kind}" if self.at_every_moment else "At the end"
        found = Finding("property", f"{when} the board holds {_shown(state)}.", tuple(operations))
        return Violation(self.name, "this run", [found], history=run.history, token=run.token)


def at_the_end(true: Callable[[State], bool], name: str = "") -> Property:
    """A check: this must be true of the board when all agents have come to their end.

    Args:
        true: takes `{full key: value}`, says `True` or `False`.
        name: what must be true, in words; the predicate's own name unless given.

    >>> import commonboard as cb
    >>> async def counter(me):
    ...     await me.shared.update("count", lambda n: (n or 0) + 1)
    >>> counted = cb.at_the_end(lambda state: state["shared/count"] == 2, "both were counted")
    >>> cb.explore(counter, counter, policy=cb.Optimistic(), check=counted).holds
    True
    """
    return _property(true, name, False)


def always(true: Callable[[State], bool], name: str = "") -> Property:
    """A check: this must be true of the board after every write; arguments as for `at_the_end`."""
    return _property(true, name, True)


def _property(true: Callable[[State], bool], name: str, at_every_moment: bool) -> Property:
    if not callable(true):
        raise InvalidArgumentError(f"a property takes a predicate on the board, such as lambda state: …, not {true!r:.60}")
    return Property(true, name or _name_of(true), at_every_moment)


def _shown(state: State) -> str:
    return ", ".join(f"{key} = {value!r:.60}" for key, value in state.items()) or "nothing"


def _goes_on(history: History, op: Operation) -> bool:
    """Whether the next operation is part of the same commit."""
    following = history[op.index + 1 : op.index + 2]
    return any((after.agent, after.begin, after.is_write) == (op.agent, op.begin, True) for after in following)


def _led_there(history: History, last: list[Operation]) -> list[Operation]:
    """The last write, what its writer had looked at for it, and what others had written there in between."""
    if not last:
        return []
    op, before = last[0], history[: last[0].index]
    own = [one for one in before if one.agent == op.agent]
    commit = [one for one in own if one.is_write and one.begin == op.begin]
    since = max((one.index for one in own if one.is_write and one.begin != op.begin), default=-1)
    looks = [one for one in own if one.kind in ("read", "list") and one.index > since]
    unseen = [one for one in before if one.is_write and one.agent != op.agent and any(_missed(look, one) for look in looks)]
    return sorted([*looks, *unseen, *commit, op], key=lambda one: one.index)


def _missed(look: Operation, write: Operation) -> bool:
    return look.index < write.index and (look.key == write.key or (look.kind == "list" and under(look.key, write.key)))


def _name_of(true: Callable[..., Any]) -> str:
    name = getattr(true, "__name__", "")
    return name.replace("_", " ") if name and name != "<lambda>" else "the property"
