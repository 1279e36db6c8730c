"""What a proof of the grid gives: a matrix of cells, each of which can be asked for its witness or its counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonboard.anomaly_grid.program import Answer, Program
from commonboard.check import Verdict, Violation
from commonboard.entry import Viewable
from commonboard.errors import CommonboardError
from commonboard.explorer.verdicts import preemptions
from commonboard.sim import Run, World

if TYPE_CHECKING:
    from commonboard.show.tables import Table

SIGNS: dict[Answer, str] = {"permits": "✗", "prevents": "✓", "does not apply": "–", "unknown": "?"}


class NoCellError(CommonboardError, LookupError):
    """The grid has no such row or column; the message says what there is."""


def no_such(what: str, asked: Any, names: Iterable[str]) -> NoCellError:
    """The error that there is no such row or column, with the names that there are."""
    return NoCellError(f"there is no {what} {asked!r:.60}; there are: {', '.join(map(repr, names))}")


@dataclass(frozen=True, repr=False)
class Cell:
    """One anomaly under one way of working.

    Attributes:
        row, column: their names.
        answer: `permits`: a witness was found, and replays; `prevents`: everything was tried; `does not apply`; `unknown`: the
            budget was spent.
        why: why it does not apply.
        program: what was explored; `None` where it does not apply.
        verdict: what the exploration said.
        world: the world that it was explored in.
    """

    row: str
    column: str
    answer: Answer
    why: str = ""
    program: Program | None = None
    verdict: Verdict | None = None
    world: World | None = None

    @property
    def token(self) -> str | None:
        """The replay token of the witness."""
        return None if self.verdict is None else self.verdict.token

    @property
    def run(self) -> Run | None:
        """The witness."""
        return None if self.verdict is None else self.verdict.run

    @property
    def words(self) -> str:
        """The answer with its sign."""
        return f"{SIGNS[self.answer]} {self.answer}"

    @property
    def proof(self) -> str:
        """What the answer rests on, in words."""
        explored = None if self.verdict is None else self.verdict.explored
        if self.verdict is None or explored is None:
            return self.why
        if self.answer == "permits":
            cost = "" if explored.preemptions is None else f", with {preemptions(explored.preemptions)}"
            return f"a run that replays{cost}"
        if isinstance(self.verdict, Violation):
            return "a run was found that its token does not give again"
        return self.verdict.why or self.verdict.scope

    def spacetime(self) -> Any:
        """The picture of the witness.

        Raises:
            NoCellError: there is no witness.
        """
        if self.verdict is None or self.answer != "permits":
            raise NoCellError(f"there is no run to draw: {self.column!r} {self.answer} {self.row!r}")
        return self.verdict.spacetime()

    def __repr__(self) -> str:
        return f"{self.row}, {self.column}: {self.words} ({self.proof})"


class Grid(Viewable):
    """Cells by row and column. It shows itself as a matrix; `to_frame()` has a row for each cell.

    Attributes:
        title: what the matrix is called.
        rows, columns: their names, in order.
    """

    def __init__(self, title: str, cells: Sequence[Cell]) -> None:
        self.title = title
        self.rows = list(dict.fromkeys(cell.row for cell in cells))
        self.columns = list(dict.fromkeys(cell.column for cell in cells))
        self._cells = {(cell.row, cell.column): cell for cell in cells}

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def __len__(self) -> int:
        return len(self._cells)

    def cell(self, row: str, column: str) -> Cell:
        """One cell.

        Raises:
            NoCellError: there is no such row or column.
        """
        if (row, column) not in self._cells:
            what, names, asked = ("row", self.rows, row) if row not in self.rows else ("column", self.columns, column)
            raise no_such(what, asked, names)
        return self._cells[row, column]

    def answers(self, row: str) -> tuple[Answer, ...]:
        """The answers of one row, in the order of the columns."""
        return tuple(self.cell(row, column).answer for column in self.columns)

    def to_frame(self) -> Any:
        """A pandas table: for each cell its answer, what that rests on, and the counts."""
        from commonboard.show.frames import table

        cells = list(self)
        explored = [None if cell.verdict is None else cell.verdict.explored for cell in cells]
        return table(
            [
                *((name, "text", [getattr(cell, name) for cell in cells]) for name in ("row", "column", "answer", "proof")),
                ("interleavings", "int", [None if each is None else each.total for each in explored]),
                ("states", "int", [None if each is None else each.states for each in explored]),
                ("preemptions", "int", [None if each is None else each.preemptions for each in explored]),
                ("token", "text", [cell.token if cell.answer == "permits" else None for cell in cells]),
            ]
        )

    def table(self, numbered: bool = False) -> Table:
        """The matrix; with numbers instead of the columns' names, where there is little room."""
        from commonboard.show.tables import Table, Td

        heads = [str(place) for place in range(1, len(self.columns) + 1)] if numbered else self.columns
        rows = [
            [Td(row), *(Td(_short(cell) if numbered else cell.words, cell.proof) for cell in self._row(row))] for row in self.rows
        ]
        return Table(self.title, ["", *heads], rows)

    def _row(self, row: str) -> list[Cell]:
        return [self._cells[row, column] for column in self.columns]

    def _repr_html_(self) -> str:
        return self.table().html

    def __str__(self) -> str:
        legend = [f"  {place} {name}" for place, name in enumerate(self.columns, 1)]
        legend += ["  – does not apply"] if any(cell.answer == "does not apply" for cell in self) else []
        return "\n".join([self.table(numbered=True).text, *legend])

    __repr__ = __str__


def _short(cell: Cell) -> str:
    return SIGNS[cell.answer] if cell.answer == "does not apply" else cell.words
