"""`validate`: which findings are told, in which order and form, and what the exit code says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.books import code, printed, save, value, words
from typer.testing import CliRunner

from commonboard.cli import app
from commonboard.course.refresh import OLDEST, clean_gently, marks, read_notebook, write_notebook
from commonboard.course.sheet import LintFinding
from commonboard.course.strict import Validated, ValidationError

runner = CliRunner()
Ran = Callable[..., list[Path]]


def call(*arguments: str | Path, code: int = 0) -> list[str]:
    done = runner.invoke(app, ["validate", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.output.splitlines()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """In place of nbval: gives these findings, and tells which notebooks it was given."""
    given: list[Path] = []

    def answer(*findings: LintFinding, ran: int = 3, compared: int = 3) -> list[Path]:
        def run(paths: list[Path], **options: Any) -> Validated:
            given.extend(paths)
            return Validated(list(findings), ran, compared)

        monkeypatch.setattr("commonboard.course.strict.validate", run)
        return given

    return answer


def test_a_clean_notebook_is_told_as_such(tmp_path: Path, ran: Ran) -> None:
    ran(ran=1, compared=1)
    path = save(tmp_path / "a.ipynb", code("1", value("1")))
    assert call(path) == ["1 notebook, 1 cell run: nothing to mend."]


def test_findings_are_lines_in_order_of_the_notebooks_and_cells(
    tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(Path("a.ipynb"), code("1", value("1")), words("![](x.png)"))
    save(Path("b.ipynb"), code("1", value("1")))
    ran(LintFinding("b.ipynb", 1, "it changed", "do"), LintFinding("a.ipynb", 1, "it fails", "mend it"))
    assert call("b.ipynb", ".", code=1) == [
        "b.ipynb, cell 1: it changed. To mend it: do.",
        "a.ipynb, cell 1: it fails. To mend it: mend it.",
        "a.ipynb, cell 2: the picture x.png has no alternative text. To mend it: write ![what it shows](…).",
        "2 notebooks, 3 cells run: 3 things to mend.",
    ]


def test_what_was_not_compared_is_told(tmp_path: Path, ran: Ran) -> None:
    ran(ran=5, compared=3)
    (line,) = call(save(tmp_path / "a.ipynb", code("1", value("1"))))
    assert line == "1 notebook, 5 cells run, 2 of them without a comparison (never run before, or marked so): nothing to mend."


def test_a_notebook_that_was_never_run_does_not_pass(tmp_path: Path, ran: Ran) -> None:
    ran(ran=1, compared=0)
    lines = call(save(tmp_path / "a.ipynb", code("1", count=None)), code=1)
    assert "it was never run, so there is nothing to compare with" in lines[0]


def test_what_the_lint_guessed_is_left_out_where_running_told_it(tmp_path: Path, ran: Ran) -> None:
    path = save(
        tmp_path / "a.ipynb", code("x", value("<object at 0x7f3a5c001d90>")), code("y", value("<object at 0x7f3a5c001d90>"))
    )
    ran(LintFinding(str(path), 1, "its output holds an address in memory, which differs", "x"))
    lines = call(path, code=1)
    assert [("which differs" in line, ", cell 1:" in line) for line in lines[:-1]] == [(True, True), (False, False)]


def test_only_what_can_be_run_is_run(tmp_path: Path, ran: Ran) -> None:
    good = save(tmp_path / "good.ipynb", code("1", value("1")))
    save(tmp_path / "julia.ipynb", code("1", value("1")), metadata={"kernelspec": {"language": "julia"}})
    (tmp_path / "torn.ipynb").write_text("{")
    given = ran()
    lines = call(tmp_path, code=1)
    assert given == [good]
    assert "it is written in julia" in lines[0]
    assert "torn.ipynb is not a notebook" in lines[1]


def test_lint_only_runs_nothing_and_says_so(tmp_path: Path, ran: Ran) -> None:
    given = ran()
    assert call("--lint-only", save(tmp_path / "a.ipynb", code("1", value("1")))) == [
        "1 notebook looked at, and not run: nothing to mend."
    ]
    assert given == []


def test_the_rules_of_the_course_are_asked_for_by_name(tmp_path: Path, ran: Ran) -> None:
    ran()
    path = save(tmp_path / "a.ipynb", code("1", value("1")))
    assert len(call(path)) == 1
    assert any("the first cell is not a title with its question" in line for line in call("--course", path, code=1))


def test_no_notebook_at_a_path_is_called_wrongly(tmp_path: Path) -> None:
    done = runner.invoke(app, ["validate", str(tmp_path)])
    assert done.exit_code == 2
    assert "there is no notebook at" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_not_installed_is_told_with_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "a.ipynb", code("1", value("1")))
    from importlib.util import find_spec

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "nbval" else find_spec(name))
    done = runner.invoke(app, ["validate", str(path)])
    assert done.exit_code == 2
    assert "needs nbval, which" in done.stderr
    assert "pip install 'commonboard[lab,test]'" in done.stderr
    assert "nothing to mend" in call("--lint-only", path)[0]


def test_a_run_that_broke_down_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(paths: list[Path], **options: Any) -> Validated:
        raise ValidationError("the kernel did not start")

    monkeypatch.setattr("commonboard.course.strict.validate", run)
    done = runner.invoke(app, ["validate", str(save(tmp_path / "a.ipynb", code("1", value("1"))))])
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", "commonboard: the kernel did not start\n")


def test_on_a_terminal_there_is_a_table_for_each_notebook(tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    path = save(tmp_path / "a.ipynb", code("1", value("1")))
    ran(LintFinding(str(path), 1, "saved [1], now [bold]", "do"))
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).split() for line in call(path, code=1)]
    assert [str(path)] in lines
    assert ["1", "saved", "[1],", "now", "[bold]", "do"] in lines
    assert ["cell", "what", "to", "mend", "it"] in lines


# --- refreshing ---


def test_cleaning_gently_keeps_what_an_author_put_there_and_drops_what_a_run_leaves() -> None:
    cells = [
        {
            **code("1", printed("a"), printed("b\n")),
            "id": "mine",
            "metadata": {"slideshow": {}, "execution": {}, "ExecuteTime": {}},
        },
        {**words("text"), "id": "mine", "metadata": {"jp-MarkdownHeadingCollapsed": True}},
    ]
    metadata = {"widgets": {}, "kernelspec": {"name": "venv"}, "language_info": {"name": "python", "version": "3.9"}, "toc": {}}
    made = clean_gently({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
    assert made["metadata"]["kernelspec"]["name"] == "python3"
    assert made["metadata"]["language_info"] == {"name": "python"}
    assert "toc" in made["metadata"]
    assert "widgets" not in made["metadata"]
    first, second = made["cells"]
    assert first["metadata"] == {"slideshow": {}}
    assert first["id"] == "mine"
    assert second["id"] != "mine"
    assert second["metadata"] == {"jp-MarkdownHeadingCollapsed": True}
    assert [output["text"] for output in first["outputs"]] == [["ab\n"]]
    assert clean_gently(made) == made


def test_a_notebook_of_an_older_format_stays_one() -> None:
    cell = code("1")
    made = clean_gently({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 2})
    assert made["nbformat_minor"] == 2
    assert "id" not in made["cells"][0]
    assert "language_info" not in made["metadata"]


def test_marks_are_read_from_tags_and_comments() -> None:
    assert marks(code("1")) == set()
    assert marks(code("x = 'NBVAL_SKIP'")) == set()
    assert marks(code("#NBVAL_SKIP\n1")) == {"skip"}
    assert marks(code("1", tags=("nbval-ignore-output", "other"))) == {"ignore"}
    assert marks(code("# NBVAL_RAISES_EXCEPTION", tags=("raises-exception",))) == {"raises"}
    assert marks({"source": "1"}) == set()


@pytest.mark.slow
def test_refresh_runs_saves_what_changed_tells_it_and_then_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    cells = [
        words("# Words"),
        code("import asyncio\n1 + 1", value("3"), count=7),
        code("1 / 0", tags=("raises-exception",), count=None),
        code("# NBVAL_SKIP\nopen('never', 'w')", value("kept"), count=None),
        code("import os\nos.path.basename(os.getcwd()), os.environ['TZ']", count=None),
    ]
    save(path, *cells)
    lines = call("--refresh", path)
    assert lines[0] == f"saved {path}: new output in cells 2, 3, 5; cells counted from 1; the version of Python dropped"
    assert lines[1] == "1 notebook, 3 cells run: nothing to mend."
    made = read_notebook(path)["cells"]
    assert made[1]["outputs"][0]["data"] == {"text/plain": ["2"]}
    assert made[2]["metadata"] == {"tags": ["raises-exception"]}
    assert made[3]["outputs"][0]["data"] == {"text/plain": ["kept"]}
    assert not (tmp_path / "never").exists()
    assert made[4]["outputs"][0]["data"] == {"text/plain": [f"('{tmp_path.name}', 'UTC')"]}
    before = path.read_bytes()
    assert call("--refresh", "--lint-only", path) == ["1 notebook looked at, and not run: nothing to mend."]
    assert path.read_bytes() == before


@pytest.mark.slow
def test_refresh_leaves_a_notebook_that_fails_as_it_was_be_it_in_a_task_group(tmp_path: Path) -> None:
    bad = "import asyncio\nasync def bad():\n    raise ValueError('it broke')\n"
    path = save(
        tmp_path / "a.ipynb", code(f"{bad}async with asyncio.TaskGroup() as g:\n    g.create_task(bad())"), code("1", value("3"))
    )
    save(tmp_path / "b.ipynb", code("1", value("3")))
    before = path.read_bytes()
    lines = call("--refresh", tmp_path, "--timeout", "20", "--jobs", "2", code=1)
    assert lines[0] == f"left {path} as it was: it does not run to its end"
    assert lines[1].startswith(f"saved {tmp_path / 'b.ipynb'}: new output in cell 1")
    assert "ExceptionGroup" in lines[2]
    assert path.read_bytes() == before


@pytest.mark.slow
def test_the_command_passes_and_fails_in_a_process_of_its_own(tmp_path: Path) -> None:
    save(tmp_path / "good.ipynb", code("1", value("1")))
    command = [sys.executable, "-m", "commonboard.cli", "validate", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 notebook, 1 cell run: nothing to mend.\n", "")
    save(tmp_path / "bad.ipynb", code("1", value("2")))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    first, last = done.stdout.splitlines()
    assert first.startswith("bad.ipynb, cell 1: its output is not the one that was saved: saved '2', now '1'. To mend it: ")
    assert last == "2 notebooks, 2 cells run: 1 thing to mend."


@pytest.mark.slow
def test_the_notebooks_of_the_course_pass_by_their_own_rules(root: Path) -> None:
    assert call("--course", root / "notebooks" / "00_the_incident.ipynb")[-1].endswith("nothing to mend.")


def test_what_was_read_is_written_back_in_one_form(tmp_path: Path) -> None:
    path = save(tmp_path / "a.ipynb", code("1\n2", value("2")), nbformat_minor=4)
    assert write_notebook(clean_gently(read_notebook(path, OLDEST)), path)
    again = clean_gently(read_notebook(path, OLDEST))
    assert not write_notebook(again, path)
    assert json.loads(path.read_text())["nbformat_minor"] == 4
