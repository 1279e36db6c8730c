"""Stepping through a history: each step shows the board as it was then, and a saved notebook shows it without a kernel."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from tests.show.histories import EXAMPLES, long, lost_update, many_keys, replicas

from commonboard.history import GIVEN, History
from commonboard.show import PictureError, render, stepper
from commonboard.show.stepper import Walk

SVG = "{http://www.w3.org/2000/svg}"


def rows(table: str) -> dict[str, list[str]]:
    """The rows of a board's table by key: value, version, writer."""
    found = {}
    for row in ET.fromstring(f"<all>{table}</all>").iter("tr"):
        name, *rest = ("".join(cell.itertext()) for cell in row)
        found[name] = rest
    found.pop("key")
    return found


@pytest.mark.parametrize("name", ["lost_update", "refused", "many_keys", "long"])
def test_the_board_at_each_step_is_the_board_of_the_history(name: str) -> None:
    history = EXAMPLES[name]()[0]
    walk = Walk(history)
    seen = set()
    for step in range(walk.steps + 1):
        place = walk.place(step)
        seen.add(place)
        shown = rows(render(history, step)[1])
        versions = {key: cells[1] for key, cells in shown.items() if key != "nothing" and "deleted" not in cells[0]}
        assert versions == {key: str(cell.version) for key, cell in history.board_at(place).items()}
    # Every operation but the thoughts is the end of some step.
    assert seen >= {op.index for op in history if op.kind != "think" and op.agent != GIVEN} | {-1}


def test_a_step_marks_what_it_changed_and_nothing_else() -> None:
    history = lost_update()[0]
    tables = [render(history, step)[1] for step in range(Walk(history).steps + 1)]
    assert ["<mark>" in table for table in tables] == [False, True, False, False, False, True, True]
    assert "<mark>[A, C]</mark> <b>changed</b>" in tables[-1]


def test_the_picture_marks_the_row_of_the_step_and_dims_what_is_still_to_come() -> None:
    shown = Walk(*lost_update()).render(5)
    assert [line[:6] for line in shown.picture.text.splitlines() if line.startswith(">")] == [">t 30 "]
    assert shown.picture.svg.count('class="now"') == 1
    groups = ET.fromstring(shown.picture.svg).iter(f"{SVG}g")
    titles = [g.findtext(f"{SVG}title") for g in groups if "later" in (g.get("class") or "").split()]
    assert [title.partition(" shared")[0] for title in titles if title] == ["31 s: docs writes"]


def test_the_layout_stays_where_it_is_from_step_to_step() -> None:
    walk = Walk(*lost_update())
    assert len({(walk.render(step).picture.width, walk.render(step).picture.height) for step in range(walk.steps + 1)}) == 1


def test_each_step_says_what_happens_and_thoughts_that_share_a_row_are_one_step() -> None:
    walk = Walk(*lost_update())
    told = [walk.sentence(step) for step in range(walk.steps + 1)]
    assert told[0] == "Before the first step: nothing has happened yet."
    assert told[1] == "shared/open_questions was there from the start, as version 1: [A]."
    assert told[4] == "30 s: web thinks for 30 s (800 tokens). docs thinks for 31 s (800 tokens)."
    assert told[6].endswith("which docs had not seen. B is lost.")


def test_of_a_long_history_the_neighbourhood_of_the_step_is_drawn() -> None:
    history, highlight, caption = long(400)
    lines = Walk(history, highlight, caption).render(311).picture.text.splitlines()
    assert any(line.startswith(">t 310 ") for line in lines)
    assert len(lines) < 60


def test_replicas_have_a_table_each() -> None:
    _, table = render(replicas()[0], 3)
    captions = re.findall(r"<caption[^>]*>([^<]*)</caption>", table)
    assert captions == ["replica-1 after step 3 of 5", "replica-2 after step 3 of 5"]
    first, second = table.split("</table>")[:2]
    assert "[A]" in first.replace("[A, B]", "[A]")
    assert "[A, C]" in second


@pytest.mark.parametrize("step", [-1, 7])
def test_a_step_that_is_not_there_is_an_error_that_says_which_are(step: int) -> None:
    with pytest.raises(PictureError, match="0 to 6"):
        render(lost_update()[0], step)


def test_the_slider_the_buttons_and_the_view_move_together() -> None:
    widget = stepper(*lost_update())
    assert (widget.slider.min, widget.slider.max) == (0, 6)
    assert widget.slider.value == 1, "what was given is on the board when the agents begin"
    assert "<b>1/6</b>" in widget.view.value
    widget.slider.value = 5
    assert "<mark>[A, B]</mark>" in widget.view.value
    widget.forward.click()
    assert widget.slider.value == 6
    assert "<mark>[A, C]</mark>" in widget.view.value
    widget.forward.click()
    assert widget.slider.value == 6
    for _ in range(9):
        widget.back.click()
    assert widget.slider.value == 0
    assert "nothing has happened yet" in widget.view.value


def test_an_error_is_shown_in_the_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = stepper(*lost_update())
    monkeypatch.setattr(Walk, "render", lambda self, step: 1 / 0)
    widget.slider.value = 2
    assert widget.view.value == '<p role="alert"><b>ZeroDivisionError</b>: division by zero</p>'


def test_a_saved_notebook_shows_the_picture_and_the_last_board_without_a_kernel() -> None:
    widget = stepper(*lost_update())
    widget.slider.value = 3
    bundle = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"].startswith("Stepper(6 steps of History(7 operations by web, docs))\n\n        web ")
    html = bundle["text/html"]
    assert "<svg" not in html
    assert html.count('src="data:image/svg+xml;base64,') == 1
    assert rows(html.partition("</figure>")[2]) == {"shared/open_questions": ["[A, C]", "3", "docs"]}
    for text in (repr(widget), bundle["text/plain"], html):
        assert not re.search(r"0x[0-9a-f]{6,}", text)


def test_two_steppers_of_one_history_keep_the_same_bytes() -> None:
    one, other = (stepper(*many_keys())._repr_mimebundle_() for _ in range(2))
    assert (one["text/plain"], one["text/html"]) == (other["text/plain"], other["text/html"])


def test_an_empty_history_can_be_stepped_through_nowhere() -> None:
    widget = stepper(History([]))
    assert widget.slider.max == 0
    assert "No operations." in str(widget.walk.render(0).picture)


def test_what_has_no_history_cannot_be_stepped_through() -> None:
    with pytest.raises(PictureError, match="a str cannot"):
        stepper("run")
