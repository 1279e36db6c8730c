"""A notebook as the rules look at it, and what they say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing to mend in a notebook.

    Attributes:
        file: the notebook's name.
        cell: the number of the cell, from 1; 0 where it is about the whole file.
        what: what is wrong.
        how: how to mend it.
    """

    file: str
    cell: int
    what: str
    how: str

    def __str__(self) -> str:
        where = f"{self.file}, cell {self.cell}" if self.cell else self.file
        return f"{where}: {self.what}. To mend it: {self.how}."


Told = Iterator[tuple[int, str, str]]


@dataclass(slots=True)
class Sheet:
    """A notebook as the rules look at it.

    Attributes:
        path: where it is.
        metadata: of the whole notebook.
        cells: all cells, with their numbers from 1. code, prose: those of each kind.
    """

    path: Path
    metadata: dict[str, Any]
    cells: list[tuple[int, Cell]]
    code: list[tuple[int, Cell]] = field(init=False)
    prose: list[tuple[int, Cell]] = field(init=False)

    def __post_init__(self) -> None:
        self.code = [(place, cell) for place, cell in self.cells if cell["cell_type"] == "code"]
        self.prose = [(place, cell) for place, cell in self.cells if cell["cell_type"] == "markdown"]


Rule = Callable[[Sheet], Told]
