"""What comes of a simulated run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from commonboard.entry import Log, Page, Viewable
from commonboard.history import GIVEN, History, Operation
from commonboard.sim.choices import Choices
from commonboard.sim.faults import Fault
from commonboard.sim.memory import UpdateCall
from commonboard.sim.replicas import Sibling
from commonboard.sim.scenario import Scenario
from commonboard.sim.trouble import Trouble
from commonboard.values import plain


@dataclass(slots=True)
class Run(Viewable):
    """What came of one simulated run.

    Attributes:
        agents: the agents' names, in order.
        policy: the name of the policy.
        seed: the seed, or `None` if there was none.
        choices: the list of choices that the run took; its `token` is short for it.
        outcome: `"finished"`, `"failed"` (an agent raised), `"deadlock"` or `"endless"`.
        troubles: what went wrong with which agent, where, and what it waits for.
        results: what each agent returned.
        errors: what each agent raised.
        history: every operation on the store, with the versions it saw and made.
        log: the store's log: the writes.
        board: the entries at the end (of the first replica, where there are several).
        boards: the entries at the end by replica; empty where there is one store.
        seconds: virtual seconds that the run took.
        tokens: tokens that the agents spent thinking.
        retries: writes that were refused because something had changed.
        unresolved: keys that still have more than one value, on the replica with the most.
        siblings: all values of each key on the first replica, the one that is shown last; empty where there is one store.
        calls: every call of `update`, with what came of it.
        scenario: the scenario that ran, if it was one.
        copies: all values of each key on each replica, the one that is shown last; empty where there is one store.
        faults: each fault that happened, and what it touched.
        unaccounted: the acknowledged writes that are in no value anywhere at the end, and that nobody who had seen them replaced.
        crossings: which agent woke which other one beside the store, such as by a lock that they share.
    """

    agents: list[str]
    policy: str
    seed: int | str | None
    choices: Choices
    outcome: str
    troubles: list[Trouble]
    results: dict[str, Any]
    errors: dict[str, BaseException]
    history: History
    log: Log
    board: Page
    boards: dict[str, Page] = field(default_factory=dict)
    seconds: float = 0.0
    tokens: int = 0
    retries: int = 0
    unresolved: int = 0
    siblings: dict[str, list[Sibling]] = field(default_factory=dict)
    calls: list[UpdateCall] = field(default_factory=list)
    scenario: Scenario | None = None
    crossings: list[str] = field(default_factory=list)
    copies: dict[str, dict[str, list[Sibling]]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    unaccounted: list[Operation] = field(default_factory=list)

    @property
    def token(self) -> str:
        """Give it as `replay=` to run exactly this again."""
        return self.choices.token

    @property
    def ok(self) -> bool:
        """Whether every agent came to its end."""
        return self.outcome == "finished"

    @property
    def state(self) -> dict[str, Any]:
        """The final values by full key, as plain data."""
        return {entry.key: plain(entry.value) for entry in self.board}

    def value(self, key: str, default: Any = None) -> Any:
        """The final value at a full key, or the default."""
        return self.state.get(key, default)

    @property
    def lost(self) -> list[Any]:
        """The scenario's intents that are not in the final state; empty where no scenario ran."""
        return [] if self.scenario is None else self.scenario.lost(self.state)

    def spacetime(self, highlight: Iterable[Any] = (), caption: str = "") -> Any:
        """The space-time picture; unless told otherwise, it tells the first lost update if there is one."""
        import importlib

        return importlib.import_module("commonboard.show").run_picture(self, highlight, caption)

    def stepper(self) -> Any:
        """A slider that steps through the run, with the board beside the picture."""
        import importlib

        return importlib.import_module("commonboard.show").stepper(self)

    def __str__(self) -> str:
        who = ", ".join(self.agents)
        how = "no seed" if self.seed is None else f"seed {self.seed}"
        kinds = [op.kind for op in self.history if op.agent != GIVEN]
        operations = sum(kind not in ("think", "merge", "fault") for kind in kinds)
        lines = [
            f"Run of {who} under {self.policy}, {how}: {self.outcome} after {self.seconds:g} virtual s, "
            f"{operations} operation{'' if operations == 1 else 's'} on the store, {self.retries} of them refused"
        ]
        lines += [f"  {trouble}" for trouble in self.troubles]
        if self.faults:
            lines.append(f"  faults: {'; '.join(map(str, self.faults))}")
        if self.unresolved:
            keys = "1 key still has" if self.unresolved == 1 else f"{self.unresolved} keys still have"
            lines.append(f"  {keys} more than one value")
        if self.seed is None or len(self.choices) <= 100:
            lines.append(f"  replay={self.token!r}")
        return "\n".join(lines)

    __repr__ = __str__
