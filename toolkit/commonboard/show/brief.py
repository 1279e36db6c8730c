"""A value in a few words: short enough for the end of an arrow, with what is new in it marked."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final, Literal, NamedTuple

from commonboard.errors import CorruptValueError
from commonboard.history import Operation
from commonboard.show.measure import cells, one_line, shorten

Role = Literal["plain", "added", "quiet", "lost"]
NOTHING: Final = object()
"""There is no value: not even `None`."""
_LONG_TEXT = 4000
_ITEM = 20


class Piece(NamedTuple):
    """A stretch of text, and how it is meant: `added` since the version before, `quiet` for lengths, `lost`."""

    text: str
    role: Role = "plain"


class _Item(NamedTuple):
    text: str
    new: bool


def value_of(op: Operation) -> Any:
    """The Python value of an operation, or its stored text where that cannot be decoded: a picture shows what is there."""
    if op.text is None:
        return NOTHING
    try:
        return plain(op.value)
    except CorruptValueError:
        return op.text


def plain(value: Any) -> Any:
    """What a value stands for: a CRDT's plain value, anything else as it is."""
    return value.value if hasattr(type(value), "to_json") else value


def full(value: Any) -> str:
    """The whole value as text, for those who want to see all of it."""
    if value is NOTHING:
        return "nothing"
    value = plain(value)
    return value if isinstance(value, str) else _json(value)


def brief(value: Any, before: Any = NOTHING, limit: int = 32) -> list[Piece]:
    """The value in at most about `limit` columns; where something was cut, its length follows.

    Args:
        value: plain JSON data, or `NOTHING`.
        before: the value that it replaced, so that new items can be marked.
        limit: how many columns of a terminal there is room for.

    >>> text(brief(["A", "B"])), text(brief("x" * 90, limit=12))
    ('[A, B]', 'xxxxxxxxxxx… 90 characters')
    >>> [piece.text for piece in brief(["A", "B"], before=["A"]) if piece.role == "added"]
    ['B']
    """
    if value is NOTHING:
        return [Piece("nothing", "quiet")]
    if isinstance(value, list):
        known = Counter(map(_json, before)) if isinstance(before, list) else None
        return _group("[", [_item(item, known) for item in value], "]", "items", limit)
    if isinstance(value, dict):
        earlier = before if isinstance(before, dict) else None
        pairs = [_Item(f"{_bare(key)}: {_short(item)}", _changed(key, item, earlier)) for key, item in value.items()]
        return _group("{", pairs, "}", "fields", limit)
    if isinstance(value, str):
        return _cut(_bare(value) if len(value) <= limit else one_line(value[: 4 * limit]), len(value), limit)
    told = _json(value)
    return _cut(told, len(told), limit)


def text(pieces: list[Piece]) -> str:
    """The pieces without their roles."""
    return "".join(piece.text for piece in pieces)


def told(op: Operation, before: Any = NOTHING, limit: int = 32) -> list[Piece]:
    """`brief` for what an operation read or wrote. Very long text is cut without being looked into."""
    if op.text is not None and len(op.text) > _LONG_TEXT:
        return _cut(one_line(op.text[: 4 * limit]), len(op.text), limit)
    return brief(value_of(op), before, limit)


def missing(before: Any, after: Any, seen: Any = NOTHING, limit: int = 24) -> str:
    """What a list or a dict held that what replaced it does not, by name; empty where nothing is gone, or for other values.

    Args:
        before, after: the two values.
        seen: what the writer had looked at; what was in it already was not lost but taken out.

    >>> missing(["A", "B", "C"], ["A"]), missing({"a": 1}, {"a": 2}), missing(["A", "B"], [], seen=["A"])
    ('B, C', '', 'B')
    """
    if isinstance(before, list) and isinstance(after, list):
        left = Counter(map(_json, after))
        left += Counter(map(_json, seen)) - left if isinstance(seen, list) else Counter()
        gone = [_short(item) for item in before if not _take(left, _json(item))]
    elif isinstance(before, dict) and isinstance(after, dict):
        known = seen if isinstance(seen, dict) else {}
        gone = [_bare(key) for key in before if key not in after and key not in known]
    else:
        return ""
    if len(gone) > 2:
        gone = [gone[0], f"{len(gone) - 1} more"]
    return shorten(", ".join(gone), limit)


def _item(item: Any, known: Counter[str] | None) -> _Item:
    return _Item(_short(item), known is not None and not _take(known, _json(item)))


def _changed(key: str, item: Any, before: dict[str, Any] | None) -> bool:
    return before is not None and (key not in before or _json(before[key]) != _json(item))


def _take(counts: Counter[str], name: str) -> bool:
    if counts[name] <= 0:
        return False
    counts[name] -= 1
    return True


def _short(value: Any) -> str:
    return shorten(_bare(value) if isinstance(value, str) else one_line(_json(value)), _ITEM)


def _bare(value: str) -> str:
    """A string without quotes, unless it could be taken for something else."""
    looks = not value or value != value.strip() or value[0] in '[{"' or "," in value or "]" in value or "}" in value
    if not looks and (value[0].isdigit() or value[0] == "-" or value in ("true", "false", "null")):
        try:
            json.loads(value)
            looks = True
        except ValueError:
            looks = False
    return f'"{one_line(value)}"' if looks else one_line(value)


def _json(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=lambda thing: type(thing).__name__)


def _cut(shown: str, length: int, limit: int) -> list[Piece]:
    if cells(shown) <= limit and length <= len(shown):
        return [Piece(shown)]
    return [Piece(shorten(shown, min(limit, max(len(shown), 2)))), Piece(f" {length:,} characters", "quiet")]


def _group(start: str, items: list[_Item], end: str, name: str, limit: int) -> list[Piece]:
    shown, left_out = _fit(items, limit - 2)
    pieces = [Piece(start)]
    for place, item in enumerate(shown):
        pieces += [Piece(", ")] if place else []
        pieces.append(Piece(item.text, "added" if item.new else "plain"))
    pieces.append(Piece(end))
    return [*pieces, Piece(f" {len(items)} {name}", "quiet")] if left_out else pieces


def _fit(items: list[_Item], room: int) -> tuple[list[_Item], bool]:
    """The items that there is room for: all, or the new ones, or the first."""
    if len(items) <= room and _width(items) <= room:
        return items, False
    dots = _Item("…", False)
    new = [item for item in items if item.new]
    if new and len(new) < len(items):
        return [dots, *_first(new, room - 3, dots)], True
    return _first(items, room, dots), True


def _first(items: list[_Item], room: int, dots: _Item) -> list[_Item]:
    if len(items) <= room and _width(items) <= room:
        return items
    used, count = cells(dots.text), 0
    while count < len(items) and used + cells(items[count].text) + 2 <= room:
        used += cells(items[count].text) + 2
        count += 1
    shown = items[: max(count, 1)]
    return [*shown, dots] if len(shown) < len(items) else shown


def _width(items: list[_Item]) -> int:
    return sum(cells(item.text) + 2 for item in items) - 2
