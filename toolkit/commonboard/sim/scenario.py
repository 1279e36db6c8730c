"""A scenario: agents, what is there before they begin, and what each of them means to get done.

The intents are the scenario's own oracle: a policy that looks at a change and drops it overwrites nothing unseen, and
yet the change is gone. Only the scenario can say so, by `kept(state, intent)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Agent = Callable[[Any], Any]
State = Mapping[str, Any]


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
    """

    name: str
    story: str
    agents: Mapping[str, Agent]
    given: Mapping[str, Any] = field(default_factory=dict)
    intents: tuple[Any, ...] = ()
    kept: Callable[[State, Any], bool] = lambda state, intent: False
    variant: Callable[..., Scenario] | None = None

    def __call__(self, **knobs: Any) -> Scenario:
        """The same scenario with other numbers, such as `counter(agents=4)`.

        Raises:
            TypeError: it has no such knob.
        """
        if self.variant is None:
            raise TypeError(f"{self!r} has nothing to turn; build another Scenario instead")
        return replace(self.variant(**knobs), variant=self.variant)

    def __repr__(self) -> str:
        return f"Scenario({self.name!r}: {', '.join(self.agents)})"

    def _repr_markdown_(self) -> str:
        return f"**{self.name}** — {self.story}\n\nAgents: {', '.join(f'`{name}`' for name in self.agents)}."

    def lost(self, state: State) -> list[Any]:
        """The intents that are not in the final state.

        >>> Scenario("one", "", {}, intents=("a", "b"), kept=lambda state, intent: intent in state["k"]).lost({"k": ["b"]})
        ['a']
        """
        return [intent for intent in self.intents if not self.kept(state, intent)]


def scenario(variant: Callable[..., Scenario]) -> Scenario:
    """Decorator: a function that makes a scenario becomes that scenario, with the function's defaults."""
    return replace(variant(), variant=variant)
