"""Which rows a space-time picture has: shared by the drawn picture and the one made of text.

A row is an operation, a pause in which agents think, or a gap where operations were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from commonboard.entry import under
from commonboard.errors import CommonboardError, kind_of
from commonboard.history import GIVEN, History, Operation
from commonboard.show.story import Story

STORE = "store"
"""The name of the lane of the only store."""


class PictureError(CommonboardError, ValueError):
    """A picture was asked to point at something that is not in it."""


@dataclass(slots=True)
class Row:
    """One row of the picture.

    Attributes:
        kind: `operation`, `pause` (thoughts, one an agent) or `gap`.
        places: where its operations stand in the history; of a gap, those left out.
        time: when it was, in virtual seconds; `None` where a row has no time of its own.
        step: its number from the top, counted before anything was left out, from 1.
    """

    kind: Literal["operation", "pause", "gap"]
    places: list[int]
    time: float | None = None
    step: int = 0


@dataclass(slots=True)
class Timeline:
    """Rows and lanes.

    Attributes:
        story: the operations, with their past.
        agents: the names of the agents' lanes.
        stores: the names of the store's lanes: one, or one for each replica.
        rows: from top to bottom.
        numbers: place of a highlighted operation -> its number in the guilty path, from 1.
        key: the key that the whole history is about; `None` where there are several.
        now: the step that a stepper stands on, 0 before the first; `None` where nobody steps.
        waiting: agents that wait until the end -> what they wait for, as `waits for …`.
    """

    story: Story
    agents: list[str]
    stores: list[str]
    rows: list[Row]
    numbers: dict[int, int] = field(default_factory=dict)
    key: str | None = None
    now: int | None = None
    waiting: dict[str, str] = field(default_factory=dict)

    def operation(self, place: int) -> Operation:
        """The operation at a place in the history."""
        return self.story.operations[place]

    def lane(self, op: Operation) -> int:
        """In which of the store's lanes the operation ends."""
        return self.stores.index(op.replica) if op.replica in self.stores else 0

    def cuts(self) -> list[tuple[int, int, int]]:
        """Each partition: the replica's lane, the row in which it begins, and the row in which it heals (or the last)."""
        found: list[tuple[int, int, int]] = []
        began: dict[int, int] = {}
        for index, row in enumerate(self.rows):
            for op in map(self.operation, row.places):
                if op.fault == "partition":
                    began[self.lane(op)] = index
                elif op.fault == "heal" and self.lane(op) in began:
                    found.append((self.lane(op), began.pop(self.lane(op)), index))
        return found + [(lane, first, len(self.rows) - 1) for lane, first in began.items()]

    def number(self, row: Row) -> int | None:
        """The number of the first highlighted operation in a row that is drawn."""
        found = [self.numbers[place] for place in row.places if place in self.numbers]
        return found[0] if found and row.kind != "gap" else None


def timeline(
    history: History,
    highlight: Iterable[Operation] = (),
    *,
    limit: int | None = 60,
    now: int | None = None,
    waiting: Mapping[str, str] | None = None,
) -> Timeline:
    """The rows and lanes of a history.

    Args:
        highlight: the guilty path, in the order of the story.
        limit: about how many rows to draw; where there are more, what is far from the guilty path is left out. `None` draws all.
        now: the step that a stepper stands on; its neighbourhood is drawn too.
        waiting: agents that wait until the end, with what they wait for.

    Raises:
        PictureError: an operation to highlight is not in the history, or an argument is not as above.
    """
    if not isinstance(history, History):
        raise PictureError(f"a picture is drawn of a history, such as run.history, not of {kind_of(history)}")
    for name, number in (("limit", limit), ("now", now)):
        if number is not None and (not isinstance(number, int) or number < 0):
            raise PictureError(f"{name}= takes a number of rows, 0 or more, or None, not {number!r:.60}")
    story = Story(history)
    rows = _rows(story.operations)
    for number, row in enumerate(rows, 1):
        row.step = number
    numbers = _numbers(story, highlight)
    if limit is not None and len(rows) > limit:
        rows = _with_gaps(rows, limit, numbers, now)
    stores = list(history.replicas) or list(dict.fromkeys(op.replica for op in story.operations if op.replica))
    drawn = (story.operations[place] for row in rows for place in row.places)
    keys = dict.fromkeys(op.key for op in drawn if op.kind not in ("think", "fault"))
    key = next(iter(keys)) if len(keys) == 1 else None
    return Timeline(story, list(history.agents), stores or [STORE], rows, numbers, key, now, dict(waiting or {}))


