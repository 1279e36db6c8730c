"""Whether an output looks the same in every run, and says something to a reader without a kernel or without eyes."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

from commonboard.course.refresh import REFRESH_COURSE, WIDGET_VIEW, joined

Told = Iterator[tuple[str, str]]

PATHS = re.compile(r"(?<![\w.:/])/(home|root|tmp|Users|var|private)/\w|[A-Z]:\\Users|/site-packages/")
"""A path that a course cannot rely on."""
HOMES = re.compile(r"(?<![\w.:/])/(home|root|Users)/\w|[A-Z]:\\Users|/site-packages/")
"""A path of one person's machine."""

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}\b")
_HEX = re.compile(r"\b[0-9a-f]{32}\b")
_CLOCK = re.compile(r"(?<![\d.])1[6-9]\d{8}(?:\d{3}){0,2}(?:\.\d+)?(?![\d.])")
_RANDOM = (
    (_ADDRESS, "an address in memory", "give the object a repr of its own"),
    (_UUID, "a random id", "draw without random ids"),
)
_RANDOM_IN_THE_COURSE = (
    *_RANDOM,
    (_HEX, "a random id", "draw without random ids"),
    (_CLOCK, "what looks like the clock's time", "give the store clock=cb.LogicalClock(), or show something else"),
)
_REMOTE = r"\b(?:src|srcset)=[\"']?(?:https?:)?//|\bcdn\.|\bcdnjs\b|\bunpkg\.com|\bjsdelivr\b|@import\b"
_NETWORK = re.compile(_REMOTE)
_NETWORK_OR_SCRIPT = re.compile(_REMOTE + r"|<script\b")
_DATA = re.compile(r"data:image/([\w+]+);base64,([A-Za-z0-9+/=]+)")
_PICTURES = ("image/png", "image/jpeg")


def look_at_outputs(output: dict[str, Any], *, course: bool = True) -> Told:
    """What is to be mended in one output: what, and how.

    Args:
        output: as the notebook keeps it.
        course: by the rules of this course; without, by those that fit anybody's notebooks.
    """
    if output["output_type"] == "error":
        yield f"it ended in {output.get('ename', 'an error')}", "catch what the lesson is about, and show its message"
        return
    if course and output.get("name") == "stderr":
        yield "it wrote to stderr, which is a warning as a rule", "mend what it warns of"
    texts = {mime: joined(content) for mime, content in output.get("data", {}).items() if isinstance(content, (str, list))}
    texts |= {"stream": joined(output["text"])} if "text" in output else {}
    if course and WIDGET_VIEW in output.get("data", {}):
        yield "it holds a view of a widget, which nobody can see without a kernel", REFRESH_COURSE
    if course:
        yield from _look_at_pictures(texts)
    for mime, text in texts.items():
        if mime not in _PICTURES:
            yield from _look_at_text(text, course)
    yield from _look_at_html(texts.get("text/html", ""), course)


def _look_at_pictures(texts: dict[str, str]) -> Told:
    if "image/svg+xml" in texts:
        yield "a bare SVG picture, which JupyterLab hides from those who have not run it", "show it as an <img> with data"
    if any(mime in texts for mime in _PICTURES) and texts.get("text/plain", "").startswith("<Figure size"):
        yield "a picture without alternative text", "show a chart of commonboard, which has one, or the table beside it"


def _look_at_text(text: str, course: bool) -> Told:
    drawn = [base64.b64decode(data + "==").decode(errors="replace") for kind, data in _DATA.findall(text) if kind == "svg+xml"]
    for part in (_DATA.sub("", text), *drawn):
        for pattern, what, how in _RANDOM_IN_THE_COURSE if course else _RANDOM:
            if found := pattern.search(part):
                yield f"{what} in its output: {found[0]}", how
        if found := (PATHS if course else HOMES).search(part):
            yield f"a path of one machine in its output: {found[0]}", "show the file's name alone"
        if (_NETWORK_OR_SCRIPT if course else _NETWORK).search(part):
            yield "its output asks the network for something", "keep everything inside the notebook"
        if course and ("Traceback (most recent call last)" in part or "ExceptionGroup" in part):
            yield "a traceback in its output", "catch what the lesson is about, and show its message"


def _look_at_html(html: str, course: bool) -> Told:
    if course and "<svg" in html:
        yield "inline <svg>, which JupyterLab takes away from those who have not run it", "show it as an <img> with data"
    for image in re.findall(r"<img\b[^>]*>", html):
        if not re.search(r"\balt=(\"\s*[^\"\s]|'\s*[^'\s])", image):
            yield "a picture without alternative text", "give the <img> an alt that tells what it shows"
