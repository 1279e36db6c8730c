"""The model of a board: which calls a history tells of, and that one store is linearizable in every order, replicas not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sim.orders import every

import commonboard as cb
from commonboard.check.board import Board
from commonboard.check.linearizable import NotLinearizable, linearizable
from commonboard.check.model import UNKNOWN, Call
from commonboard.check.shrink_history import removable
from commonboard.check.verdict import Holds, Unknown, Verdict
from commonboard.history import History, Kind, Operation

KEY = "shared/x"


class Told:
    """A history written by hand, one operation a line; each begins after the one before has ended, unless told otherwise."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def add(self, agent: str, kind: Kind, text: str | None = None, encoding: str | None = "json", **facts: Any) -> Told:
        place = len(self.operations)
        facts = {"begin": 2 * place, "end": 2 * place + 1, "key": KEY} | facts
        self.operations.append(Operation(place, agent, kind, facts.pop("key"), text, encoding, None, **facts))
        return self

    def calls(self) -> list[Call]:
        return Board().from_history(History(self.operations))

    def verdict(self) -> Verdict:
        return linearizable()(History(self.operations))

    def holds(self) -> None:
        verdict = self.verdict()
        assert isinstance(verdict, Holds), verdict

    def violates(self) -> list[int]:
        """Where the operations of the finding stand."""
        verdict = self.verdict()
        assert isinstance(verdict, NotLinearizable), verdict
        (found,) = verdict.findings
        return [self.operations.index(op) for op in found.operations]


class TestReadsAndWrites:
    def test_a_stale_read_is_found_with_the_write_that_it_missed(self) -> None:
        told = Told().add("given", "write", "0", made=1).add("web", "write", "1", made=2).add("docs", "read", "0")
        assert told.violates() == [1, 2]

    def test_a_read_of_the_newest_value_is_none(self) -> None:
        Told().add("given", "write", "0", made=1).add("web", "write", "1", made=2).add("docs", "read", "1").holds()

    def test_a_read_that_overlaps_the_write_may_see_either(self) -> None:
        for text in ("0", "1"):
            told = Told().add("given", "write", "0", made=1).add("web", "write", "1", made=2, begin=2, end=9)
            told.add("docs", "read", text).holds()

    def test_a_value_that_was_deleted_is_gone(self) -> None:
        told = Told().add("web", "write", "1", made=1).add("web", "delete", made=2)
        assert told.add("docs", "read", "1").violates() == [0, 1, 2]
        Told().add("web", "write", "1", made=1).add("web", "delete", made=2).add("docs", "read", None).holds()

    @pytest.mark.parametrize(("text", "encoding"), [("true", "json"), ("1", None), ("1.0", "json")])
    def test_values_that_look_alike_are_not_the_same(self, text: str, encoding: str | None) -> None:
        assert Told().add("web", "write", "1", made=1).add("docs", "read", text, encoding).violates() == [1]

    def test_json_that_is_written_differently_is_the_same_value(self) -> None:
        Told().add("web", "write", '{"b":[1, 2],"a":null}', made=1).add("docs", "read", '{"a": null, "b": [1,2]}').holds()

    def test_keys_are_judged_one_by_one(self) -> None:
        told = Told().add("web", "write", "1", made=1, key="shared/a").add("web", "write", "1", made=1, key="shared/b")
        told.add("docs", "read", "1", key="shared/b").add("docs", "read", None, key="shared/b")
        verdict = told.verdict()
        assert isinstance(verdict, NotLinearizable)
        assert verdict.key == "shared/b"
        assert told.violates() == [1, 3]


