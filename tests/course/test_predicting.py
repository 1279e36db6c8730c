"""Predictions: hidden until asked for, open once guessed, and always the same text."""

from __future__ import annotations

from typing import Any

import pytest

from commonboard.course import predict


def test_the_answer_is_hidden_in_html_until_it_is_asked_for() -> None:
    html = predict("How many of `50` runs?", 31, why="Because **so**.")._repr_html_()
    before, _, hidden = html.partition("<details>")
    assert before == "<p><strong>Predict:</strong> How many of <code>50</code> runs?</p>"
    assert hidden == ("<summary>Show the answer</summary><p><strong>31</strong>. Because <strong>so</strong>.</p></details>")


def test_a_guess_opens_the_answer_and_says_how_near_it_is() -> None:
    html = predict("How many?", 31, guess=10)._repr_html_()
    assert "<p>You said 10, which is 21 too few.</p><details open>" in html


def test_plain_text_shows_question_and_answer() -> None:
    assert repr(predict("How many?", 31, why="Half of them.")) == "Predict: How many?\nAnswer: 31. Half of them."


@pytest.mark.parametrize(
    ("answer", "guess", "nearness"),
    [
        (31, 31, "You said 31, and that is right."),
        (31, 40, "You said 40, which is 9 too many."),
        (0.5, 0.25, "You said 0.25, which is 0.25 too low."),
        (0.5, 1.0, "You said 1, which is 0.5 too high."),
        (True, False, "You said no."),
        (True, True, "You said yes, and that is right."),
        ("web", "docs", "You said docs."),
        (12_000, 0, "You said 0, which is 12,000 too few."),
        (5, None, ""),
    ],
)
def test_how_near_a_guess_is(answer: Any, guess: Any, nearness: str) -> None:
    assert predict("?", answer, guess=guess).nearness == nearness


@pytest.mark.parametrize(
    ("answer", "told"),
    [({"b", "a"}, "a, b"), (["x", 2], "x, 2"), (1 / 3, "0.333"), (True, "yes"), (1234567, "1,234,567"), (None, "None")],
)
def test_answers_of_every_kind_are_told_plainly(answer: Any, told: str) -> None:
    assert repr(predict("?", answer)).endswith(f"Answer: {told}.")


def test_what_is_written_in_a_question_is_never_taken_for_html() -> None:
    html = predict("Is 1 < 2?", "<b>", why="</details>")._repr_html_()
    assert "Is 1 &lt; 2?" in html
    assert "&lt;b&gt;" in html
    assert html.count("</details>") == 1
