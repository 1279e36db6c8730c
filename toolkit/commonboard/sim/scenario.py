"""A scenario: agents, what is there before they begin, and what each of them means to get done.

The intents are the scenario's own oracle: a policy that looks at a change and drops it overwrites nothing unseen, and
yet the change is gone. Only the scenario can say so, by `kept(state, intent)`.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import Any

from commonboard.errors import InvalidArgumentError, kind_of

Agent = Callable[[Any], Any]
State = Mapping[str, Any]
Whose = str | tuple[str, int]
"""Whose change an intent is: see `Scenario.by`."""


def nothing_kept(state: State, intent: Any) -> bool:
    """The oracle of a scenario that was given none: it keeps nothing, so that nothing passes for kept."""
    return False


@dataclass(frozen=True)
class Scenario:
    """A small program of agents.

    Attributes:
        name: what tables and pictures call it.
        story: what happens, in a sentence or two.
        agents: the agents by name: async functions of their handle.
        given: what the board holds before they begin, by full key.
        intents: what the agents mean to get done, as plain values.
        kept: `kept(state, intent)` says whether an intent is in the final state (`{full key: value}`).
        variant: makes the scenario with other numbers; calling the scenario calls it.
        by: `by(intent)` says whose change of the shared block gets the intent done, so that a loss can be put down to
            what happened to that change: an agent's name where it makes one; `(name, n)` for its n-th, from 1; or a
            full key where every change of that key is as good as another, as for a counter. What was there before is by
            `"given"`. `None` where nobody can say.
        crdt: the class that `Merge` takes for what the agents share, if one fits.
        knobs: the numbers that it was called with; `None` if it was not made by its `variant`.
    """

    name: str
    story: str
    agents: Mapping[str, Agent]
    given: Mapping[str, Any] = field(default_factory=dict)
    intents: tuple[Any, ...] = ()
    kept: Callable[[State, Any], bool] = nothing_kept
    variant: Callable[..., Scenario] | None = None
    by: Callable[[Any], Whose | None] | None = None
    crdt: type[Any] | None = None
    knobs: Mapping[str, Any] | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.agents, Mapping):
            raise InvalidArgumentError(f"agents= takes a dict of name to async function, not {kind_of(self.agents)}")
        if isinstance(self.intents, str):
            raise InvalidArgumentError(f"intents= takes a tuple of intents, not one text: write ({self.intents!r},)")

    def __call__(self, **knobs: Any) -> Scenario:
        """The same scenario with other numbers, such as `counter(agents=4)`; numbers turned before stay as they are.

        Raises:
            TypeError: it has no such knob.
        """
        if self.variant is None:
            raise TypeError(f"{self!r} has nothing to turn; build another Scenario instead")
        return _varied(self.variant, {**(self.knobs or {}), **knobs})

    def __repr__(self) -> str:
        return f"Scenario({self.name!r}: {', '.join(self.agents)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another process by name and numbers where it can be: agents are often functions inside a function."""
        if self.variant is None or self.knobs is None:
            return _built, ({each.name: getattr(self, each.name) for each in fields(self) if each.init},)
        place = (self.variant.__module__, self.variant.__qualname__)
        # A notebook is `__main__` too, and no other process can import it.
        importable = place[0] != "__main__" or hasattr(sys.modules["__main__"], "__file__")
        if importable and _found(*place) is self.variant:
            return _recalled, (*place, dict(self.knobs))
        return _varied, (self.variant, dict(self.knobs))

    def _repr_markdown_(self) -> str:
        return f"**{self.name}** — {self.story}\n\nAgents: {', '.join(f'`{name}`' for name in self.agents)}."

    @property
    def numbers(self) -> dict[str, Any]:
        """What it can be called with, and what each is now.

        >>> @scenario
        ... def greetings(agents: int = 2) -> Scenario:
        ...     return Scenario("greetings", f"{agents} agents say hello.", {})
        >>> greetings.numbers, greetings(agents=5).numbers
        ({'agents': 2}, {'agents': 5})
        """
        if self.variant is None:
            return {}
        defaults = {name: knob.default for name, knob in inspect.signature(self.variant).parameters.items()}
        return {name: (self.knobs or {}).get(name, default) for name, default in defaults.items()}

    def lost(self, state: State) -> list[Any]:
        """The intents that are not in the final state.

        >>> Scenario("one", "", {}, intents=("a", "b"), kept=lambda state, intent: intent in state["k"]).lost({"k": ["b"]})
        ['a']
        """
        answers = [(intent, self.kept(state, intent)) for intent in self.intents]
        for intent, answer in answers:
            if answer is None:
                raise InvalidArgumentError(f"kept(state, {intent!r:.40}) of {self.name!r} gave None; it says True or False")
        return [intent for intent, answer in answers if not answer]


def scenario(variant: Callable[..., Scenario]) -> Scenario:
    """Decorator: a function that makes a scenario becomes that scenario, with the function's defaults."""
    return _varied(variant, {})


def _varied(variant: Callable[..., Scenario], knobs: Mapping[str, Any]) -> Scenario:
    made = replace(variant(**knobs), variant=variant)
    object.__setattr__(made, "knobs", dict(knobs))  # not for the constructor: nobody else knows what made it
    return made


def _built(values: dict[str, Any]) -> Scenario:
    return Scenario(**values)


def _recalled(module: str, name: str, knobs: Mapping[str, Any]) -> Scenario:
    return _varied(_found(module, name), knobs)


def _found(module: str, name: str) -> Any:
    """The function behind the scenario of this name in a module; `None` where there is none."""
    try:
        there = reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError):
        return None
    return there.variant if isinstance(there, Scenario) else None
