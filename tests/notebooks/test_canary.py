"""Notebooks in which something is wrong must fail under nbval, with the settings that the course is tested with.

Each notebook in `canary/` is saved as if all had gone well. If one of the broken ones passes, then so would a broken lesson: the
set-up has lost its cure for exception groups, the guard no longer sees a task, or outputs are no longer compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from commonboard.course.refresh import ENVIRONMENT, clean, read_notebook, source, write_notebook
from commonboard.course.validation import lint

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CANARIES = HERE / "canary"
Judge = Callable[[Path], dict[str, str]]

# In each notebook, the text of the cell that must fail, and what must be said. A time-out is not what we want to see.
BROKEN = {
    "failing_task_group": ("group.create_task(breaks())", r"ExceptionGroup: unhandled errors in a TaskGroup"),
    "error_after_a_group": ("except* ValueError", r"RuntimeError: nobody could help"),
    "dead_task": ("await guard.finish()", r"breaks raised ValueError: the work failed"),
    "left_over_task": ("await guard.finish()", r"waits was still running"),
    "changed_number": ("sum(range(10))", r"Cell outputs differ"),
}


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """Runs a folder of notebooks under strict nbval; gives what was said of each cell that failed, by `notebook::source`."""

    def run(folder: Path) -> dict[str, str]:
        report = tmp_path_factory.mktemp("nbval") / "report.xml"
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", f"--junitxml={report}"]
        command += ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=20", "--nbval-kernel-startup-timeout=120"]
        command += [f"--nbval-sanitize-with={ROOT / 'tests' / 'nbval_sanitize.cfg'}", f"--rootdir={ROOT}", str(folder)]
        env = os.environ | ENVIRONMENT | {"PYTHONPATH": str(ROOT / "toolkit")}
        env.pop("MPLBACKEND", None)
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return failures(report, folder)

    return run


def failures(report: Path, folder: Path) -> dict[str, str]:
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        told = "".join(part.text or "" for kind in ("failure", "error") for part in case.findall(kind))
        if told:
            (name,) = (path.stem for path in folder.glob("*.ipynb") if path.stem in case.attrib["classname"].split("."))
            code = [cell for cell in read_notebook(folder / f"{name}.ipynb")["cells"] if cell["cell_type"] == "code"]
            found[f"{name}::{source(code[int(case.attrib['name'].split()[-1])])}"] = re.sub(r"(\x1b|#x1B)\[[0-9;]*m", "", told)
    return found


@pytest.fixture(scope="module")
def told(judge: Judge) -> dict[str, str]:
    return judge(CANARIES)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_notebook_fails_at_the_cell_that_is_broken_and_says_why(told: dict[str, str], name: str) -> None:
    cell, why = BROKEN[name]
    mine = {key: text for key, text in told.items() if key.startswith(f"{name}::")}
    assert len(mine) == 1
    ((where, text),) = mine.items()
    assert cell in where
    assert re.search(why, text)
    assert "Timeout" not in text


def test_a_healthy_notebook_passes(told: dict[str, str]) -> None:
    assert {key for key in told if key.startswith("healthy::")} == set()
    assert {path.stem for path in CANARIES.glob("*.ipynb")} == {"healthy", *BROKEN}


def test_the_canaries_look_like_lessons() -> None:
    # So that each fails for the one thing that is wrong with it. Only the cells that fail show nothing.
    silent = {"failing_task_group.ipynb, cell 3", "error_after_a_group.ipynb, cell 3"}
    assert {str(found).partition(":")[0] for found in lint(CANARIES)} == silent


def test_without_the_set_up_a_failing_task_group_is_not_seen_as_an_error(judge: Judge, tmp_path: Path) -> None:
    # When this fails, IPython tells the front end of exception groups by itself, and the cure in set_up can go.
    notebook = read_notebook(CANARIES / "failing_task_group.ipynb")
    for cell in notebook["cells"]:
        if "set_up()" in source(cell):
            cell["source"] = "import asyncio"
    notebook["cells"] = notebook["cells"][:-1]
    write_notebook(clean(notebook), tmp_path / "no_cure.ipynb")
    assert [text for text in judge(tmp_path).values() if "Cell execution caused an exception" in text] == []
