"""The pages in docs/anomalies/ are what the generator makes today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonboard.anomaly_grid import FAULTS, ROWS, Grid
from commonboard.anomaly_grid.pages import pages, slug

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "anomalies"
HEADS = [
    "What it is",
    "The smallest program",
    "The smallest run",
    "Who permits it, who prevents it",
    "Where it is found outside",
    "Named by",
]
NAMES = [f"{slug(name)}.md" for name in [row.name for row in ROWS] + [fault.name for fault in FAULTS]]


@pytest.mark.slow
def test_the_pages_are_what_the_generator_makes(whole: Grid, faults: Grid) -> None:
    made = pages(whole, faults)
    kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert sorted(made) == sorted(kept)
    for name, text in made.items():
        assert kept[name] == text, f"{name} is old: python -m commonboard.anomaly_grid.pages docs/anomalies"


@pytest.mark.parametrize("name", NAMES)
def test_every_page_has_the_same_parts_in_the_same_order(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADS
    assert "? unknown" not in text


def test_the_index_leads_to_every_page() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\w+\.md)\)", text) == NAMES
