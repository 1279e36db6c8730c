"""The consolidation: one agent reads, thinks for two minutes, and writes its tidy version over what others added.

A real assistant was published with this bug.
"""

from __future__ import annotations

from typing import Any

from commonboard.crdt import ORSet
from commonboard.handle import AgentMemory
from commonboard.history import GIVEN
from commonboard.sim.scenario import Scenario, State, Whose, scenario

GIVEN_NOTES = ("churn is up", "churn is up", "support is slow")


def _with(note: str) -> Any:
    def add(found: Any) -> Any:
        return (found or []) + [note]

    return add


@scenario
def consolidation(seconds: float = 120, notes: tuple[str, ...] = ("prices rose in May", "a rival cut prices")) -> Scenario:
    """`lead` tidies the notes while `web` and `docs` add to them.

    Args:
        seconds: virtual seconds that `lead` thinks between its read and its write.
        notes: what `web` and `docs` add, in turn, 30 virtual seconds apart.
    """

    async def lead(me: AgentMemory) -> None:
        async def tidy(found: Any) -> list[Any]:
            await me.think(seconds=seconds, tokens=4000)
            return list(dict.fromkeys(found or []))

        await me.shared.update("notes", tidy, reason="tidied the notes")

    def adder(mine: list[tuple[float, str]]) -> Any:
        async def add_notes(me: AgentMemory) -> None:
            for pause, note in mine:
                await me.think(seconds=pause, tokens=200)
                await me.shared.update("notes", _with(note), reason="found something")

        return add_notes

    def kept(state: State, intent: Any) -> bool:
        return intent in (state.get("shared/notes") or [])

    whose: dict[str, Whose] = {note: (("web", "docs")[place % 2], place // 2 + 1) for place, note in enumerate(notes)}

    return Scenario(
        name="consolidation",
        story=f"The lead reads the notes, thinks for {seconds:g} s and writes its tidy version, while others add notes.",
        agents={
            "lead": lead,
            "web": adder([(30 if place == 0 else 60, note) for place, note in enumerate(notes[0::2])]),
            "docs": adder([(60, note) for note in notes[1::2]]),
        },
        given={"shared/notes": list(GIVEN_NOTES)},
        intents=(*notes, *dict.fromkeys(GIVEN_NOTES)),
        kept=kept,
        by=lambda note: whose.get(note, GIVEN),
        crdt=ORSet,
    )
