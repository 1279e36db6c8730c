"""The whole grid, proved once."""

from __future__ import annotations

import pytest

from commonboard.anomaly_grid import Grid, fault_grid, grid


@pytest.fixture(scope="session")
def whole() -> Grid:
    return grid()


@pytest.fixture(scope="session")
def faults() -> Grid:
    return fault_grid()
