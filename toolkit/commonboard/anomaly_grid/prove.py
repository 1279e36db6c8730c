"""`grid`: prove each anomaly against each way of working. `fault_grid`: the faults of an agent's own code, and of a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from commonboard.anomaly_grid.columns import COLUMNS, Column
from commonboard.anomaly_grid.copies import ROWS
from commonboard.anomaly_grid.faults import FAULTS, Fault
from commonboard.anomaly_grid.program import BUDGET, Program
from commonboard.anomaly_grid.result import Cell, Grid, NoCellError, no_such
from commonboard.anomaly_grid.row import Row

Told = Callable[[Cell], None]
T = TypeVar("T", Row, Column, Fault)


def grid(
    rows: str | Iterable[str | Row] | None = None,
    columns: str | Iterable[str | Column] | None = None,
    *,
    progress: Told | None = None,
    budget: int = BUDGET,
) -> Grid:
    """Prove each anomaly against each way of working: a witness that replays, or a search that tried everything.

    Args:
        rows: the anomalies, by name, or rows of one's own; all unless given.
        columns: the ways of working, by name, or columns of one's own; all eight unless given.
        progress: called with each cell when it is proved.
        budget: how many states to visit, or schedules to run, for one cell, before its answer is `unknown`.

    Raises:
        NoCellError: there is no such row or column, or none is asked for.
        InvalidArgumentError: the budget is not a whole number of at least 1.

    >>> found = grid("lost update", ["last writer wins, one copy", "compare-and-set by version"])
    >>> print(found)
    What each way of working permits
                   1          2
      lost update  ✗ permits  ✓ prevents
      1 last writer wins, one copy
      2 compare-and-set by version
    >>> found.cell("lost update", "compare-and-set by version").proof
    'every one of 6 interleavings'

    The matrix is that of Hermitage (Kleppmann, 2014), which runs fixed schedules by hand.
    """
    ways = _chosen(columns, COLUMNS, "column")
    cells = []
    for row in _chosen(rows, ROWS, "row"):
        for column in ways:
            cells.append(prove(row, column, budget))
            if progress is not None:
                progress(cells[-1])
    return Grid("What each way of working permits", cells)


def prove(row: Row, column: Column, budget: int = BUDGET) -> Cell:
    """One cell."""
    if why := row.why_not(column):
        return Cell(row.name, column.name, "does not apply", why)
    worlds = tuple(column.worlds(**row.faults))
    program = Program(column.agents(row.jobs, row.readers), column.policy(row.crdt), row.board, row.check, worlds)
    answer, verdict, world = program.proof(budget)
    return Cell(row.name, column.name, answer, "", program, verdict, world)


def fault_grid(faults: str | Iterable[str | Fault] | None = None, *, progress: Told | None = None, budget: int = BUDGET) -> Grid:
    """Prove each fault of an agent's own code, or of a policy: the wrong one shows it, the right one does not.

    Args:
        faults: the faults, by name; all unless given.
        progress, budget: as for `grid`.

    Raises:
        NoCellError: there is no such fault, or none is asked for.
        InvalidArgumentError: the budget is not a whole number of at least 1.
    """
    cells = []
    for fault in _chosen(faults, FAULTS, "fault"):
        for name, program in (("wrong", fault.wrong), ("right", fault.right)):
            answer, verdict, world = program.proof(budget)
            cells.append(Cell(fault.name, name, answer, "", program, verdict, world))
            if progress is not None:
                progress(cells[-1])
    return Grid("What an agent's own code, or a policy, gets wrong", cells)


def _chosen(asked: str | Iterable[str | T] | None, known: tuple[T, ...], what: str) -> list[T]:
    if asked is None:
        return list(known)
    names = {each.name: each for each in known}
    is_one = isinstance(asked, (str, type(known[0]))) or not isinstance(asked, Iterable)
    found: list[T] = []
    for each in [asked] if is_one else asked:
        named = names.get(each) if isinstance(each, str) else each
        if not isinstance(named, type(known[0])):
            raise no_such(what, each, names)
        found.append(named)
    if not found:
        raise NoCellError(f"no {what} is asked for, so there is nothing to prove; leave it out for all")
    return found
