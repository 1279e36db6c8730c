"""The nouns: keys, prefixes, expectations, clocks, copies."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.helpers import run

from commonboard import ABSENT, ANY, InMemoryStore, LogicalClock, MemoryEntry, Page, Write
from commonboard.entry import check_key, check_text, under, utc_now
from commonboard.errors import InvalidKeyError


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "the key is empty; a key is text such as 'shared/open_questions'"),
        ("a\0b", "holds a NUL character at position 1"),
        ("é\0", "holds a NUL character at position 1"),
        ("a\ud83d", r"holds half of a surrogate pair \(U\+D83D\) at position 1"),
        (5, "the key must be text .*, not int: 5"),
        (None, "not NoneType"),
        (b"a", "not bytes"),
        (("a", "b"), "not tuple"),
    ],
)
def test_a_bad_key_is_told_by_what_is_bad_in_it(key: Any, why: str) -> None:
    with pytest.raises(InvalidKeyError, match=why):
        check_key(key)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_any_other_text_is_a_key(key: str) -> None:
    check_key(key)


@given(st.text(st.characters(categories=["Cs", "Ll", "Cc"])))
def test_text_is_refused_exactly_where_utf_8_or_a_nul_refuses_it(text: str) -> None:
    try:
        text.encode()
        bad = "\0" in text
    except UnicodeEncodeError:
        bad = True
    if bad:
        with pytest.raises(InvalidKeyError):
            check_text(text, "it")
    else:
        check_text(text, "it")


SEGMENT = st.text(st.sampled_from("ab%_*?[é \n"), min_size=1, max_size=3)


@given(st.lists(SEGMENT, min_size=1, max_size=3), st.lists(SEGMENT, min_size=1, max_size=3))
def test_a_key_is_under_a_prefix_whose_segments_it_begins_with(prefix: list[str], key: list[str]) -> None:
    assert under("/".join(prefix), "/".join(key)) == (key[: len(prefix)] == prefix)


def test_everything_is_under_the_empty_prefix_and_a_slash_at_the_end_leaves_out_the_key_itself() -> None:
    assert under("", "")
    assert under("", "anything")
    assert under("a/", "a/b")
    assert not under("a/", "a")


def test_the_two_named_expectations_stay_themselves_in_copies() -> None:
    assert [repr(ANY), repr(ABSENT)] == ["ANY", "ABSENT"]
    for named in (ANY, ABSENT):
        assert copy.deepcopy(named) is named
        assert copy.copy(named) is named
        assert pickle.loads(pickle.dumps(named)) is named
        assert pickle.loads(pickle.dumps(Write("a", "1", expect=named))).expect is named


def test_the_actor_is_the_agent_of_the_metadata() -> None:
    assert MemoryEntry("a", "1", {"agent": "web"}).actor == "web"
    assert MemoryEntry("a", "1", {"agent": 5}).actor is None
    assert MemoryEntry("a", "1").actor is None


def test_a_logical_clock_ticks_once_a_look_and_the_wall_clock_has_a_zone() -> None:
    clock = LogicalClock(datetime(2020, 1, 1, tzinfo=UTC), step_seconds=0.5)
    assert [clock().isoformat() for _ in range(3)] == [
        "2020-01-01T00:00:00+00:00",
        "2020-01-01T00:00:00.500000+00:00",
        "2020-01-01T00:00:01+00:00",
    ]
    assert utc_now().utcoffset() is not None


def test_a_page_is_a_list_that_knows_where_it_was_taken() -> None:
    async def main() -> None:
        store = InMemoryStore()
        await store.set("a", "1")
        await store.delete("a")
        await store.set("b", "1")
        page = await store.list()
        assert isinstance(page, list)
        assert (page.position, page.floor, page.gone, page.cursor) == (3, 0, {"a": 2}, None)

    run(main())
    assert Page().gone == {}
