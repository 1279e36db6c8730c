"""The pages of `docs/anomalies/`: one for each anomaly, in the same order and the same words, and the matrix on top.

python -m commonboard.anomaly_grid.pages docs/anomalies
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from commonboard.anomaly_grid.columns import COLUMNS
from commonboard.anomaly_grid.copies import ROWS
from commonboard.anomaly_grid.faults import FAULTS, Fault
from commonboard.anomaly_grid.prove import fault_grid, grid
from commonboard.anomaly_grid.result import SIGNS, Cell, Grid
from commonboard.anomaly_grid.row import Row
from commonboard.check.properties import Property

_MADE = "<!-- Made by `python -m commonboard.anomaly_grid.pages docs/anomalies`. Do not edit it here. -->\n\n"
_FROM = {
    "commonboard": ("AgentMemory", "ConflictError", "Keep", "OutcomeUnknownError", "Version"),
    "commonboard.anomaly_grid": ("Way",),
    "typing": ("Any",),
}
_LEGEND = (
    f"{SIGNS['permits']} *permits*: a run that shows it was found, and replays. {SIGNS['prevents']} *prevents*: every order in "
    f"which the operations can happen was tried, and none shows it. {SIGNS['does not apply']} *does not apply*: the page of the "
    "anomaly says why."
)


def pages(found: Grid, faults: Grid) -> dict[str, str]:
    """Each page by its file name.

    Args:
        found: the whole grid.
        faults: the whole grid of faults.
    """
    made = {"README.md": _index(found, faults)}
    for row in ROWS:
        cells = [found.cell(row.name, column) for column in found.columns]
        made[f"{slug(row.name)}.md"] = _page(row, cells, _fixed(row))
    for fault in FAULTS:
        cells = [faults.cell(fault.name, column) for column in faults.columns]
        made[f"{slug(fault.name)}.md"] = _page(fault, cells, "")
    return made


def slug(name: str) -> str:
    """The file name of an anomaly.

    >>> slug("clock-skew loss")
    'clock_skew_loss'
    """
    return re.sub(r"\W+", "_", name)


def _index(found: Grid, faults: Grid) -> str:
    columns = "\n".join(f"- **{column.name}**: {column.sentence}" for column in COLUMNS)
    return (
        f"{_MADE}# What each way of working permits\n\n"
        "Several agents share one memory. What can go wrong depends on how they write to it. Each cell of this table is proved, "
        "by trying every order in which the operations of a small program can happen. `commonboard grid` proves it again.\n\n"
        f"{_matrix(found)}\n\n{_LEGEND}\n\nThe ways of working:\n\n{columns}\n\n"
        "Where there are two copies, each operation may happen at either of them, and messages may overtake each other.\n\n"
        "## What an agent's own code, or a policy, gets wrong\n\n"
        "No way of working helps here. The wrong program shows the fault, the right one was tried in every order.\n\n"
        f"{_matrix(faults)}\n"
    )


def _matrix(found: Grid) -> str:
    head = ["", *found.columns]
    rows = [
        [f"[{row}]({slug(row)}.md)", *(found.cell(row, column).words.replace(" ", " ") for column in found.columns)]
        for row in found.rows
    ]
    return _table(head, rows)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _page(row: Row | Fault, cells: list[Cell], fixed: str) -> str:
    shown = _shown(row, cells)
    proofs = _table(["way of working" if isinstance(row, Row) else "program", "", "proof"], [_proof(cell) for cell in cells])
    return (
        f"{_MADE}# {row.name[:1].upper()}{row.name[1:]}\n\n"
        f"## What it is\n\n{row.sentence}\n\n"
        f"## The smallest program\n\n{row.story}\n\n```python\n{_imports(row.source)}{row.source}\n```\n\n{fixed}"
        f"## The smallest run\n\n{_where(row, shown)}\n\n{_example(row, shown)}"
        f"## Who permits it, who prevents it\n\n{proofs}\n\n"
        f"## Where it is found outside\n\n{row.outside or 'We know of no report that names it.'}\n\n"
        f"## Named by\n\n{row.named_by[:1].upper()}{row.named_by[1:]}.\n"
    )


def _shown(row: Row | Fault, cells: list[Cell]) -> Cell:
    wanted = row.shown if isinstance(row, Row) else ""
    return next(cell for cell in cells if cell.answer == "permits" and wanted in ("", cell.column))


def _fixed(row: Row) -> str:
    given = ", ".join(f"`shared/{key}` is `{value!r}`" for key, value in row.given.items())
    names = ", ".join(f"`{name}` does `{job.__name__}`" for name, job in row.jobs.items())
    check = row.check.name if isinstance(row.check, Property) else row.check.__name__.replace("_", " ")
    begins = f"At the beginning {given}. " if given else "At the beginning the board is empty. "
    return f"{begins}{names[:1].upper()}{names[1:]}. What must be true: *{check}*.\n\n"


def _imports(source: str) -> str:
    lines = []
    for module, names in _FROM.items():
        used = [name for name in names if re.search(rf"\b{name}\b", source)]
        if used:
            lines.append(f"from {module} import {', '.join(used)}\n")
    return "".join(sorted(lines, reverse=True)) + "\n\n"


def _where(row: Row | Fault, cell: Cell) -> str:
    place = f"With “{cell.column}”" if isinstance(row, Row) else "With the wrong program"
    return f"{place}, in this world: {cell.world}."


def _example(row: Row | Fault, cell: Cell) -> str:
    name = "grid" if isinstance(row, Row) else "fault_grid"
    call = "grid(*place)" if isinstance(row, Row) else "fault_grid(place[0])"
    code = (
        f"from commonboard.anomaly_grid import {name}\n\n"
        f'place = ("{cell.row}", "{cell.column}")\ncell = {call}.cell(*place)\nprint(cell.spacetime())\n'
    )
    return f"```python\n{code}```\n\n```text\n{str(cell.spacetime()).rstrip()}\n```\n\n"


def _proof(cell: Cell) -> list[str]:
    return [cell.column, cell.words, cell.proof]


def write(folder: Path) -> list[str]:
    """Write all pages into a folder; gives their names."""
    made = pages(grid(), fault_grid())
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return list(made)


if __name__ == "__main__":
    sys.stdout.write(f"wrote {len(write(Path(sys.argv[1])))} pages\n")
