"""`lab` finds the course wherever it is, copies it where it must, and never overwrites what a reader did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commonboard.cli import app, lab

runner = CliRunner()


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would have been run."""
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return 7

    monkeypatch.setattr(lab, "run", run)
    return commands


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course as a wheel has it; gives the folder where the reader is."""
    for name in ("notebooks/00_the_incident.ipynb", "notebooks/05_more.ipynb", "docs/glossary.md"):
        (tmp_path / "_course" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "_course" / name).write_text(f"{name}, new")
    monkeypatch.setattr(lab, "SHIPPED", tmp_path / "_course")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_in_a_checkout_the_first_notebook_is_opened_where_it_is(root: Path, called: list[list[str]]) -> None:
    done = runner.invoke(app, ["lab"])
    assert done.exit_code == 7
    (command,) = called
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert Path(command[-1]) == root / "notebooks" / "00_the_incident.ipynb"


def test_it_asks_the_network_for_nothing(called: list[list[str]]) -> None:
    runner.invoke(app, ["lab"])
    assert {"--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"} <= set(called[0])


@pytest.mark.parametrize("name", ["20", "20_optimistic_concurrency", "20_optimistic_concurrency.ipynb"])
def test_a_notebook_is_named_by_number_or_by_name(called: list[list[str]], name: str) -> None:
    runner.invoke(app, ["lab", name])
    assert Path(called[0][-1]).name == "20_optimistic_concurrency.ipynb"


def test_a_path_is_opened_as_it_is(called: list[list[str]], tmp_path: Path) -> None:
    mine = tmp_path / "mine.ipynb"
    mine.write_text("{}")
    runner.invoke(app, ["lab", str(mine)])
    assert called[0][-1] == str(mine)


def test_other_options_go_to_jupyterlab(called: list[list[str]]) -> None:
    runner.invoke(app, ["lab", "20", "--no-browser", "--port=8900"])
    assert called[0][-3:-1] == ["--no-browser", "--port=8900"]


def test_a_notebook_that_is_not_there_is_told_with_those_that_are(called: list[list[str]]) -> None:
    done = runner.invoke(app, ["lab", "99"])
    assert done.exit_code == 2
    assert "there is no notebook '99'; the course has 00_the_incident" in done.stderr
    assert called == []


def test_where_tells_the_folder(root: Path) -> None:
    assert runner.invoke(app, ["lab", "--where"]).output == f"{root / 'notebooks'}\n"


def test_an_installed_course_is_copied_to_where_we_are_with_the_pages_it_links_to(
    installed: Path, called: list[list[str]]
) -> None:
    done = runner.invoke(app, ["lab", "5"])
    assert called[0][-1] == str(installed / "commonboard-course" / "notebooks" / "05_more.ipynb")
    assert (installed / "commonboard-course" / "docs" / "glossary.md").is_file()
    assert done.output == f"the course is in {installed / 'commonboard-course'}\n"


def test_what_a_reader_changed_stays_and_what_is_new_is_added(installed: Path, called: list[list[str]]) -> None:
    runner.invoke(app, ["lab"])
    course = installed / "commonboard-course" / "notebooks"
    (course / "00_the_incident.ipynb").write_text("mine")
    (course / "05_more.ipynb").unlink()
    done = runner.invoke(app, ["lab"])
    assert (course / "00_the_incident.ipynb").read_text() == "mine"
    assert (course / "05_more.ipynb").read_text() == "notebooks/05_more.ipynb, new"
    assert "as you left it" in done.output


def test_where_copies_nothing(installed: Path) -> None:
    runner.invoke(app, ["lab", "--where"])
    assert list(installed.iterdir()) == []


def test_an_installation_without_a_course_says_where_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "CHECKOUT", tmp_path)
    done = runner.invoke(app, ["lab"])
    assert done.exit_code == 2
    assert "this installation has no notebooks; clone the repository" in done.stderr


def test_without_jupyterlab_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, called: list[list[str]]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = runner.invoke(app, ["lab"])
    assert done.exit_code == 2
    assert "pip install 'commonboard[lab]'" in done.stderr
    assert called == []


@pytest.mark.skipif(os.name == "nt", reason="needs signals as Unix has them")
def test_an_interrupt_is_the_programs_and_its_status_is_ours(tmp_path: Path) -> None:
    child = "import signal, sys, time\nsignal.signal(2, lambda *a: sys.exit(9))\nopen('up', 'w').close()\ntime.sleep(60)"
    ours = f"import sys\nfrom commonboard.cli.lab import run\nsys.exit(run([sys.executable, '-c', {child!r}]))"
    process = subprocess.Popen([sys.executable, "-c", ours], cwd=tmp_path, start_new_session=True)
    while not (tmp_path / "up").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(30) == 9
