"""Values and names in a few words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from commonboard.show.brief import brief, full, missing, text
from commonboard.show.measure import cells, escape, sans_width, shorten, shorten_middle


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain words", "plain words"),
        ("", '""'),
        ("12", '"12"'),
        ("true", '"true"'),
        ("[A]", '"[A]"'),
        ("two\nlines", "two⏎lines"),
        (12, "12"),
        (None, "null"),
        (["A", "B"], "[A, B]"),
        (["a, b", "c"], '["a, b", c]'),
        (["1", 1], '["1", 1]'),
        ({"owner": "docs", "n": 3}, "{owner: docs, n: 3}"),
        ([], "[]"),
    ],
)
def test_a_short_value_is_shown_whole_and_cannot_be_taken_for_another(value: Any, shown: str) -> None:
    assert text(brief(value)) == shown


def test_of_a_long_list_the_new_items_are_shown() -> None:
    old = [f"question {n}" for n in range(20)]
    assert text(brief([*old, "who left?"], before=old)) == "[…, who left?] 21 items"


def test_a_long_list_without_a_past_shows_how_it_begins() -> None:
    assert text(brief([f"question {n}" for n in range(20)])) == "[question 0, question 1, …] 20 items"


def test_an_item_that_is_there_twice_is_new_only_once() -> None:
    assert [p.text for p in brief(["A", "A"], before=["A"]) if p.role == "added"] == ["A"]


def test_what_is_missing_is_counted_not_only_looked_up() -> None:
    assert missing(["A", "A"], ["A"]) == "A"
    assert missing(["A", "B", "C", "D"], []) == "A, 3 more"


def test_what_the_writer_had_seen_is_not_missing_but_taken_out() -> None:
    assert missing(["A", "B"], ["C"], seen=["A"]) == "B"


@given(st.text(max_size=80), st.integers(2, 40))
def test_shortening_keeps_to_its_limit_and_to_the_beginning(content: str, limit: int) -> None:
    short = shorten(content, limit)
    assert cells(short) <= limit
    assert content.startswith(short.removesuffix("…") if short != content else content)


@given(st.text(max_size=80), st.integers(5, 40))
def test_a_value_keeps_to_its_room(content: str, limit: int) -> None:
    shown = "".join(piece.text for piece in brief([content, content], limit=limit) if piece.role != "quiet")
    assert cells(shown) <= max(limit, 29)  # one item of 20 columns is always shown


def test_no_character_is_split() -> None:
    family = "👩\u200d👩\u200d👧"
    assert shorten("ab" + family, 6) == "ab…"
    assert shorten("ae\u0301bcd", 3) == "ae\u0301…"
    assert shorten("a" + "e\u0301" + "x", 2) == "a…"


def test_a_name_keeps_both_ends() -> None:
    assert shorten_middle("researcher-of-churn-17", 12) == "resear…rn-17"


@given(st.text())
def test_escaped_text_holds_no_markup_and_nothing_that_xml_forbids(content: str) -> None:
    safe = escape(content)
    assert not any(sign in safe for sign in '<>"')
    assert all(char in "\t\n" or ord(char) >= 0x20 for char in safe)
    safe.encode()


def test_widths_are_on_the_wide_side() -> None:
    # Measured in DejaVu Sans, which is wider than most: "compare-and-set" takes 98 pixels at 12.
    assert sans_width("compare-and-set", 12) >= 98
    assert sans_width("漢字", 12) >= 24
    assert cells("漢字🎉") == 6


def test_the_whole_value_is_the_text_itself_or_json() -> None:
    assert full("plain") == "plain"
    assert full({"b": 1, "a": ["é"]}) == '{"a": ["é"], "b": 1}'
