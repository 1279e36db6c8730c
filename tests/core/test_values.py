"""What is accepted reads back equal; what is refused is told by its path; the marker alone decides what text means."""

from __future__ import annotations

import enum
import math
import sys
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field
from tests.helpers import everything, run

from commonboard import SharedMemory
from commonboard.errors import CorruptValueError, SchemaError, UnstorableValueError
from commonboard.values import as_schema, canonical_json, check_metadata, copy_json, decode, encode, validate

TEXT = st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=15,
)


class Colour(str, enum.Enum):  # noqa: UP042 - a StrEnum would hide the trap
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@given(JSON.filter(lambda value: not isinstance(value, str) or "\0" not in value))
def test_what_is_accepted_reads_back_equal_and_of_the_same_type(value: Any) -> None:
    text, markers = encode(value)
    back = decode(text, markers)
    assert back == value
    assert type(back) is type(value)
    assert markers == ({} if isinstance(value, str) else {"sharedMemoryValueEncoding": "json"})


@given(JSON)
def test_equal_values_give_equal_texts_whatever_the_order_of_their_keys(value: Any) -> None:
    def turned(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: turned(part[key]) for key in reversed(list(part))}
        return [turned(item) for item in part] if isinstance(part, list) else part

    if not isinstance(value, str):
        assert canonical_json(turned(value)) == canonical_json(value)


@pytest.mark.parametrize(
    "value",
    [
        '{"looks": "like JSON"}',
        "null",
        "5",
        "",
        "line1\nline2",
        "10",
        {"a": -0.0, "b": 1e-320, "c": 10**25, "d": "\0 inside", "": None},
        OrderedDict(b=1, a=2),
        defaultdict(list, a=[1]),
        Colour.RED,
        [Colour.RED, {Colour.RED: 1}],
        Level.HIGH,
        [[[[]]]],
        True,
        10**3999,
    ],
    ids=lambda value: repr(value)[:30],
)
def test_unusual_values_read_back_equal_through_a_memory(value: Any) -> None:
    async def main() -> None:
        memory = SharedMemory()
        await memory.write("web", "key", value)
        assert await memory.value("web/key") == value

    run(main())


def _cycle() -> Any:
    value: Any = {"a": [1]}
    value["a"].append({"b": value})
    return value


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@dataclass
class Point:
    x: int


class Model(BaseModel):
    total: int


async def _never_awaited() -> None:
    pass


REFUSED: dict[str, tuple[Any, str]] = {
    "NaN": ({"items": [0, {"price": math.nan}]}, r"value at <root>\.items\[1\]\.price must be a finite number, not nan"),
    "infinity": ([math.inf], r"value at <root>\[0\] must be a finite number, not inf"),
    "a set": ({"tags": {1}}, r"value at <root>\.tags is a set.*store sorted\(value\), or an ORSet"),
    "a frozenset": (frozenset("a"), r"value at <root> is a frozenset"),
    "a tuple": ([(1, 2)], r"value at <root>\[0\] is a tuple.*store list\(value\)"),
    "bytes": (b"x", r"value at <root> is a bytes.*base64"),
    "a date": ({"on": date(2026, 1, 1)}, r"value at <root>\.on is a date.*store value\.isoformat\(\)"),
    "a key that is no text": ({"a": {5: 1}}, r"value at <root>\.a has the key 5 \(int\); keys must be text, e\.g\. '5'"),
    "a key that is None": ({None: 1}, r"has the key None \(NoneType\)"),
    "a true key": ({True: 1}, r"has the key True \(bool\)"),
    "a cycle": (_cycle(), r"value at <root>\.a\[1\]\.b contains itself"),
    "an object": (object(), "value at <root> is a object"),
    "a function": ({"f": len}, r"value at <root>\.f is a builtin_function_or_method"),
    "a class": (int, "value at <root> is a type"),
    "a dataclass": (Point(1), r"value at <root> is a Point.*dataclasses\.asdict\(value\)"),
    "a model": ([Model(total=1)], r"value at <root>\[0\] is a Model.*schema="),
    "a complex number": (1j, "value at <root> is a complex"),
    "a NUL in a text": ("a\0b", "value at <root> holds a NUL character at position 1"),
    "half a character": ({"a": ["x\udc00"]}, r"value at <root>\.a\[0\] holds half of a surrogate pair"),
    "half a character in a key": ({"a\ud800": 1}, "a key of the value at <root> holds half of a surrogate pair"),
    "too deep": (_deep(101), "is nested more than 100 levels deep; flatten it"),
    "deeper than Python goes": (_deep(sys.getrecursionlimit() * 2), "is nested more than 100 levels deep"),
    "a number too long to read": ([10**5000], r"value at <root>\[0\] is a whole number of more than 4,000 digits"),
    "a generator": ((x for x in "ab"), "value at <root> is a generator"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_would_not_read_back_equal_is_refused_by_its_path_and_nothing_is_written(kind: str) -> None:
    value, why = REFUSED[kind]

    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        await me.write("key", "before")
        await me.shared.write("list", [1])
        before = await everything(memory.store)
        calls = (
            me.write("key", value),
            me.shared.write("new", value),
            me.write_expiring("key", value, 1),
            me.shared.update("key", lambda old: value),
            me.shared.compare_and_set("key", None, value),
            me.shared.append("list", value),
        )
        for call in calls:
            with pytest.raises(UnstorableValueError, match=why):
                await call
        assert await everything(memory.store) == before

    run(main())


def test_a_coroutine_that_was_not_awaited_is_told_as_that() -> None:
    forgotten = _never_awaited()
    with pytest.raises(UnstorableValueError, match="it was not awaited; put `await` before the call that made it"):
        encode(forgotten)
    forgotten.close()


def test_a_hundred_levels_are_stored_and_read_however_deep_the_reader_stands() -> None:
    value = _deep(100)
    text, markers = encode(value)

    def at_depth(levels: int) -> Any:
        return decode(text, markers) if levels == 0 else at_depth(levels - 1)

    assert at_depth(500) == value


def test_a_shared_part_is_no_cycle() -> None:
    part = [1]
    assert decode(*encode([part, {"a": part}])) == [[1], {"a": [1]}]


@pytest.mark.parametrize("text", ["", "{", "nope", "[1,]", "9" * 5000, "[" * 100_000])
def test_a_marker_on_text_that_is_no_json_is_a_corrupt_value(text: str) -> None:
    with pytest.raises(CorruptValueError, match=r"the entry 'a/b' is marked as JSON but its text is not .*write the key again"):
        decode(text, {"sharedMemoryValueEncoding": "json"}, "a/b")


@pytest.mark.parametrize("tag", ["unheard-of", 5, ["orset"], {}])
def test_a_value_of_an_unknown_type_is_told_as_that(tag: Any) -> None:
    with pytest.raises(CorruptValueError, match="which this program does not know; import what registers it"):
        decode("{}", {"sharedMemoryValueEncoding": "json", "commonboardType": tag}, "a")


@pytest.mark.parametrize("marker", [None, "text", "JSON", 1, True])
def test_only_the_one_marker_makes_text_json(marker: Any) -> None:
    assert decode("[1]", {"sharedMemoryValueEncoding": marker}) == "[1]"


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ([], "metadata must be a mapping of text to JSON values, not list"),
        ("text", "not str"),
        ({"a": {"b": math.nan}}, r"value at metadata\.a\.b must be a finite number"),
        ({5: 1}, "value at metadata has the key 5"),
        ({"a": _deep(100)}, "nested more than 100 levels deep"),
        ({"a": (1,)}, r"value at metadata\.a is a tuple"),
    ],
)
def test_metadata_are_json_too(metadata: Any, why: str) -> None:
    with pytest.raises(UnstorableValueError, match=why):
        check_metadata(metadata)
    memory = SharedMemory()
    with pytest.raises(UnstorableValueError, match=why):
        run(memory.agent("web").write("key", 1, metadata=metadata))
    assert run(everything(memory.store))[0] == []


