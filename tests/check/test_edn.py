"""The reader of EDN: what histories are made of, and an error that names the line for all else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from commonboard.check.edn import Keyword, form, forms
from commonboard.errors import CommonboardError, HistoryFormatError

READ = [
    ("nil", None),
    ("true", True),
    ("false", False),
    ("0", 0),
    ("-12", -12),
    ("+3", 3),
    ("7N", 7),
    ("1.5", 1.5),
    ("-2.5e3", -2500.0),
    ("2.50M", 2.5),
    ('""', ""),
    (r'"a\"b\\c\n\t"', 'a"b\\c\n\t'),
    (r'"\u00e9\ud83d\ude00"', "é😀"),
    (":read", Keyword("read")),
    (":a/b.c-d?", Keyword("a/b.c-d?")),
    ("[]", ()),
    ("[1 [2, 3] (4)]", (1, (2, 3), (4,))),
    ("#{1 2}", frozenset({1, 2})),
    ("#{[1] [2]}", frozenset({(1,), (2,)})),
    ('{:a 1, "b" nil 3 []}', {Keyword("a"): 1, "b": None, 3: ()}),
    ("#jepsen.history.Op{:f :read}", {Keyword("f"): Keyword("read")}),
    ("1 ; the rest is a remark ]", 1),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_a_form_is_read(text: str, value: Any) -> None:
    found = form(text, "here", 1)
    assert found == value
    assert type(found) is type(value)


def test_a_keyword_is_no_text() -> None:
    assert form(":a", "here", 1) != ":a"
    assert form(":a", "here", 1) != "a"
    assert str(Keyword("a")) == ":a"


def test_forms_one_after_another_and_in_one_vector_are_the_same() -> None:
    after = forms("{:a 1}\n\n{:a\n2}\n")
    assert [(found.line, found.value[Keyword("a")]) for found in after] == [(1, 1), (3, 2)]
    assert forms("[{:a 1}\n\n{:a\n2}]\n") == after
    assert forms("({:a 1}\n\n{:a\n2})\n") == after
    assert forms(" \n; nothing\n") == []


WRONG = [
    ("[1 2", 1, "the end, and ']' is missing"),
    ("{:a 1\n{:b 2}", 2, "the end, and '}' is missing"),
    ("[1 2}", 1, "'}' where ']' should be"),
    ("1\n]", 2, "']', and nothing is open that it closes"),
    ("{:a 1}\n{:a}", 2, "a map with a key that has no value"),
    ("{:a 1 :a 2}", 1, "a map with two values for :a"),
    ("{[1] 2}", 1, "keys are keywords, text or numbers here"),
    ("#{1 1}", 1, "a set that holds an element twice"),
    ('\n"abc', 2, "a text that begins with '\"abc', and never ends"),
    ("0123", 1, "'0123', which is none of the forms"),
    ("\u0661", 1, "none of the forms"),
    ("9" * 5000, 1, "none of the forms"),
    (r'"a\qb"', 1, r"the unknown escape \q"),
    (r'"\ud83d"', 1, "half a character"),
    ("\n\nsymbol\n", 3, "'symbol', which is none of the forms"),
    ("\\c", 1, "none of the forms"),
    ("1/2", 1, "'1/2'"),
    ("1.2.3", 1, "'1.2.3'"),
    (":", 1, "':'"),
    ('#inst "2020"', 1, "none of the forms"),
    ("#_ 1", 1, "none of the forms"),
    ("[1] 2", 1, "after the end of the vector"),
    ("[" * 200 + "]" * 200, 1, "more than 100 deep"),
    ("#jepsen.history.Op", 1, "none of the forms"),
    ("#jepsen.history.Op " * 3, 1, "the end, where a form should be"),
]


@pytest.mark.parametrize(("text", "line", "told"), WRONG)
def test_what_is_no_edn_is_an_error_that_names_the_line(text: str, line: int, told: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        forms(text, "notes.edn")
    assert str(caught.value).startswith(f"notes.edn, line {line}: ")
    assert told in str(caught.value)
    assert isinstance(caught.value, CommonboardError)


def test_one_form_is_one() -> None:
    with pytest.raises(HistoryFormatError, match="x, line 4: '2' after the end of the value"):
        form("1 2", "x", 4)
    with pytest.raises(HistoryFormatError, match="x, line 4: the end, where a form should be"):
        form(" ", "x", 4)


def written(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, tuple):
        return f"[{' '.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{written(key)} {written(part)}' for key, part in value.items())}}}"
    return repr(value)


ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


@given(VALUES)
def test_what_is_written_reads_back_equal(value: Any) -> None:
    assert form(written(value), "here", 1) == value
