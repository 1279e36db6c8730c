"""Convergence, and that it does not mean that nothing was lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.sim.orders import every

import commonboard as cb
from commonboard.check.converges import converges, no_acknowledged_loss
from commonboard.errors import OutcomeUnknownError

TWO = cb.World(replicas=2)


def writer(value: Any) -> Any:
    async def writes(me: cb.AgentMemory) -> None:
        await me.shared.write("x", value)

    return writes


def adder(item: Any) -> Any:
    async def adds(me: cb.AgentMemory) -> None:
        await me.shared.update("x", lambda found: [*(found or []), item])

    return adds


PAIR = {"a": adder("a"), "b": adder("b")}


def keep_mine(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Version:
    return mine


class TestConverges:
    @pytest.mark.parametrize(
        "policy", [cb.LastWriterWins(), cb.FirstWriterWins(), cb.Optimistic(), cb.Merge(cb.ORSet)], ids=lambda policy: policy.name
    )
    def test_lawful_policies_do_in_every_order(self, policy: Any) -> None:
        verdicts = [converges(made) for made in every(PAIR, world=TWO, policy=policy)]
        assert len(verdicts) == 20 or policy.expects == "version"
        assert all(verdict.holds is True for verdict in verdicts)

    def test_a_policy_that_depends_on_the_side_does_not(self) -> None:
        counts = Counter[Any]()
        for made in every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=keep_mine):
            verdict = converges(made)
            ends = {page[0].value for page in made.boards.values()}
            assert (verdict.holds is False) is (len(ends) == 2)
            counts[verdict.holds] += 1
            for found in verdict.findings:
                write, merge = found.operations
                assert found.kind == "divergence"
                assert (write.dot, merge.kind) == (merge.dot, "merge")
                other = ({"replica-1", "replica-2"} - {merge.agent}).pop()
                mine, theirs = ("a", "b") if merge.agent == "replica-1" else ("b", "a")
                assert found.sentence == (
                    f"{merge.agent} took in {merge.dot} of shared/x from {other} (kept {mine}'s and dropped {theirs}'s); "
                    "now it has seen the same writes as "
                    f"{other}, and the two hold different "
                    "values: what the policy answers depends on the side, or on the order."
                )
        assert counts[False] > 0
        assert counts[True] > 0

    def test_a_moment_of_disagreement_counts_although_all_agree_at_the_end(self) -> None:
        async def twice(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "a1")
            await me.think(seconds=10)
            await me.shared.write("x", "a2")

        found = 0
        for made in every({"a": twice, "b": writer("b")}, world=TWO, policy=keep_mine):
            verdict = converges(made)
            if len({page[0].value for page in made.boards.values()}) == 1 and verdict.holds is False:
                found += 1
                assert "disagrees" in verdict.findings[0].operations[-1].note
        assert found > 0

    def test_one_store_cannot_differ_from_itself(self) -> None:
        verdict = converges(cb.simulate(PAIR))
        assert (verdict.holds, verdict.why) == (None, "there is one store, so nothing could differ")

    def test_a_run_that_did_not_finish_tells_nothing(self) -> None:
        async def dies(me: cb.AgentMemory) -> None:
            await me.shared.write("x", 1)
            raise ValueError("oh")

        made = cb.simulate({"a": dies, "b": writer(2)}, world=TWO)
        assert converges(made).holds is None
        assert "the run did not finish (failed: a raised ValueError: oh" in converges(made).why

    def test_a_fault_that_touched_nothing_makes_it_inconclusive(self) -> None:
        seen = set()
        for made in every(PAIR, world=cb.World(replicas=2, partitions=1), policy=cb.Merge(cb.ORSet)):
            verdicts = (converges(made), no_acknowledged_loss(made))
            idle = [fault for fault in made.faults if not fault.touched]
            assert {verdict.holds for verdict in verdicts} == {None if idle else True}
            seen.add((len(made.faults), bool(idle)))
            if idle:
                assert all(f"replica-1 is cut off from the rest (operation {idle[0].index})" in v.why for v in verdicts)
        assert seen == {(0, False), (1, False), (1, True)}

    def test_takes_a_run_only(self) -> None:
        for check in (converges, no_acknowledged_loss):
            with pytest.raises(TypeError, match=f"{check.__name__} takes a Run"):
                check(cb.simulate(PAIR).history)  # type: ignore[arg-type]


class TestNoAcknowledgedLoss:
    def test_last_writer_wins_between_replicas_converges_and_loses(self) -> None:
        both, ways = 0, set()
        for made in every(PAIR, world=TWO, policy=cb.LastWriterWins()):
            assert converges(made).holds is True
            verdict = no_acknowledged_loss(made)
            kept = {item for entry in made.board for item in entry.value}
            assert (verdict.holds is True) is (kept == {"a", "b"})
            both += verdict.holds is False
            for found in verdict.findings:
                how, by = found.sentence.partition("; ")[::2], found.operations[-1]
                assert how[0].endswith(" and was told so")
                if by.kind == "merge":
                    assert how[0].startswith("a wrote shared/x on replica-1")
                    dropped = "the policy kept b's and dropped a's: it is in no value at the end."
                    assert how[1] == f"when it met what another wrote, on {by.replica}, {dropped}"
                else:
                    assert how[1] == f"{by.agent}, who had looked before that, wrote over it without having seen it."
                ways.add(by.kind)
        assert both > 0
        assert ways == {"merge", "write"}

    @pytest.mark.parametrize("policy", [cb.Optimistic(), cb.Merge(cb.ORSet)], ids=lambda policy: policy.name)
    def test_keeping_both_or_merging_loses_nothing(self, policy: Any) -> None:
        assert {no_acknowledged_loss(made).holds for made in every(PAIR, world=TWO, policy=policy)} == {True}

    def test_on_one_store_it_finds_what_was_overwritten_unseen(self) -> None:
        for made in every(PAIR, policy=cb.LastWriterWins()):
            verdict, by_versions = no_acknowledged_loss(made), cb.no_lost_updates(made)
            assert verdict.holds is by_versions.holds
            for found in verdict.findings:
                lost, by = found.operations[-2:]
                assert found.sentence == (
                    f"{lost.agent} wrote shared/x and was told so; {by.agent}, who had looked before that, wrote over it without "
                    "having seen it."
                )
        assert {no_acknowledged_loss(made).holds for made in every(PAIR, policy=cb.Optimistic())} == {True}

    def test_what_is_replaced_without_ever_looking_is_superseded_and_not_lost(self) -> None:
        for made in every({"a": writer(1), "b": writer(2)}):
            assert no_acknowledged_loss(made).holds is True

    def test_deletes_are_writes_too(self) -> None:
        async def deletes(me: cb.AgentMemory) -> None:
            await me.shared.delete("x")

        async def looks(me: cb.AgentMemory) -> None:
            await me.value("shared/x")
            await me.shared.write("x", "mine")

        found = Counter[Any]()
        for made in every({"a": deletes, "b": looks}, given={"shared/x": "old"}):
            found[no_acknowledged_loss(made).holds, "a deleted shared/x and was told so" in str(no_acknowledged_loss(made))] += 1
        assert found == {(True, False): 2, (False, True): 1}

    def test_what_is_forgotten_in_a_crash_is_lost_unless_it_had_arrived_elsewhere(self) -> None:
        async def reads(me: cb.AgentMemory) -> None:
            await me.value("shared/x")

        forgotten = Counter[Any]()
        for made in every({"a": writer(1), "b": reads}, world=cb.World(replicas=2, crashes=1, durable=False)):
            verdict = no_acknowledged_loss(made)
            values = {entry.value for entry in made.board}
            assert (verdict.holds is False) is (values == set())
            forgotten[verdict.holds] += 1
            if verdict.holds is False:
                forgot = "replica-1 crashed and forgot it before any other replica had it."
                assert verdict.findings[0].sentence == f"a wrote shared/x on replica-1 and was told so; {forgot}"
        assert forgotten[False] > 0
        assert forgotten[True] > 0
        durable = every({"a": writer(1), "b": reads}, world=cb.World(replicas=2, crashes=1))
        assert False not in {no_acknowledged_loss(made).holds for made in durable}

    def test_a_write_without_an_answer_was_not_acknowledged(self) -> None:
        async def shrugs(me: cb.AgentMemory) -> None:
            try:
                await me.shared.update("x", lambda found: [*(found or []), me.name])
            except OutcomeUnknownError:
                await me.think(seconds=1)

        for made in every({"a": shrugs, "b": shrugs}, world=cb.World(lost_answers=2), policy=cb.LastWriterWins()):
            told = {op.agent for op in made.history.writes() if op.acknowledged}
            gone = told - set(made.value("shared/x"))
            verdict = no_acknowledged_loss(made)
            assert {found.operations[-2].agent for found in verdict.findings} == gone
            if not told:
                assert verdict.why == "no write was acknowledged, so none could be lost"

    def test_replicas_that_disagree_leave_no_pass(self) -> None:
        def sides(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Keep:
            return cb.Keep(mine.value + theirs.value)

        seen = {}
        for made in every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=sides):
            seen[converges(made).holds] = no_acknowledged_loss(made)
        assert seen[True].holds is True
        assert seen[False].holds is None
        assert "nobody can say what the board holds" in seen[False].why

    def test_a_store_without_versions_cannot_be_judged(self) -> None:
        class Bare:
            def __init__(self) -> None:
                self.kept: dict[str, cb.MemoryEntry] = {}

            async def get(self, key: str) -> Any:
                return self.kept.get(key)

            async def set(self, key: str, value: str, metadata: Any = None) -> None:
                self.kept[key] = cb.MemoryEntry(key, value, metadata or {})

            async def list(self) -> Any:
                return list(self.kept.values())

            async def delete(self, key: str) -> None:
                self.kept.pop(key, None)

            async def clear(self) -> None:
                self.kept.clear()

        verdict = no_acknowledged_loss(cb.simulate({"a": writer(1)}, store=Bare))
        assert (verdict.holds, "keeps no versions" in verdict.why) == (None, True)

    def test_both_judge_the_end_of_a_run(self) -> None:
        assert converges.judges == no_acknowledged_loss.judges == "end"  # type: ignore[attr-defined]


class TestNoLostUpdates:
    def test_a_crash_that_forgets_is_a_note_and_no_overwrite(self) -> None:
        async def looks(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "first")
            await me.value("shared/x")
            await me.shared.write("x", "second")

        noted = 0
        for made in every({"a": looks}, world=cb.World(replicas=2, crashes=1, durable=False), given={"shared/x": "old"}):
            verdict = cb.no_lost_updates(made)
            assert verdict.findings == []
            # Who had seen what was forgotten has seen all there was: no operation looks as if it wrote over something unseen.
            assert all(op.saw == op.replaced for op in made.history.writes() if op.saw is not None)
            told = [note.sentence for note in verdict.notes if note.kind == "forgotten"]
            assert all(
                sentence[7:] in (f"-{n} crashed and forgot what a wrote to shared/x." for n in (1, 2)) for sentence in told
            )
            noted += len(told)
        assert noted > 0
