"""Each notebook in a real JupyterLab: it runs without an error, its slider reacts, and what it saved is seen without it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Playwright, sync_playwright

from tests.browser.lab import (
    NO_BROWSER,
    Complaints,
    Lab,
    browser_page,
    code_cells,
    error_outputs,
    find_browser,
    jupyterlab,
    open_notebook,
    pictures,
    run_all_cells,
    save,
)

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"
FIRST = "00_the_incident.ipynb"

pytestmark = pytest.mark.browser
each_notebook = pytest.mark.parametrize("name", sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")) or [FIRST])


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        if find_browser(started) is None:
            pytest.skip(NO_BROWSER)
        yield started


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with jupyterlab(NOTEBOOKS) as running:
        yield running


@pytest.fixture
def browser(playwright: Playwright, lab: Lab) -> Iterator[tuple[Page, Complaints]]:
    with browser_page(playwright) as both:
        yield both
    lab.stop_kernels()


def pictures_in_file(path: Path) -> int:
    """How many pictures the saved outputs of a notebook hold."""
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    bundles = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    html = ["".join(bundle.get("text/html", "")) for bundle in bundles]
    return sum(len(re.findall(r"<img\b", text)) for text in html) + sum("image/png" in bundle for bundle in bundles)


def assert_pictures_are_seen(page: Page, at_least: int) -> None:
    page.wait_for_function(f"document.querySelectorAll('.jp-OutputArea-output img').length >= {at_least}", timeout=30_000)
    # "Image" is what JupyterLab fills in where the alternative text is missing.
    assert [picture for picture in pictures(page) if not picture["seen"] or picture["alt"] in {"", "Image"}] == []


def step_the_slider(page: Page) -> tuple[str, str]:
    """Move the first slider one step with the keyboard: the tables and pictures of its output before, and after."""
    output = page.locator(".jp-OutputArea-output", has=page.locator(".widget-slider")).first
    handle = output.locator(".noUi-handle").first
    shown = output.locator(".widget-html")
    before = "".join(shown.evaluate_all("views => views.map(view => view.innerHTML)"))
    at_the_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
    handle.focus()
    page.keyboard.press("ArrowLeft" if at_the_end else "ArrowRight")
    page.wait_for_function(
        """before => {
            const outputs = [...document.querySelectorAll('.jp-OutputArea-output')];
            const output = outputs.find(area => area.querySelector('.widget-slider'));
            return [...output.querySelectorAll('.widget-html')].map(view => view.innerHTML).join('') !== before;
        }""",
        arg=before,
        timeout=30_000,
    )
    return before, "".join(shown.evaluate_all("views => views.map(view => view.innerHTML)"))


@each_notebook
def test_a_notebook_as_committed_shows_its_pictures_before_anything_is_run(
    lab: Lab, browser: tuple[Page, Complaints], name: str
) -> None:
    page, complaints = browser
    open_notebook(page, lab, name)
    assert_pictures_are_seen(page, at_least=pictures_in_file(NOTEBOOKS / name))
    assert complaints == Complaints()


@each_notebook
def test_a_notebook_runs_reacts_and_is_seen_again_without_a_kernel(lab: Lab, browser: tuple[Page, Complaints], name: str) -> None:
    page, complaints = browser
    open_notebook(page, lab, name)
    run_all_cells(page)
    assert error_outputs(page) == []
    counts = [cell["count"] for cell in code_cells(page) if cell["source"].strip()]
    assert counts == list(range(1, len(counts) + 1))
    if page.locator(".widget-slider").count():
        before, after = step_the_slider(page)
        assert before
        assert after != before
    seen = len(pictures(page))
    save(page)
    lab.stop_kernels()
    open_notebook(page, lab, name)
    assert_pictures_are_seen(page, at_least=seen)
    assert page.get_by_text("Error displaying widget").count() == 0
    assert complaints == Complaints()


def test_the_first_notebook_has_a_picture_and_a_slider(lab: Lab, browser: tuple[Page, Complaints]) -> None:
    page, _ = browser
    assert pictures_in_file(NOTEBOOKS / FIRST) >= 1
    open_notebook(page, lab, FIRST)
    run_all_cells(page)
    assert page.locator(".widget-slider").count() >= 1
