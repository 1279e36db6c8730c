"""The picture at the top of the README is the one that its first example draws."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_of_the_readme_is_drawn_by_its_first_example() -> None:
    names: dict[str, Any] = {}
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    exec(example[1], names)
    drawn = names["run"].spacetime().svg
    kept = ROOT / "docs" / "img" / "lost_update.svg"
    assert kept.read_text(encoding="utf-8") == drawn, "draw it again: run.spacetime().save('docs/img/lost_update.svg')"
