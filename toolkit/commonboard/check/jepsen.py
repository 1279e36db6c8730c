"""Histories that Jepsen recorded, as the calls that `linearizable` judges.

Two notations are read. A log has a line for each event,

    INFO  jepsen.util - PROCESS  :invoke|:ok|:fail|:info  :read|:write|:cas  VALUE

among others, which are passed over. EDN has a map for each event, one after another or in one vector:

    {:process 0, :type :invoke, :f :append, :key "x", :value "a"}

An event is an invocation or what came of it. `:ok`: it happened. `:fail`: it did not, and nobody knows what a read would have
given, or why a compare-and-set was not done. In a log, one that fails with its own value for its answer, and no reason, was
refused: it met another value. `:info`: nobody knows, so it may have happened at any later time, or never; its process must
not come back, as Jepsen's never do. A call without an answer stays open, too.

A history that breaks these rules is an error, never a verdict: a check that judges what it does not understand passes what
it should not.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from commonboard.check.edn import Keyword, form, forms
from commonboard.check.model import UNKNOWN, Call, frozen
from commonboard.errors import CommonboardError, HistoryFormatError, SubjectError, kind_of

KINDS = {
    "read": "read",
    "get": "read",
    "write": "write",
    "put": "write",
    "cas": "compare-and-set",
    "append": "append",
    "add": "add",
    "remove": "remove",
    "delete": "delete",
}
"""What Jepsen calls it, and what the models do."""
_TYPES = ("invoke", "ok", "fail", "info")
_LINE = re.compile(r"jepsen\.util - (?P<process>\d+)(?P<rest>\s.*)?$")
_REST = re.compile(r"\s+:(?P<type>\S+)\s+:(?P<f>\S+)\s+(?P<value>\S.*)")


class HistoryFileError(CommonboardError, OSError):
    """The file of a recorded history cannot be read. Nothing was judged."""


@dataclass(frozen=True, slots=True)
class _Event:
    """An event; `error` says that its value is none, `refusal` that a failed compare-and-set met another value."""

    line: int
    process: int
    type: str
    f: str
    key: Hashable
    value: Any
    error: bool = False
    refusal: bool = False


def read_calls(path: str | PathLike[str], *, keyed: bool = False) -> list[Call]:
    """The calls of a recorded history.

    Args:
        path: a file in either notation.
        keyed: whether each value is a pair of a key and the value proper, as `jepsen.independent` writes it.

    Returns:
        The calls in the order of their invocation. `begin` and `end` are places among the events.

    Raises:
        HistoryFormatError: it is not such a history; the message names the line.
        HistoryFileError: the file cannot be read.
        SubjectError: this is no path.
    """
    if not isinstance(path, (str, PathLike)):
        raise SubjectError(f"read_calls takes the path of a file, not {kind_of(path)}")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise HistoryFormatError(f"{path} is not text in UTF-8 ({error}), and a Jepsen log or EDN is") from None
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise HistoryFileError(f"{str(path)!r} cannot be read: {told}; a text of its own is read by parse_calls(text)") from error
    return parse_calls(text, Path(path).name, keyed=keyed)


def parse_calls(text: str, where: str = "the history", *, keyed: bool = False) -> list[Call]:
    """The calls of a recorded history, given as text; `where` is what errors call it. As `read_calls` otherwise.

    Raises:
        HistoryFormatError: it is not such a history; the message names the line.
        SubjectError: this is no text.

    >>> lines = ["jepsen.util - 0 :invoke :write 1", "jepsen.util - 0 :ok :write 1", "jepsen.util - 1 :invoke :read nil"]
    >>> for call in parse_calls("\\n".join(lines)):
    ...     print(call.who, call.kind, call.argument, call.begin, call.end)
    process 0 write 1 0 1
    process 1 read None 2 None
    """
    if not isinstance(text, str):
        raise SubjectError(f"parse_calls takes the text of a history, not {kind_of(text)}; read_calls(path) reads a file")
    text = text.removeprefix("\ufeff")  # editors put it before the first line
    events = _edn_events(text, where) if text.lstrip()[:1] in ("{", "[", "(", "#", ";") else _log_events(text, where)
    pairing = _Pairing(where)
    for event in events:
        pairing.add(_unkeyed(event, where) if keyed else event)
    if not pairing.calls:
        raise HistoryFormatError(f"{where} holds no calls; a history is a Jepsen log, or its events in EDN")
    return [call for call in pairing.calls if call is not None]


def _log_events(text: str, where: str) -> Iterator[_Event]:
    for line, told in enumerate(text.split("\n"), 1):
        found = _LINE.search(told)
        if found is None:
            continue
        rest = _REST.fullmatch((found["rest"] or "").rstrip())
        if rest is None:
            _fail(where, line, f"an event is PROCESS :type :function VALUE, not {found[0][14:]!r:.80}")
        value = form(rest["value"], where, line)
        error = isinstance(value, Keyword)
        yield _Event(line, int(found["process"]), rest["type"], rest["f"], None, value, error, not error)


def _edn_events(text: str, where: str) -> Iterator[_Event]:
    for found in forms(text, where):
        told = found.value
        if not isinstance(told, dict):
            _fail(where, found.line, f"an event is a map, not {told!r:.80}")
        named = {key.name: value for key, value in told.items() if isinstance(key, Keyword)}
        missing = [f":{name}" for name in ("process", "type", "f") if name not in named]
        if missing:
            _fail(where, found.line, f"the event has no {' and no '.join(missing)}")
        if isinstance(named["process"], Keyword):
            continue  # the nemesis, which makes trouble and no calls
        process, kind, f = named["process"], named["type"], named["f"]
        if isinstance(process, bool) or not isinstance(process, int):
            _fail(where, found.line, f"a process is a whole number, not {process!r}")
        if not isinstance(kind, Keyword) or not isinstance(f, Keyword):
            _fail(where, found.line, f"a type and a function are keywords, not {kind!r} and {f!r}")
        value = named.get("value")
        error = named.get("error") is not None or isinstance(value, Keyword)
        yield _Event(found.line, process, kind.name, f.name, _key(named.get("key"), where, found.line), value, error)


def _unkeyed(event: _Event, where: str) -> _Event:
    if event.error and not isinstance(event.value, tuple):
        return event
    if not isinstance(event.value, tuple) or len(event.value) != 2:
        _fail(where, event.line, f"with keyed=True a value is [key value], not {event.value!r:.80}")
    key, value = event.value
    return replace(event, key=_key(key, where, event.line), value=value)


def _key(key: Any, where: str, line: int) -> Hashable:
    if isinstance(key, dict):
        _fail(where, line, f"a key is a text, a number or a keyword, not {key!r:.80}")
    made: Hashable = frozen(key)
    return made


class _Pairing:
    """Puts each invocation and what came of it together."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._count = 0
        self._open: dict[int, tuple[int, int, _Event]] = {}
        self._gone: dict[int, int] = {}
        self.calls: list[Call | None] = []

    def add(self, event: _Event) -> None:
        if event.type not in _TYPES:
            self._fail(event, f"the type :{event.type} is none of :{', :'.join(_TYPES)}")
        if event.f not in KINDS:
            self._fail(event, f"the function :{event.f} is none of :{', :'.join(KINDS)}")
        if event.process in self._gone:
            last = self._gone[event.process]
            self._fail(event, f"process {event.process} goes on, though nobody knows what came of its call (line {last})")
        if event.type == "invoke":
            self._invoke(event)
        else:
            self._answer(event)
        self._count += 1

    def _invoke(self, event: _Event) -> None:
        if event.process in self._open:
            self._fail(event, f"process {event.process} calls while its call of line {self._open[event.process][2].line} is open")
        self._check_argument(event)
        self._open[event.process] = len(self.calls), self._count, event
        argument = None if event.f in ("read", "get") else event.value
        self.calls.append(Call(event.process, KINDS[event.f], argument, UNKNOWN, event.key, begin=self._count, end=None))

    def _check_argument(self, event: _Event) -> None:
        if event.f in ("read", "get", "delete"):
            if event.value is not None:
                self._fail(event, f"a {event.f} is called with nil, not {event.value!r:.80}")
        elif event.f == "cas":
            if not isinstance(event.value, tuple) or len(event.value) != 2:
                self._fail(event, f"a cas is called with [old new], not {event.value!r:.80}")
        elif event.value is None or isinstance(event.value, (Keyword, dict)):
            self._fail(event, f"the {event.f} of {event.value!r:.80}, which is no value")

    def _answer(self, event: _Event) -> None:
        if event.process not in self._open:
            self._fail(event, f"process {event.process} has called nothing that this could be the answer to")
        place, begin, called = self._open.pop(event.process)
        if event.f != called.f:
            self._fail(event, f"process {event.process} called :{called.f} (line {called.line}), and the answer is to :{event.f}")
        if event.key != called.key and not (event.error and event.key is None):
            self._fail(
                event, f"the call was about the key {called.key!r} (line {called.line}), and the answer is about {event.key!r}"
            )
        if event.type == "info":
            self._gone[event.process] = event.line
        elif event.type == "ok":
            self._happened(event, called, place, begin, self._result(event, called))
        elif event.f not in ("read", "get"):
            if event.f == "cas" and event.refusal:
                self._check_same(event, called)
                self._happened(event, called, place, begin, False)
            else:
                self.calls[place] = None

    def _result(self, event: _Event, called: _Event) -> Any:
        if event.f in ("read", "get"):
            if isinstance(event.value, (Keyword, dict)):
                self._fail(event, f"a read gave {event.value!r:.80}, which is no value")
            return event.value
        self._check_same(event, called)
        return True if event.f == "cas" else None

    def _check_same(self, event: _Event, called: _Event) -> None:
        if event.value != called.value:
            told = f"{called.value!r:.60} (line {called.line}), and the answer is about {event.value!r:.60}"
            self._fail(event, f"the {event.f} was of {told}")

    def _happened(self, event: _Event, called: _Event, place: int, begin: int, result: Any) -> None:
        argument = None if event.f in ("read", "get") else called.value
        self.calls[place] = Call(event.process, KINDS[event.f], argument, result, called.key, begin=begin, end=self._count)

    def _fail(self, event: _Event, what: str) -> NoReturn:
        _fail(self._where, event.line, what)


def _fail(where: str, line: int, what: str) -> NoReturn:
    raise HistoryFormatError(f"{where}, line {line}: {what}")
