"""A small, strict reader of EDN, the notation in which Jepsen keeps its histories.

It reads what histories are made of: maps, vectors, lists, sets, keywords, strings, whole and decimal numbers, `true`, `false`
and `nil`. The one tag it passes over is Jepsen's own `#jepsen.history.Op`. All else is an error that names the line. The
libraries there are read all of EDN, need three packages more for it, and do not tell the line a form stands on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from commonboard.check.model import frozen
from commonboard.errors import HistoryFormatError

_TOKEN = re.compile(
    r"""(?P<skip>[\s,]+|;[^\n]*)
    |(?P<open>[\[({]|\#\{)|(?P<close>[\])}])
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<tag>\#jepsen\.history\.Op(?=[\s{]))
    |(?P<atom>[^\s,;"\[\](){}\#]+)""",
    re.VERBOSE | re.DOTALL,
)
_WHOLE = r"(?:0|[1-9][0-9]{0,3999})"
_NUMBER = re.compile(rf"[+-]?(?:(?P<whole>{_WHOLE})N?|{_WHOLE}(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)M?)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_PAIRS = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword, such as `:read`; it equals no text."""

    name: str

    def __str__(self) -> str:
        return f":{self.name}"

    __repr__ = __str__


@dataclass(slots=True)
class Form:
    """A form at the top of a text, or in a vector or list there.

    Attributes:
        line: the line it begins on, from 1.
        value: what it stands for: text a `str`, a keyword a `Keyword`, vectors and lists tuples, maps dicts, sets frozensets.
    """

    line: int
    value: Any


def forms(text: str, where: str = "the text") -> list[Form]:
    """The forms of a text; where all of it is one vector or list, those in it.

    Args:
        text: EDN.
        where: what to call the text in an error, such as the name of its file.

    Raises:
        HistoryFormatError: it is not EDN, or holds a form that is not read here.

    >>> [(form.line, form.value) for form in forms('[{:f :read, :value nil}\\n {:f :cas, :value [1 2]}]')]
    [(1, {:f: :read, :value: None}), (2, {:f: :cas, :value: (1, 2)})]
    """
    return _Reader(text, where, 1).top()


def form(text: str, where: str, line: int) -> Any:
    """The value of a text that is one form, and stands on a line of something else.

    Raises:
        HistoryFormatError: it is not one form.
    """
    return _Reader(text, where, line).one()


class _Reader:
    def __init__(self, text: str, where: str, line: int) -> None:
        self._text, self._where = text, where
        self._line = line
        self._tokens = self._all()
        self._kind, self._token = "", ""
        self._advance()

    def one(self) -> Any:
        made = self._form(0)
        if self._kind != "end":
            self._fail(f"{self._token!r} after the end of the value")
        return made

    def top(self) -> list[Form]:
        if self._token in ("[", "("):
            found = self._items()
            if self._kind != "end":
                self._fail(f"{self._token!r} after the end of the vector; a history is one vector, or one form after another")
            return found
        found = []
        while self._kind != "end":
            line = self._line
            found.append(Form(line, self._form(0)))
        return found

    def _items(self) -> list[Form]:
        close = _PAIRS[self._token]
        self._advance()
        found = []
        while not self._at(close):
            line = self._line
            found.append(Form(line, self._form(1)))
        self._advance()
        return found

    def _form(self, depth: int) -> Any:
        if depth > _DEEPEST:
            self._fail(f"forms within forms, more than {_DEEPEST} deep")
        kind, token = self._kind, self._token
        if kind == "end":
            self._fail("the end, where a form should be")
        if kind == "close":
            self._fail(f"{token!r}, and nothing is open that it closes")
        if kind == "tag":
            self._advance()
            return self._form(depth + 1)
        # What is read is made before the next token is looked at, so that an error names its own line.
        made = self._collection(depth) if kind == "open" else self._text_of(token) if kind == "string" else self._atom(token)
        self._advance()
        return made

    def _collection(self, depth: int) -> Any:
        opening, items = self._token, []
        self._advance()
        while not self._at(_PAIRS[opening]):
            items.append(self._form(depth + 1))
        if opening == "#{":
            return self._set(items)
        return self._map(items) if opening == "{" else tuple(items)

    def _set(self, items: list[Any]) -> frozenset[Any]:
        made = frozenset(map(frozen, items))
        if len(made) < len(items):
            self._fail("a set that holds an element twice")
        return made

    def _map(self, items: list[Any]) -> dict[Any, Any]:
        if len(items) % 2:
            self._fail("a map with a key that has no value")
        found: dict[Any, Any] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if isinstance(key, (dict, tuple)):
                self._fail(f"a map with the key {key!r}; keys are keywords, text or numbers here")
            if key in found:
                self._fail(f"a map with two values for {key}")
            found[key] = value
        return found

    def _at(self, close: str) -> bool:
        if self._kind == "end":
            self._fail(f"the end, and {close!r} is missing")
        if self._kind == "close" and self._token != close:
            self._fail(f"{self._token!r} where {close!r} should be")
        return self._kind == "close"

    def _text_of(self, token: str) -> str:
        def one(found: re.Match[str]) -> str:
            if found[1]:
                return chr(int(found[1], 16))
            if found[2] not in _ESCAPES:
                self._fail(f"the unknown escape {found[0]} in {token:.40}")
            return _ESCAPES[found[2]]

        text = _ESCAPE.sub(one, token[1:-1])
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._fail(f"half a character in {token:.40}")

    def _atom(self, token: str) -> Any:
        if token in ("nil", "true", "false"):
            return {"nil": None, "true": True, "false": False}[token]
        if token[0] == ":" and len(token) > 1:
            return Keyword(token[1:])
        number = _NUMBER.fullmatch(token)
        if number is None:
            self._fail(f"{token!r:.60}, which is none of the forms that histories are made of")
        return int(token.rstrip("N")) if number["whole"] else float(token.rstrip("M"))

    def _advance(self) -> None:
        self._kind, self._token = next(self._tokens)

    def _all(self) -> Iterator[tuple[str, str]]:
        place = 0
        while place < len(self._text):
            found = _TOKEN.match(self._text, place)
            if found is None:
                if self._text[place] == '"':
                    self._fail(f"a text that begins with {self._text[place : place + 20]!r}, and never ends")
                self._fail(f"{self._text[place : place + 20]!r}, which is none of the forms that histories are made of")
            if found.lastgroup != "skip":
                yield str(found.lastgroup), found[0]
            self._line += found[0].count("\n")
            place = found.end()
        yield "end", ""

    def _fail(self, what: str) -> NoReturn:
        raise HistoryFormatError(f"{self._where}, line {self._line}: {what}")
