"""Where everything in the space-time picture stands: measured first, so that nothing overlaps and nothing is cut."""

from __future__ import annotations

from dataclasses import dataclass, field

from commonboard.history import GIVEN, Operation
from commonboard.show.brief import Piece, text, told
from commonboard.show.measure import mono_width, sans_width, shorten, shorten_middle
from commonboard.show.story import seconds, version
from commonboard.show.timeline import Row, Timeline

LABEL, MONO, KEY, WORD, HEAD = 11.5, 12.0, 11.0, 12.5, 13.0
TOP, FOOT, MARGIN = 64.0, 34.0, 16.0
HEIGHTS = {"operation": 36.0, "pause": 32.0, "gap": 36.0}
_NAME, _KEY, _VALUE, _VALUE_OF_MANY, _NOTE, _FAULT = 24, 30, 34, 24, 44, 60


@dataclass(slots=True)
class Words:
    """What is written in the row of one operation.

    Attributes:
        op: the operation.
        place: where it stands in the history.
        label: beside the mark.
        key: above the arrow's end, where the history is about several keys.
        version, pieces: at the arrow's end.
        word: beside the number, if it is highlighted.
    """

    op: Operation
    place: int
    label: str
    key: str
    version: str
    pieces: list[Piece]
    word: str = ""

    @property
    def value_width(self) -> float:
        """How wide version and value are together."""
        chip = mono_width(self.version, KEY) + 16 if self.version else 0
        return chip + mono_width(text(self.pieces), MONO) + 4


@dataclass(slots=True)
class Layout:
    """The coordinates, in pixels.

    Attributes:
        words: for each row, what is written in it, one an operation.
        ys: for each row, its middle.
        time_x: where times end. agent_x: the agents' lanes. key_x: where keys end. store_x, store_width: the store's lanes.
        word_x: where the words of the guilty path begin.
    """

    words: list[list[Words]]
    ys: list[float] = field(default_factory=list)
    time_x: float = 0.0
    agent_x: dict[str, float] = field(default_factory=dict)
    key_x: float = 0.0
    store_x: list[float] = field(default_factory=list)
    store_width: list[float] = field(default_factory=list)
    word_x: float = 0.0
    width: float = 0.0
    height: float = 0.0


def agent_name(name: str) -> str:
    """An agent's name as its lane shows it."""
    return shorten_middle(name, _NAME)


def store_names(line: Timeline) -> list[tuple[str, str]]:
    """For each of the store's lanes, its name and the key that it is about."""
    key = shorten_middle(line.key, _KEY) if line.key else ""
    return [(shorten_middle(name, _NAME), key) for name in line.stores]


def layout(line: Timeline) -> Layout:
    """Measure a timeline and place everything in it."""
    made = Layout([[] if row.kind == "gap" else [_words(line, place) for place in row.places] for row in line.rows])
    flat = [words for row in made.words for words in row]
    x = _place_agents(line, made, flat)
    _place_stores(line, made, flat, x)
    _place_words(line, made, flat)
    y = TOP
    for row, words in zip(line.rows, made.words, strict=True):
        height = HEIGHTS[row.kind] + (14 if any(goes_left(line, one.op) for one in words) else 0)
        made.ys.append(y + HEIGHTS[row.kind] / 2)
        y += height
    made.height = y + (HEIGHTS["pause"] if line.waiting else 0.0) + FOOT
    return made


def goes_left(line: Timeline, op: Operation) -> bool:
    """Whether a merge's arrow crosses the column where its value stands, so that the value must go below it."""
    return op.kind == "merge" and op.source in line.stores and line.stores.index(op.source) > line.lane(op)


def note(op: Operation) -> str:
    """What stands above a merge's line."""
    return shorten(f"merge: {op.note}" if op.note else "merge", _NOTE)


def time_label(row: Row, op: Operation | None) -> str:
    """What stands at the left of a row."""
    if op is not None and op.agent == GIVEN:
        return GIVEN
    return "" if row.time is None or row.kind != "operation" else seconds(row.time)


def _words(line: Timeline, place: int) -> Words:
    op, story = line.operation(place), line.story
    beside = "" if op.agent == GIVEN or op.kind == "merge" else story.label(place)
    if op.kind == "think" or (op.kind == "fault" and beside):
        pieces: list[Piece] = []
    elif op.kind == "fault":
        which = f": {op.key}" if op.fault == "forgotten" and line.key is None else ""
        # Its lane says which replica it is.
        what = op.note.removeprefix(f"{op.agent} ").removesuffix(f" on its way to {op.replica}")
        pieces = [Piece(shorten(what.replace(f" to {op.replica} ", " ") + which, _FAULT), "quiet")]
    elif not op.ok:
        there = f"refused: v{op.replaced} is there" if op.replaced is not None else "refused"
        pieces = [Piece(there, "lost")]
    elif op.kind == "delete":
        pieces = [Piece("deleted", "quiet")]
    else:
        pieces = told(op, story.before(place), _VALUE if len(line.stores) == 1 else _VALUE_OF_MANY)
    word = story.word(place) if place in line.numbers else ""
    if not word and (lost := story.lost(place)):
        pieces = [*pieces, Piece(f" {lost} lost", "lost")]
    key = "" if line.key is not None or op.kind in ("think", "fault") else shorten_middle(op.key or "everything", _KEY)
    return Words(op, place, beside, key, version(op), pieces, word)


def _place_agents(line: Timeline, made: Layout, flat: list[Words]) -> float:
    times = [time_label(row, words[0].op if words else None) for row, words in zip(line.rows, made.words, strict=True)]
    made.time_x = MARGIN + max([sans_width("time", LABEL), *(sans_width(time, LABEL) for time in times)]) + 8
    x = made.time_x + 10
    before = 34.0 if line.numbers else 22.0
    for name in line.agents:
        labels = [sans_width(words.label, LABEL) for words in flat if words.op.agent == name]
        made.agent_x[name] = x + before
        x += before + max([52.0, sans_width(agent_name(name), HEAD, True) + 24, *(width + 22 for width in labels)])
    return x


def _place_stores(line: Timeline, made: Layout, flat: list[Words], x: float) -> None:
    keys = max((mono_width(words.key, KEY) for words in flat), default=0.0)
    x += keys + 16 if keys else 22
    made.key_x = x - 12
    for lane, (name, key) in enumerate(store_names(line)):
        here = [words for words in flat if words.op.kind != "think" and line.lane(words.op) == lane]
        notes = [
            sans_width(note(words.op), LABEL) + 30
            for words in flat
            if words.op.kind == "merge" and lane == min(line.lane(words.op), _source_lane(line, words.op))
        ]
        heads = [sans_width(name, HEAD, True), mono_width(key, KEY)]
        width = max([90.0, *heads, *notes, *(words.value_width for words in here)]) + 28
        made.store_x.append(x)
        made.store_width.append(width)
        x += width + 14
    made.width = x - 14 + MARGIN


def _source_lane(line: Timeline, op: Operation) -> int:
    return line.stores.index(op.source) if op.source in line.stores else line.lane(op)


def _place_words(line: Timeline, made: Layout, flat: list[Words]) -> None:
    made.word_x = made.width - MARGIN + 18
    widths = [sans_width(words.word, WORD, True) for words in flat if words.word]
    if widths:
        made.width = made.word_x + 28 + max(widths) + MARGIN
    made.width = max(made.width, 420.0)
