"""Canonical JSON text for CRDT states, read back strictly, and the keys under which a set keeps its elements.

Equal states give equal texts, because a compare-and-set compares texts. Reading refuses whatever a correct writer could
not have written: merging a damaged state would spread the damage to every replica.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn

from commonboard.crdt.clocks import Clock
from commonboard.entry import check_text
from commonboard.errors import CorruptValueError, InvalidKeyError, UnstorableValueError
from commonboard.values import canonical_json

VERSION: Final = 1
"""The version of the text format, in the field `v`."""

Key = str | tuple[str, str]
"""How a set names an element: a string is its own key, anything else is `(type name, canonical JSON)`."""

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def element_key(element: Any) -> Key:
    """The key of an element. `1`, `1.0`, `True` and `"1"` have four different ones, though Python finds three of them equal.

    >>> element_key("1"), element_key(1), element_key(1.0), element_key(True), element_key({"b": 1, "a": []})
    ('1', ('int', '1'), ('float', '1.0'), ('bool', 'true'), ('dict', '{"a":[],"b":1}'))

    Raises:
        UnstorableValueError: if the element is not a JSON value that would read back equal.
    """
    if type(element) is str and element.isascii():
        return element
    try:
        # Inside a list a NUL is written as an escape; a bare text could not hold it in every store.
        text = canonical_json([element])[1:-1] if isinstance(element, str) else canonical_json(element)
    except UnstorableValueError as error:
        raise UnstorableValueError(f"an element of a set must be plain JSON data: {error}") from None
    plain = json.loads(text)
    return plain if isinstance(plain, str) else (type(plain).__name__, text)


def element_of(key: Key) -> Any:
    """The element again, as a fresh copy."""
    return key if isinstance(key, str) else json.loads(key[1])


def order_of(key: Key) -> tuple[str, str]:
    """By what elements are sorted: (type name, canonical JSON)."""
    return ("str", encode_basestring(key)) if isinstance(key, str) else key


def write_state(tag: str, **fields: Any) -> str:
    """The canonical text of a state: sorted keys, no spaces, its type in `t`, the format's version in `v`."""
    return _ENCODE({"t": tag, "v": VERSION, **fields})


def read_state(text: Any, tag: str, *names: str) -> dict[str, Any]:
    """The fields of a stored state, after checking that it is one of this type and of a version known here.

    Raises:
        CorruptValueError: not JSON, a field too many, missing or twice, another type, a newer version.
    """
    if not isinstance(text, str):
        corrupt(tag, f"it is {type(text).__name__}, not text")
    try:
        state = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except CorruptValueError:
        raise
    except (ValueError, RecursionError) as error:
        corrupt(tag, f"it is not JSON ({error})")
    if not isinstance(state, dict):
        corrupt(tag, f"it is a JSON {type(state).__name__}, not an object")
    if state.get("t") != tag:
        corrupt(tag, f"its type `t` is {state.get('t')!r}; read it with the class of that type")
    _check_version(tag, state.get("v"))
    expected = {"t", "v", *names}
    for name in sorted(expected ^ state.keys()):
        corrupt(tag, f"the field {name!r} is {'missing' if name in expected else 'unknown'}")
    return state


def _check_version(tag: str, version: Any) -> None:
    if type(version) is not int or version < 1:
        corrupt(tag, f"its version `v` is {version!r}, which is none; the version written here is {VERSION}")
    if version > VERSION:
        corrupt(tag, f"it was written in the newer format v={version}, known here is {VERSION}; upgrade commonboard to read it")


def read_counts(value: Any, tag: str, name: str) -> Clock:
    """A dict from replica id to a whole number of at least 0. A zero says the same as no entry, and is dropped."""
    if not isinstance(value, dict):
        corrupt(tag, f"the field {name!r} must be an object of replica: count, not {value!r:.60}")
    return {read_replica(replica, tag): count for replica, count in value.items() if read_count(count, tag, replica) > 0}


def read_count(value: Any, tag: str, replica: str) -> int:
    """A whole number of at least 0."""
    if type(value) is not int or value < 0:
        corrupt(tag, f"the count of replica {replica!r} must be a whole number of at least 0, not {value!r:.60}")
    return value


def read_replica(value: Any, tag: str) -> str:
    """A replica id out of a stored state."""
    try:
        return check_replica(value)
    except InvalidKeyError as error:
        corrupt(tag, str(error))


def check_replica(replica: Any) -> str:
    """The id, if it can be one: non-empty text without NUL and without lone surrogates.

    Raises:
        InvalidKeyError: if it cannot.
    """
    check_text(replica, "the replica id")
    if not replica:
        raise InvalidKeyError("the replica id is empty; take the agent's name and a fresh incarnation, e.g. 'researcher~1f'")
    return str(replica)


def corrupt(tag: str, what: str) -> NoReturn:
    """Refuse a stored state."""
    raise CorruptValueError(f"this is not the text of a {tag!r} state: {what}")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise CorruptValueError(f"this is not the text of a state: the key {twice!r} stands twice in one object")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise CorruptValueError(f"this is not the text of a state: {name} is no JSON number")
