"""Anomalies: for each row of the catalogue the smallest history that has it, and a near miss that does not."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from tests.check.notation import overlapping, told

import commonboard as cb
from commonboard.check.anomalies import LEVEL_BROKEN, LEVEL_HOLDS, LEVELS, anomalies
from commonboard.check.verdict import Verdict
from commonboard.history import History


def level(verdict: Verdict) -> str:
    return next(note.sentence for note in verdict.notes if note.kind.startswith(LEVEL_HOLDS))


def kinds(verdict: Verdict) -> list[str]:
    return [found.kind for found in verdict.findings]


# The name, the smallest history with it, the strongest level that it leaves, and a near miss. Each agent is one transaction.
CATALOGUE = [
    ("lost update", "w0x1 r2x1 w1x2 w2x3", "read committed", "w0x1 w1x2 r2x2 w2x3"),
    ("lost update", "w0x1 r2x1 w1x2 w2x3", "read committed", "w0x1 r2x1 w1x2 f2x<1 w3x3"),
    ("lost update", "w0x1 r2x1 w1x2 w2x3", "read committed", "w0x1 r1x1 w1x2 w2x3"),  # who never looked loses nothing
    ("lost update (ABA)", "w0x1=A r1x1 w2x2=B w3x3=A c1x4=C", "read committed", "w0x1=A r1x1 c1x2=C w2x3=B w3x4=A"),
    ("lost update (check-then-act)", "r2x0 w1x1 w2x2", "read committed", "w1x1 r2x1 w2x2"),
    ("lost update (check-then-act)", "w0x1 d0x2 r2x2 w1x3 w2x4", "read committed", "w0x1 d0x2 w1x3 r2x3 w2x4"),
    ("dirty write", "w1x1 w2x2 w2y1 w1y2", "none", "w1x1 w2x2 w1y1 w2y2"),
    ("aborted read", "a1x1 r2x1", "read uncommitted", "a1x1 r2x0 w2y1"),
    ("intermediate read", "w1x1 r2x1 w1x2", "read uncommitted", "w1x1 w1x2 r2x2"),
    ("circular information flow", "w1x1 w2y1 r1y1 r2x1", "read uncommitted", "w1x1 w2y1 r1y0 r2x1"),
    ("circular information flow", "w1p/a1 l2p w2x1 r1x1", "read uncommitted", "w1p/a1 l2p w2x1 r1x0"),
    ("circular information flow", "w0p/a1 d1p/a2 l2p w2x1 r1x1", "read uncommitted", "w0p/a1 d1p/a2 l2p w2x1 r1x0"),
    ("non-repeatable read", "r1x0 w2x1 r1x1", "read committed", "r1x0 r1x0 w2x1"),
    ("read skew", "r1x0 w2x1 w2y1 r1y1", "read committed", "r1x0 w2x1 w2y1 r1y0"),
    ("long fork", "w1x1 w2y1 r3x1 r3y0 r4y1 r4x0", "read committed", "w1x1 w2y1 r3x1 r3y0 r4y1 r4x1"),
    ("write skew", "r1y0 r2x0 w1x1 w2y1", "snapshot isolation", "r1y0 w1x1 r2x1 w2y1"),
    ("phantom", "l1p l2p w1p/a1 w2p/b1", "snapshot isolation", "l1p w1p/a1 l2p w2p/b1"),
    ("phantom", "l1p w2p/a1 w2z1 r1z1", "read committed", "l1p w2q/a1 w2z1 r1z1"),
    ("phantom", "w0p/a1 l1p l2p d1p/a2 w2p/b1", "snapshot isolation", "w0p/a1 l1p d1p/a2 l2p w2p/b1"),
    # Two accounts: docs pays in at y; web saw y empty and books a fee at x; synth sees what was paid in, and no fee.
    ("read-only anomaly", "r1y0 w2y1 r3x0 r3y1 w1x1", "snapshot isolation", "r1y0 w2y1 r3y1 w1x1 r3x1"),
    ("garbage read", "w1x1 r2x1=ghost", "read uncommitted", "w1x1 r2x1"),
    ("garbage read", "w1x1 r2x7=ghost", "read uncommitted", "w1x1 d1x2 r2x2"),
    ("internal inconsistency", "w0x1 w1x2 r1x1", "read uncommitted", "w0x1 r1x1 w1x2 r1x2"),
    ("internal inconsistency", "w0x1 r1x2 w1x2", "read uncommitted", "w0x1 w1x2 r1x2"),
]


@pytest.mark.parametrize(("name", "smallest", "strongest", "near_miss"), CATALOGUE)
class TestTheCatalogue:
    def test_is_found_in_the_smallest_history(self, name: str, smallest: str, strongest: str, near_miss: str) -> None:
        verdict = anomalies(told(smallest), unit="agent")
        assert isinstance(verdict, cb.Violation), verdict
        assert kinds(verdict) == [name]
        assert level(verdict) == strongest
        after = ("none", *LEVELS).index(strongest)
        assert cb.Finding(LEVEL_BROKEN, LEVELS[after]) in verdict.notes

    def test_is_not_found_in_a_near_miss(self, name: str, smallest: str, strongest: str, near_miss: str) -> None:
        verdict = anomalies(told(near_miss), unit="agent")
        assert isinstance(verdict, cb.Holds), verdict
        assert level(verdict) == "strong session serializable"

    def test_is_gone_when_any_operation_is_taken_away(self, name: str, smallest: str, strongest: str, near_miss: str) -> None:
        history = told(smallest)
        for left_out in history:
            is_given_or_changes_back = left_out.agent == "given" or left_out.text == "B"
            if not is_given_or_changes_back:
                part = History([op for op in history if op is not left_out])
                assert name not in kinds(anomalies(part, unit="agent")), left_out


class TestTheProof:
    def test_of_a_lost_update_names_both_writes_and_ends_in_a_contradiction(self) -> None:
        (found,) = anomalies(told("w0x1 r1x1 r2x1 w1x2<1 w2x3<1")).findings
        assert found.sentence == (
            "Let T1 = web's write of version 2 of x, T2 = docs's write of version 3. T1 comes before T2, because docs replaced "
            "version 2, which web wrote. T2 comes before T1, because docs had read version 1 and had not seen version 2. Each "
            "comes before the other: a contradiction. What web wrote is lost."
        )
        assert [op.index for op in found.operations] == [3, 4]

    def test_of_a_write_skew_names_both_keys(self) -> None:
        (found,) = anomalies(told("r1y0 r2x0 w1x1 w2y1"), unit="agent").findings
        assert found.sentence == (
            "Let T1 = all that web did, T2 = all that docs did. T1 comes before T2, because web read y before anybody wrote it, "
            "and not yet version 1 of y, which docs wrote. T2 comes before T1, because docs read x before anybody wrote it, and "
            "not yet version 1 of x, which web wrote. Each comes before the other: a contradiction."
        )
        assert [op.index for op in found.operations] == [0, 1, 2, 3]

    def test_of_a_longer_cycle_says_that_each_comes_before_itself(self) -> None:
        (found,) = anomalies(told("w1x1 w2y1 r3x1 r3y0 r4y1 r4x0"), unit="agent").findings
        assert found.sentence.startswith("Let T1 = all that web did, T2 = all that synth did, T3 = all that docs did, T4 = all")
        assert found.sentence.endswith("So each comes before itself: a contradiction.")

    def test_of_a_phantom_names_the_lists(self) -> None:
        (found,) = anomalies(told("l1p l2p w1p/a1 w2p/b1"), unit="agent").findings
        assert "because web listed p before docs created p/b." in found.sentence

    def test_of_a_list_names_what_it_came_after(self) -> None:
        (found,) = anomalies(told("w0p/a1 d1p/a2 l2p w2x1 r1x1"), unit="agent").findings
        assert "because docs listed p after web deleted p/a." in found.sentence
        (found,) = anomalies(told("w1p/a1 l2p w2x1 r1x1"), unit="agent").findings
        assert "because docs listed version 1 of p/a, which web wrote." in found.sentence

    def test_of_an_aba_says_why_nobody_noticed(self) -> None:
        (found,) = anomalies(told("w0x1=A w2x2=B w3x3=A c1x4<1=C")).findings
        assert found.kind == "lost update (ABA)"
        assert found.sentence.endswith("The value was the same again, so comparing values noticed nothing.")

    def test_can_be_drawn(self) -> None:
        assert "docs" in str(anomalies(told("w0x1 r1x1 r2x1 w1x2<1 w2x3<1")).spacetime(0))

    def test_is_the_same_however_the_two_are_named(self) -> None:
        one, other = (anomalies(told(words)).findings for words in ("w0x1 w1x2<1 w2x3<1", "w0x1 w2x2<1 w1x3<1"))
        assert one[0].sentence == other[0].sentence.replace("web", "?").replace("docs", "web").replace("?", "docs")


class TestATransaction:
    def test_is_a_single_operation_unless_told_otherwise(self) -> None:
        assert kinds(anomalies(told("r1y0 r2x0 w1x1 w2y1"))) == []
        assert kinds(anomalies(told("r1x0 w2x1 r1x1"))) == []

    def test_of_one_write_reads_what_its_writer_had_seen(self) -> None:
        assert kinds(anomalies(told("w0x1 w1x2<1 w2x3<1"))) == ["lost update"]
        assert kinds(anomalies(told("w0x1 w1x2<1 w2x3<2"))) == []
        assert kinds(anomalies(told("w0x1 w1x2 w2x3"))) == []

    def test_is_what_carries_the_same_name(self) -> None:
        assert kinds(anomalies(told("r1y0@1 r2x0@1 w1x1@1 w2y1@1"))) == ["write skew"]
        assert kinds(anomalies(told("r1y0@1 r2x0@1 w1x1@2 w2y1@2"))) == []

    def test_rests_on_its_own_reads_and_not_on_what_its_agent_had_read_before(self) -> None:
        assert kinds(anomalies(told("w0x1 r1x1 w2x2 w1x3<1@1"))) == []
        assert kinds(anomalies(told("w0x1 r1x1@1 w2x2 w1x3<1@1"))) == ["lost update"]

    def test_that_was_refused_is_aborted_and_orders_nothing(self) -> None:
        assert kinds(anomalies(told("w0x1 r1y0@1 r2x1@1 w2y1@1 f1x@1"))) == []
        assert kinds(anomalies(told("w0x1 r1y0@1 r2x1@1 w2y1@1 w1x2@1"))) == ["write skew"]

    def test_of_which_one_write_happened_and_another_did_not_is_torn(self) -> None:
        verdict = anomalies(told("w1x1@1 f1y@1"))
        assert kinds(verdict) == ["torn multi-key update"]
        assert (
            verdict.findings[0].sentence == "Of web's transaction 1, the write of version 1 of x happened, and that of y did not."
        )
        assert level(verdict) == "read uncommitted"
        assert kinds(anomalies(told("f1x@1 f1y@1 w1x1@2 w1y1@2"))) == []

    def test_of_an_agent_is_not_torn_by_a_refusal_after_which_it_tries_again(self) -> None:
        assert kinds(anomalies(told("w0x1 r1x1 w2x2 f1x<1 r1x2 w1x3<2 w1y1"), unit="agent")) == ["non-repeatable read"]

    def test_of_an_unknown_kind_is_refused(self) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="'transaction' or 'agent', not 'task'"):
            anomalies(told("w1x1"), unit="task")  # type: ignore[arg-type]


class TestSessions:
    """An agent's transactions must come in its own order, where that is what is asked for."""

    def test_that_see_two_writes_in_opposite_orders_are_a_long_fork_of_single_reads(self) -> None:
        verdict = anomalies(told("w1x1 w2y1 r3x1 r3y0 r4y1 r4x0"))
        assert kinds(verdict) == ["long fork across sessions"]
        assert level(verdict) == "serializable"

    def test_do_not_count_across_agents(self) -> None:
        assert kinds(anomalies(told("w1x1 w2y1 r3x1 r4y0 r5y1 r6x0"))) == []

    def test_do_not_count_where_an_agent_s_operations_overlap(self) -> None:
        history = told("w1x1 w2y1 r3x1 r3y0 r4y1 r4x0")
        at_once = overlapping(history, [(0, 1), (2, 3), (4, 11), (5, 10), (6, 9), (7, 8)])
        assert kinds(anomalies(at_once)) == []

    def test_are_not_told_where_the_same_transactions_go_in_a_circle_anyway(self) -> None:
        assert kinds(anomalies(told("w1x1@1 w2y1@1 r1y1@1 w1z1@2 r2x1@1 r2z1@1"))) == ["circular information flow"]

    def test_that_write_backwards_are_found_without_any_read(self) -> None:
        assert kinds(anomalies(told("w1x2 w1x1"))) == ["dirty write across sessions"]

    def test_of_three_overlapping_transactions_are_ordered_by_those_that_ended(self) -> None:
        # The first two overlap, the third begins after both: it must see what each of them wrote.
        history = overlapping(told("w1x1 w1y1 r1x0"), [(0, 3), (1, 2), (4, 5)])
        assert kinds(anomalies(history)) == ["read skew across sessions"]
        history = overlapping(told("w1x1 w1y1 r1y0"), [(0, 3), (1, 2), (4, 5)])
        assert kinds(anomalies(history)) == ["read skew across sessions"]