@given(JSON)
def test_a_copy_of_json_is_equal_and_shares_nothing_that_changes(value: Any) -> None:
    copied = copy_json(value)
    assert copied == value

    def spoil(part: Any) -> None:
        if isinstance(part, list):
            for item in part:
                spoil(item)
            part.append("spoilt")
        elif isinstance(part, dict):
            for item in part.values():
                spoil(item)
            part["spoilt"] = True

    before = copy_json(copied)
    spoil(value)
    assert copied == before


# --- schemas ---


class Line(BaseModel):
    price: float = Field(gt=0)


class Invoice(BaseModel):
    total: int
    currency: str = "EUR"
    items: list[Line] = []


def test_what_a_schema_puts_out_is_stored_with_defaults_and_coercions() -> None:
    async def main() -> None:
        memory = SharedMemory()
        entry = await memory.write("web", "invoice", {"total": "12", "items": [{"price": 3}]}, schema=Invoice)
        wanted = {"total": 12, "currency": "EUR", "items": [{"price": 3.0}]}
        assert entry.value == wanted
        assert await memory.value("web/invoice") == wanted
        await memory.write("web", "invoice", Invoice(total=1), schema=Invoice)
        assert await memory.value("web/invoice") == {"total": 1, "currency": "EUR", "items": []}

    run(main())


def test_a_schema_makes_the_object_again_when_read() -> None:
    async def main() -> None:
        memory = SharedMemory()
        await memory.write("web", "invoice", {"total": 1})
        entry = await memory.read("web/invoice", schema=Invoice)
        assert entry is not None
        assert entry.value == Invoice(total=1)
        other = await memory.agent("docs").read("web/invoice", schema=dict[str, int])
        assert other is not None
        assert other.value == {"total": 1}
        with pytest.raises(SchemaError, match=r"the value for web/invoice does not fit list\[int\]"):
            await memory.read("web/invoice", schema=list[int])

    run(main())


def test_what_does_not_fit_its_schema_is_told_line_by_line_and_nothing_is_written() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        await me.shared.write("invoice", {"total": 1})
        before = await everything(memory.store)
        wrong = {"total": "many", "items": [{"price": 1}, {"price": -1}]}
        calls = (
            me.shared.write("invoice", wrong, schema=Invoice),
            me.shared.update("invoice", lambda old: wrong, schema=Invoice),
        )
        for call in calls:
            with pytest.raises(SchemaError) as raised:
                await call
            first, *lines = str(raised.value).splitlines()
            assert first == "the value for shared/invoice does not fit Invoice:"
            assert [line.split(":")[0] for line in lines] == ["  - <root>.total", "  - <root>.items[1].price"]
        assert await everything(memory.store) == before

    run(main())


def test_a_schema_may_be_any_type() -> None:
    assert validate(["1", 2], list[int], "x") == [1, 2]
    assert as_schema({"a": "1"}, dict[str, int], "x") == {"a": 1}
    with pytest.raises(SchemaError, match=r"does not fit list\[int\]:\n  - <root>\[1\]: "):
        validate([1, "x"], list[int], "x")


def test_what_a_schema_lets_pass_must_read_back_equal_all_the_same() -> None:
    with pytest.raises(UnstorableValueError, match=r"value at <root>\.x must be a finite number"):
        run(SharedMemory().write("web", "key", {"x": math.inf}, schema=dict[str, float]))
