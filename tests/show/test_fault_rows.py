"""Faults in the views: a row of their own, a cross, a hatched band while a replica is cut off."""

from __future__ import annotations

from typing import Any

import commonboard as cb
from commonboard.errors import OutcomeUnknownError
from commonboard.show.timeline import timeline


async def agent(me: cb.AgentMemory) -> None:
    for number in range(2):
        try:
            await me.shared.write("x", number)
        except OutcomeUnknownError:
            await me.think(seconds=1)


def run(kind: str, **world: Any) -> cb.Run:
    """The first seeded run in which this fault happens."""
    runs = (cb.simulate({"a": agent, "b": agent}, world=cb.World(**world), seed=seed) for seed in range(50))
    return next(made for made in runs if any(op.fault == kind for op in made.history))


WORLDS: dict[str, dict[str, Any]] = {
    "drop": {"replicas": 2, "drops": 1},
    "duplicate": {"replicas": 2, "duplicates": 1},
    "partition": {"replicas": 2, "partitions": 1},
    "heal": {"replicas": 2, "partitions": 1},
    "crash": {"replicas": 2, "crashes": 1},
    "forgotten": {"replicas": 2, "crashes": 1, "durable": False},
    "agent crash": {"agent_crashes": 1},
    "lost answer": {"lost_answers": 1},
    "clock skew": {"replicas": 2, "clock_skew": {"replica-1": 2}},
}


def test_every_fault_is_drawn_told_and_listed() -> None:
    for kind, world in WORLDS.items():
        made = run(kind, **world)
        op = next(op for op in made.history if op.fault == kind)
        picture = made.history.spacetime([op], "caption")
        lines = [line for line in picture.text.splitlines() if "✗" in line and "①" in line]
        assert len(lines) == 1, picture.text
        assert op.note in lines[0]
        assert f"(1) t = {op.ended_at:g} s: " in picture.alt
        assert op.note in picture.alt
        assert 'class="cross"' in picture.svg
        assert list(made.history.to_frame()["kind"]).count("fault") == sum(one.kind == "fault" for one in made.history)
        assert op.note in str(made.history)
        assert made.stepper() is not None


def test_a_partition_is_a_hatched_band_from_its_beginning_to_its_end() -> None:
    made = run("heal", replicas=2, partitions=1)
    begin, end = (next(op.index for op in made.history if op.fault == fault) for fault in ("partition", "heal"))
    line = timeline(made.history, limit=None)
    ((lane, top, bottom),) = line.cuts()
    assert line.stores[lane] == "replica-1"
    assert [line.rows[top].places, line.rows[bottom].places] == [[begin], [end]]
    assert 'class="store hatch"' in made.history.spacetime().svg
    assert 'class="store hatch"' not in run("crash", replicas=2, crashes=1).history.spacetime().svg


def test_what_a_crash_forgot_shows_in_the_board_from_then_on() -> None:
    made = run("forgotten", replicas=2, crashes=1, durable=False)
    op = next(op for op in made.history if op.fault == "forgotten")
    assert "shared/x" in made.history.board_at(op.index - 1, op.replica)
    assert "shared/x" not in made.history.board_at(op.index, op.replica)
    assert f"{op.agent} forgot it: shared/x." in made.history.spacetime().alt
