"""Between a Python value and the text that a store keeps.

A string is stored as it is. Any other JSON value is stored as JSON text, and a marker in the metadata says so; the
marker alone decides, so text that merely looks like JSON stays text. What is accepted reads back equal: everything
else is refused, with the path to the part at fault. The marker is open-multi-agent's, so its files can be shared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, overload

from commonboard.entry import MemoryEntry, check_text
from commonboard.errors import CorruptValueError, InvalidKeyError, SchemaError, UnstorableValueError

ENCODING: Final = "sharedMemoryValueEncoding"
"""Metadata marker: `"json"` where the text is JSON."""
TYPE: Final = "commonboardType"
"""Metadata marker: the tag of a registered value type, such as `"orset"`, on top of JSON."""
MARKERS: Final = (ENCODING, TYPE)

_DEEPEST: Final = 100  # JSON is read and copied by recursion, so a value must not depend on how deep the reader stands
_LONGEST_BITS: Final = 13_287  # 4,000 digits; Python reads no more than 4,300
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


class StoredType(Protocol):
    """What a class needs so that its objects can be values: a tag, and canonical JSON both ways."""

    tag: str

    def to_json(self) -> str:
        """Canonical JSON text: equal objects give equal texts."""

    @classmethod
    def from_json(cls, text: str) -> Any:
        """The object again."""


_types: dict[str, Callable[[str], Any]] = {}


def register(cls: type[Any]) -> type[Any]:
    """Class decorator: objects of `cls` (a `StoredType`) can be stored, and come back as what they are."""
    _types[cls.tag] = cls.from_json
    return cls


def canonical_json(value: Any) -> str:
    """JSON text with stable key order and no spaces: equal values give equal texts.

    Raises:
        UnstorableValueError: naming the path, if the value would not read back equal.
    """
    _check(value, "<root>", [])
    try:
        return _ENCODE(value)
    except ValueError as error:
        raise UnstorableValueError(f"value at <root> cannot be stored as JSON: {error}") from None


def encode(value: Any) -> tuple[str, dict[str, str]]:
    """The text to store, and the markers that must go into the metadata beside it.

    >>> encode("plain"), encode({"b": 1, "a": [True, None]})
    (('plain', {}), ('{"a":[true,null],"b":1}', {'sharedMemoryValueEncoding': 'json'}))

    Raises:
        UnstorableValueError: if the value would not read back equal: NaN, a set, bytes, a date, a tuple, a key that is no text …
    """
    if isinstance(value, str):
        _check(value, "<root>", [])
        return str.__str__(value), {}  # str(value) of a member of an enum of texts is its name, not its text
    tag = getattr(type(value), "tag", None)
    if isinstance(tag, str) and tag in _types:
        return value.to_json(), {ENCODING: "json", TYPE: tag}
    return canonical_json(value), {ENCODING: "json"}


def decode(text: str, metadata: Mapping[str, Any], key: str = "") -> Any:
    """The Python value again.

    Raises:
        CorruptValueError: if the marker says JSON and the text is none, or the type's tag is not known here.
    """
    if metadata.get(ENCODING) != "json":
        return text
    tag = metadata.get(TYPE)
    if tag is not None and not (isinstance(tag, str) and tag in _types):
        raise CorruptValueError(f"the entry {key!r} holds a {tag!r}, which this program does not know; import what registers it")
    try:
        return json.loads(text) if tag is None else _types[tag](text)
    except (ValueError, RecursionError) as error:
        raise CorruptValueError(
            f"the entry {key!r} is marked as {tag or 'JSON'} but its text is not ({error}): {text!r:.80}; "
            "write the key again, or drop the marker"
        ) from None


def plain(value: Any) -> Any:
    """What a value stands for: a CRDT's value as plain data, and any other value as it is."""
    return value.value if getattr(type(value), "tag", None) in _types else value


def decoded(entry: MemoryEntry) -> MemoryEntry:
    """The same entry with its value as a Python object."""
    value = decode(entry.value, entry.metadata, entry.key)
    return MemoryEntry(entry.key, value, entry.metadata, entry.created_at, entry.version, entry.expires_at_turn)


def validate(value: Any, schema: Any, where: str) -> Any:
    """The value as `schema` (a pydantic model, or any type) puts it out, as plain JSON data: defaults filled in, coercions made.

    Raises:
        SchemaError: one line for each problem, with its path.
    """
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[Any] = TypeAdapter(schema)
    try:
        return adapter.dump_python(adapter.validate_python(value), mode="json")
    except ValidationError as error:
        raise _schema_error(error, schema, where) from None


