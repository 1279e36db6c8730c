"""The space-time picture as SVG: lanes, rows, arrows and values, from a timeline and its layout."""

from __future__ import annotations

from commonboard.history import GIVEN, Operation
from commonboard.show.brief import Piece, full, value_of
from commonboard.show.layout import (
    FOOT,
    KEY,
    MARGIN,
    TOP,
    Layout,
    Words,
    agent_name,
    goes_left,
    note,
    store_names,
    time_label,
)
from commonboard.show.marks import AGENT_COLOURS, STYLE, badge, hatched, head, mark, number, pair, refused
from commonboard.show.measure import escape, mono_width, sans_width
from commonboard.show.story import seconds
from commonboard.show.timeline import Row, Timeline

_ROLES = {"plain": "", "added": "a", "quiet": "q", "lost": "x"}
_LONGEST_TITLE = 2000


def draw(line: Timeline, place: Layout, title: str, description: str) -> str:
    """The picture as SVG text."""
    width, height = round(place.width), round(place.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cbst" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="max-width:100%;height:auto">',
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc><style>{STYLE}</style>",
        f'<rect class="card" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10"/>',
        *_now(line, place),
        *_lanes(line, place),
        *_cuts(line, place),
        *_bars(line, place),
        *_waits(line, place),
        *_guilt(line, place),
    ]
    shown_time = ""
    for index, row in enumerate(line.rows):
        words = place.words[index]
        time = time_label(row, words[0].op if words else None)
        parts.append(_row(line, place, index, "" if time == shown_time else time))
        shown_time = time or ("" if row.kind == "gap" else shown_time)
    foot = "Time runs down; the spacing is not to scale." if line.rows else "Nothing happened."
    parts.append(_text("q", MARGIN, place.height - FOOT / 2 + 6, foot))
    parts.append("</svg>")
    return "".join(parts)


def _text(kind: str, x: float, y: float, content: str, more: str = "") -> str:
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{more}>{escape(content)}</text>'


def _colour(line: Timeline, agent: str) -> str:
    return f"c{line.agents.index(agent) % len(AGENT_COLOURS)}" if agent in line.agents else "store"


def _lanes(line: Timeline, place: Layout) -> list[str]:
    bottom = number(place.height - FOOT)
    parts = [_text("q", place.time_x, 33, "time", ' text-anchor="end"')]
    for lane, (name, key) in enumerate(store_names(line)):
        x, width = place.store_x[lane], place.store_width[lane]
        panel = f'y="14" width="{number(width)}" height="{number(place.height - FOOT - 14)}" rx="6"/>'
        parts.append(f'<rect class="panel" x="{number(x)}" {panel}')
        parts.append(_text("h", x + 14, 34 if key else 40, name))
        parts.append(_text("k", x + 14, 51, key) if key else "")
        parts.append(f'<path class="edge" d="M{number(x)} 14V{bottom}"/>')
    for agent, x in place.agent_x.items():
        name = agent_name(agent)
        pill = number(sans_width(name, 13, True) + 16)
        parts.append(f'<g class="{_colour(line, agent)}"><title>{escape(agent)}</title>')
        parts.append(f'<path class="lane" d="M{number(x)} 42V{bottom}"/>')
        parts.append(f'<rect class="pill" x="{number(x - 12)}" y="16" width="{pill}" height="26" rx="7"/>')
        parts.append(_text("h", x - 4, 33.5, name) + "</g>")
    return parts


def _now(line: Timeline, place: Layout) -> list[str]:
    """The band behind the row that a stepper stands on."""
    for row, y in zip(line.rows, place.ys, strict=True):
        if line.now is not None and row.step == line.now and row.kind != "gap":
            band = f'<rect class="now" x="6" y="{number(y - 19)}" width="{number(place.width - 12)}" height="36" rx="6"/>'
            return [band, f'<path class="here" d="M10 {number(y - 5)}l7 5l-7 5z"/>']
    return []