class TestTime:
    @pytest.mark.parametrize(
        ("name", "words", "spans", "near_miss"),
        [
            ("stale read", "w1x1 r2x0", [(0, 1), (2, 3)], [(0, 3), (1, 2)]),
            ("new-old inversion", "w1x1 r2x1 r3x0", [(0, 9), (1, 2), (3, 4)], [(0, 9), (1, 4), (3, 5)]),
        ],
    )
    def test_counts_only_if_asked_and_only_where_operations_do_not_overlap(
        self, name: str, words: str, spans: list[tuple[int, int]], near_miss: list[tuple[int, int]]
    ) -> None:
        history = overlapping(told(words), spans)
        verdict = anomalies(history, realtime=True)
        assert kinds(verdict) == [name]
        assert level(verdict) == "strong session serializable"
        assert kinds(anomalies(history)) == []
        assert kinds(anomalies(overlapping(told(words), near_miss), realtime=True)) == []

    def test_makes_strict_serializable_the_strongest_level(self) -> None:
        assert level(anomalies(told("w1x1 r2x1"), realtime=True)) == "strict serializable"

    def test_tells_a_later_write_that_lost_between_replicas(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "early")

        async def docs(me: cb.AgentMemory) -> None:
            await me.think(seconds=5)
            await me.shared.write("x", "late")

        options: dict[str, Any] = {"policy": cb.LastWriterWins(), "world": cb.World(replicas=2)}
        runs = [cb.simulate({"web": web, "docs": docs}, seed=seed, **options) for seed in range(20)]
        names = {tuple(kinds(anomalies(made, realtime=True))) for made in runs}
        assert names == {(), ("clock-skew loss",)}
        for made in runs:
            lost = bool(anomalies(made, realtime=True).findings)
            assert lost == (made.value("shared/x") == "early")


