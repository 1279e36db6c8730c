"""In a real JupyterLab, before anything is run: answers, hints and solutions are one click away, and no less."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Playwright, sync_playwright
from tests.browser.lab import NO_BROWSER, Complaints, browser_page, find_browser, jupyterlab, open_notebook

from commonboard.course import exercises as ex, predict
from commonboard.course.exercise import Exercise
from commonboard.course.refresh import FINISH, SET_UP, clean, write_notebook

pytestmark = pytest.mark.browser

PREDICTION = predict("How many of 50 runs lose something?", 4711, why="It is `about` half.")
GUESSED = predict("And of 100?", 4712, guess=10)
EXERCISE = Exercise("mine", "**Mine.** What now?", "", ("look twice",), "solve()", "because", ex.claim_the_task.judge)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        if find_browser(started) is None:
            pytest.skip(NO_BROWSER)
        yield started


@pytest.fixture(scope="module")
def page(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Complaints]]:
    folder = tmp_path_factory.mktemp("notebooks")
    shown = [PREDICTION, GUESSED, EXERCISE.hint(), EXERCISE.solution()]
    outputs = [
        {
            "output_type": "execute_result",
            "execution_count": count,
            "metadata": {},
            "data": {"text/html": one._repr_html_(), "text/plain": repr(one)},
        }
        for count, one in enumerate(shown, 2)
    ]
    code = [{"cell_type": "code", "execution_count": 1, "source": SET_UP, "outputs": []}]
    code += [{"cell_type": "code", "execution_count": o["execution_count"], "source": "1", "outputs": [o]} for o in outputs]
    code += [{"cell_type": "code", "execution_count": 6, "source": FINISH, "outputs": []}]
    write_notebook(clean({"cells": code}), folder / "hidden.ipynb")
    with jupyterlab(folder) as lab, browser_page(playwright) as (page, complaints):
        open_notebook(page, lab, "hidden.ipynb")
        yield page, complaints


@pytest.mark.parametrize(
    ("summary", "secret"), [("Show the answer", "4,711"), ("Hint 1 of 1", "look twice"), ("Show a solution", "solve()")]
)
def test_what_is_hidden_shows_on_a_click(page: tuple[Page, Complaints], summary: str, secret: str) -> None:
    shown, complaints = page
    details = shown.locator(".jp-OutputArea-output details", has_text=secret)
    assert details.count() == 1
    hidden = details.get_by_text(secret)
    assert not hidden.is_visible()
    details.get_by_text(summary).click()
    assert hidden.is_visible()
    assert complaints == Complaints()


def test_whoever_has_guessed_sees_the_answer_at_once(page: tuple[Page, Complaints]) -> None:
    shown, _ = page
    assert shown.get_by_text("4,712").is_visible()
    assert shown.get_by_text("You said 10, which is 4,702 too few.").is_visible()
