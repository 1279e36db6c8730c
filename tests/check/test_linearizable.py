"""The check that calls fit one order: what it says, on histories of ours, and on those that other projects recorded."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import SHARED
from tests.sim.orders import every

import commonboard as cb
from commonboard.check import models
from commonboard.check.jepsen import read_calls
from commonboard.check.linearizable import Linearizable, NotLinearizable, linearizable
from commonboard.check.model import ILLEGAL, Call, Model
from commonboard.check.verdict import CheckFailed, Holds, Unknown
from commonboard.check.wgl import decide
from commonboard.errors import InvalidArgumentError, SubjectError
from commonboard.history import History

HISTORIES = SHARED / "histories"
recorded = pytest.mark.skipif(
    not HISTORIES.is_dir(), reason="the histories of other projects are not beside the checkout (../shared/histories)"
)


def write(place: int, value: Any, process: str = "web", key: str | None = None) -> Call:
    return Call(process, "write", value, key=key, begin=10 * place, end=10 * place + 1)


def read(place: int, value: Any, process: str = "docs", key: str | None = None) -> Call:
    return Call(process, "read", None, value, key, begin=10 * place, end=10 * place + 1)


class TestAViolation:
    def test_is_told_by_the_smallest_part_that_has_no_order(self) -> None:
        verdict = linearizable(models.Register(0))([write(0, 1), read(1, 1), write(2, 2), read(3, 1), read(4, 2)])
        assert isinstance(verdict, NotLinearizable)
        assert isinstance(verdict, cb.Violation)
        assert str(verdict) == (
            "Linearizable: violated in these calls, 1 finding\n"
            "  1. not linearizable: No order of these calls fits: at first the register is 0; web writes 1; then web writes 2; "
            "then docs reads 1. The longest order is web writes 1, web writes 2; next, docs reads 1, but the register is 2.\n"
            "  note: longest order: 3 of the 5 calls at the register fit in one order, which ends with web writes 1, "
            "docs reads 1, web writes 2 and leaves the register 2. Next, docs reads 1, but the register is 2."
        )

    def test_keeps_the_longest_order_the_state_there_and_why_nothing_comes_next(self) -> None:
        calls = [write(0, 1, key="x"), read(1, 1, key="x"), read(2, 7, key="x"), write(0, 1, key="y"), read(1, 1, key="y")]
        verdict = linearizable(models.Register(0))(calls)
        assert isinstance(verdict, NotLinearizable)
        assert (verdict.key, verdict.order, verdict.state) == ("x", calls[:2], "1")
        assert verdict.next == [(calls[2], "docs reads 7, but key x is 1")]
        assert verdict.shrunk == [calls[2]]
        assert "None can come first: docs reads 7, but key x is 0." in verdict.findings[0].sentence

    def test_tells_which_calls_were_at_the_same_time(self) -> None:
        both = [Call(name, "compare-and-set", (0, name), True, begin=0, end=50) for name in ("web", "docs")]
        verdict = linearizable(models.CompareAndSetRegister(0))(both)
        assert verdict.findings[0].sentence == (
            "No order of these calls fits: at first the register is 0; web replaces 0 by 'web'; at the same time docs replaces "
            "0 by 'docs'. The longest order is web replaces 0 by 'web'; next, docs replaces 0 by 'docs', but the register is "
            "'web'."
        )

    def test_of_appended_text_names_the_read_and_not_what_foretold_it(self) -> None:
        texts = [Call(text, "append", text, begin=10 * place, end=10 * place + 1) for place, text in enumerate("abc")]
        verdict = linearizable(models.KeyValue())([*texts, read(5, "ab")])
        assert verdict.findings[0].sentence.endswith("next, docs reads 'ab', but the key is 'abc'.")

    def test_of_a_long_story_is_cut(self) -> None:
        adds = [Call("web", "add", 1, begin=10 * place, end=10 * place + 1) for place in range(30)]
        sentence = linearizable(models.Counter())([*adds, read(40, 5)]).findings[0].sentence
        assert sentence.count("adds 1") == 12 + 4
        assert "; …. The longest order is …, web adds 1" in sentence

    def test_says_when_the_budget_did_not_do_to_shrink_it(self) -> None:
        noise = [call for place in range(0, 40, 2) for call in (write(place, place), read(place + 1, place))]
        verdict = linearizable(models.Register(0), budget=60)([*noise, read(90, 0)])
        assert isinstance(verdict, NotLinearizable)
        assert "not minimal" in [note.kind for note in verdict.notes]

    def test_fails_an_assertion_with_its_story(self) -> None:
        with pytest.raises(CheckFailed, match="docs reads 0, but the register is 1"):
            linearizable(models.Register(0))([write(0, 1), read(1, 0)]).assert_holds()


class TestAVerdict:
    def test_holds_for_this_history_alone(self) -> None:
        verdict = linearizable(models.Register(0))([write(0, 1), read(1, 1)])
        assert isinstance(verdict, Holds)
        assert str(verdict) == "Linearizable: this holds in these calls, which says nothing about other orders"

    def test_is_unknown_where_nobody_saw_anything(self) -> None:
        for calls in ([], [write(0, 1), write(1, 2)], [Call("docs", "read", begin=0, end=None)], [read(0, 0, "given")]):
            verdict = linearizable(models.Register(0))(calls)
            assert isinstance(verdict, Unknown)
        assert verdict.why == "there is no call to judge"

    def test_is_unknown_where_the_budget_was_spent_and_says_what_to_do(self) -> None:
        writes = [Call(number, "write", number, key="x", begin=0, end=100) for number in range(18)]
        lost = Call("lost", "write", 99, key="x", begin=0, end=None)
        verdict = linearizable(models.Register(0), budget=3_000)([*writes, lost, read(20, -1, key="x"), read(20, 0, key="y")])
        assert isinstance(verdict, Unknown)
        assert verdict.why == (
            "the budget of 3,000 steps was spent before the order of the calls at key x was found (20 calls, up to 18 at once, "
            "1 that never returned); give a larger budget=, or judge a part with fewer calls at once"
        )

    def test_of_a_model_that_does_not_split_by_key_advises_to_split(self) -> None:
        moves = [Call(number, "move", (number % 5, number % 7), begin=0, end=100) for number in range(20)]
        verdict = linearizable(Bank(), budget=2_000)([*moves, Call("audit", "total", None, -1, begin=200, end=201)])
        assert isinstance(verdict, Unknown)
        assert (
            "; if each call is about one key alone, give the model a key_of, so that each key is judged by itself" in verdict.why
        )

    def test_of_a_run_that_did_not_finish_is_unknown(self) -> None:
        async def web(me: Any) -> None:
            await me.value("shared/x")
            raise ValueError("no more")

        verdict = linearizable()(cb.simulate(web))
        assert isinstance(verdict, Unknown)
        assert verdict.why.startswith("the run did not finish (failed:")

    def test_of_a_run_carries_its_token(self) -> None:
        async def web(me: Any) -> None:
            await me.shared.write("x", 1)
            await me.value("shared/x")

        run = next(every(web))
        verdict = linearizable()(run)
        assert isinstance(verdict, Holds)
        assert (verdict.token, verdict.history, verdict.scope) == (run.token, run.history, "this run")
        assert linearizable()(run.history).scope == "this history"


class Bank(Model):
    """Five accounts with money moved between them; an audit sees all of them, so it does not split by key."""

    kinds = ("move", "total")
    noun = "the bank"

    def initial(self, key: object) -> Any:
        return (10,) * 7

    def step(self, state: Any, call: Call) -> Any:
        if call.kind == "total":
            return state if call.result == sum(state) else ILLEGAL
        taken, given = call.argument
        after = list(state)
        after[taken] -= 1
        after[given] += 2
        return tuple(after)


class TestAModelOfOnesOwn:
    """A lock: the base class, with nothing but `initial` and `step`."""

    class Lock(Model):
        noun = "the lock"

        def initial(self, key: object) -> Any:
            return "free"

        def step(self, state: Any, call: Call) -> Any:
            wanted, then = ("free", "held") if call.kind == "acquire" else ("held", "free")
            return then if state == wanted else ILLEGAL

    def test_finds_two_holders_and_tells_it(self) -> None:
        both = [Call(name, "acquire", None, True, begin=0, end=place + 5) for place, name in enumerate(["web", "docs"])]
        verdict = linearizable(self.Lock())([*both, Call("web", "release", None, True, begin=20, end=21)])
        assert isinstance(verdict, NotLinearizable)
        assert "docs calls acquire and gets True, but the lock is 'held'" in str(verdict)

    def test_allows_one_holder_after_the_other(self) -> None:
        turns = [("web", "acquire"), ("web", "release"), ("docs", "acquire")]
        calls = [Call(name, kind, None, True, begin=3 * place, end=3 * place + 4) for place, (name, kind) in enumerate(turns)]
        assert isinstance(linearizable(self.Lock())(calls), Holds)

    def test_cannot_be_held_against_a_history_of_reads_and_writes(self) -> None:
        with pytest.raises(InvalidArgumentError, match="give the model a method from_history"):
            linearizable(self.Lock())(History([]))


class TestMisuse:
    @pytest.mark.parametrize("subject", ["calls", 7, {"a": 1}, None, ["write"]])
    def test_of_something_else_to_judge_is_an_error(self, subject: Any) -> None:
        with pytest.raises(TypeError, match="linearizable takes"):
            linearizable()(subject)

    def test_of_a_list_with_something_else_in_it_is_an_error(self) -> None:
        with pytest.raises(TypeError, match="some of this list are none: a str is in it"):
            linearizable()([write(0, 1), "read"])

    def test_of_a_run_in_the_place_of_the_model_says_how_to_call_it(self) -> None:
        with pytest.raises(TypeError, match=r"takes a model.*this is a History; .*linearizable\(\)\(run\)"):
            linearizable(History([]))  # type: ignore[arg-type]

    def test_of_a_class_in_the_place_of_the_model_says_what_to_add(self) -> None:
        with pytest.raises(TypeError, match=r"Counter is its class: write Counter\(\)"):
            linearizable(models.Counter)  # type: ignore[arg-type]

    @pytest.mark.parametrize(("method", "told"), [("initial", r"initial\(key\)"), ("step", r"step\(state, call\)")])
    def test_of_a_model_whose_method_takes_something_else_is_an_error(self, method: str, told: str) -> None:
        wrong = type("Wrong", (models.Register,), {method: lambda self: 0})
        with pytest.raises(SubjectError, match=f"called as {told}, which Wrong does not allow: too many positional"):
            linearizable(wrong())

    def test_of_a_key_without_a_hash_is_an_error_that_says_what_to_do(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"the key \['x'\], which is not hashable; return .*frozen"):
            linearizable(models.Register())([Call("web", "read", key=["x"], begin=0, end=1)])  # type: ignore[arg-type]

    @pytest.mark.parametrize("budget", [0, -1, 1.5, True, None])
    def test_of_the_budget_is_an_error(self, budget: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="budget is a number of steps"):
            linearizable(budget=budget)

    def test_of_a_call_that_the_model_does_not_know_is_an_error(self) -> None:
        with pytest.raises(InvalidArgumentError, match="Counter knows add, read, not 'write'"):
            linearizable(models.Counter())([write(0, 1)])


def test_the_check_has_a_name_a_repr_and_can_travel_to_another_process() -> None:
    check = linearizable(models.Register(3), budget=77)
    assert (check.__name__, repr(check)) == ("linearizable", "linearizable(Register(3))")
    again = pickle.loads(pickle.dumps(check))
    assert isinstance(again, Linearizable)
    assert again.budget == 77
    assert isinstance(again([read(0, 3)]), Holds)


TELL = """
from commonboard.check import models
from commonboard.check.linearizable import linearizable
from commonboard.check.model import Call
told = [Call(f"p{n}", "add", f"item-{n}", begin=n, end=n + 3) for n in range(8)]
print(linearizable(models.Set())([*told, Call("r", "read", None, {"item-1", "item-5", "item-3", "none"}, begin=20, end=21)]))
print(linearizable(models.KeyValue())([Call("r", "read", None, {"b": 1, "a": {"x", "y"}}, begin=20, end=21)]))
"""


def test_a_verdict_reads_the_same_whatever_the_seed_of_hashes() -> None:
    told = set()
    for seed in ("1", "2", "3"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        done = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, env=environment, check=True)
        told.add(done.stdout)
    assert len(told) == 1
    assert "violated" in told.pop()


def etcd() -> list[tuple[Path, bool]]:
    rows = (HISTORIES / "etcd" / "expected.tsv").read_text("utf-8").splitlines()[1:]
    return [(HISTORIES / "etcd" / name, told == "true") for name, told in (row.split("\t") for row in rows)]


@recorded
def test_all_102_logs_of_etcd_are_decided_as_expected_in_13_648_steps() -> None:
    found, expected, steps = {}, {}, 0
    for path, linear in etcd():
        decision = decide(models.CompareAndSetRegister(), read_calls(path), 10**7)
        found[path.name], expected[path.name] = decision.answer, linear
        steps += decision.steps
    assert found == expected
    assert (len(found), sum(map(bool, found.values()))) == (102, 23)
    assert steps == 13_648


@recorded
def test_every_refuted_log_of_etcd_is_told_by_a_part_that_is_refuted_too() -> None:
    sizes = []
    for path, linear in etcd():
        verdict = linearizable(models.CompareAndSetRegister())(read_calls(path))
        assert verdict.holds is linear
        if isinstance(verdict, NotLinearizable):
            assert decide(models.CompareAndSetRegister(), verdict.shrunk, 10**6).answer is False
            sizes.append(len(verdict.shrunk))
    assert (min(sizes), sorted(sizes)[len(sizes) // 2]) == (3, 4)


@recorded
@pytest.mark.parametrize(
    ("name", "linear", "steps"), [("c01-ok", True, 58), ("c01-bad", False, 10), ("c10-ok", True, 484), ("c10-bad", False, 13)]
)
def test_the_histories_of_a_key_value_store_are_decided_as_their_names_say(name: str, linear: bool, steps: int) -> None:
    decision = decide(models.KeyValue(""), read_calls(HISTORIES / "kv" / f"{name}.txt"), 10**6)
    assert (decision.answer, decision.steps) == (linear, steps)


@recorded
def test_a_lost_append_is_told_in_one_sentence() -> None:
    verdict = linearizable(models.KeyValue(""))(read_calls(HISTORIES / "kv" / "c01-bad.txt"))
    assert verdict.findings[0].sentence == (
        "No order of these calls at key 7 fits: at first key 7 is ''; process 0 appends 'x 0 0 y'; then process 0 appends "
        "'x 0 3 y'; then process 0 reads 'x 0 0 y'. The longest order is process 0 appends 'x 0 0 y', process 0 appends "
        "'x 0 3 y'; next, process 0 reads 'x 0 0 y', but key 7 is 'x 0 0 yx 0 3 y'."
    )
