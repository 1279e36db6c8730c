"""How wide a text is, how to cut it without splitting a character, and how to make it safe to put into a picture.

Nobody can ask a browser here, so widths are estimates on the wide side: a picture may have air in it, never a cut word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# XML knows no such characters, even escaped; and marks that turn the direction of text would turn the picture's text too.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_LINES = re.compile("[\t\n\u2028\u2029]")
_NARROW = frozenset("fijlrtI.,:;'|!()[]{} `-/\\")
_WIDE = frozenset("mwMW@%—…")
_JOINER = "\u200d"


def printable(text: str) -> str:
    """The text with a visible sign in place of every character that has no sign of its own.

    >>> printable("a\\x00b"), printable("plain")
    ('a␀b', 'plain')
    """
    return text if text.isascii() and text.isprintable() else _ODD.sub(_sign, text)


def one_line(text: str) -> str:
    """The same on one line: a line break shows as an arrow, a tab as a space."""
    if text.isascii() and text.isprintable():
        return text
    return _ODD.sub(_sign, _LINES.sub(lambda found: " " if found.group() == "\t" else "⏎", text.replace("\r\n", "\n")))


def _sign(found: re.Match[str]) -> str:
    code = ord(found.group())
    return chr(0x2400 + code) if code < 0x20 else "�"


def escape(text: str) -> str:
    """The text as HTML and XML want it, safe inside an attribute in double quotes."""
    text = printable(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _cells(char: str) -> int:
    if _joins(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _joins(char: str) -> bool:
    """Whether the character is drawn onto the one before it."""
    return unicodedata.category(char) in ("Mn", "Me", "Cf") or "\U0001f3fb" <= char <= "\U0001f3ff"


@lru_cache(maxsize=4096)
def cells(text: str) -> int:
    """How many columns of a terminal the text takes; a CJK character or an emoji takes two.

    >>> cells("read"), cells("漢字")
    (4, 4)
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


@lru_cache(maxsize=4096)
def sans_width(text: str, size: float, bold: bool = False) -> float:
    """About how wide the text is in a sans-serif font of `size` pixels, on the wide side."""
    return size * (1.1 if bold else 1.0) * sum(map(_em, text))


def _em(char: str) -> float:
    if char in _NARROW:
        return 0.42
    if char in _WIDE:
        return 1.02
    if char.isascii():
        return 0.74 if char.isupper() else 0.65
    return 0.75 * _cells(char)


def mono_width(text: str, size: float) -> float:
    """About how wide the text is in a monospace font of `size` pixels."""
    return 0.625 * size * cells(text)


@lru_cache(maxsize=4096)
def shorten(text: str, limit: int) -> str:
    """The text in at most `limit` columns, with an ellipsis where it was cut, and no character split.

    >>> shorten("a churn report", 8), shorten("short", 8)
    ('a churn…', 'short')
    """
    if len(text) <= limit and cells(text) <= limit:
        return text
    used = end = 0
    for char in text:
        used += _cells(char)
        if used > limit - 1:
            break
        end += 1
    # An accent, or a part of a joined emoji, goes with the character before it.
    while 0 < end < len(text) and (_joins(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return text[:end] + "…"


def shorten_middle(text: str, limit: int) -> str:
    """The same for names, whose ends tell them apart.

    >>> shorten_middle("shared/open_questions", 12)
    'shared…tions'
    """
    if cells(text) <= limit:
        return text
    tail = text[len(text) - (limit - 1) // 2 :]
    while tail and (_joins(tail[0]) or cells(tail) > (limit - 1) // 2):
        tail = tail[1:]
    return shorten(text, limit - cells(tail)) + tail
