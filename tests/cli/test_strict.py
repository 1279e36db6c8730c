"""Notebooks that know nothing of commonboard are run as strictly as ours; those that look healthy and are not do not pass."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.books import book, code, printed, save, value, words

from commonboard.course.refresh import notebooks_in
from commonboard.course.strict import ValidationError, validate

pytestmark = pytest.mark.slow

BAD = "import asyncio\n\nasync def bad():\n    raise ValueError('it broke')"
WAITS = "import asyncio\n\nasync def waits():\n    await asyncio.Event().wait()"
GROUP = f"{BAD}\n\nasync with asyncio.TaskGroup() as group:\n    group.create_task(bad())"
AFTER_A_GROUP = f"""{BAD}
try:
    async with asyncio.TaskGroup() as group:
        group.create_task(bad())
except* ValueError:
    raise RuntimeError('nobody could help') from None"""
BOLD = value("<b>2</b>", "text/html")
BOLD["data"]["text/plain"] = "<IPython.core.display.HTML object>"
ONE = code("print(1)", printed("1\n"))

# For each notebook, where the finding must be and what it must say. Each looks healthy as it was saved.
BROKEN = {
    "failing_task_group": ([code(GROUP), ONE], 2, "it ends in ExceptionGroup: .*which holds ValueError: it broke"),
    "error_after_a_group": ([code(AFTER_A_GROUP), ONE], 2, "it ends in RuntimeError: nobody could help"),
    "dead_task": (
        [code(BAD), code("task = asyncio.create_task(bad())"), ONE],
        3,
        "bad, a task .* raised ValueError: it broke, at line 4",
    ),
    "second_of_two_alike": (
        [code(BAD), *[code("t = asyncio.create_task(bad()); del t\nawait asyncio.sleep(0)")] * 2],
        3,
        "nobody looked",
    ),
    "left_over_task": (
        [code(WAITS), code("task = asyncio.create_task(waits())"), ONE],
        3,
        "waits, a task .* still running at the end",
    ),
    "changed_number": ([code("sum(range(10))", value("44"))], 2, "saved '44', now '45'"),
    "changed_html": ([code("from IPython.display import HTML\nHTML('<b>1</b>')", BOLD)], 2, "saved '<b>2</b>', now '<b>1</b>'"),
    "unknown_magic": (
        [code("%nosuch", printed("UsageError: Line magic function `%nosuch` not found.\n", "stderr"))],
        2,
        "though it shows no error: UsageError",
    ),
    "dead_kernel": ([code("import os\nos._exit(3)"), ONE], 2, "the kernel died while it ran; another cell after it failed too"),
    "too_slow": ([code("import time\ntime.sleep(60)"), ONE], 2, "it takes longer than 8 s"),
    "cascade": (
        [code("x = 1 / 0"), code("x + 1", value("2")), ONE],
        2,
        "ZeroDivisionError: division by zero; another cell after it",
    ),
    "never_run_and_broken": ([code("1 / 0", count=None)], 2, "it ends in ZeroDivisionError"),
}
WARNS = "import warnings\nwarnings.warn('careful')"
HEALTHY = {
    "plain": [words("# Words"), code("1 + 1", value("2")), ONE],
    "tasks": [
        code(f"{WAITS}\nt = asyncio.create_task(waits())\n_ = t.cancel()"),
        code("await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0, 1))", value("[None, 1]")),
    ],
    "seen": [code(f"{BAD}\ntask = asyncio.create_task(bad())\nawait asyncio.wait([task])\nassert task.exception()")],
    "meant": [
        code(
            "1 / 0",
            {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": []},
            tags=("raises-exception",),
        )
    ],
    "ignored": [code("object()", value("<object>"), tags=("nbval-ignore-output",)), code("# NBVAL_SKIP\n1 / 0", count=None)],
    "warns": [code(WARNS, printed("/tmp/ipykernel_1/2.py:2: UserWarning: careful\n  warnings.warn('careful')\n", "stderr"))],
    "own_names_only": [code("sorted(n for n in dir() if 'board' in n or 'guard' in n)", value("[]"))],
    "no_code": [words("only words")],
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, str]]]:
    """What was found in each notebook, all run at once, two at a time."""
    folder = tmp_path_factory.mktemp("notebooks")
    for name, (cells, _, _) in BROKEN.items():
        save(folder / f"{name}.ipynb", words("# Words"), *cells)
    for name, cells in HEALTHY.items():
        save(folder / f"{name}.ipynb", *cells)
    # A conftest and settings of the reader's, which must not matter.
    (folder / "conftest.py").write_text("raise RuntimeError('not to be loaded')")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --nosuchoption\n")
    found: dict[str, list[tuple[int, str]]] = {path.stem: [] for path in notebooks_in([folder])}
    for finding in validate(notebooks_in([folder]), timeout=8, jobs=2).findings:
        found[Path(finding.file).stem].append((finding.cell, f"{finding.what} | {finding.how}"))
    return found


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_notebook_is_found_at_its_cell_with_one_cause(told: dict[str, list[tuple[int, str]]], name: str) -> None:
    _, place, why = BROKEN[name]
    first, *others = told[name]
    assert first[0] == place
    assert re.search(why, first[1])
    assert [cell for cell, _ in others] == ([4] if name == "second_of_two_alike" else [])
    assert "Traceback" not in first[1]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_notebook_passes(told: dict[str, list[tuple[int, str]]], name: str) -> None:
    assert told[name] == []


def test_without_the_kernel_extension_the_broken_ones_would_pass_or_hang(tmp_path: Path) -> None:
    # When this fails, IPython tells of exception groups by itself, or nbval of tasks, and the extension can go.
    save(tmp_path / "dead.ipynb", *BROKEN["dead_task"][0])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--nbval", "--nbval-current-env"]
    done = subprocess.run([*command, f"--rootdir={tmp_path}", str(tmp_path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_cells_are_counted_and_what_was_not_compared_is_not_hidden(tmp_path: Path) -> None:
    path = save(tmp_path / "a.ipynb", ONE, code("2", value("2"), tags=("nbval-ignore-output",)), code("3", count=None))
    done = validate([path])
    assert (done.ran, done.compared, done.findings) == (3, 1, [])


def test_progress_is_told_cell_by_cell(tmp_path: Path) -> None:
    path = save(tmp_path / "a.ipynb", words("# Words"), ONE, ONE)
    steps: list[tuple[str, int, int]] = []
    validate([path], progress=lambda path, cell, of: steps.append((path.name, cell, of)))
    assert steps == [("a.ipynb", 2, 3), ("a.ipynb", 3, 3), ("a.ipynb", 0, 0)]


def test_a_file_that_nbval_cannot_read_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(book() | {"cells": [{"cell_type": "code"}]}))
    (found,) = validate([path]).findings
    assert "nbval cannot read it" in found.what


def test_two_long_outputs_are_compared_in_seconds_not_minutes(tmp_path: Path) -> None:
    # Not a test of speed: with pytest's own explanation of the difference this takes many minutes, and runs into the time-out.
    long = "\n".join(str(number * 7919) for number in range(20_000))
    path = save(tmp_path / "a.ipynb", code("print('\\n'.join(str(n * 7907) for n in range(20_000)))", printed(long)))
    (found,) = validate([path]).findings
    assert "saved '7919', now '7907' (line 2)" in found.what


def test_a_kernel_that_cannot_start_is_no_finding_and_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ipykernel_launcher.py").write_text("raise SystemExit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ValidationError, match="did not start"):
        validate([save(tmp_path / "a.ipynb", ONE)])


def test_a_kernel_that_did_not_load_the_guard_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonboard.course.strict.CONFIGURATION", "")
    with pytest.raises(ValidationError, match="the guard could not be asked"):
        validate([save(tmp_path / "a.ipynb", ONE)])


def test_a_process_that_breaks_down_is_no_finding_and_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nbval.py").write_text("raise SystemExit('broken on purpose')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ValidationError, match=r"broke down \(status 1\): broken on purpose"):
        validate([save(tmp_path / "a.ipynb", ONE)])


def test_no_process_is_left_when_it_is_over(tmp_path: Path) -> None:
    path = save(tmp_path / "a.ipynb", code("import os\nopen('pid', 'w').write(str(os.getppid()))", value("1")))
    validate([path])
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the process that ran nbval is still there")
