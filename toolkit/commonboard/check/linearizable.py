"""Linearizability: whether what was seen fits an order in which each call happens at one moment while it is under way.

It is what people expect of one shared memory: once a write has returned, everybody sees it (Herlihy and Wing, 1990). It is
about single calls: two agents that read, think and write over each other lose an update, and may well be linearizable.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonboard.check.board import Board
from commonboard.check.model import ILLEGAL, UNKNOWN, Call, Model, State, counted
from commonboard.check.shrink_history import Shrinker, Shrunk
from commonboard.check.subject import judged
from commonboard.check.verdict import Finding, Holds, Unknown, Verdict, Violation
from commonboard.check.wgl import Decision, Search, decide
from commonboard.errors import InvalidArgumentError, SubjectError, kind_of
from commonboard.history import GIVEN, History

NAME = "linearizable"
BUDGET = 2_000_000
"""How many steps a check takes at most, unless told otherwise."""
_TOLD = 4  # as many calls as a sentence can hold
_MOST = 12  # as many as a story can


@dataclass(slots=True, repr=False)
class NotLinearizable(Violation):
    """There is no order that fits.

    Attributes:
        key: the object whose calls were refuted; the others may not have been judged to their end.
        order: the longest order found in which the model allows every call.
        state: what it leaves, as a text.
        next: each call that could come next, and why it cannot.
        shrunk: the calls of the finding: a small part of the history that has no order either.
    """

    key: Any = None
    order: list[Call] = field(default_factory=list)
    state: str = ""
    next: list[tuple[Call, str]] = field(default_factory=list)
    shrunk: list[Call] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Linearizable:
    """The check that `linearizable(…)` makes: call it with a run, a history, or a list of calls.

    Attributes:
        model: what the shared object does.
        budget: how many steps the search may take.
    """

    model: Model
    budget: int

    @property
    def __name__(self) -> str:
        return NAME

    def __repr__(self) -> str:
        return f"linearizable({self.model!r})"

    def __call__(self, subject: Any) -> Verdict:
        """Judge a `Run`, a `History` or a list of `Call`s. (The log of a store has no reads, so nothing in it can be wrong.)

        Returns:
            `NotLinearizable`, a `Violation`, with one finding: a small part of the history that has no order; a note tells of
            the longest order of the whole. `Holds` for this one history. `Unknown` where the budget was spent, nobody saw
            anything, or a run did not come to its end.

        Raises:
            SubjectError: the subject is none of these.
            InvalidArgumentError: a call is none of the model's.
        """
        calls, history, scope, token, doubts = self._calls(subject)
        for call in calls:
            self.model.check(call)
        decision = decide(self.model, calls, self.budget)
        left_out = _left_out(history)
        if decision.refuted is not None:
            return _refuted(decision.refuted, self.budget, scope, left_out, history, token)
        doubts += self._doubts(decision, calls)
        if doubts:
            return Unknown(NAME, scope, [], left_out, "; ".join(doubts), history=history, token=token)
        return Holds(NAME, scope, [], left_out, history=history, token=token)

    def _calls(self, subject: Any) -> tuple[list[Call], History | None, str, str | None, list[str]]:
        if isinstance(subject, Iterable) and not isinstance(subject, (str, dict, History)):
            subject = list(subject)
            if all(isinstance(call, Call) for call in subject):
                return subject, None, "these calls", None, []
            if any(isinstance(call, Call) for call in subject):
                other = next(call for call in subject if not isinstance(call, Call))
                raise SubjectError(f"{NAME} takes a list of calls, and some of this list are none: {kind_of(other)} is in it")
        found = judged(subject, NAME)
        return self.model.from_history(found.history), found.history, found.scope, found.token, list(found.doubts)

    def _doubts(self, decision: Decision, calls: Sequence[Call]) -> list[str]:
        if decision.answer is None:
            return [_spent(decision, self.model)]
        made = [call for call in calls if call.process != GIVEN]
        if not made:
            return ["there is no call to judge"]
        if not any(call.result is not UNKNOWN and (call.result is not None or self.model.is_read(call)) for call in made):
            return ["nobody saw anything, so every order fits; let somebody read"]
        return []


def linearizable(model: Model | None = None, *, budget: int = BUDGET) -> Linearizable:
    """The check that a history is linearizable: `cb.linearizable()(run)`, or `check=cb.linearizable()`.

    Args:
        model: what the shared object does when calls come one after another; `None`: a board, whose keys hold JSON values
            (`commonboard.check.board.Board`). `commonboard.check.models` has others, for calls from elsewhere.
        budget: how many steps the search for an order may take, over all keys, and the shrinking as many again.

    Raises:
        SubjectError: this is no model, or its methods do not take what they are called with.
        InvalidArgumentError: the budget is not a whole number of at least 1.

    >>> from commonboard.check.models import Register
    >>> told = [Call("web", "write", 1, begin=0, end=1), Call("docs", "read", None, 0, begin=2, end=3)]
    >>> print(linearizable(Register(0))(told))
    Linearizable: violated in these calls, 1 finding
      1. not linearizable: No order of these calls fits: at first the register is 0; web writes 1; then docs reads 0. \
