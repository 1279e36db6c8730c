"""What holds for every test: how Hypothesis searches, and how a skip can be made to count as a failure."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import hypothesis
import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
ROOT = Path(__file__).resolve().parent.parent

# No deadline, since no test may depend on how fast the machine is. On CI, the same examples each time.
hypothesis.settings.register_profile(
    "commonboard", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI")), database=None
)
hypothesis.settings.load_profile("commonboard")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips",
        action="store_true",
        default=bool(os.environ.get("COMMONBOARD_NO_SKIPS")),
        help="count every skipped test as failed (also: COMMONBOARD_NO_SKIPS=1); .ci/run does",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _refuse_skip(report, item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return _refuse_skip(report, collector.config)


def _refuse_skip(report: Report, config: pytest.Config) -> Report:
    # An expected failure is reported as a skip too, but it did run.
    if report.skipped and config.getoption("--no-skips") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped, and --no-skips allows none.\n{reason}"
    return report


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return ROOT
