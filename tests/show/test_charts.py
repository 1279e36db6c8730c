"""The line chart: the same bytes each time, told in words too, and never by colour alone."""

from __future__ import annotations

import builtins
from typing import Any
from xml.etree import ElementTree

import pytest

from commonboard.show import ChartError, bars, curve, panels

LINES = {"last writer wins": {0: 0.0, 30: 22.5, 60: 41.0}, "optimistic": {0: 0.0, 60: 0.0}}


def chart(lines: Any = LINES) -> Any:
    return curve(lines, x="time to think (virtual s)", y="runs that lose (%)", caption="It bends.")


def test_the_same_numbers_give_the_same_bytes() -> None:
    assert chart().svg == chart().svg
    assert "<dc:date>" not in chart().svg


def test_the_drawing_is_an_image_with_its_numbers_as_alternative_text() -> None:
    html = chart()._repr_html_()
    assert "<svg" not in html
    assert 'alt="It bends.' in html
    assert "22.5" in chart().alt


def test_the_text_is_a_table_with_the_caption_below() -> None:
    assert str(chart()).splitlines() == [
        "runs that lose (%):",
        "time to think (virtual s)  last writer wins  optimistic",
        "                        0                 0           0",
        "                       30              22.5            ",
        "                       60                41           0",
        "",
        "It bends.",
    ]


def test_each_line_has_a_name_and_a_marker_of_its_own() -> None:
    svg = chart().svg
    ElementTree.fromstring(svg)
    assert "last writer wins" in svg
    assert "optimistic" in svg
    markers = {line.split('d="')[1] for line in svg.split("<defs>") if line.lstrip().startswith("<path id=") and 'd="' in line}
    assert len(markers) >= 2


@pytest.mark.parametrize("lines", [{}, {"nothing": {}}, {str(n): {0: n} for n in range(7)}])
def test_what_cannot_be_drawn_is_refused(lines: dict[str, dict[float, float]]) -> None:
    with pytest.raises(ChartError):
        chart(lines)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ChartError, match=r"commonboard\[lab\]"):
        chart()


@pytest.mark.parametrize("wrong", [3, [1], {"a": 1}, {"a": {1: "b"}}, {"a": {"b": 1}}, {"a": {1: None}}])
def test_what_is_no_chart_is_refused_in_a_sentence(wrong: Any) -> None:
    with pytest.raises(ChartError, match=r"a chart (takes a dict of names to dicts of numbers|is made of numbers), and here is"):
        chart(wrong)
    with pytest.raises(ChartError, match=r"a chart (takes|is made)"):
        panels({"y": wrong}, x="x", caption="It bends.")
    if wrong != {"a": {"b": 1}}:  # bars have names, and lines have numbers
        with pytest.raises(ChartError, match=r"a chart (takes|is made)"):
            bars(wrong, caption="It bends.")


def test_whole_numbers_have_no_marks_between_them() -> None:
    whole, parts = (curve({"a": {first: 1, 4: 2}}, x="agents", y="y", caption="c").svg for first in (2, 2.5))
    assert "2.5" not in whole
    assert ">3</text>" in whole
    assert ">2.50</text>" in parts or ">2.6</text>" in parts


def test_what_grows_fast_has_an_axis_of_tens() -> None:
    lines = {"orders": {2: 20, 3: 1_680, 4: 63_063_000}}
    plain, log = (curve(lines, x="agents", y="orders", caption="It grows.", log=log) for log in (False, True))
    assert "63,063,000" in log.text
    assert plain.svg != log.svg
    assert "mathdefault{10^{7}}" in log.svg
    assert "mathdefault{10^{7}}" not in plain.svg
    with pytest.raises(ChartError, match="log=True has no place for 0 and below"):
        curve({"a": {1: 0}}, x="x", y="y", caption="c", log=True)