The longest order is web writes 1; next, docs reads 0, but the register is 1.
    """
    if model is not None:
        _check_model(model)
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise InvalidArgumentError(f"budget is a number of steps, a whole number of at least 1, not {budget!r}")
    return Linearizable(Board() if model is None else model, budget)


def _check_model(model: Any) -> None:
    if isinstance(model, type) and issubclass(model, Model):
        raise SubjectError(f"linearizable takes a model, and {model.__name__} is its class: write {model.__name__}(), with ()")
    if not isinstance(model, Model):
        raise SubjectError(
            f"linearizable takes a model and gives a check, and this is {kind_of(model)}; a run or a history is judged by "
            "linearizable()(run), a list of calls by linearizable(models.Register())(calls)"
        )
    for method, given, told in ((model.initial, ("x",), "initial(key)"), (model.step, (0, None), "step(state, call)")):
        try:
            inspect.signature(method).bind(*given)
        except TypeError as error:
            raise SubjectError(f"a model is called as {told}, which {type(model).__name__} does not allow: {error}") from None


def _refuted(
    search: Search, budget: int, scope: str, left_out: list[Finding], history: History | None, token: str | None
) -> NotLinearizable:
    shrunk = Shrinker(search, budget).run()
    operations = [call.operation for call in shrunk.calls if call.operation is not None]
    finding = Finding("not linearizable", _story(shrunk), tuple(operations) if len(operations) == len(shrunk.calls) else ())
    told = _plain(search)
    state, blocked = _after(told)
    notes = [*left_out]
    if len(search.when.calls) > len(shrunk.calls):
        notes.insert(0, Finding("longest order", _longest(told, state, blocked)))
    if not shrunk.minimal:
        more = "the budget was spent before the finding was as small as it can be; a larger budget= may shrink it further"
        notes.append(Finding("not minimal", more))
    return NotLinearizable(
        NAME,
        scope,
        [finding],
        notes,
        history=history,
        token=token,
        key=search.key,
        order=told.order,
        state=search.model.show(state),
        next=blocked,
        shrunk=shrunk.calls,
    )


def _plain(search: Search) -> Search:
    """The same search without the model's outlook, as far as it gets: it shows the call that fails, not what foretold it."""
    if type(search.model).outlook is Model.outlook:
        return search
    plain = Search(search.model, search.key, [*search.when.given, *search.when.calls], outlook=False)
    return plain if plain.run(1_000 + 10 * search.steps) is False else search


def _story(shrunk: Shrunk) -> str:
    """What was seen, in the order of time, how far an order gets, and why it gets no further."""
    search = _plain(shrunk.search)
    model = search.model
    at = "" if search.key is None else f" at {model.name(search.key)}"
    told = _in_time(model, shrunk.calls)
    told[_MOST:] = ["…"] * (len(told) > _MOST)
    story = "; ".join([f"at first {model.name(search.key)} is {model.show(_state(search, []))}", *told])
    longest = f"The longest order is {_listed(search)}; next, " if search.order else "None can come first: "
    why = "; ".join(reason for _, reason in _after(search)[1][:_TOLD])
    return f"No order of these calls{at} fits: {story}. {longest}{why}."


def _in_time(model: Model, calls: Sequence[Call]) -> list[str]:
    told, end = [], -1
    for place, call in enumerate(calls):
        when = "" if not place else "then " if end < call.begin else "at the same time "
        told.append(f"{when}{call.who} {model.describe(call)}")
        end = max(end, call.begin if call.end is None else call.end)
    return told


def _longest(search: Search, state: State, blocked: Sequence[tuple[Call, str]]) -> str:
    model, count = search.model, len(search.when.calls)
    place = model.name(search.key)
    fit = f"{len(search.order)} of the {count} calls at {place} fit in one order"
    ends = f", which ends with {_listed(search)} and leaves {place} {model.show(state)}" if search.order else ""
    why = "; ".join(reason for _, reason in blocked[:_TOLD]) + ("; …" if len(blocked) > _TOLD else "")
    return f"{fit}{ends}. Next, {why}."


def _listed(search: Search) -> str:
    calls = search.order[-_TOLD:]
    return ", ".join(["…"] * (len(calls) < len(search.order)) + [f"{call.who} {search.model.describe(call)}" for call in calls])


def _state(search: Search, order: Iterable[Call]) -> State:
    state = search.model.initial(search.key)
    for call in [*search.when.given, *order]:
        state = search.model.step(state, call)
    return state


def _after(search: Search) -> tuple[State, list[tuple[Call, str]]]:
    """The state after the longest order, and each call that could come next with why it cannot."""
    state, placed = _state(search, search.order), set(map(id, search.order))
    waiting = [call for call in search.when.calls if id(call) not in placed]
    first_end = min(call.end for call in waiting if call.end is not None)
    blocked = []
    for call in waiting:
        if call.begin <= first_end:
            legal = search.model.step(state, call) is not ILLEGAL
            if legal and call.end is None:
                continue  # it may have happened, and would not help
            why = f"{call.who} {search.model.describe(call)}, after which what was read later fits no more"
            blocked.append((call, why if legal else search.model.why_not(state, call)))
    return state, blocked


def _left_out(history: History | None) -> list[Finding]:
    lists = [op for op in history or () if op.kind == "list"]
    if not lists:
        return []
    told = f"{counted(len(lists), 'list')} of keys left out: a list looks at many keys, and each key is judged by itself"
    return [Finding("not judged", told, tuple(lists))]


def _spent(decision: Decision, model: Model) -> str:
    hardest = max(decision.open, key=lambda search: search.steps)
    when = hardest.when
    about = f"{counted(len(when.calls), 'call')}, up to {when.most_at_once()} at once"
    if never := len(when.calls) - when.count:
        about += f", {never} that never returned"
    advice = "give a larger budget=, or judge a part with fewer calls at once"
    if type(model).key_of is Model.key_of:
        advice += "; if each call is about one key alone, give the model a key_of, so that each key is judged by itself"
    return (
        f"the budget of {counted(decision.steps, 'step')} was spent before the order of the calls at "
        f"{model.name(hardest.key)} was found ({about}); {advice}"
    )
