"""Results as tables: HTML that stays readable where nobody has run the notebook, and text for a terminal.

JupyterLab takes styles, scripts and `<svg>` out of what a reader has not run, so a table says everything by plain elements: a
caption, scopes, `<mark>` and the word *changed*. `html` and `tabled` dispatch on the type; `.register(Class)` teaches another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from commonboard.entry import Log, Page
from commonboard.errors import kind_of
from commonboard.history import Cell as BoardCell, History
from commonboard.show.brief import NOTHING, brief, full, plain, text as told
from commonboard.show.frames import NoTableError, entry_value, event_value, field_names, operation_value
from commonboard.show.measure import cells, escape, one_line, shorten
from commonboard.show.spacetime import spacetime
from commonboard.show.story import seconds
from commonboard.show.timeline import PictureError

_LIMIT = 60
_LONGEST_TITLE = 2000
_MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Td:
    """One cell: its text, the whole of it where it was cut, and whether it has changed (`changed`, or a longer word)."""

    text: str
    title: str = ""
    changed: str = ""
    number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, the names of the columns, and rows of cells; the first cell of a row names it."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Td]]

    @property
    def html(self) -> str:
        """As an HTML table."""
        return table(self.caption, self.columns, self.rows)

    @property
    def text(self) -> str:
        """As aligned text."""
        shown = [list(self.columns), *([cell.text for cell in row] for row in self.rows[:_MOST_ROWS])]
        widths = [max(map(cells, column)) for column in zip(*shown, strict=True)] if shown[0] else []
        numbers = [cell.number for cell in self.rows[0]] if self.rows else [False] * len(widths)
        lines = [self.caption]
        for row in shown:
            padded = (_padded(word, width, right) for word, width, right in zip(row, widths, numbers, strict=True))
            lines.append("  " + "  ".join(padded).rstrip())
        more = len(self.rows) - _MOST_ROWS
        return "\n".join([*lines, f"  … and {more:,} more; to_frame() has them all"] if more > 0 else lines)


def _padded(word: str, width: int, right: bool) -> str:
    space = " " * (width - cells(word))
    return space + word if right else word + space


@singledispatch
def html(obj: Any) -> str:
    """The object as HTML: a table with a caption, or the picture where it has one.

    Raises:
        NoTableError: nobody has said what it looks like.
    """
    return tabled(obj).html


def text(obj: Any) -> str:
    """The object as text: a table with a caption, or the picture made of text.

    Raises:
        NoTableError: nobody has said what it looks like.
    """
    return str(spacetime(obj)) if isinstance(obj, History) else tabled(obj).text


@singledispatch
def tabled(obj: Any) -> Table:
    """The object as a table.

    Raises:
        NoTableError: nobody has said what it looks like.
    """
    if isinstance(obj, Sequence) and not isinstance(obj, str | bytes):
        names = field_names(obj)
        kind = "" if type(obj) in (list, tuple) else f"{type(obj).__name__}: "
        if names:
            rows = [[fact_cell(getattr(item, name)) for name in names] for item in obj]
            return Table(f"{kind}{_counted(len(obj), 'row')}", names, rows)
    raise NoTableError(
        f"no table is known for a {type(obj).__name__}; give a page, a log, a history or a list of dataclasses, "
        "or teach it with commonboard.show.html.register"
    )


@tabled.register(Page)
def _(page: Page) -> Table:
    expires = any(entry.expires_at_turn is not None for entry in page)
    rows = [
        [
            Td(entry.key),
            _kept_cell(entry_value(entry)),
            value_cell(entry.version),
            value_cell(entry.actor),
            *([value_cell(entry.expires_at_turn)] if expires else []),
        ]
        for entry in page
    ]
    columns = ["key", "value", "version", "writer", *(["expires at turn"] if expires else [])]
    return Table(f"The board: {_counted(len(page), 'entry', 'entries')}", columns, rows)


@tabled.register(Log)
def _(log: Log) -> Table:
    rows = [
        [
            value_cell(event.seq),
            value_cell(event.turn),
            value_cell(event.actor),
            Td(event.operation),
            Td(event.key),
            Td("deleted") if event.value is None else _kept_cell(event_value(event)),
            Td(f"{event.version_before} → {event.version}"),
            value_cell(event.saw),
            value_cell(event.reason),
        ]
        for event in log
    ]
    columns = ["seq", "turn", "actor", "operation", "key", "value", "version", "saw version", "reason"]
    return Table(f"The log: {_counted(len(log), 'event')}", columns, rows)


@html.register(History)
def _(history: History) -> str:
    return spacetime(history)._repr_html_()


def history_table(history: History) -> str:
    """A history as a table, one row an operation, for those who would rather read than look.

    Raises:
        PictureError: it is no history.
    """
    if not isinstance(history, History):
        raise PictureError(f"history_table takes a history, such as run.history, not {kind_of(history)}")
    rows = [
        [
            value_cell(op.index),
            Td(seconds(op.ended_at).removesuffix(" s"), number=True),
            Td(op.agent),
            Td(op.kind if op.ok else f"{op.kind}, refused"),
            Td(op.key),
            Td("") if op.text is None else value_cell(operation_value(op)),
            value_cell(op.saw),
            value_cell(op.made if op.ok else None),
        ]
        for op in history
    ]
    columns = ["operation", "time in s", "agent", "what", "key", "value", "saw version", "made version"]
    return table(f"The history: {_counted(len(history), 'operation')}", columns, rows)


def board_table(caption: str, before: Mapping[str, BoardCell], after: Mapping[str, BoardCell]) -> str:
    """The board after a step. What the step changed is marked, and says so in words; a key that it deleted keeps its row.

    Args:
        before, after: two boards, as `History.board_at` gives them.
    """
    rows = []
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if new is None:
            rows.append([Td(key), Td("deleted", changed="changed: deleted"), Td(""), Td("")])
            continue
        changed = old is None or old.version != new.version or full(old.value) != full(new.value)
        value, was = plain(new.value), NOTHING if old is None else plain(old.value)
        word = "" if not changed else "changed: new" if old is None else "changed"
        rows.append([Td(key), _shown(value, was, word), value_cell(new.version), Td(new.made_by.agent)])
    return table(caption, ["key", "value", "version", "writer"], rows)


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Td]]) -> str:
    """An HTML table. The first cell of a row names it. After 200 rows, a line says how many more there are."""
    every = list(rows)
    head = "".join(_th(name, bool(every) and every[0][place].number) for place, name in enumerate(columns))
    body = "".join(f"<tr>{''.join(_td(cell, place) for place, cell in enumerate(row))}</tr>" for row in every[:_MOST_ROWS])
    more = len(every) - _MOST_ROWS
    if more > 0:
        body += f'<tr><td colspan="{len(columns)}">… and {more:,} more; to_frame() has them all</td></tr>'
    elif not every:
        body = f'<tr><td colspan="{len(columns)}">nothing</td></tr>'
    named = f'<caption style="text-align:left">{escape(caption)}</caption>'
    return f'<table cellpadding="5">{named}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _kept_cell(value: Any) -> Td:
    """A cell for a value that an entry holds: null is a value too."""
    return Td("null") if value is None else value_cell(value)


def fact_cell(fact: Any) -> Td:
    """A cell for a fact about a value rather than a value: its words as they are."""
    if isinstance(fact, str):
        return Td(shorten(one_line(fact), 2 * _LIMIT), fact if len(fact) > 2 * _LIMIT else "")
    return value_cell(fact)


def value_cell(value: Any) -> Td:
    """A cell for a Python value: short, with its length where it was cut, and whole in its title."""
    return Td("") if value is None else _shown(plain(value), NOTHING, "")


def _shown(value: Any, before: Any, changed: str) -> Td:
    shown, whole = told(brief(value, before, _LIMIT)), full(value)
    if len(whole) > _LONGEST_TITLE:
        whole = f"{whole[:_LONGEST_TITLE]}… ({len(whole):,} characters)"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Td(shown, "" if whole == shown else whole, changed, number)


def _th(name: str, number: bool) -> str:
    side = "right" if number else "left"
    return f'<th scope="col" align="{side}" style="text-align:{side}">{escape(name)}</th>'


def _td(cell: Td, place: int) -> str:
    side = "right" if cell.number else "left"
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    content = escape(cell.text)
    if cell.changed:
        content = f"<mark>{content}</mark> <b>{escape(cell.changed)}</b>"
    name, scope = ("th", ' scope="row"') if place == 0 else ("td", "")
    return f'<{name}{scope} align="{side}" style="text-align:{side}"{title}>{content}</{name}>'


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