class TestCompareAndSet:
    def test_two_that_both_created_are_found(self) -> None:
        told = Told().add("web", "compare-and-set", '"web"', replaced=0, made=1, replica="replica-1")
        told.add("docs", "compare-and-set", '"docs"', replaced=0, made=1, replica="replica-2")
        assert told.violates() == [0, 1]

    def test_two_that_both_replaced_the_same_value_are_found(self) -> None:
        told = Told()
        for replica in ("replica-1", "replica-2"):
            told.add("given", "write", "0", made=1, replica=replica)
        for agent, replica in (("web", "replica-1"), ("docs", "replica-2")):
            told.add(agent, "compare-and-set", f'"{agent}"', replaced=1, made=2, replica=replica)
        assert told.violates() == [2, 3]

    def test_one_after_the_other_is_none(self) -> None:
        told = Told().add("web", "compare-and-set", "1", replaced=0, made=1)
        told.add("docs", "compare-and-set", "2", replaced=1, made=2).add("web", "read", "2").holds()

    def test_one_that_was_refused_is_no_call(self) -> None:
        told = Told().add("web", "write", "1", made=1).add("docs", "compare-and-set", "2", replaced=1, ok=False)
        assert [call.kind for call in told.calls()] == ["write"]

    def test_one_that_replaced_what_is_not_in_the_history_is_a_write(self) -> None:
        (call,) = Told().add("web", "compare-and-set", "1", replaced=7, made=8).calls()
        assert (call.kind, call.argument) == ("write", "1")

    def test_one_that_replaced_what_a_merge_brought_saw_that(self) -> None:
        told = Told().add("replica-1", "merge", "5", made=3, replica="replica-1")
        told.add("web", "compare-and-set", "6", replaced=3, made=4, replica="replica-1")
        (call,) = told.calls()
        assert call.argument == ("5", "6")

    def test_one_after_a_delete_saw_that_nothing_was_there(self) -> None:
        told = Told().add("web", "write", "1", made=1).add("web", "delete", made=2)
        told.add("docs", "compare-and-set", "2", replaced=2, made=3)
        assert told.calls()[-1].argument == (None, "2")
        told.holds()


class TestAppend:
    def test_its_result_says_what_it_added_to(self) -> None:
        told = Told().add("web", "append", '["a"]', made=1).add("docs", "append", '["a","b"]', made=2)
        assert [(call.argument, call.result) for call in told.calls()] == [('"a"', '["a"]'), ('"b"', '["a","b"]')]
        told.add("web", "read", '["a","b"]').holds()

    def test_two_that_did_not_see_each_other_are_found(self) -> None:
        told = Told().add("web", "append", '["a"]', made=1, replica="replica-1")
        assert told.add("docs", "append", '["b"]', made=1, replica="replica-2").violates() == [0, 1]

    def test_to_what_is_no_list_is_found(self) -> None:
        told = Told().add("web", "write", "1", made=1)
        assert told.add("docs", "append", '["b"]', made=2).violates() == [0, 1]

    def test_of_what_is_no_list_counts_as_a_write(self) -> None:
        (call,) = Told().add("web", "append", "text", None, made=1).calls()
        assert (call.kind, call.argument, call.result) == ("write", '"text"', None)

    def test_starts_again_after_a_delete(self) -> None:
        told = Told().add("web", "append", '["a"]', made=1).add("web", "delete", made=2)
        told.add("docs", "append", '["b"]', made=3).holds()


class TestAnOperationWhoseCallerNeverHeardOfIt:
    @pytest.mark.parametrize("text", ["0", "1"])
    def test_may_have_happened_or_not(self, text: str) -> None:
        told = Told().add("given", "write", "0", made=1).add("web", "write", "1", made=2, acknowledged=False)
        told.add("docs", "read", text).holds()

    def test_may_have_happened_late_but_is_not_undone(self) -> None:
        told = Told().add("given", "write", "0", made=1).add("web", "write", "1", made=2, acknowledged=False)
        told.add("docs", "read", "0").add("docs", "read", "1")
        told.holds()
        assert told.add("docs", "read", "0").violates() == [1, 3, 4]

    def test_saw_nothing_that_can_be_held_against_it(self) -> None:
        told = Told().add("web", "read", "5", acknowledged=False).add("docs", "write", "1", made=1)
        told.add("docs", "append", '["a"]', made=2, acknowledged=False).add("web", "read", "1").holds()

    def test_and_added_to_a_list_stays_while_the_list_is_read(self) -> None:
        told = Told().add("web", "append", '["a"]', made=1, acknowledged=False).add("docs", "read", '["a"]')
        told.holds()
        assert told.add("docs", "read", None).violates() == [0, 1, 2]


def test_thoughts_and_merges_are_no_calls_and_lists_are_told_of() -> None:
    told = Told().add("web", "think", note="1 s").add("replica-1", "merge", "1", made=1).add("web", "write", "1", made=1)
    told.add("docs", "list", '["shared/x"]', key="shared").add("docs", "read", "1")
    assert [call.kind for call in told.calls()] == ["write", "read"]
    (note,) = told.verdict().notes
    assert str(note) == "not judged: 1 list of keys left out: a list looks at many keys, and each key is judged by itself"
    assert note.operations == (told.operations[3],)


def test_calls_are_told_in_words_with_json() -> None:
    told = Told().add("web", "append", '["a"]', made=1).add("web", "delete", made=2).add("web", "read", None)
    told.add("web", "compare-and-set", '{"a":1}', replaced=2, made=3)
    words = [Board().describe(call) for call in told.calls()]
    assert words == ['appends "a" and gets ["a"]', "deletes it", "reads nothing", 'replaces nothing by {"a":1}']
    assert Board().show(None) == "absent"


