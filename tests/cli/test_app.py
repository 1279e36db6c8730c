"""The command as a whole: help that teaches, exit codes, and nothing heavy before it is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commonboard.cli import app

COMMANDS = ("lab", "compare", "show", "log", "validate")
runner = CliRunner()


def plain(text: str) -> str:
    """Help without its frames and line ends."""
    return " ".join(text.replace("│", " ").split())


def test_help_names_every_command() -> None:
    done = runner.invoke(app, ["--help"])
    assert done.exit_code == 0
    assert [name for name in COMMANDS if f" {name} " not in done.output] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_an_example_and_its_exit_codes(name: str) -> None:
    done = runner.invoke(app, [name, "-h"])
    told = plain(done.output)
    assert done.exit_code == 0
    assert f"Example: commonboard {name}" in told
    assert "Exit codes:" in told


def test_no_command_is_told_how_to_call_it_and_counts_as_called_wrongly() -> None:
    done = runner.invoke(app, [])
    assert done.exit_code == 2
    assert "Usage: commonboard" in plain(done.output)
    assert runner.invoke(app, ["nosuch"]).exit_code == 2


def test_the_version_is_the_packages() -> None:
    import commonboard

    assert runner.invoke(app, ["--version"]).output == f"commonboard {commonboard.__version__}\n"


def test_no_command_writes_into_the_shells_files() -> None:
    assert "completion" not in runner.invoke(app, ["--help"]).output


def loaded_by(code: str) -> set[str]:
    probe = f"import json, sys\n{code}\nprint(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_commonboard_loads_no_command_line() -> None:
    assert loaded_by("import commonboard").isdisjoint({"typer", "rich", "pytest", "nbval"})


def test_the_command_line_loads_what_is_heavy_only_where_a_command_needs_it() -> None:
    heavy = {"rich", "pandas", "pydantic", "matplotlib", "IPython", "nbval", "nbformat", "pytest", "tqdm"}
    assert loaded_by("import commonboard.cli").isdisjoint(heavy)
    call = (
        "from typer.testing import CliRunner\nfrom commonboard.cli import app\nCliRunner().invoke(app, ['show', 'nosuch.json'])"
    )
    assert loaded_by(call).isdisjoint(heavy - {"rich", "pydantic"})  # typer itself takes these two


def test_what_is_loaded_into_other_peoples_kernels_is_no_command_line() -> None:
    # tqdm and pandas, which a notebook may look for, are not there before it asks either.
    loaded = loaded_by("import commonboard.course.strict.kernel")
    assert loaded.isdisjoint({"typer", "rich", "pandas", "tqdm", "nbformat", "pytest"})


def test_it_runs_as_a_module_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "commonboard.cli", "show", "nosuch.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "commonboard: there is no file nosuch.json; give the path that the program gave to FileStore\n"
