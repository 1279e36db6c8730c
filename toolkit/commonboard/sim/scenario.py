"""A scenario: agents, what is there before they begin, and what each of them means to get done.

The intents are the scenario's own oracle: a policy that looks at a change and drops it overwrites nothing unseen, and
yet the change is gone. Only the scenario can say so, by `kept(state, intent)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    """

    name: str
    story: str
    agents: Mapping[str, Agent]
    given: Mapping[str, Any] = field(default_factory=dict)
    intents: tuple[Any, ...] = ()
    kept: Callable[[State, Any], bool] = lambda state, intent: False

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
