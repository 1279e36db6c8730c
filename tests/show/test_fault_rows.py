"""Faults in the views: a row of their own, a cross, a hatched band while a replica is cut off."""

from __future__ import annotations

import re
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
    picture = made.history.spacetime().svg
    (band,) = re.findall(r'class="store hatch"[^>]* d="([^"]*)"', picture)
    drawn = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)", band)]
    crosses = [float(y) + 6 for y in re.findall(r'class="cross" d="M[\d.]+ ([\d.]+)', picture)]
    assert crosses[0] < min(drawn) <= max(drawn) < crosses[1]  # beside their words, it would strike them out
    assert 'class="store hatch"' not in run("crash", replicas=2, crashes=1).history.spacetime().svg


def test_a_message_that_is_lost_or_sent_twice_is_told_whole_in_the_lane_of_its_receiver() -> None:
    for kind, told in (("drop", "is lost"), ("duplicate", "is sent twice")):
        made = run(kind, replicas=2, **{f"{kind}s": 1})
        lines = [line for line in made.history.spacetime().text.splitlines() if "✗" in line]
        assert len(lines) == 1
        assert lines[0].endswith(told), lines[0]


async def waits_for_both(me: cb.AgentMemory) -> None:
    await me.shared.write(me.name, 1)
    async for _ in me.watch(after=2):
        return


def test_who_waits_until_the_end_has_a_dashed_bar_and_a_reason() -> None:
    made = cb.simulate({"a": waits_for_both, "b": waits_for_both}, seed=0)
    assert made.outcome == "deadlock"
    picture = made.spacetime()
    assert picture.text.splitlines()[-1].split() == ["┊", "waits", "┊", "waits"]
    assert picture.svg.count('stroke-dasharray="3 3"') == 2
    assert picture.svg.count(">waits</text>") == 2
    for trouble in made.troubles:
        assert f" {trouble.agent} {trouble.what}." in picture.caption
        assert f"At the end {trouble.agent} {trouble.what}." in picture.alt
    assert "waits" not in cb.simulate({"a": waits_for_both, "b": waits_for_both}, seed=0).history.spacetime().text


async def raises(me: cb.AgentMemory) -> None:
    await me.shared.read("x")
    raise ValueError("no")


def test_who_raised_in_a_deadlock_is_not_drawn_as_waiting() -> None:
    made = cb.simulate({"a": waits_for_both, "b": raises}, seed=0)
    assert made.outcome == "deadlock"
    assert made.spacetime().text.splitlines()[-1].split() == ["┊", "waits"]


def test_what_a_crash_forgot_shows_in_the_board_from_then_on() -> None:
    made = run("forgotten", replicas=2, crashes=1, durable=False)
    op = next(op for op in made.history if op.fault == "forgotten")
    assert "shared/x" in made.history.board_at(op.index - 1, op.replica)
    assert "shared/x" not in made.history.board_at(op.index, op.replica)
    assert f"{op.agent} forgot it: shared/x." in made.history.spacetime().alt
