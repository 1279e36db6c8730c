"""The stored text of a state: canonical, read back equal, and refused with a reason where it is not what a state looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from commonboard.crdt import GCounter, ORSet, PNCounter
from commonboard.errors import CorruptValueError
from commonboard.values import decode, encode

# Texts that earlier versions wrote. They must be readable for ever: add to them, never change them.
GOLDEN: list[tuple[type[Any], str, Any]] = [
    (GCounter, '{"c":{},"t":"gcounter","v":1}', 0),
    (GCounter, '{"c":{"a~1f":3,"b~2":1},"t":"gcounter","v":1}', 4),
    (PNCounter, '{"n":{"b~2":5},"p":{"a~1f":3},"t":"pncounter","v":1}', -2),
    (ORSet, '{"e":[],"t":"orset","v":1,"vv":{"a~1f":2}}', []),
    (
        ORSet,
        '{"e":[[null,[["a~1f",5]]],[true,[["a~1f",4]]],[{"k":[1]},[["b~2",2]]],[1.0,[["a~1f",3]]],[1,[["a~1f",2]]],'
        '["1",[["a~1f",1]]],["é",[["a~1f",6],["b~2",1]]]],"t":"orset","v":1,"vv":{"a~1f":6,"b~2":2}}',
        [None, True, {"k": [1]}, 1.0, 1, "1", "é"],
    ),
]
KINDS = [GCounter, PNCounter, ORSet]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
).filter(lambda value: "\\ud" not in json.dumps(value) or _encodable(value))


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@pytest.mark.parametrize(("kind", "text", "value"), GOLDEN)
def test_what_was_once_written_is_read_and_written_again_letter_by_letter(kind: Any, text: str, value: Any) -> None:
    state = kind.from_json(text)
    assert (repr(state.value), state.replica) == (repr(value), None)
    assert state.to_json() == text


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(json_values, max_size=6), st.lists(json_values, max_size=3))
def test_any_set_of_json_values_reads_back_equal(elements: list[Any], removed: list[Any]) -> None:
    made = (ORSet("a~1") + elements).merge(ORSet("b~1") + elements[::2])
    for element in [*removed, *elements[::3]]:
        made.remove(element)
    again = ORSet.from_json(made.to_json())
    assert again == made
    assert repr(again.value) == repr(made.value)
    assert again.to_json() == made.to_json()


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers())))
def test_any_counter_reads_back_equal(amounts: list[tuple[str, int]]) -> None:
    made = PNCounter()
    for replica, k in amounts:
        made = made.bind(replica) + k
    again = PNCounter.from_json(made.to_json())
    assert again == made
    assert again.value == sum(k for _, k in amounts)


def test_equal_states_have_equal_texts_however_they_came_about() -> None:
    a, b = ORSet("a~1") + ["x", "y"], ORSet("b~1") + ["z", 1]
    assert a.merge(b).to_json() == b.merge(a).to_json()
    assert a.merge(b).bind("z").to_json() == a.merge(b).to_json()
    g, h = GCounter("b~1") + 1, GCounter("a~1") + 1
    assert g.merge(h).to_json() == h.merge(g).to_json()


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_can_be_stored_as_a_value_and_comes_back_as_what_it_is(kind: Any) -> None:
    state = kind("a~1").become([1, "x"] if kind is ORSet else 3)
    text, markers = encode(state)
    assert text == state.to_json()
    assert markers == {"sharedMemoryValueEncoding": "json", "commonboardType": kind.tag}
    again = decode(text, markers)
    assert type(again) is kind
    assert again == state


def test_a_damaged_state_in_a_store_is_a_clear_error_of_the_memory() -> None:
    _, markers = encode(ORSet("a~1"))
    with pytest.raises(CorruptValueError, match="shared/questions"):
        decode('{"t":"orset"}', markers, "shared/questions")


def test_spaces_key_order_and_zero_counts_do_not_matter_when_reading() -> None:
    text = '{ "vv": {"a": 1, "b": 0}, "v": 1, "t": "orset",\n "e": [["y", [["a", 1]]]] }'
    assert ORSet.from_json(text).to_json() == '{"e":[["y",[["a",1]]]],"t":"orset","v":1,"vv":{"a":1}}'
    assert GCounter.from_json('{"t":"gcounter","v":1,"c":{"a":0}}') == GCounter()


HOSTILE_FOR_ALL: list[tuple[Any, str]] = [
    ("", "not JSON"),
    ("nonsense", "not JSON"),
    ("[]", "a JSON list, not an object"),
    ("null", "not an object"),
    ('"orset"', "not an object"),
    ("{}", "its type `t` is None"),
    ('{"t":"lww","v":1}', "its type `t` is 'lww'"),
    (b"{}", "bytes, not text"),
    (None, "NoneType, not text"),
    ("[" * 100_000, "not JSON"),
    ('{"t":NaN}', "NaN is no JSON number"),
    ('{"t":-Infinity}', "-Infinity is no JSON number"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("text", "why"), HOSTILE_FOR_ALL, ids=[why for _, why in HOSTILE_FOR_ALL])
def test_what_is_no_state_at_all_is_refused_with_a_reason(kind: Any, text: Any, why: str) -> None:
    with pytest.raises(CorruptValueError, match=why):
        kind.from_json(text)


HOSTILE: list[tuple[Any, str, str]] = [
    (GCounter, '{"t":"pncounter","v":1,"p":{},"n":{}}', "its type `t` is 'pncounter'"),
    (GCounter, '{"t":"gcounter","v":2,"c":{}}', "newer format v=2"),
    (GCounter, '{"t":"gcounter","v":0,"c":{}}', "its version `v` is 0"),
    (GCounter, '{"t":"gcounter","v":true,"c":{}}', "its version `v` is True"),
    (GCounter, '{"t":"gcounter","v":"1","c":{}}', "its version `v` is '1'"),
    (GCounter, '{"t":"gcounter","c":{}}', "its version `v` is None"),
    (GCounter, '{"t":"gcounter","v":1}', "the field 'c' is missing"),
    (GCounter, '{"t":"gcounter","v":1,"c":{},"d":1}', "the field 'd' is unknown"),
    (GCounter, '{"t":"gcounter","v":1,"c":[]}', "must be an object of replica: count"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"a":-1}}', "at least 0, not -1"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"a":1.0}}', "at least 0, not 1.0"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"a":true}}', "at least 0, not True"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"a":"1"}}', "at least 0, not '1'"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"a":null}}', "at least 0, not None"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"a":NaN}}', "NaN is no JSON number"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"":1}}', "the replica id is empty"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"a\\u0000":1}}', "NUL"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"\\ud800":1}}', "surrogate"),
    (GCounter, '{"t":"gcounter","v":1,"c":{"a":1,"a":2}}', "the key 'a' stands twice"),
    (GCounter, '{"t":"gcounter","t":"gcounter","v":1,"c":{}}', "the key 't' stands twice"),
    (PNCounter, '{"t":"pncounter","v":1,"p":{},"n":{"a":-3}}', "at least 0, not -3"),
    (PNCounter, '{"t":"pncounter","v":1,"p":{}}', "the field 'n' is missing"),
    (ORSet, '{"t":"orset","v":1,"e":{},"vv":{}}', "must be a list of elements"),
    (ORSet, '{"t":"orset","v":1,"e":[["x"]],"vv":{}}', r"must be \[element, dots\]"),
    (ORSet, '{"t":"orset","v":1,"e":["x"],"vv":{}}', r"must be \[element, dots\]"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[]]],"vv":{}}', "at least one dot"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",{"a":1}]],"vv":{"a":1}}', "at least one dot"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a"]]]],"vv":{"a":1}}', r"must be \[replica, count\]"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",["a1"]]],"vv":{"a":1}}', r"must be \[replica, count\]"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[[7,1]]]],"vv":{"a":1}}', "the replica id must be text"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a",0]]]],"vv":{"a":1}}', "not covered by the version vector"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a",-1]]]],"vv":{"a":1}}', "at least 0, not -1"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a",true]]]],"vv":{"a":1}}', "at least 0, not True"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a",2]]]],"vv":{"a":1}}', "not covered by the version vector"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a",1]]]],"vv":{}}', "not covered by the version vector"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a",1]]],["x",[["a",2]]]],"vv":{"a":2}}', "the element 'x' stands twice"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a",1]]],["y",[["a",1]]]],"vv":{"a":1}}', "the dot .* stands twice"),
    (ORSet, '{"t":"orset","v":1,"e":[["x",[["a",1],["a",1]]]],"vv":{"a":1}}', "the dot .* stands twice"),
    (ORSet, '{"t":"orset","v":1,"e":[[{"k":1,"k":2},[["a",1]]]],"vv":{"a":1}}', "the key 'k' stands twice"),
    (ORSet, '{"t":"orset","v":1,"e":[[NaN,[["a",1]]]],"vv":{"a":1}}', "NaN is no JSON number"),
    (ORSet, '{"t":"orset","v":1,"e":[[1e999,[["a",1]]]],"vv":{"a":1}}', "finite"),
    (ORSet, '{"t":"orset","v":1,"e":[["\\ud800",[["a",1]]]],"vv":{"a":1}}', "surrogate"),
    (ORSet, '{"t":"orset","v":1,"e":[],"vv":{"a":-1}}', "at least 0, not -1"),
    (ORSet, '{"t":"orset","v":1,"e":[],"vv":{},"replica":"a"}', "the field 'replica' is unknown"),
]


@pytest.mark.parametrize(("kind", "text", "why"), HOSTILE, ids=[f"{kind.tag}: {text[:60]}" for kind, text, _ in HOSTILE])
def test_a_state_that_no_correct_writer_could_have_written_is_refused_with_a_reason(kind: Any, text: str, why: str) -> None:
    with pytest.raises(CorruptValueError, match=why):
        kind.from_json(text)


def test_a_whole_number_that_is_too_long_for_python_to_read_is_refused() -> None:
    with pytest.raises(CorruptValueError, match="not JSON"):
        GCounter.from_json('{"t":"gcounter","v":1,"c":{"a":' + "9" * 5000 + "}}")
