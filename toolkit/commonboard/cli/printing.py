"""What the commands print: tables for people, plain lines for pipes, and errors in one line.

Exit codes: 0 all is well; 1 something was found, or a board cannot be opened; 2 called wrongly, or something is not installed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from commonboard.errors import CommonboardError, InvalidArgumentError

if TYPE_CHECKING:
    from rich.console import Console

    from commonboard.show.tables import Table

_WHOLE = ("key", "actor", "writer", "operation", "version", "policy", "scenario")
"""Columns that are not broken on a narrow terminal."""
_LONGEST_WHOLE = 40
_READABLE = 16
_GAP = 2
"""Spaces between two columns."""
FOUND = 1
CALLED_WRONGLY = 2


@contextlib.contextmanager
def plainly(code: int = FOUND) -> Iterator[None]:
    """Tell an error of the library as one line, and end with this exit code; no traceback."""
    try:
        yield
    except CommonboardError as error:
        raise fail(str(error), code) from None


def fail(message: str, code: int) -> typer.Exit:
    """Say what is wrong; gives what is to be raised."""
    typer.echo(f"commonboard: {' '.join(message.split())}", err=True)
    return typer.Exit(code)


def check_page(html: Path | None) -> None:
    """Refuse a place where no page can be written, before the work for it begins.

    Raises:
        InvalidArgumentError: it is a folder, or in none.
    """
    if html is not None and os.path.isdir(html):  # Path.is_dir raises where a name is too long
        raise InvalidArgumentError(f"{html} is a folder; give the page a name, such as {html / 'page.html'}")
    if html is not None and not html.absolute().parent.is_dir():
        raise InvalidArgumentError(f"there is no folder {html.absolute().parent}; make it first")


def write_page(html: Path, content: str, *, quiet: bool = False) -> None:
    """Write a page, and say so: on stderr where stdout is for a script (`quiet`)."""
    try:
        html.write_text(content, encoding="utf-8", newline="\n")
    except OSError as error:
        raise fail(f"{html} cannot be written ({error.strerror or error}); give another place", CALLED_WRONGLY) from None
    typer.echo(f"wrote {html}", err=quiet)


def console(stderr: bool = False) -> Console:
    """Where rich prints. It knows whether a person looks: `is_terminal`."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def say(line: str = "") -> None:
    """One line, as it is, however long."""
    typer.echo(line)


def say_json(thing: Any) -> None:
    """For scripts."""
    typer.echo(json.dumps(thing, ensure_ascii=False, indent=2, default=str))


def show_table(made: Table) -> None:
    """A result's table: drawn by rich on a terminal, else aligned text, one line a row."""
    numbers = [cell.number for cell in made.rows[0]] if made.rows else [False] * len(made.columns)
    rows = [[cell.text for cell in row] for row in made.rows]
    screen = console()
    if screen.is_terminal:
        draw(screen, made.caption, made.columns, rows, numbers)
        return
    from commonboard.show.measure import cells

    widths = [max(map(cells, column)) for column in zip(made.columns, *rows, strict=True)]
    say(made.caption)
    for row in [list(made.columns), *rows]:
        padded = [_padded(word, width, right) for word, width, right in zip(row, widths, numbers, strict=True)]
        say("  ".join(padded).rstrip())


def without(made: Table, column: str) -> Table:
    """The table without a column that says the same in every row."""
    place = list(made.columns).index(column)
    rows = [[cell for at, cell in enumerate(row) if at != place] for row in made.rows]
    return replace(made, columns=[name for name in made.columns if name != column], rows=rows)


def _padded(word: str, width: int, right: bool) -> str:
    from commonboard.show.measure import cells

    space = " " * (width - cells(word))
    return space + word if right else word + space


def draw(
    screen: Console, caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[bool] = ()
) -> None:
    """Print a table by rich. Texts are shown as they are: brackets in them mean nothing.

    On a terminal that is too narrow for the longest words the terminal breaks the lines; no column is left out.
    """
    from rich.table import Table
    from rich.text import Text

    texts = [list(row) for row in rows]
    right = [place < len(numbers) and numbers[place] for place in range(len(columns))]
    widths = _widths(columns, texts, right, screen.width)
    screen.width = max(screen.width, sum(widths) + _GAP * len(widths))
    table = Table(box=None, padding=(0, _GAP, 0, 0))
    for name, width, is_number in zip(columns, widths, right, strict=True):
        table.add_column(name, justify="right" if is_number else "left", overflow="fold", width=width)
    for row in texts:
        table.add_row(*map(Text, row))
    screen.print(Text(caption, style="bold"), soft_wrap=True)
    screen.print(table)


def _widths(columns: Sequence[str], rows: list[list[str]], numbers: list[bool], room: int) -> list[int]:
    """How wide each column is. rich would let a column vanish where all of them are too wide."""
    from commonboard.show.measure import cells

    natural, least = [], []
    for place, name in enumerate(columns):
        texts = [name, *(row[place] for row in rows)]
        natural.append(max(map(cells, texts)))
        whole = numbers[place] or name in _WHOLE
        words = [*name.split(), *(texts[1:] if whole else [])]
        longest = min(max(map(cells, words), default=1), _LONGEST_WHOLE)
        least.append(max(longest, min(natural[-1], _READABLE)))
    widths = list(natural)
    while sum(widths) + _GAP * len(widths) > room:
        slack = [width - small for width, small in zip(widths, least, strict=True)]
        if max(slack) <= 0:
            break
        widths[slack.index(max(slack))] -= 1
    return widths