class TestABlindRetry:
    def test_is_noted_where_a_refused_value_is_written_again_after_another_look(self) -> None:
        words = "w0x1 r1x1 r2x1 w2x2=1 f1x<1=1 r1x2 w1x3<2=1"
        (note,) = (note for note in anomalies(told(words)).notes if note.kind == "blind retry")
        assert note.sentence.startswith("web was refused when it wrote x, looked again, and wrote the same value unchanged;")
        assert [op.index for op in note.operations] == [4, 6]

    def test_is_none_where_the_value_was_made_again(self) -> None:
        words = "w0x1 r1x1 r2x1 w2x2=1 f1x<1=1 r1x2 w1x3<2=2"
        assert [note.kind for note in anomalies(told(words)).notes] == [LEVEL_HOLDS]


class TestUnknown:
    """What the history does not say is never a pass."""

    def why(self, history: Any, **options: Any) -> str:
        verdict = anomalies(history, **options)
        assert isinstance(verdict, cb.Unknown), verdict
        assert level(verdict) == "strong session serializable"
        assert [note.kind for note in verdict.notes] == [f"{LEVEL_HOLDS}, as far as is known"]
        return verdict.why

    def test_where_nothing_was_written(self) -> None:
        assert self.why(told("r1x0 r2x0")) == "nothing was written, so nothing could go wrong"
        assert self.why(told("w0x1 r1x1")) == "nothing was written, so nothing could go wrong"

    def test_where_a_store_keeps_no_versions(self) -> None:
        history = told("r1x0 w1x1 r1x1")
        history[1].made = history[1].replaced = None
        assert "the store keeps no versions, so nobody knows what web made of x" in self.why(history)

    def test_where_a_read_has_no_version(self) -> None:
        history = told("r1x0 w1x1 r2x1")
        history[2].saw = None
        assert self.why(history) == "nobody knows which version of x docs read"

    def test_where_a_version_between_two_is_missing(self) -> None:
        assert self.why(told("w1x1 w2x3")) == "version 2 of x, which docs replaced, is not in the history"
        assert self.why(told("w1x1 w2x3 r3x2")) == "version 2 of x, which docs replaced, is not in the history"

    def test_where_a_version_before_the_first_is_missing(self) -> None:
        assert self.why(told("w1x5 r2x3")) == "version 3 of x, which docs had read, is not in the history"
        assert isinstance(anomalies(told("r2x4=old w1x5")), cb.Holds)  # what was there when the history began

    def test_where_a_version_was_made_twice(self) -> None:
        assert self.why(told("w1x1 w2x1")) == "version 1 of x was made twice, so nobody knows which one was read"

    def test_where_a_list_shows_what_was_not_there(self) -> None:
        history = told("w1p/a1 l2p")
        history[1].text = '["p/a", "p/b"]'
        assert self.why(history).startswith("the list of p by docs shows other keys than there were at that place")

    def test_where_a_list_was_asked_for_page_by_page(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.write("a", 1)
            await me.write("b", 1)
            await me.list("web", limit=1)

        assert (
            "the list of web by web shows other keys than there were at that place, or may do so (one page of it does)"
            in self.why(cb.simulate(web))
        )

    def test_where_one_page_happens_to_show_all_there_is(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.write("a", 1)
            await me.list("web", limit=1)

        assert "(one page of it does)" in self.why(cb.simulate(web))

    def test_in_a_log_which_has_no_reads(self) -> None:
        made = cb.simulate(cb.scenarios.counter, policy=cb.Optimistic(), seed=1)
        assert self.why(made.log).startswith("a log has no reads")
        lost = next(
            r for r in (cb.simulate(cb.scenarios.counter, policy=cb.LastWriterWins(), seed=s) for s in range(20)) if r.lost
        )
        assert set(kinds(anomalies(lost.log))) <= {"lost update", "lost update (check-then-act)"} != set()

    def test_where_the_run_did_not_finish(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.write("x", 1)
            raise ValueError("no more")

        assert self.why(cb.simulate(web)).startswith("the run did not finish (failed: web raised ValueError: no more")

    def test_is_no_excuse_where_something_is_wrong_anyway(self) -> None:
        verdict = anomalies(told("w0x1 w1x2<1 w2x3<1 w1y1 w2y3"))
        assert kinds(verdict) == ["lost update"]
        assert cb.Finding("not settled", "version 2 of y, which docs replaced, is not in the history.") in verdict.notes

    def test_is_not_for_what_is_no_history(self) -> None:
        with pytest.raises(TypeError, match="anomalies takes a Run, a History or a log's events, not an int"):
            anomalies(3)


class TestAbsence:
    def test_after_a_board_was_cleared_is_that_of_the_last_delete(self) -> None:
        # `clear` and compaction raise the versions of absence, so that nobody made the one that is read.
        history = told("w1x1 d1x2 r2x5 w2x6<5")
        history[3].replaced = 5
        assert isinstance(anomalies(history), cb.Holds)
        history = told("w1x1 d1x2 r2x5 w3x6 w2x7<5")
        history[3].replaced = 5
        assert kinds(anomalies(history)) == ["lost update (check-then-act)"]

    def test_after_a_delete_is_a_version_like_any_other(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.shared.write("x", 1)
            await me.shared.delete("x")
            assert await me.value("shared/x") is None
            await me.shared.write("x", 2)

        assert isinstance(anomalies(cb.simulate(web), unit="agent"), cb.Holds)


class TestBetweenReplicas:
    """The order of two writes is known where one was made over the other, or a policy dropped one of them."""

    async def _twice(self, me: cb.AgentMemory) -> None:
        await me.shared.update("x", lambda x: [*(x or []), me.name])

    def verdicts(self, policy: Any) -> list[Verdict]:
        agents = {"web": self._twice, "docs": self._twice}
        return [anomalies(cb.simulate(agents, policy=policy, seed=seed, world=cb.World(replicas=2))) for seed in range(30)]

    def test_an_update_that_the_policy_dropped_is_lost(self) -> None:
        found = [verdict for verdict in self.verdicts(cb.LastWriterWins()) if verdict.findings]
        assert found
        assert {kind for verdict in found for kind in kinds(verdict)} == {"lost update", "lost update (check-then-act)"}
        sentences = [verdict.findings[0].sentence for verdict in found]
        dropped = "because the policy kept what web wrote and dropped shared/x (replica-2:1), which docs wrote."
        assert any(dropped in sentence for sentence in sentences)

    def test_two_updates_that_are_both_kept_are_not_judged(self) -> None:
        unknown = [verdict for verdict in self.verdicts(cb.Optimistic()) if verdict.holds is None]
        assert unknown
        assert "shared/x was written on two replicas at once" in unknown[0].why
        assert not any(verdict.findings for verdict in self.verdicts(cb.Optimistic()))

    def test_updates_one_after_the_other_are_judged(self) -> None:
        assert any(isinstance(verdict, cb.Holds) for verdict in self.verdicts(cb.LastWriterWins()))

    def test_replicas_that_disagree_leave_it_open(self) -> None:
        def mine_stays(base: Any, mine: Any, theirs: Any) -> Any:
            return mine

        verdicts = [verdict for verdict in self.verdicts(mine_stays) if verdict.holds is None]
        assert verdicts
        assert all(
            "replicas that had seen the same writes of shared/x held something else" in verdict.why for verdict in verdicts
        )

    def test_two_readers_who_see_two_writes_in_opposite_orders_are_a_long_fork(self) -> None:
        async def writes(me: cb.AgentMemory) -> None:
            await me.write("x", 1)

        async def reads(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)
            for writer in ("web", "docs"):
                await me.value(f"{writer}/x")

        agents = {"web": writes, "docs": writes, "one": reads, "two": reads}
        runs = [cb.simulate(agents, seed=seed, world=cb.World(replicas=2)) for seed in range(200)]
        found = {kind for made in runs for kind in kinds(anomalies(made, unit="agent"))}
        assert "long fork" in found
        forks = [made for made in runs if "long fork" in kinds(anomalies(made, unit="agent"))]
        for made in forks:
            seen = {op.agent: [] for op in made.history if op.kind == "read"}
            for op in made.history:
                if op.kind == "read":
                    seen[op.agent].append(op.value)
            assert sorted(seen.values(), key=str) == [[1, None], [None, 1]]

    def test_an_agent_s_own_later_write_that_lost_contradicts_its_work(self) -> None:
        async def twice(me: cb.AgentMemory) -> None:
            await me.shared.write("y", "counts up the stamp here, and not there")
            await me.shared.write("x", "first")
            await me.shared.write("x", "second")

        world = cb.World(replicas=2, visibility="eventual")
        runs = [cb.simulate({"web": twice}, policy=cb.LastWriterWins(), seed=seed, world=world) for seed in range(40)]
        lost = [made for made in runs if made.value("shared/x") == "first"]
        for made in lost:
            (found,) = anomalies(made, unit="agent").findings
            assert found.kind == "internal inconsistency"
            assert found.sentence.startswith("web made shared/x (replica-")
            assert found.sentence.endswith(", which comes before it.")
        assert 0 < len(lost) < 40
        assert not any(anomalies(made, unit="agent").findings for made in runs if made not in lost)

    def test_a_list_leaves_it_open(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.write("x", 1)
            await me.list("web")

        verdict = anomalies(cb.simulate(web, world=cb.World(replicas=2)))
        assert verdict.holds is None


class TestAgainstOtherChecks:
    @pytest.mark.parametrize("policy", [cb.LastWriterWins(), cb.Optimistic(), cb.FirstWriterWins()])
    def test_lost_updates_of_single_operations_are_those_of_no_lost_updates(self, policy: Any) -> None:
        for seed in range(40):
            made = cb.simulate(cb.scenarios.counter, policy=policy, seed=seed)
            lost = {found.operations[-1].index for found in cb.no_lost_updates(made).findings}
            found = {f.operations[-1].index for f in anomalies(made).findings if f.kind.startswith("lost update")}
            assert found == lost


class TestFaults:
    def test_a_read_of_what_a_crash_undid_is_an_aborted_read(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.shared.write("x", 1)

        async def docs(me: cb.AgentMemory) -> None:
            await me.value("shared/y")

        async def synth(me: cb.AgentMemory) -> None:
            if await me.value("shared/x"):
                await me.write("seen", True)

        world = cb.World(replicas=2, crashes=1, durable=False)
        runs = [cb.simulate({"web": web, "docs": docs, "synth": synth}, seed=seed, world=world) for seed in range(300)]
        undone = [made for made in runs if "aborted read" in kinds(anomalies(made))]
        assert undone
        for made in undone:
            assert made.value("shared/x") is None
            assert any(op.kind == "read" and op.value == 1 for op in made.history)
        sentence = anomalies(undone[0]).findings[0].sentence
        assert sentence == "synth read shared/x (replica-1:1), which web had made and which was undone by a crash."

    def test_work_that_a_crash_cut_in_two_is_torn(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.shared.write("x", 1)
            await me.shared.write("y", 1)

        runs = [cb.simulate({"web": web}, seed=seed, world=cb.World(agent_crashes=1)) for seed in range(40)]
        torn = [made for made in runs if "torn multi-key update" in kinds(anomalies(made, unit="agent"))]
        for made in runs:
            keys = [op.key for op in made.history if op.is_write]
            assert (made in torn) == (keys == ["shared/x", "shared/x", "shared/y"])
        assert anomalies(torn[0], unit="agent").findings[0].sentence == (
            "Of all that web did before it crashed, the write of version 1 of shared/x happened, and that of shared/y did not."
        )

    def test_what_an_agent_did_again_after_a_lost_answer_is_noted_as_a_duplicate_effect(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            try:
                await me.shared.append("x", 1)
            except cb.CommonboardError:
                await me.shared.append("x", 1)

        runs = [cb.simulate({"web": web}, seed=seed, world=cb.World(lost_answers=1)) for seed in range(20)]
        twice = [made for made in runs if made.value("shared/x") == [1, 1]]
        assert 0 < len(twice) < 20
        for made in runs:
            noted = [note for note in anomalies(made).notes if note.kind == "duplicate effect"]
            assert len(noted) == (made in twice)

    def test_what_an_agent_does_again_after_a_crash_is_noted_too(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.shared.append("x", 1)
            await me.value("shared/x")

        runs = [cb.simulate({"web": web}, seed=seed, world=cb.World(agent_crashes=1)) for seed in range(20)]
        for made in runs:
            noted = [note for note in anomalies(made).notes if note.kind == "duplicate effect"]
            assert len(noted) == (made.value("shared/x") == [1, 1])
            assert all(note.sentence.startswith("web had written shared/x, and crashed, and wrote it again;") for note in noted)
        assert any(made.value("shared/x") == [1, 1] for made in runs)


class TestTransactionsOfAgents:
    """What `me.transaction` promises, as its histories show it."""

    async def _on_call(self, me: cb.AgentMemory, isolation: Any) -> None:
        async with me.transaction(isolation=isolation) as tx:
            others = [await tx.value(f"shared/{name}") for name in ("web", "docs")]
            if sum(map(bool, others)) > 1:
                await tx.shared.write(me.name, False)

    async def _claims(self, me: cb.AgentMemory, isolation: Any) -> None:
        async with me.transaction(isolation=isolation) as tx:
            if not await tx.list("shared/claims"):
                await tx.shared.write(f"claims/{me.name}", True)

    def kinds_of(self, work: Any, isolation: str, given: dict[str, Any]) -> set[str]:
        async def agent(me: cb.AgentMemory) -> None:
            with contextlib.suppress(cb.ConflictError):
                await work(me, isolation)

        runs = [cb.simulate({"web": agent, "docs": agent}, given=given, seed=seed) for seed in range(40)]
        verdicts = [anomalies(made) for made in runs]
        assert all(verdict.holds is not None for verdict in verdicts), verdicts
        for verdict in verdicts:
            assert level(verdict) in ("snapshot isolation", "strong session serializable")
        return {kind for verdict in verdicts for kind in kinds(verdict)}

    def test_snapshots_permit_write_skew_and_serializable_ones_do_not(self) -> None:
        given = {"shared/web": True, "shared/docs": True}
        assert self.kinds_of(self._on_call, "snapshot", given) == {"write skew"}
        assert self.kinds_of(self._on_call, "serializable", given) == set()

    def test_snapshots_permit_phantoms_and_serializable_ones_do_not(self) -> None:
        assert self.kinds_of(self._claims, "snapshot", {}) == {"phantom"}
        assert self.kinds_of(self._claims, "serializable", {}) == set()

    def test_a_list_that_stands_later_than_its_snapshot_is_left_open(self) -> None:
        async def lists(me: cb.AgentMemory) -> None:
            async with me.transaction() as tx:
                await tx.think(seconds=2)
                await me.write("beside", 1)
                await tx.value("shared/x")
                await tx.list("shared")

        async def writes(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)
            await me.shared.write("x", 1)

        verdict = anomalies(cb.simulate({"web": lists, "docs": writes}, given={"shared/x": 0}, seed=0))
        assert isinstance(verdict, cb.Unknown), verdict
        assert verdict.why.startswith("the list of shared by web shows other keys than there were at that place, or may do so")
