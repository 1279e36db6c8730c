"""`make`: sets up once, again only when it must, and says what is wrong where no Python is good enough."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make: install it, or use the pip lines of the README")

# A Python that writes down what it is asked for and makes environments out of itself.
FAKE = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
  "-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  *print*) echo "{version}" ;;
esac
exit {code}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def fake_python(checkout: Path, name: str = "good", version: str = "(3, 12)", code: int = 0) -> Path:
    path = checkout / name
    path.write_text(FAKE.format(log=checkout / "log", version=version, code=code))
    path.chmod(0o755)
    return path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    outside = {name: value for name, value in os.environ.items() if name not in {"PYTHON", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"}}
    return subprocess.run(["make", *arguments], cwd=checkout, env=outside, capture_output=True, text=True)


def installs(checkout: Path) -> list[str]:
    return [line for line in (checkout / "log").read_text().splitlines() if line.startswith("-m pip install")]


def later(path: Path, than: Path) -> None:
    stamp = than.stat().st_mtime + 10
    os.utime(path, (stamp, stamp))


def test_the_first_lab_sets_up_and_the_second_does_not(checkout: Path) -> None:
    python = fake_python(checkout)
    assert make(checkout, "lab", f"PYTHON={python}").returncode == 0
    (install,) = installs(checkout)
    assert install.endswith("-c constraints.txt -e .[lab]")
    assert make(checkout, "lab").returncode == 0
    assert len(installs(checkout)) == 1
    assert json.loads((checkout / ".venv/share/jupyter/lab/settings/overrides.json").read_text())
    opened = [line for line in (checkout / "log").read_text().splitlines() if "jupyterlab" in line]
    assert len(opened) == 2
    assert opened[0].endswith("notebooks/00_the_incident.ipynb")


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_a_changed_requirement_is_installed_into_the_environment_that_is_there(checkout: Path, changed: str) -> None:
    python = fake_python(checkout)
    make(checkout, "lab", f"PYTHON={python}")
    later(checkout / changed, than=checkout / ".venv" / ".set-up-lab")
    assert make(checkout, "lab").returncode == 0
    assert len(installs(checkout)) == 2
    assert (checkout / "log").read_text().count("-m venv") == 1


def test_the_set_up_for_tests_serves_the_lab_too(checkout: Path) -> None:
    python = fake_python(checkout)
    assert make(checkout, "lint", f"PYTHON={python}").returncode == 0
    assert make(checkout, "lab").returncode == 0
    (install,) = installs(checkout)
    assert "lab" in install
    assert "test" in install


def test_another_python_sets_up_anew(checkout: Path) -> None:
    make(checkout, "lab", f"PYTHON={fake_python(checkout)}")
    other = fake_python(checkout, "other", "(3, 13)")
    assert make(checkout, "lab", f"PYTHON={other}").returncode == 0
    assert make(checkout, "lab", f"PYTHON={other}").returncode == 0
    assert (checkout / "log").read_text().count("-m venv --clear .venv") == 2
    assert len(installs(checkout)) == 2


def test_a_python_that_is_too_old_is_refused_in_words_and_nothing_is_made(checkout: Path) -> None:
    old = fake_python(checkout, "old", "(3, 9)", code=1)
    done = make(checkout, "lab", f"PYTHON={old}")
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stderr
    assert str(old) in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_set_up_that_failed_is_tried_again(checkout: Path) -> None:
    python = fake_python(checkout)
    good = python.read_text()
    python.write_text(good.replace("  *print*)", '  "-m pip"*) exit 3 ;;\n  *print*)'))
    assert make(checkout, "lab", f"PYTHON={python}").returncode != 0
    (checkout / ".venv" / "bin" / "python").write_text(good)
    assert make(checkout, "lab").returncode == 0
    assert len(installs(checkout)) == 2


@pytest.mark.parametrize("target", ["lint", "unit", "examples", "notebooks", "check", "refresh"])
def test_a_failure_of_what_a_target_runs_is_a_failure_of_make(checkout: Path, target: str) -> None:
    make(checkout, "lint", f"PYTHON={fake_python(checkout)}")
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(python.read_text().replace("exit 0", 'case "$*" in *print*) exit 0 ;; esac\nexit 5'))
    assert make(checkout, target).returncode != 0


def test_help_is_what_make_alone_gives_and_names_every_target(checkout: Path) -> None:
    done = make(checkout)
    assert done.returncode == 0
    phony = next(line for line in (checkout / "Makefile").read_text().splitlines() if line.startswith(".PHONY:"))
    targets = set(phony.split()[1:]) - {"help", "FORCE"}
    assert {name for name in targets if f"make {name} " in done.stdout} == targets
