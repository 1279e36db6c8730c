"""What comes of a live run. It has what a simulated `Run` has, so the same checks and the same picture take it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from commonboard.check.fates import Fate, fates
from commonboard.check.lost_updates import no_lost_updates
from commonboard.entry import Log, Page, Viewable
from commonboard.errors import InvalidArgumentError
from commonboard.history import GIVEN, WRITES, History
from commonboard.recording.facts import Recording
from commonboard.recording.telling import histories
from commonboard.sim.memory import UpdateCall
from commonboard.sim.scenario import Scenario
from commonboard.sim.trouble import Trouble
from commonboard.values import plain


@dataclass(slots=True)
class LiveRun(Viewable):
    """What came of one run for real. Another run may come out otherwise: nothing here can be replayed.

    Attributes:
        agents: the agents' names, in order.
        policy: the name of the policy.
        store: the name of the store's class.
        outcome: `"finished"`, `"failed"` (an agent raised) or `"endless"` (the time was up).
        troubles: what went wrong with which agent, and where.
        results: what each agent returned.
        errors: what each agent raised.
        history: every operation on the store, with the versions that it saw and made, as far as they are certain.
        doubts: why some are not, a sentence for each key; empty where all are.
        log: the store's log: the writes. Empty where the store keeps none.
        board: the entries at the end.
        seconds: real seconds from the first operation to the last.
        tokens: tokens that the agents spent thinking.
        retries: writes that were refused because something had changed.
        calls: every call of `update`, with what came of it.
        scenario: the scenario that ran, if it was one.
        processes: in how many processes the agents ran.
        recordings: what the recorders noted.
        seed, token, unresolved, siblings: as in a `Run`, where there are none.
    """

    agents: list[str]
    policy: str
    store: str
    outcome: str
    troubles: list[Trouble]
    results: dict[str, Any]
    errors: dict[str, BaseException]
    history: History
    doubts: list[str]
    log: Log
    board: Page
    seconds: float = 0.0
    tokens: int = 0
    retries: int = 0
    calls: list[UpdateCall] = field(default_factory=list)
    scenario: Scenario | None = None
    processes: int = 1
    recordings: list[Recording] = field(default_factory=list, repr=False)
    seed: None = None
    token: None = None
    unresolved: int = 0
    siblings: dict[str, Any] = field(default_factory=dict)

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

    @property
    def fates(self) -> list[Fate]:
        """What became of each intent of the scenario. Where a version is not certain, what is not kept has an unknown fate.

        Raises:
            InvalidArgumentError: no scenario ran.
        """
        if self.scenario is None:
            raise InvalidArgumentError("only a scenario says what its agents meant to get done; run a cb.Scenario")
        if any(op.ok and op.kind in WRITES and op.made is None for op in self.history):
            lost = self.lost
            return [Fate(intent, "unknown" if intent in lost else "kept") for intent in self.scenario.intents]
        return fates(self)  # type: ignore[arg-type]

    def orders(self, limit: int = 1000) -> Iterator[LiveRun]:
        """The runs that this may have been: one for each order of overlapping writes that the record allows."""
        for told in histories(self.recordings, self.agents, limit):
            yield replace(self, history=told.history, doubts=told.doubts, calls=[])

    def spacetime(self, highlight: Iterable[Any] = (), caption: str = "") -> Any:
        """The space-time picture; unless told otherwise, it tells the first lost update if there is one."""
        chosen = list(highlight)
        if not chosen and not caption:
            found = no_lost_updates(self).findings[:1]
            chosen, caption = [op for one in found for op in one.operations], "".join(one.sentence for one in found)
        return self.history.spacetime(chosen, caption or self._sentence)

    def to_frame(self) -> Any:
        """The history as a pandas `DataFrame`, one row an operation."""
        return self.history.to_frame()

    def _repr_html_(self) -> str:
        from html import escape

        troubles = "".join(f"<li>{escape(line)}</li>" for line in [*map(str, self.troubles), *self.doubts])
        return f"<p>{escape(self._sentence)}</p>" + (f"<ul>{troubles}</ul>" if troubles else "")

    def __str__(self) -> str:
        return "\n".join([self._sentence, *(f"  {trouble}" for trouble in self.troubles), *(f"  {why}" for why in self.doubts)])

    __repr__ = __str__

    @property
    def _sentence(self) -> str:
        acts = [op for op in self.history if op.agent != GIVEN and op.kind not in ("think", "merge", "fault")]
        where = f" in {self.processes} processes" if self.processes > 1 else ""
        return (
            f"Live run of {', '.join(self.agents)} under {self.policy} on {self.store}{where}: {self.outcome}, "
            f"{len(acts)} operation{'' if len(acts) == 1 else 's'} on the store, {self.retries} of them refused"
        )