def as_schema(value: Any, schema: Any, where: str) -> Any:
    """A stored value as an object of `schema`.

    Raises:
        SchemaError: if what is stored does not fit.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(schema).validate_python(value)
    except ValidationError as error:
        raise _schema_error(error, schema, where) from None


def copy_json(value: Any) -> Any:
    """A deep copy of plain JSON data."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


@overload
def own_copy(entry: MemoryEntry) -> MemoryEntry: ...
@overload
def own_copy(entry: MemoryEntry | None) -> MemoryEntry | None: ...
def own_copy(entry: MemoryEntry | None) -> MemoryEntry | None:
    """The entry with metadata of its own, so that whoever gets it cannot change what is stored."""
    if entry is None:
        return None
    metadata = copy_json(entry.metadata) if entry.metadata else {}
    return MemoryEntry(entry.key, entry.value, metadata, entry.created_at, entry.version, entry.expires_at_turn)


def check_metadata(metadata: Any) -> dict[str, Any]:
    """A private copy of the metadata, which must be a JSON object.

    Raises:
        UnstorableValueError: if it is not, naming the path.
    """
    if metadata is None:
        return {}
    if type(metadata) is dict and _is_flat(metadata):
        return metadata.copy()
    if not isinstance(metadata, Mapping):
        raise UnstorableValueError(f"metadata must be a mapping of text to JSON values, not {type(metadata).__name__}")
    plain = dict(metadata)
    if plain:
        _check(plain, "metadata", [])
    return {key: copy_json(item) for key, item in plain.items()}


def _is_flat(metadata: dict[Any, Any]) -> bool:
    """Whether there is nothing in it but plain texts, as nearly always: then there is nothing to look for in them."""
    for name, fact in metadata.items():
        if type(fact) is not str or type(name) is not str or not fact.isascii() or not name.isascii():
            return False
    return True


def _schema_error(error: Any, schema: Any, where: str) -> SchemaError:
    name = schema.__name__ if isinstance(schema, type) else str(schema)
    lines = [f"the value for {where} does not fit {name}:"]
    for problem in error.errors():
        path = "<root>" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
        lines.append(f"  - {path}: {problem['msg']}")
    return SchemaError("\n".join(lines))


def _check(value: Any, path: str, above: list[int]) -> None:
    if value is None or isinstance(value, int):
        if value is not None and value.bit_length() > _LONGEST_BITS:
            raise UnstorableValueError(f"value at {path} is a whole number of more than 4,000 digits; store it as text")
        return
    if isinstance(value, str):
        # JSON writes a NUL inside a structure as an escape, which every store keeps.
        inside = value if path == "<root>" else value.replace("\0", "")
        try:
            check_text(inside, f"value at {path}")
        except InvalidKeyError as error:
            raise UnstorableValueError(str(error)) from None
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise UnstorableValueError(f"value at {path} must be a finite number, not {value!r}; use None or a string for it")
    elif isinstance(value, (list, dict)):
        if id(value) in above:
            raise UnstorableValueError(f"value at {path} contains itself; store a copy without the cycle")
        if len(above) == _DEEPEST:
            raise UnstorableValueError(f"value at {path} is nested more than {_DEEPEST} levels deep; flatten it")
        above.append(id(value))
        if isinstance(value, list):
            for index, item in enumerate(value):
                _check(item, f"{path}[{index}]", above)
        else:
            for key, item in value.items():
                if not isinstance(key, str):
                    raise UnstorableValueError(
                        f"value at {path} has the key {key!r} ({type(key).__name__}); keys must be text, e.g. {str(key)!r}"
                    )
                _check_key_text(key, path)
                _check(item, f"{path}.{key}", above)
        above.pop()
    else:
        raise UnstorableValueError(
            f"value at {path} is a {type(value).__name__}, which would not read back equal; {_advice(value)}"
        )


def _check_key_text(key: str, path: str) -> None:
    try:
        check_text(key.replace("\0", ""), f"a key of the value at {path}")
    except InvalidKeyError as error:
        raise UnstorableValueError(str(error)) from None


def _advice(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "store sorted(value), or an ORSet"
    if isinstance(value, tuple):
        return "store list(value)"
    if isinstance(value, (bytes, bytearray)):
        return "decode it to text, or store its base64"
    if hasattr(value, "isoformat"):
        return "store value.isoformat()"
    if hasattr(value, "model_dump"):
        return "pass it with schema=, or store value.model_dump(mode='json')"
    if hasattr(value, "__dataclass_fields__"):
        return "pass it with schema=, or store dataclasses.asdict(value)"
    if callable(getattr(value, "__await__", None)):
        return "it was not awaited; put `await` before the call that made it"
    return "store plain JSON data: text, numbers, true, false, None, lists and dicts with text keys"
