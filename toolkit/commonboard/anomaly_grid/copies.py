"""The anomalies that need several copies of the board, or that only a merge of copies makes."""

# ruff: noqa: D103 - what an agent does is told by the story of its row

from __future__ import annotations

from typing import Any

from commonboard.anomaly_grid.columns import COLUMNS, Way
from commonboard.anomaly_grid.row import Row, never
from commonboard.anomaly_grid.rows import ONE_COPY, RESURRECTED, SEMANTIC
from commonboard.check import Holds, Unknown, Verdict, Violation, always
from commonboard.check.anomalies import anomalies

_ALONE = tuple(column.name for column in COLUMNS if column.copies == 1)


async def writes_x(way: Way) -> None:
    await way.write("x", [1])


async def writes_y(way: Way) -> None:
    await way.write("y", [1])


async def reads_x_y(way: Way) -> None:
    async def both(way: Way) -> list[Any]:
        return [await way.see("x"), await way.see("y")]

    await way.note(*await way.together(both))


async def reads_y_x(way: Way) -> None:
    async def both(way: Way) -> list[Any]:
        return [await way.see("y"), await way.see("x")]

    await way.note(*await way.together(both))


LONG_FORK = Row(
    "long fork",
    "Two readers see two independent writes in opposite orders.",
    "One agent writes x, another y. Of two readers one sees x and not yet y, the other y and not yet x.",
    {"a": writes_x, "b": writes_y, "c": reads_x_y, "d": reads_y_x},
    never(lambda board: board.saw("c") == board.saw("d") == [[1], []], "all see the writes in one order"),
    {"x": [], "y": []},
    readers=("c", "d"),
    named_by="Sovran et al., “Transactional storage for geo-replicated systems” (2011)",
)


async def reads_later(way: Way) -> None:
    await way.me.think(seconds=1)
    await way.see("x")


def no_stale_read(run: Any) -> Verdict:
    """Whether each read saw all writes that had ended before it began."""
    found = anomalies(run, realtime=True)
    stale = [finding for finding in found.findings if finding.kind == "stale read"]
    if stale:
        return Violation("no stale read", "this run", stale, history=run.history, token=run.token)
    return found if isinstance(found, Unknown) else Holds("no stale read", "this run", history=run.history, token=run.token)


STALE_READ = Row(
    "stale read",
    "A write is done, and somebody who reads after that does not see it.",
    "One agent writes x, another reads it later.",
    {"writer": writes_x, "reader": reads_later},
    no_stale_read,
    {"x": []},
    readers=("reader",),
    outside="letta-ai/letta#2068: another agent's update of a shared block became visible only after a message.",
    named_by="Herlihy and Wing, “Linearizability” (1990): what it forbids",
)


async def writes_and_reads(way: Way) -> None:
    await way.write("x", [1])
    await way.note(await way.see("x"))


READ_YOUR_WRITES = Row(
    "read your writes broken",
    "An agent does not see what it has written itself.",
    "An agent writes x and then reads it.",
    {"a": writes_and_reads},
    never(lambda board: board.saw("a") == [[]], "an agent sees its own writes"),
    {"x": []},
    named_by="Terry et al., “Session guarantees for weakly consistent replicated data” (1994)",
)


async def reads_twice(way: Way) -> None:
    await way.note(await way.see("x"), await way.see("x"))


MONOTONIC_READS = Row(
    "monotonic reads broken",
    "An agent sees something, looks again, and it is gone.",
    "One agent writes x, another reads it twice.",
    {"writer": writes_x, "reader": reads_twice},
    never(lambda board: board.saw("reader") == [[1], []], "what was seen stays seen"),
    {"x": []},
    readers=("reader",),
    named_by="Terry et al. (1994)",
)


async def writes_x_then_y(way: Way) -> None:
    await way.write("x", [1])
    await way.write("y", [1])


MONOTONIC_WRITES = Row(
    "monotonic writes broken",
    "Somebody sees an agent's second write without its first.",
    "One agent writes x and then y; another reads y and then x.",
    {"writer": writes_x_then_y, "reader": reads_y_x},
    never(lambda board: board.saw("reader") == [[1], []], "who sees the second write sees the first"),
    {"x": [], "y": []},
    readers=("reader",),
    named_by="Terry et al. (1994)",
)


async def asks(way: Way) -> None:
    await way.write("question", [1])


async def answers(way: Way) -> None:
    if await way.see("question"):
        await way.write("answer", [1])


WRITES_FOLLOW_READS = Row(
    "writes follow reads broken",
    "An answer is there before the question that it answers.",
    "One agent writes a question, another reads and answers it. Somewhere there is an answer to no question.",
    {"asker": asks, "expert": answers},
    always(lambda state: not state["shared/answer"] or bool(state["shared/question"]), "where the answer is, the question is"),
    {"question": [], "answer": []},
    named_by="Terry et al. (1994)",
)


async def writes_twice(way: Way) -> None:
    await way.write("x", ["first"])
    await way.write("x", ["second"])


CLOCK_SKEW = Row(
    "clock-skew loss",
    "The later of two writes loses, because the clock that stamps it is behind.",
    "An agent writes x, and writes it again elsewhere, at a copy whose clock is behind.",
    {"a": writes_twice},
    never(lambda board: "second" not in board["x"], "the later write stays"),
    {"x": []},
    faults={"clock_skew": {"replica-2": -5}},
    not_for=dict.fromkeys(_ALONE, "on one copy the order of arrival decides, and no clock is asked"),
    named_by="Lamport, “Time, clocks, and the ordering of events in a distributed system” (1978): what clocks do not tell",
)


FORGOTTEN = Row(
    "forgotten write",
    "A write was confirmed, and perhaps read, and a crash made its copy forget it before any other copy had it.",
    "One agent writes x, another reads it; a copy that keeps nothing on disk may crash.",
    {"writer": writes_x, "reader": reads_twice},
    never(lambda board: [1] in board.saw("reader") and not board["x"], "what was read is still there"),
    {"x": []},
    readers=("reader",),
    faults={"crashes": 1, "durable": False},
    not_for=dict.fromkeys(_ALONE, "a store of one copy, as it is simulated here, writes before it answers"),
    named_by="G1a in Adya (1999), where a crash takes back what was read",
)


async def adds_note(way: Way) -> None:
    await way.change("notes", lambda notes: [*notes, way.name])


CONVERGED_BUT_LOST = Row(
    "converged but lost",
    "All copies agree in the end, and a write that was confirmed is on none of them.",
    "Two agents each add a note to a list.",
    {"a": adds_note, "b": adds_note},
    never(lambda board: sorted(board["notes"]) != ["a", "b"], "both notes are kept"),
    {"notes": []},
    not_for=dict.fromkeys(_ALONE, "one copy has nothing to agree with; what is written over there is a lost update"),
    named_by="Shapiro et al., “Conflict-free replicated data types” (2011): convergence, which says nothing of what was lost",
)

ROWS: tuple[Row, ...] = (
    *ONE_COPY,
    LONG_FORK,
    STALE_READ,
    READ_YOUR_WRITES,
    MONOTONIC_READS,
    MONOTONIC_WRITES,
    WRITES_FOLLOW_READS,
    CLOCK_SKEW,
    FORGOTTEN,
    CONVERGED_BUT_LOST,
    RESURRECTED,
    SEMANTIC,
)
"""All rows, in the order of the catalogue."""
