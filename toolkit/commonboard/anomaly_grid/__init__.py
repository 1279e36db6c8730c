"""The anomaly grid: which way of working permits which anomaly, proved both ways by exhaustive search."""

from commonboard.anomaly_grid.columns import COLUMNS, Column, Way
from commonboard.anomaly_grid.copies import ROWS
from commonboard.anomaly_grid.faults import FAULTS, Fault
from commonboard.anomaly_grid.prove import fault_grid, grid, prove
from commonboard.anomaly_grid.result import Cell, Grid, NoCellError
from commonboard.anomaly_grid.row import Row, never

__all__ = [
    "COLUMNS",
    "FAULTS",
    "ROWS",
    "Cell",
    "Column",
    "Fault",
    "Grid",
    "NoCellError",
    "Row",
    "Way",
    "fault_grid",
    "grid",
    "never",
    "prove",
]