def _bars(line: Timeline, place: Layout) -> list[str]:
    """A bar along the lane for each thought, from its agent's operation before to its end."""
    parts = []
    for index, row in enumerate(line.rows):
        for words in place.words[index] if row.kind == "pause" else ():
            top, bottom = _span(line, place, index, words.op)
            x = place.agent_x[words.op.agent]
            kind = f"{_colour(line, words.op.agent)}{_dim(line, row, words.place)}"
            bar = f'x="{number(x - 5.5)}" y="{number(top)}" width="11" height="{number(bottom - top)}" rx="5.5"/>'
            parts.append(f'<rect class="bar {kind}" {bar}')
    return parts


def _cuts(line: Timeline, place: Layout) -> list[str]:
    """A band in the lane of each replica that is cut off, beside all that happens meanwhile; the ends have words there."""
    parts = []
    for lane, top, end in line.cuts():
        healed = any(line.operation(at).fault == "heal" for at in line.rows[end].places)
        bottom = place.ys[end] + (-6 if healed else 12)
        parts.append(hatched(place.store_x[lane] + 2, 11, place.ys[top] + 6, bottom))
    return parts


def _waits(line: Timeline, place: Layout) -> list[str]:
    """A dashed bar along the lane of each agent that waits until the end, from its last operation on."""
    parts, bottom = [], place.height - FOOT
    for agent, what in line.waiting.items():
        rows = zip(line.rows, place.ys, strict=True)
        last = max([y for row, y in rows if any(line.operation(at).agent == agent for at in row.places)], default=TOP - 18)
        x, top, colour = place.agent_x[agent], last + 14, _colour(line, agent)
        bar = f'x="{number(x - 5.5)}" y="{number(top)}" width="11" height="{number(bottom - top)}" rx="5.5"/>'
        parts.append(f'<g class="{colour}"><title>{escape(f"{agent} {what}")}</title>')
        parts.append(f'<rect class="bar" stroke-dasharray="3 3" {bar}' + _text("q i", x + 13, bottom - 12, "waits") + "</g>")
    return parts


def _span(line: Timeline, place: Layout, index: int, op: Operation) -> tuple[float, float]:
    def mine(row: Row) -> bool:
        return any(line.operation(at).agent == op.agent for at in row.places)

    first = last = index
    while first > 0 and line.rows[first - 1].kind != "gap" and not mine(line.rows[first - 1]):
        time = line.rows[first - 1].time
        if time is None or time < op.began_at:
            break
        first -= 1
    while last + 1 < len(line.rows) and line.rows[last + 1].kind != "gap" and not mine(line.rows[last + 1]):
        time = line.rows[last + 1].time
        if time is None or time >= op.ended_at:
            break
        last += 1
    return place.ys[first] - 14, place.ys[last] + 14


def _guilt(line: Timeline, place: Layout) -> list[str]:
    """The stretch of a lane between two numbered operations of one agent."""
    last: dict[str, float] = {}
    parts = []
    for row, y in zip(line.rows, place.ys, strict=True):
        for at in row.places if row.kind != "gap" else ():
            agent = line.operation(at).agent
            if at not in line.numbers or agent not in place.agent_x:
                continue
            if agent in last:
                x, later = number(place.agent_x[agent]), " later" if line.now is not None and row.step > line.now else ""
                parts.append(f'<path class="guilt{later}" d="M{x} {number(last[agent] + 9)}V{number(y - 10)}"/>')
            last[agent] = y
    return parts


def _dim(line: Timeline, row: Row, at: int) -> str:
    if line.now is not None:
        return " later" if row.step > line.now else ""
    return " dim" if line.numbers and at not in line.numbers else ""


def _row(line: Timeline, place: Layout, index: int, time: str) -> str:
    row, y = line.rows[index], place.ys[index]
    if row.kind == "gap":
        return _gap(place, y, len(row.places))
    later = " later" if line.now is not None and row.step > line.now else ""
    shown = _text(f"q{later}", place.time_x, y + 4, time, ' text-anchor="end"') if time else ""
    return shown + "".join(_operation(line, place, row, words, y) for words in place.words[index])


def _gap(place: Layout, y: float, count: int) -> str:
    told = f"… {count:,} other operations"
    middle = place.width / 2
    half = sans_width(told, 11.5) / 2 + 10
    band = f'<rect class="gap" x="1.5" y="{number(y - 14)}" width="{number(place.width - 3)}" height="28"/>'
    dots = f'<path class="dots" d="M{MARGIN:g} {number(y)}H{number(middle - half)}M{number(middle + half)} {number(y)}'
    return f'{band}{dots}H{number(place.width - MARGIN)}"/>' + _text("q", middle, y + 4, told, ' text-anchor="middle"')