def _numbers(story: Story, highlight: Iterable[Operation]) -> dict[int, int]:
    numbers: dict[int, int] = {}
    if isinstance(highlight, Operation) or not isinstance(highlight, Iterable):
        raise PictureError(f"highlight= takes a list of operations of the history, not {kind_of(highlight)}")
    for op in highlight:
        place = story.place(op)
        if place is None:
            raise PictureError(
                f"the operation to highlight is not in this history: {op}; take it from the history that is drawn "
                "(of a part made by `under`, only what is in that part)"
            )
        numbers.setdefault(place, len(numbers) + 1)
    return numbers


def _rows(operations: Sequence[Operation]) -> list[Row]:
    """A row for each operation. A thought gets a row only when its agent acts again, so that thoughts share one."""
    rows: list[Row] = []
    queues = _thoughts_after(operations)
    thoughts = queues.get(-1, {})
    given: dict[tuple[str, str | None], Row] = {}
    acted = [op for op in operations if op.kind not in ("think", "fault") and op.agent != GIVEN]
    for place, op in enumerate(operations):
        if op.kind == "think" or (op.agent == GIVEN and acted and not _touched(op.key, acted)):
            continue
        while thoughts.get(op.agent):
            rows.append(_pause(thoughts, operations))
        row = Row("operation", [place], op.ended_at)
        if op.agent == GIVEN:
            row.time = None
            same = given.setdefault((op.key, op.text), row)
            if same is not row and op.replica not in [operations[at].replica for at in same.places]:
                same.places.append(place)  # several replicas were given the same: one row tells it
                continue
        rows.append(row)
        for agent, places in queues.get(place, {}).items():
            thoughts.setdefault(agent, []).extend(places)
    while any(thoughts.values()):
        rows.append(_pause(thoughts, operations))
    return rows


def _touched(key: str, acted: Sequence[Operation]) -> bool:
    """Whether anybody read, listed or wrote the key: what was given and never touched is no part of the story."""
    return any(op.key == key or (op.kind == "list" and under(op.key, key)) for op in acted)


def _thoughts_after(operations: Sequence[Operation]) -> dict[int, dict[str, list[int]]]:
    """After which operation of its own each thought began: -1 for those at the start."""
    last: dict[str, int] = {}
    after: dict[int, dict[str, list[int]]] = {}
    for place, op in enumerate(operations):
        if op.kind == "think":
            after.setdefault(last.get(op.agent, -1), {}).setdefault(op.agent, []).append(place)
        else:
            last[op.agent] = place
    return after


def _pause(thoughts: dict[str, list[int]], operations: Sequence[Operation]) -> Row:
    places = [waiting.pop(0) for waiting in thoughts.values() if waiting]
    return Row("pause", places, min(operations[place].ended_at for place in places))


def _with_gaps(rows: list[Row], limit: int, numbers: dict[int, int], now: int | None) -> list[Row]:
    kept = _kept(rows, limit, numbers, now)
    shown: list[Row] = []
    for index, row in enumerate(rows):
        alone = 0 < index < len(rows) - 1 and kept[index - 1] and kept[index + 1]
        if kept[index] or alone:  # a gap of one row would save nothing
            shown.append(row)
        elif shown and shown[-1].kind == "gap":
            shown[-1].places += row.places
        else:
            shown.append(Row("gap", list(row.places)))
    return shown


def _kept(rows: list[Row], limit: int, numbers: dict[int, int], now: int | None) -> list[bool]:
    """Which rows stay: the guilty path with its neighbours, both ends, and as much around them as there is room for."""
    anchors = [i for i, row in enumerate(rows) if row.step == now or any(place in numbers for place in row.places)]
    anchors += [0, len(rows) - 1]
    kept = [False] * len(rows)
    radius = 0
    while True:
        wider = list(kept)
        for anchor in anchors:
            for index in range(max(0, anchor - radius), min(len(rows), anchor + radius + 1)):
                wider[index] = True
        # One neighbour at each side is always shown, however many operations are highlighted.
        if radius > 1 and (sum(wider) > limit or sum(wider) == sum(kept)):
            return kept
        kept, radius = wider, radius + 1
