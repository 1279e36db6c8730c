"""Histories from elsewhere: how events become calls, and that what is ill-shaped is an error that names the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import commonboard as cb
from commonboard.check import models
from commonboard.check.jepsen import parse_calls, read_calls
from commonboard.check.linearizable import NotLinearizable, linearizable
from commonboard.check.model import UNKNOWN, Call
from commonboard.check.verdict import Holds
from commonboard.errors import HistoryFormatError


def log(*events: str) -> str:
    """Lines as Jepsen writes them: columns by tabs, and other lines between."""
    return "\n".join("INFO  jepsen.util - " + "\t".join(event.split(" ", 3)) for event in events)


def edn(*events: str) -> str:
    return "\n".join(f"{{{event}}}" for event in events)


def facts(calls: list[Call]) -> list[tuple[Any, ...]]:
    return [(call.process, call.kind, call.argument, call.result, call.key, call.begin, call.end) for call in calls]


def test_an_invocation_and_its_answer_are_one_call() -> None:
    told = log("0 :invoke :write 3", "1 :invoke :read nil", "0 :ok :write 3", "1 :ok :read 3")
    assert facts(parse_calls(told)) == [(0, "write", 3, None, None, 0, 2), (1, "read", None, 3, None, 1, 3)]


def test_a_compare_and_set_that_gives_its_value_back_was_done_or_refused() -> None:
    told = log("0 :invoke :cas [1 2]", "0 :ok :cas [1 2]", "0 :invoke :cas [3 4]", "0 :fail :cas [3 4]")
    assert facts(parse_calls(told)) == [
        (0, "compare-and-set", (1, 2), True, None, 0, 1),
        (0, "compare-and-set", (3, 4), False, None, 2, 3),
    ]


def test_what_nobody_knows_stays_open() -> None:
    told = log("0 :invoke :cas [1 2]", "1 :invoke :write 3", "2 :invoke :read nil", "0 :info :cas :timed-out")
    told += "\n" + log("2 :fail :read :timed-out", "2 :invoke :read nil")
    calls = parse_calls(told)
    assert [(call.kind, call.end, call.result) for call in calls] == [
        ("compare-and-set", None, UNKNOWN),
        ("write", None, UNKNOWN),
        ("read", None, UNKNOWN),
        ("read", None, UNKNOWN),
    ]


@pytest.mark.parametrize("answer", ["0 :fail :write 3", "0 :fail :write :timed-out"])
def test_a_write_that_failed_did_not_happen(answer: str) -> None:
    told = log("0 :invoke :write 3", answer, "0 :invoke :read nil", "0 :ok :read nil")
    assert [call.kind for call in parse_calls(told)] == ["read"]


def test_a_compare_and_set_that_failed_for_another_reason_was_not_refused_by_a_value() -> None:
    for told in (
        log("0 :invoke :cas [1 2]", "0 :fail :cas :timed-out", "1 :invoke :write 1", "1 :ok :write 1"),
        edn(
            ":process 0 :type :invoke :f :cas :value [1 2]",
            ":process 0 :type :fail :f :cas :value [1 2] :error :timeout",
            ":process 1 :type :invoke :f :write :value 1",
            ":process 1 :type :ok :f :write :value 1",
        ),
    ):
        assert [call.kind for call in parse_calls(told)] == ["write"]


def test_in_edn_a_compare_and_set_that_failed_did_not_happen_whatever_the_reason() -> None:
    # Jepsen's :fail says that it did not happen, and nothing of what was there.
    called, failed = ":process 0 :type :invoke :f :cas :value [1 2]", ":process 0 :type :fail :f :cas :value [1 2]"
    read = ":process 0 :type :invoke :f :read :value nil", ":process 0 :type :ok :f :read :value 1"
    assert [call.kind for call in parse_calls(edn(called, failed, *read))] == ["read"]


def test_a_line_ends_where_the_file_ends_it_and_not_within_a_value() -> None:
    told = log('0 :invoke :write "a\u2028b"') + "\r\n" + log('0 :ok :write "a\u2028b"')
    assert facts(parse_calls(told)) == [(0, "write", "a\u2028b", None, None, 0, 1)]


def test_columns_may_be_apart_by_spaces_and_other_lines_are_passed_over() -> None:
    told = "\n".join(
        [
            "INFO  jepsen.core - Running test:",
            "WARN  jepsen.util - :nemesis :info :start nil",
            "2026-01-01 00:00:00 INFO [jepsen worker 0] jepsen.util - 0   :invoke   :write   3",
            "java.net.SocketTimeoutException: 7 :invoke :write 1",
            "",
            "INFO  jepsen.util - 0   :info    :write   :timed-out   ",
        ]
    )
    assert facts(parse_calls(told)) == [(0, "write", 3, UNKNOWN, None, 0, None)]


def test_edn_may_be_lines_or_one_vector_and_the_nemesis_makes_no_calls() -> None:
    events = [
        '{:process 0, :type :invoke, :f :append, :key "x", :value "a", :time 12, :index 0}',
        "{:process :nemesis, :type :info, :f :start, :value nil}",
        '#jepsen.history.Op{:process 1, :type :invoke, :f :get, :key "x", :value nil}',
        '{:process 0, :type :ok, :f :append, :key "x", :value "a"}',
        '{:process 1, :type :ok, :f :get, :key "x", :value "a"}',
    ]
    expected = [(0, "append", "a", None, "x", 0, 2), (1, "read", None, "a", "x", 1, 3)]
    assert facts(parse_calls("\n".join(events))) == expected
    assert facts(parse_calls(f"[{' '.join(events)}]")) == expected


def test_with_keys_in_the_values_each_value_is_a_pair() -> None:
    told = log("0 :invoke :cas [7 [1 2]]", "0 :ok :cas [7 [1 2]]", "1 :invoke :read [8 nil]", "1 :ok :read [8 5]")
    told += "\n" + log("1 :invoke :read [8 nil]", "1 :fail :read :timed-out")
    calls = parse_calls(told, keyed=True)
    assert [(call.key, call.argument, call.result) for call in calls] == [(7, (1, 2), True), (8, None, 5), (8, None, UNKNOWN)]


def test_sets_and_logs_and_counters_are_read_for_their_models() -> None:
    told = edn(
        ":process 0 :type :invoke :f :add :value 3",
        ":process 0 :type :ok :f :add :value 3",
        ":process 0 :type :invoke :f :read :value nil",
        ":process 0 :type :ok :f :read :value #{3}",
    )
    assert isinstance(linearizable(models.Set())(parse_calls(told)), Holds)
    assert isinstance(linearizable(models.Counter())(parse_calls(told.replace("#{3}", "3"))), Holds)
    assert isinstance(
        linearizable(models.AppendLog())(parse_calls(told.replace(":add", ":append").replace("#{3}", "[3]"))), Holds
    )
    assert isinstance(linearizable(models.Set())(parse_calls(told.replace("#{3}", "#{4}"))), NotLinearizable)


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(log("0 :invoke :write 3", "0 :ok :write 3"), encoding="utf-8")
    assert len(read_calls(path)) == len(read_calls(str(path))) == 1
    path.write_text(log("0 :invoke :write 3", "0 :ok :write 4"), encoding="utf-8")
    with pytest.raises(HistoryFormatError, match=r"^run\.log, line 2: the write was of 3"):
        read_calls(path)


def test_the_mark_that_editors_put_before_a_text_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "marked.edn"
    path.write_text(edn(":process 0 :type :invoke :f :write :value 1"), encoding="utf-8-sig")
    assert [call.kind for call in read_calls(path)] == ["write"]


def test_a_file_that_is_not_there_is_an_error_of_the_library_too(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.log' cannot be read: No such file") as caught:
        read_calls(tmp_path / "none.log")
    assert isinstance(caught.value, cb.CommonboardError)


@pytest.mark.parametrize(
    ("call", "told"), [(parse_calls, "takes the text of a history, not an int"), (read_calls, "path of a file")]
)
def test_what_is_no_text_or_no_path_is_an_error(call: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told) as caught:
        call(3)
    assert isinstance(caught.value, cb.CommonboardError)


def test_with_keys_in_the_values_a_key_may_be_a_vector_and_no_map() -> None:
    assert parse_calls(edn(":process 0 :type :invoke :f :read :value [[1 2] nil]"), keyed=True)[0].key == (1, 2)
    with pytest.raises(HistoryFormatError, match="line 1: a key is a text, a number or a keyword"):
        parse_calls(edn(":process 0 :type :invoke :f :read :value [{1 2} nil]"), keyed=True)


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(HistoryFormatError, match=r"run\.log is not text in UTF-8"):
        read_calls(path)


WRITE = "0 :invoke :write 3"
WRONG_LOGS = [
    (["0 :ok :write 3"], 1, "process 0 has called nothing that this could be the answer to"),
    ([WRITE, "0 :ok :write 3", "0 :ok :write 3"], 3, "process 0 has called nothing"),
    ([WRITE, "1 :ok :write 3"], 2, "process 1 has called nothing"),
    ([WRITE, "0 :invoke :read nil"], 2, "process 0 calls while its call of line 1 is open"),
    ([WRITE, "0 :info :write :timed-out", "0 :invoke :read nil"], 3, "process 0 goes on, though nobody knows"),
    ([WRITE, "0 :info :write :timed-out", "0 :ok :write 3"], 3, "process 0 goes on, though nobody knows"),
    ([WRITE, "0 :done :write 3"], 2, "the type :done is none of :invoke, :ok, :fail, :info"),
    (["0 :invoke :txn 3"], 1, "the function :txn is none of :read, :get, :write"),
    ([WRITE, "0 :ok :read 3"], 2, "process 0 called :write (line 1), and the answer is to :read"),
    ([WRITE, "0 :ok :put 3"], 2, "process 0 called :write (line 1), and the answer is to :put"),
    ([WRITE, "0 :ok :write 4"], 2, "the write was of 3 (line 1), and the answer is about 4"),
    ([WRITE, "0 :ok :write nil"], 2, "the write was of 3 (line 1), and the answer is about None"),
    (["0 :invoke :read 3"], 1, "a read is called with nil, not 3"),
    (["0 :invoke :write nil"], 1, "the write of None, which is no value"),
    (["0 :invoke :write :x"], 1, "the write of :x, which is no value"),
    (["0 :invoke :cas 3"], 1, "a cas is called with [old new], not 3"),
    (["0 :invoke :cas [1 2 3]"], 1, "a cas is called with [old new], not (1, 2, 3)"),
    (["0 :invoke :cas [1 2]", "0 :fail :cas [1 3]"], 2, "the cas was of (1, 2) (line 1), and the answer is about (1, 3)"),
    (["0 :invoke :read nil", "0 :ok :read :timed-out"], 2, "a read gave :timed-out, which is no value"),
    (["0 :invoke :read nil", "0 :ok :read [1"], 2, "the end, and ']' is missing"),
    (["0 :invoke :read nil", "0 :ok :read 1 2"], 2, "'2' after the end of the value"),
    (["0 :invoke"], 1, "an event is PROCESS :type :function VALUE, not '0\\t:invoke'"),
    ([WRITE, "0 :ok :write"], 2, "an event is PROCESS :type :function VALUE"),
    ([WRITE, "0 ok write 3"], 2, "an event is PROCESS :type :function VALUE"),
]


@pytest.mark.parametrize(("events", "line", "told"), WRONG_LOGS)
def test_an_ill_shaped_log_is_an_error_that_names_the_line(events: list[str], line: int, told: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        parse_calls(log(*events), "a.log")
    assert str(caught.value).startswith(f"a.log, line {line}: ")
    assert told in str(caught.value)


WRONG_EDN = [
    ([":process 0 :type :invoke"], 1, "the event has no :f"),
    ([":f :read"], 1, "the event has no :process and no :type"),
    ([":process 0.5 :type :invoke :f :read"], 1, "a process is a whole number, not 0.5"),
    ([":process true :type :invoke :f :read"], 1, "a process is a whole number, not True"),
    ([':process 0 :type "invoke" :f :read'], 1, "a type and a function are keywords"),
    ([":process 0 :type :invoke :f :write :value {:a 1}"], 1, "which is no value"),
    (
        [':process 0 :type :invoke :f :get :key "x"', ':process 0 :type :ok :f :get :key "y" :value 1'],
        2,
        "the call was about the key 'x' (line 1), and the answer is about 'y'",
    ),
    ([':process 0 :type :invoke :f :get :key "x"', ":process 0 :type :ok :f :get :value 1"], 2, "the answer is about None"),
]


@pytest.mark.parametrize(("events", "line", "told"), WRONG_EDN)
def test_ill_shaped_edn_is_an_error_that_names_the_line(events: list[str], line: int, told: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        parse_calls(edn(*events), "a.edn")
    assert str(caught.value).startswith(f"a.edn, line {line}: ")
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", "INFO nothing to see", "[]", "; a remark", "{:process :n :type :info :f :kill}"])
def test_a_text_without_calls_is_an_error(text: str) -> None:
    with pytest.raises(HistoryFormatError, match=r"a\.txt holds no calls"):
        parse_calls(text, "a.txt")


def test_events_that_are_no_maps_are_an_error() -> None:
    with pytest.raises(HistoryFormatError, match=r"line 1: an event is a map, not 7"):
        parse_calls("[7]")


def test_with_keys_in_the_values_a_value_that_is_no_pair_is_an_error() -> None:
    with pytest.raises(HistoryFormatError, match=r"line 1: with keyed=True a value is \[key value\], not 3"):
        parse_calls(log("0 :invoke :write 3"), keyed=True)


def test_an_ill_shaped_history_is_caught_with_every_other_error_of_the_library() -> None:
    with pytest.raises(cb.CommonboardError):
        parse_calls("")
    with pytest.raises(ValueError):
        parse_calls("")