def _operation(line: Timeline, place: Layout, row: Row, words: Words, y: float) -> str:
    op, count = words.op, line.numbers.get(words.place)
    kind = "hi" if count else _colour(line, op.agent)
    parts = [f'<g class="{kind}{_dim(line, row, words.place)}">', f"<title>{escape(_title(line, words))}</title>"]
    if op.kind == "merge":
        parts.append(_merge(line, place, op, y))
    elif op.kind == "fault":
        parts.append(mark(op, place.agent_x.get(op.agent, place.store_x[line.lane(op)]), y))
    elif op.kind != "think":
        parts.append(_arrow(line, place, op, y))
    x = place.agent_x.get(op.agent)
    if x is not None:
        parts.append(_text("q i", x + 13, y + 4, words.label) if op.kind == "think" else _text("", x + 12, y - 6, words.label))
    if words.key:
        beside_badge = 24 if count and x is None else 0
        parts.append(_text("k", place.key_x - beside_badge, y - 6, words.key, ' text-anchor="end"'))
    if op.kind != "think":
        parts.append(_value(place.store_x[line.lane(op)] + 14, y + (19 if goes_left(line, op) else 4), words))
    if count:
        parts.append(badge(place.word_x + 9, y, count) + _text("w", place.word_x + 25, y + 4.5, words.word))
        parts.append(badge((x if x is not None else place.store_x[line.lane(op)]) - 21, y, count))
    return "".join(parts) + "</g>"


def _arrow(line: Timeline, place: Layout, op: Operation, y: float) -> str:
    end, start = place.store_x[line.lane(op)], place.agent_x.get(op.agent)
    if start is None:  # what was given was there before anybody acted
        return mark(op, end, y)
    at = number(y)
    if op.kind in ("read", "list"):
        return f'<path class="line" d="M{number(end)} {at}H{number(start + 14)}"/>{head(start + 7.5, y, -1)}{mark(op, start, y)}'
    if not op.ok:
        line_ = f'<path class="line" stroke-dasharray="5 4" d="M{number(start + 9)} {at}H{number(end - 9)}"/>'
        return line_ + refused(end - 9, y) + mark(op, start, y)
    return f'<path class="line" d="M{number(start)} {at}H{number(end - 8)}"/>{head(end - 1, y, 1)}{mark(op, start, y)}'


def _merge(line: Timeline, place: Layout, op: Operation, y: float) -> str:
    end = place.store_x[line.lane(op)]
    if op.source not in line.stores:
        return mark(op, end, y)
    start = place.store_x[line.stores.index(op.source)]
    return pair(start, end, y) + _text("q i", min(start, end) + 14, y - 7, note(op))


def _value(x: float, y: float, words: Words) -> str:
    chip = ""
    if words.version:
        width = mono_width(words.version, KEY) + 8
        filled = "made" if words.op.is_write or words.op.kind == "merge" else "read"
        box = f'<rect class="{filled}" x="{number(x)}" y="{number(y - 12.5)}" width="{number(width)}" height="17" rx="4"/>'
        middle = number(x + width / 2)
        chip = f'{box}<text class="m v" x="{middle}" y="{number(y)}" text-anchor="middle">{words.version}</text>'
        x += width + 8
    return f'{chip}<text class="m" x="{number(x)}" y="{number(y)}">{"".join(map(_span_of, words.pieces))}</text>'


def _span_of(piece: Piece) -> str:
    kind = _ROLES[piece.role]
    return f'<tspan class="{kind}">{escape(piece.text)}</tspan>' if kind else escape(piece.text)


def _title(line: Timeline, words: Words) -> str:
    """What hovering shows: when, the sentence, and the value whole."""
    op = words.op
    when = "" if op.agent == GIVEN else f"{seconds(op.ended_at)}: "
    told = f"{when}{line.story.sentence(words.place)}"
    if op.text is None or op.kind == "think":
        return told
    value = full(value_of(op))
    if len(value) > _LONGEST_TITLE:
        value = f"{value[:_LONGEST_TITLE]}… ({len(value):,} characters)"
    return told if value in told else f"{told}\n{value}"