async def counts(me: Any) -> None:
    found = await me.value("shared/x", 0)
    await me.shared.write("x", found + 1)
    await me.value("shared/x")


async def notes(me: Any) -> None:
    found = await me.value("shared/x", [])
    await me.shared.write("x", [*found, me.name])
    await me.value("shared/x")


async def appends(me: Any) -> None:
    await me.shared.append("x", me.name)
    await me.value("shared/x")


async def claims(me: Any) -> None:
    if await me.shared.compare_and_set("x", None, me.name):
        await me.shared.delete("x")
    await me.value("shared/x")


async def updates(me: Any) -> None:
    await me.shared.update("x", lambda value: (value or 0) + 1)


@pytest.mark.parametrize("agent", [counts, notes, appends, claims, updates])
def test_one_store_is_linearizable_in_every_order(agent: Any) -> None:
    runs = 0
    for run in every(agent, agent):
        assert isinstance(linearizable()(run), Holds), run
        runs += 1
    assert runs > 5


def test_a_lost_update_may_well_be_linearizable() -> None:
    lost = [run for run in every(counts, counts) if isinstance(cb.no_lost_updates(run), cb.Violation)]
    assert lost
    assert all(isinstance(linearizable()(run), Holds) for run in lost)


@pytest.mark.parametrize("agent", [notes, appends, claims, updates])
def test_replicas_are_not_linearizable_in_some_order(agent: Any) -> None:
    verdicts = [linearizable()(cb.simulate(agent, agent, world=cb.World(replicas=2), seed=seed)) for seed in range(20)]
    found = [verdict for verdict in verdicts if isinstance(verdict, NotLinearizable)]
    assert found
    for verdict in found:
        assert verdict.token is not None
        assert len(verdict.shrunk) <= 4
        assert all(op in list(verdict.history or ()) for op in verdict.findings[0].operations)
        assert verdict.findings[0].sentence in str(verdict.spacetime())


def test_on_replicas_a_read_of_what_was_replaced_is_told_in_a_sentence() -> None:
    async def web(me: Any) -> None:
        await me.shared.write("x", 1)

    async def docs(me: Any) -> None:
        await me.think(seconds=1)
        await me.value("shared/x")

    runs = (cb.simulate({"web": web, "docs": docs}, given={KEY: 0}, world=cb.World(replicas=2), seed=seed) for seed in range(20))
    found = next(verdict for run in runs if isinstance(verdict := linearizable()(run), NotLinearizable))
    assert found.findings[0].sentence == (
        "No order of these calls at shared/x fits: at first shared/x is 0; web writes 1; then docs reads 0. "
        "The longest order is web writes 1; next, docs reads 0, but shared/x is 1."
    )


def test_in_the_log_of_a_store_nobody_reads_so_nobody_can_tell() -> None:
    run = next(every(counts, counts))
    assert isinstance(linearizable()(run), Holds)
    verdict = linearizable()(run.log)
    assert isinstance(verdict, Unknown)
    assert "nobody saw anything" in verdict.why


@pytest.mark.parametrize(
    ("kind", "argument", "result"),
    [
        ("write", ["x"], None),
        ("write", "plain words", None),
        ("write", '{"b": 1, "a": 2}', None),  # not as the board writes it, so that equal values would differ
        ("append", '"x"', ["x"]),
        ("read", None, 3),
        ("compare-and-set", (1, '"x"'), True),
    ],
)
def test_a_call_made_by_hand_holds_json_text(kind: str, argument: Any, result: Any) -> None:
    call = Call("web", kind, argument, result, "shared/x", begin=0, end=1)
    with pytest.raises(cb.InvalidArgumentError, match=f"a Board holds JSON text, .* and this {kind} by web is of other things"):
        cb.linearizable()([call])


def test_what_an_append_of_unknown_result_may_have_added_to_stays() -> None:
    first, append = Call("a", "write", '["x"]', begin=0, end=1), Call("b", "append", '"y"', begin=2, end=None)
    both = Call("c", "read", None, '["x","y"]', begin=4, end=5)
    assert removable(Board(), [first, append, both], [first]) == []
    gone, returned = Call("b", "delete", begin=2, end=3), Call("c", "append", '"y"', UNKNOWN, begin=4, end=5)
    assert removable(Board(), [Call("a", "write", "1", begin=0, end=1), gone, returned], [gone]) == []
