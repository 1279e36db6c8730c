"""The space-time picture: lanes for the agents and the store, time downward, the guilty path as a numbered story.

The form is that of Lamport's space-time diagrams (*Time, Clocks, and the Ordering of Events in a Distributed System*, 1978),
turned so that time runs down, as Jepsen's and Maelstrom's do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from commonboard.errors import kind_of
from commonboard.history import GIVEN, History, Operation
from commonboard.show.draw import draw
from commonboard.show.layout import layout
from commonboard.show.picture import Picture
from commonboard.show.plain import draw_plain
from commonboard.show.story import seconds
from commonboard.show.timeline import PictureError, Timeline, timeline


def spacetime(
    history: History,
    highlight: Iterable[Operation] = (),
    caption: str = "",
    *,
    limit: int | None = 60,
    now: int | None = None,
    waiting: Mapping[str, str] | None = None,
) -> Picture:
    """Draw a history.

    Each agent has a lane, and so has the store (or each replica). Time runs down, one row an operation; the spacing is not
    to scale. Reads are open circles, writes filled squares, appends squares with a plus, compare-and-sets diamonds (crossed
    when refused), deletes crossed squares, lists double circles, merges joined pairs, thoughts bars along the lane,
    faults crosses; the lane of a replica that is cut off has a hatched band.

    Args:
        history: what happened.
        highlight: the guilty path: drawn thick and numbered, each with a word beside it.
        caption: one sentence: who, what, why. Without one, a count of what is drawn.
        limit: about how many rows to draw; of a longer history, what is far from the guilty path becomes "… 37 other operations".
            `None` draws everything.
        now: the row that a stepper stands on, counted from 1; 0 before the first.
        waiting: agents that wait until the end, as in a deadlock, each with what it does: `waits for …`. They get a dashed bar.

    Raises:
        PictureError: an operation to highlight is not in the history, or an argument is not as above.

    >>> read = Operation(0, "web", "read", "shared/count", "1", "json", saw=1)
    >>> write = Operation(1, "web", "write", "shared/count", "2", "json", saw=1, replaced=1, made=2, began_at=30.0, ended_at=30.0)
    >>> print(spacetime(History([read, write]), caption="web counts one up."))
            web          store shared/count
     t 0    ┌ read ◀──── v1  1
     t 30   └ write ───▶ v2  2
    <BLANKLINE>
    web counts one up.
    """
    if not isinstance(caption, str):
        raise PictureError(f"caption= takes a sentence, not {kind_of(caption)}")
    line = timeline(history, highlight, limit=limit, now=now, waiting=waiting)
    sentence = " ".join(caption.split()) or _count(history)
    alt = "\n".join([sentence, *_steps(line)])
    place = layout(line)
    svg = draw(line, place, sentence, alt)
    return Picture(svg, alt, sentence, draw_plain(line, place.words), round(place.width), round(place.height))


def _count(history: History) -> str:
    drawn = [op for op in history if op.kind not in ("think", "fault") and op.agent != GIVEN]
    if not drawn:
        return "No operations."
    who = ", ".join(history.agents) or "nobody"
    return f"{len(drawn):,} operation{'s' if len(drawn) > 1 else ''} by {who}."


def _steps(line: Timeline) -> list[str]:
    """The rows as sentences."""
    steps = []
    for row in line.rows:
        if row.kind == "gap":
            steps.append(f"… {len(row.places):,} other operations")
            continue
        for place in row.places:
            op = line.operation(place)
            when = "" if op.agent == GIVEN else f"t = {seconds(op.began_at if op.kind == 'think' else op.ended_at)}: "
            number = f"({line.numbers[place]}) " if place in line.numbers else ""
            steps.append(f"{number}{when}{line.story.sentence(place)}")
    return steps + [f"At the end {agent} {what}." for agent, what in line.waiting.items()]
