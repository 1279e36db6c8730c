"""The space-time picture made of text, for a terminal, a screen reader or a diff: the same rows as the drawn one."""

from __future__ import annotations

from dataclasses import dataclass

from commonboard.history import GIVEN
from commonboard.show.brief import text
from commonboard.show.layout import Words, agent_name, note, store_names
from commonboard.show.measure import cells
from commonboard.show.timeline import Row, Timeline

_ROUND = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_GAP = 2


@dataclass(slots=True)
class _Grid:
    """In which column everything begins: the agents' lanes, the keys, the store's lanes, the words of the guilty path."""

    agents: dict[str, int]
    key: int
    stores: list[int]
    word: int
    span: dict[str, tuple[int, int]]


def draw_plain(line: Timeline, words: list[list[Words]]) -> str:
    """The picture as text, one line a row, without an end of line at the end; `words` is what a layout has for each row."""
    grid = _grid(line, words)
    lines = [_header(line, grid)]
    for index, row in enumerate(line.rows):
        lines.append(_line(line, grid, index, row, words[index]))
    if line.waiting:
        canvas = [" "] * grid.word
        for agent in line.waiting:
            _write(canvas, grid.agents[agent], "┊ waits")
        lines.append("".join(canvas))
    return "\n".join(one.rstrip() for one in lines)


def _time(row: Row, words: list[Words]) -> str:
    if words and words[0].op.agent == GIVEN:
        return f" {GIVEN}"
    return "" if row.time is None else f" t {round(row.time, 3):,.10g}"


def _grid(line: Timeline, words: list[list[Words]]) -> _Grid:
    flat = [one for row in words for one in row]
    column = max([8, *(len(_time(row, ones)) + 2 for row, ones in zip(line.rows, words, strict=True))])
    agents: dict[str, int] = {}
    for name in line.agents:
        labels = [cells(one.label) + 3 for one in flat if one.op.agent == name] + [7 * (name in line.waiting)]
        agents[name] = column
        column += max([cells(agent_name(name)), *labels]) + _GAP
    column += 3
    key = column
    keys = max((cells(one.key) for one in flat), default=0)
    column += keys + 4 if keys else 0
    stores = []
    for lane, (name, about) in enumerate(store_names(line)):
        values = [cells(_value(one)) for one in flat if one.op.kind != "think" and line.lane(one.op) == lane]
        stores.append(column)
        column += max([cells(f"{name} {about}".strip()), *values]) + _GAP + 2
    rows: dict[str, tuple[int, int]] = {}
    for index, row in enumerate(line.rows):
        for agent in dict.fromkeys(line.operation(at).agent for at in row.places):
            rows[agent] = (rows.get(agent, (index, 0))[0], index)
    for agent in line.waiting:
        rows[agent] = (rows.get(agent, (0, 0))[0], len(line.rows))
    return _Grid(agents, key, stores, column, rows)


def _value(words: Words) -> str:
    told = f"({note(words.op).removeprefix('merge: ')})" if words.op.kind == "merge" else ""
    return "  ".join(filter(None, (words.version, text(words.pieces), told)))


def _header(line: Timeline, grid: _Grid) -> str:
    shown = ""
    names = [(column, agent_name(name)) for name, column in grid.agents.items()]
    heads = [f"{name} {about}".strip() for name, about in store_names(line)]
    for column, name in [*names, *zip(grid.stores, heads, strict=True)]:
        shown += " " * (column - cells(shown)) + name
    return shown


def _line(line: Timeline, grid: _Grid, index: int, row: Row, words: list[Words]) -> str:
    canvas = [" "] * grid.word
    _write(canvas, 0, "" if row.kind == "gap" else _time(row, words))
    if line.now is not None and row.step == line.now and row.kind != "gap":
        _write(canvas, 0, ">")
    for agent, column in grid.agents.items():
        first, last = grid.span.get(agent, (0, -1))
        if first <= index <= last:
            canvas[column] = "┊" if row.kind == "gap" else "│"
    if row.kind == "gap":
        _write(canvas, grid.stores[0], f"… {len(row.places):,} other operations")
    for one in words:
        if one.op.kind == "fault":
            _fault(line, grid, canvas, one)
        elif one.op.kind == "think":
            _write(canvas, grid.agents[one.op.agent] + 2, one.label)
        elif one.op.kind == "merge" and one.op.source in line.stores:
            _merge(line, grid, canvas, one)
        else:
            _arrow(line, grid, canvas, index, one)
            _write(canvas, grid.stores[line.lane(one.op)], _value(one))
    numbers = [(line.numbers[one.place], one.word) for one in words if one.place in line.numbers]
    told = "  ".join(f"{_ROUND[n - 1] if n <= len(_ROUND) else f'({n})'} {word}" for n, word in numbers)
    return "".join(canvas) + told


def _arrow(line: Timeline, grid: _Grid, canvas: list[str], index: int, one: Words) -> None:
    op, start = one.op, grid.agents.get(one.op.agent)
    end = grid.stores[line.lane(op)] - 1
    if start is not None:
        first, last = grid.span[op.agent]
        canvas[start] = "─" if first == last else "┌" if index == first else "└" if index == last else "├"
        _write(canvas, start + 2, one.label)
        begin = start + 3 + cells(one.label)
        _write(canvas, begin, "─" * (end - begin))
        if op.kind in ("read", "list"):
            canvas[begin] = "◀"
        else:
            canvas[end - 1] = "▶" if op.ok else "✗"
    if one.key:
        _write(canvas, grid.key - 1, f" {one.key} ")


def _fault(line: Timeline, grid: _Grid, canvas: list[str], one: Words) -> None:
    if one.op.agent in grid.agents:
        _write(canvas, grid.agents[one.op.agent], f"✗ {one.label}")
    else:
        _write(canvas, grid.stores[line.lane(one.op)] - 2, f"✗ {_value(one)}")


def _merge(line: Timeline, grid: _Grid, canvas: list[str], one: Words) -> None:
    target, source = grid.stores[line.lane(one.op)], grid.stores[line.stores.index(one.op.source or "")]
    _write(canvas, grid.key, one.key)
    shown = _value(one)
    if source < target:
        _write(canvas, source, "○" + "═" * (target - source - 3) + "▶")
    else:
        _write(canvas, target + cells(shown) + 1, "◀" + "═" * (source - target - cells(shown) - 2) + "○")
    _write(canvas, target, shown)


def _write(canvas: list[str], column: int, content: str) -> None:
    """Put text into the row; a wide character takes two of its cells."""
    for char in content:
        width = cells(char)
        if width == 0:
            canvas[column - 1] += char
            continue
        canvas[column : column + width] = [char] + [""] * (width - 1)
        column += width
