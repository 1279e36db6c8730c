"""`grid` prints the matrix that `grid` gives in Python, and writes a page that needs nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from commonboard.anomaly_grid import grid
from commonboard.cli import app

runner = CliRunner()
CHOSEN = ("--row", "lost update", "--column", "last writer wins, one copy", "--column", "single writer")


def call(*arguments: str, code: int = 0) -> str:
    done = runner.invoke(app, ["grid", *arguments])
    assert done.exit_code == code, done.output
    return done.output


def test_what_is_asked_for_is_proved_and_printed() -> None:
    assert call(*CHOSEN) == f"{grid('lost update', ['last writer wins, one copy', 'single writer'])}\n"


def test_the_page_has_the_matrix_the_proofs_and_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert f"wrote {path}" in call(*CHOSEN, "--html", str(path))
    text = path.read_text(encoding="utf-8")
    for part in ("✗ permits", "✓ prevents", "every one of 20 interleavings", "<h2>Lost update</h2>", "data:image/svg+xml"):
        assert part in text
    assert "http" not in text.replace("http://www.w3.org", "")


@pytest.mark.parametrize("wrong", [("--row", "nothing"), ("--column", "nothing"), ("--html", "no/such/folder/page.html")])
def test_what_is_called_wrongly_is_told_in_one_line(wrong: tuple[str, str]) -> None:
    output = call(*wrong, code=2)
    assert output.startswith("commonboard: there is no ")
    assert len(output.splitlines()) == 1


def test_a_page_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    assert call("--html", str(tmp_path), code=2).startswith(f"commonboard: {tmp_path} is a folder; give the page a name")
    too_long = tmp_path / ("n" * 300)
    assert call(*CHOSEN, "--html", str(too_long), code=2).splitlines()[-1].endswith("give another place")
