"""`commonboard grid`: which way of working permits which anomaly, proved anew, as a matrix and as a page to hand around."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonboard.cli.printing import CALLED_WRONGLY, FOUND, check_page, fail, plainly, say, write_page

if TYPE_CHECKING:
    from commonboard.anomaly_grid import Cell, Grid


def grid(
    row: Annotated[
        list[str] | None, typer.Option(metavar="ANOMALY", help="Only this one; may be given several times.", show_default=False)
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="WAY", help="Only this way of working; may be given several times.", show_default=False),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one page that needs nothing else: the matrix, and a picture of each."),
    ] = None,
) -> None:
    """Prove which way of working permits which anomaly: by a run that replays, or by trying every order there is.

    Exit codes: 0 every cell is proved, 1 some are unknown, 2 called wrongly.

    *Example:* `commonboard grid --row "lost update" --row "write skew"`
    """
    from commonboard.anomaly_grid import fault_grid, grid as prove

    with plainly(CALLED_WRONGLY):
        check_page(html)
        made = [prove(row or None, column or None, progress=_tell)]
        if not row and not column:
            made.append(fault_grid(progress=_tell))
    _tell(None)
    for place, each in enumerate(made):
        say(f"{'' if place == 0 else chr(10)}{each}")
    if html is not None:
        write_page(html, page(made))
    unknown = [cell for each in made for cell in each if cell.answer == "unknown"]
    if unknown:
        raise fail(
            f"nobody can tell yet of {len(unknown)} cell{'' if len(unknown) == 1 else 's'}: {'; '.join(map(repr, unknown))}",
            FOUND,
        )


def _tell(cell: Cell | None) -> None:
    """On a terminal: which cell was proved last."""
    if sys.stderr.isatty():
        told = "" if cell is None else f"{cell.row}: {cell.column}"
        sys.stderr.write(f"\r\x1b[K{told[:70]}")
        sys.stderr.flush()


def page(grids: list[Grid]) -> str:
    """The matrices, and for each anomaly what each cell rests on, and the first run that shows it."""
    from commonboard.cli.page import STYLE

    body = "\n".join(_part(each) for each in grids)
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>The anomaly grid</title>'
    start = f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>'
    return f"{start}\n<body>\n<main>\n{body}\n</main>\n</body></html>\n"


def _part(made: Grid) -> str:
    from commonboard.show.measure import escape

    parts = [f'<h1>{escape(made.title)}</h1>\n<div class="wide">{made._repr_html_()}</div>']
    for row in made.rows:
        cells = [made.cell(row, column) for column in made.columns]
        proofs = "".join(f"<li>{escape(f'{cell.column}: {cell.words} ({cell.proof})')}</li>" for cell in cells)
        parts.append(f"<h2>{escape(row[:1].upper() + row[1:])}</h2>\n<ul>{proofs}</ul>")
        shown = next((cell for cell in cells if cell.answer == "permits"), None)
        if shown is not None:
            parts.append(f'<p>With “{escape(shown.column)}”:</p>\n<div class="wide">{shown.spacetime()._repr_html_()}</div>')
    return "\n".join(parts)
