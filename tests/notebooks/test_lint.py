"""Every notebook of the course is clean: `make notebooks` compares its outputs, this looks at all that comparing cannot see."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonboard.course.validation import lint, notebooks_in

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"
PATHS = notebooks_in([NOTEBOOKS])


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_has_nothing_to_mend(path: Path) -> None:
    assert list(map(str, lint(path))) == []
