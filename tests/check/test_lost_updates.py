"""Lost updates: the smallest history of each kind, a near miss beside it, and what simulations and real logs give."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.helpers import run
from tests.sim.orders import every

import commonboard as cb
from commonboard.check import Finding, Verdict
from commonboard.history import History, Kind, Operation

KEY = "shared/x"


class Told:
    """A history written by hand, one operation a line."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def _add(self, agent: str, kind: Kind, text: str | None, **facts: Any) -> Told:
        place = len(self.operations)
        key = facts.pop("key", KEY)
        op = Operation(place, agent, kind, key, text, None, None, begin=2 * place, end=2 * place + 1, **facts)
        self.operations.append(op)
        return self

    def given(self) -> Told:
        return self._add("given", "write", "old", replaced=0, made=1)

    def read(self, agent: str, saw: int, text: str | None = "old", **facts: Any) -> Told:
        return self._add(agent, "read", text, saw=saw, **facts)

    def write(self, agent: str, saw: int | None, replaced: int, kind: Kind = "write", **facts: Any) -> Told:
        text = None if kind == "delete" else f"by {agent}"
        return self._add(agent, kind, text, saw=saw, replaced=replaced, made=replaced + 1, **facts)

    def refused(self, agent: str, saw: int, there: int) -> Told:
        return self._add(agent, "compare-and-set", f"by {agent}", saw=saw, replaced=there, ok=False)

    def verdict(self) -> Verdict:
        return cb.no_lost_updates(History(self.operations))

    def found(self) -> Finding:
        verdict = self.verdict()
        assert isinstance(verdict, cb.Violation)
        (found,) = verdict.findings
        return found

    def holds(self) -> Verdict:
        verdict = self.verdict()
        assert isinstance(verdict, cb.Holds), verdict
        return verdict


class TestAnUnseenOverwrite:
    """r1(x) r2(x) w1(x) w2(x): the second writer had not seen the first one's version."""

    def test_is_found_with_its_read_its_victim_and_the_guilty_write(self) -> None:
        told = Told().given().read("web", 1).read("docs", 1).write("web", 1, 1).write("docs", 1, 2)
        found = told.found()
        assert found.kind == "lost update"
        assert found.sentence == (
            "docs read version 1 of shared/x; web then made version 2; docs wrote version 3 without having seen that, "
            "so what web wrote is lost."
        )
        assert [told.operations.index(op) for op in found.operations] == [2, 3, 4]

    def test_is_none_where_the_writer_read_again(self) -> None:
        Told().given().read("web", 1).read("docs", 1).write("web", 1, 1).read("docs", 2).write("docs", 2, 2).holds()

    def test_is_none_where_it_was_refused(self) -> None:
        told = Told().given().read("web", 1).read("docs", 1).write("web", 1, 1).refused("docs", 1, 2).write("docs", 2, 2)
        told.holds()

    def test_is_none_where_another_key_was_written(self) -> None:
        told = Told().given().read("web", 1).read("docs", 1).write("web", 1, 1).write("docs", 0, 0, key="shared/y")
        told.holds()

    def test_is_none_where_the_same_version_is_another_replica_s(self) -> None:
        facts = {"replica": "replica-1"}
        other = {"replica": "replica-2"}
        told = Told().read("web", 0, None, **facts).read("docs", 0, None, **other).write("web", 0, 0, **facts)
        told.write("docs", 0, 0, **other).holds()

    def test_of_several_names_them_all(self) -> None:
        told = Told().given().read("lead", 1).write("web", None, 1).write("docs", None, 2).write("web", None, 3)
        found = told.write("lead", 1, 4).found()
        assert "docs and web then made versions 2, 3 and 4; lead wrote version 5" in found.sentence
        assert found.sentence.endswith("so what docs and web wrote is lost.")
        assert len(found.operations) == 5

    def test_by_an_agent_s_own_other_task_is_found_too(self) -> None:
        found = Told().given().read("web", 1).read("web", 1).write("web", 1, 1).write("web", 1, 2).found()
        assert found.sentence.startswith("web read version 1 of shared/x; web then made version 2; web wrote version 3")

    def test_is_told_by_the_last_look_at_that_version_before_the_write(self) -> None:
        told = Told().given().read("docs", 1).write("web", None, 1).read("docs", 1).write("docs", 1, 2).read("docs", 1)
        assert [told.operations.index(op) for op in told.found().operations] == [3, 2, 4]

    def test_needs_no_read_of_its_own_to_be_told(self) -> None:
        # As in a store's log, which has no reads.
        found = Told().given().write("web", 1, 1).write("docs", 1, 2).found()
        assert found.sentence.startswith("docs read version 1 of shared/x;")
        assert len(found.operations) == 2

    def test_is_found_in_a_part_of_a_history_as_in_the_whole(self) -> None:
        told = Told().read("a", 0, None, key="private/y").given().read("web", 1).read("docs", 1)
        told.write("web", 1, 1).write("docs", 1, 2).read("docs", 1, key="shared/x")
        part = History(told.operations).under("shared")
        (found,) = cb.no_lost_updates(part).findings
        assert [told.operations.index(op) for op in found.operations] == [3, 4, 5]


class TestACreation:
    """Absence has a version: two who both saw nothing and both created are a lost update."""

    def test_by_two_who_both_saw_nothing_is_found(self) -> None:
        found = Told().read("web", 0, None).read("docs", 0, None).write("web", 0, 0).write("docs", 0, 1).found()
        assert found.sentence == (
            "docs saw that shared/x did not exist; web then made version 1; docs wrote version 2 without having seen that, "
            "so what web wrote is lost."
        )

    def test_by_one_who_saw_the_first_is_none(self) -> None:
        Told().read("web", 0, None).write("web", 0, 0).read("docs", 1).write("docs", 1, 1).holds()

    def test_after_a_delete_is_told_as_absence_though_its_version_is_not_zero(self) -> None:
        told = Told().given().write("web", None, 1, "delete").read("docs", 2, None).read("web", 2, None)
        found = told.write("web", 2, 2).write("docs", 2, 3).found()
        assert found.sentence.startswith("docs saw that shared/x did not exist; web then made version 3;")


class TestADelete:
    def test_of_what_was_not_seen_is_found(self) -> None:
        found = Told().given().read("docs", 1).write("web", None, 1).write("docs", 1, 2, "delete").found()
        assert "docs deleted it without having seen that, so what web wrote is lost." in found.sentence

    def test_of_what_was_seen_is_none(self) -> None:
        Told().given().read("docs", 1).write("docs", 1, 1, "delete").holds()

    def test_that_is_overwritten_unseen_is_found_as_a_delete(self) -> None:
        found = Told().given().read("docs", 1).write("web", None, 1, "delete").write("docs", 1, 2).found()
        assert found.sentence.endswith("so web's delete is lost.")


class TestABlindOverwrite:
    """Whoever read nothing has promised nothing: what it replaces is superseded, and no violation."""

    def test_is_noted_and_holds(self) -> None:
        told = Told().write("web", None, 0).write("docs", None, 1)
        (note,) = told.holds().notes
        assert note.kind == "superseded"
        assert note.sentence == "docs replaced version 1 of shared/x by web without ever having looked at the key."
        assert note.operations == (told.operations[0], told.operations[1])

    def test_of_one_s_own_value_is_not_worth_a_note(self) -> None:
        assert Told().write("web", None, 0).write("web", None, 1).holds().notes == []

    def test_of_what_was_given_is_not_worth_a_note(self) -> None:
        assert Told().given().write("web", None, 1).holds().notes == []

    def test_is_noted_beside_a_violation_too(self) -> None:
        verdict = Told().given().read("docs", 1).write("web", None, 1).write("lead", None, 2).write("docs", 1, 3).verdict()
        assert (len(verdict.findings), [note.operations[1].agent for note in verdict.notes]) == (1, ["lead"])

    def test_by_a_delete_says_so(self) -> None:
        (note,) = Told().write("web", None, 0).write("docs", None, 1, "delete").holds().notes
        assert note.sentence.startswith("docs deleted version 1 of shared/x by web")


class TestWhatCannotBeJudged:
    def why(self, subject: Any) -> str:
        verdict = cb.no_lost_updates(subject)
        assert isinstance(verdict, cb.Unknown)
        assert (verdict.holds, verdict.findings) == (None, [])
        return verdict.why

    def test_a_history_in_which_nothing_was_written(self) -> None:
        told = Told().given().read("web", 1)
        assert self.why(History(told.operations)) == "nothing was written, so nothing could be lost"
        assert self.why(History([])) == self.why([]) == "nothing was written, so nothing could be lost"

    def test_a_history_in_which_every_write_was_refused(self) -> None:
        assert "nothing was written" in self.why(History(Told().given().refused("web", 0, 1).operations))

    def test_a_store_that_keeps_no_versions(self) -> None:
        told = Told()._add("web", "write", "text")
        assert "nobody knows what web overwrote at 'shared/x'" in self.why(History(told.operations))

    def test_a_history_that_begins_in_the_middle(self) -> None:
        told = Told().write("docs", 3, 7)
        assert self.why(History(told.operations)) == (
            "version 7 of 'shared/x', which docs replaced and had not seen, is not in the history"
        )

    def test_a_run_that_did_not_finish(self) -> None:
        async def fails(me: cb.AgentMemory) -> None:
            await me.write("x", 1)
            raise ValueError("no such page")

        made = cb.simulate(fails)
        why = self.why(made)
        assert why.startswith("the run did not finish (failed: fails raised ValueError: no such page, at line ")
        assert made.token in str(cb.no_lost_updates(made))

    def test_a_run_that_lost_something_before_it_failed_is_judged(self) -> None:
        async def loses(me: cb.AgentMemory) -> None:
            found = await me.value(KEY, 0)
            await me.shared.write("x", found + 1)
            raise ValueError("too late")

        verdicts = {cb.no_lost_updates(made).holds for made in every(loses, loses)}
        assert verdicts == {None, False}

    @pytest.mark.parametrize("subject", [None, 7, "log", {}, [1, 2], cb.InMemoryStore(), cb.SharedMemory()])
    def test_what_is_no_history_is_refused(self, subject: Any) -> None:
        with pytest.raises(TypeError, match=r"takes a Run, a History or a log's events, not (a|None)"):
            cb.no_lost_updates(subject)


class TestInSimulations:
    """Over all orders of small programs, the check agrees with what is missing at the end."""

    @pytest.mark.parametrize(("agents", "increments"), [(2, 1), (2, 2), (3, 1)])
    def test_increments_are_missing_exactly_where_one_was_overwritten(self, agents: int, increments: int) -> None:
        scenario = cb.scenarios.counter(agents=agents, increments=increments)
        held = set()
        for made in every(scenario, policy=cb.LastWriterWins()):
            verdict = cb.no_lost_updates(made)
            assert bool(made.lost) is (verdict.holds is False)
            held.add(verdict.holds)
        assert held == {True, False}

    @pytest.mark.parametrize(
        "policy", [cb.Optimistic(), cb.FirstWriterWins(), cb.Merge(cb.PNCounter)], ids=lambda policy: policy.name
    )
    def test_an_update_under_a_careful_policy_overwrites_nothing_unseen(self, policy: Any) -> None:
        lost = 0
        for made in every(cb.scenarios.counter, policy=policy):
            assert cb.no_lost_updates(made).holds is True
            lost += len(made.lost)
        # The first writer's update is looked at, and the second one's dropped: another kind of loss, for `kept` to find.
        assert (lost > 0) is (policy.name == "FirstWriterWins")

    def test_two_who_create_after_seeing_nothing_are_found(self) -> None:
        async def claims(me: cb.AgentMemory) -> None:
            if await me.value("shared/owner") is None:
                await me.shared.write("owner", me.name)

        told = {str(found) for made in every(claims, claims) for found in cb.no_lost_updates(made).findings}
        assert told == {
            f"lost update: claims-{late} saw that shared/owner did not exist; claims-{early} then made version 1; "
            f"claims-{late} wrote version 2 without having seen that, so what claims-{early} wrote is lost."
            for early, late in ((1, 2), (2, 1))
        }

    def test_a_listing_that_showed_nothing_counts_as_having_looked(self) -> None:
        async def claims(me: cb.AgentMemory) -> None:
            if not await me.list("shared"):
                await me.shared.write("owner", me.name)

        assert {cb.no_lost_updates(made).holds for made in every(claims, claims)} == {True, False}

    def test_a_change_and_back_through_a_compare_and_set_by_value_is_found(self) -> None:
        async def swaps(me: cb.AgentMemory) -> bool:
            await me.value(KEY)
            return await me.shared.compare_and_set("x", "A", "C")

        async def flips(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "B")
            await me.shared.write("x", "A")

        aba = 0
        for made in every({"swaps": swaps, "flips": flips}, given={KEY: "A"}):
            order = [op.agent for op in made.history if op.agent != "given"]
            findings = cb.no_lost_updates(made).findings
            if order == ["swaps", "flips", "flips", "swaps"]:
                aba += 1
                assert made.results["swaps"]
                (found,) = findings
                assert "flips then made versions 2 and 3; swaps wrote version 4" in found.sentence
            elif not made.results["swaps"] or order[-2:] == ["swaps", "swaps"]:
                assert findings == []
        assert aba == 1

    def test_a_write_that_expects_the_version_read_cannot_be_fooled_so(self) -> None:
        async def swaps(me: cb.AgentMemory) -> str:
            entry = await me.read(KEY)
            assert entry is not None
            try:
                await me.shared.write("x", "C", expect=entry.version or 0)
            except cb.ConflictError:
                return "refused"
            return "written"

        async def flips(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "B")
            await me.shared.write("x", "A")

        runs = list(every({"swaps": swaps, "flips": flips}, given={KEY: "A"}))
        assert {made.results["swaps"] for made in runs} == {"written", "refused"}
        assert all(cb.no_lost_updates(made).holds is True for made in runs)

    def test_whoever_goes_on_from_what_a_refusal_found_has_seen_it(self) -> None:
        async def careful(me: cb.AgentMemory) -> None:
            entry = await me.read(KEY)
            assert entry is not None
            try:
                await me.shared.write("x", entry.value + 1, expect=entry.version or 0)
            except cb.ConflictError as refused:
                await me.shared.write("x", int(refused.found.value) + 1, expect=refused.found_version or 0)

        for made in every(careful, careful, given={KEY: 0}):
            assert made.value(KEY) == 2
            assert cb.no_lost_updates(made).holds is True

    def test_reads_that_were_gathered_count_for_the_writes_that_follow(self) -> None:
        async def adds(me: cb.AgentMemory) -> None:
            x, y = await asyncio.gather(me.value(KEY), me.value("shared/y"))
            await me.shared.write("sum", x + y)
            await me.shared.write("x", x + 1)

        held = {cb.no_lost_updates(made).holds for made in every(adds, adds, given={KEY: 1, "shared/y": 2})}
        assert held == {True, False}

    def test_updates_that_an_agent_gathers_may_overwrite_each_other(self) -> None:
        async def adds(me: cb.AgentMemory) -> None:
            one = me.shared.update("x", lambda n: n + 1, cb.LastWriterWins())
            other = me.shared.update("x", lambda n: n + 1, cb.LastWriterWins())
            await asyncio.gather(one, other)

        outcomes = {(made.value(KEY), cb.no_lost_updates(made).holds) for made in every(adds, given={KEY: 0})}
        assert outcomes == {(1, False), (2, True)}

    def test_appends_never_lose(self) -> None:
        async def adds(me: cb.AgentMemory) -> None:
            await me.value(KEY)
            await me.shared.append("x", me.name)

        for made in every(adds, adds):
            assert sorted(made.value(KEY)) == ["adds-1", "adds-2"]
            assert cb.no_lost_updates(made).holds is True

    def test_an_append_that_is_overwritten_unseen_is_lost(self) -> None:
        async def adds(me: cb.AgentMemory) -> None:
            await me.shared.append("x", me.name)

        async def tidies(me: cb.AgentMemory) -> None:
            found = await me.value(KEY)
            await me.shared.write("x", sorted(found))

        held = {cb.no_lost_updates(made).holds for made in every({"adds": adds, "tidies": tidies}, given={KEY: ["b", "a"]})}
        assert held == {True, False}

    def test_blind_writes_of_both_are_superseded_in_every_order(self) -> None:
        async def writes(me: cb.AgentMemory) -> None:
            await me.shared.write("x", me.name)

        for made in every(writes, writes):
            verdict = cb.no_lost_updates(made)
            assert verdict.holds is True
            assert len(verdict.notes) == 1

    def test_a_read_that_the_memory_makes_for_itself_does_not_make_a_write_less_blind(self) -> None:
        async def creates(me: cb.AgentMemory) -> None:
            try:
                await me.shared.write("x", me.name, expect=cb.ABSENT)  # looks for an expired entry first
            except cb.ConflictError:
                await me.shared.write("x", f"{me.name} blindly")

        for made in every(creates, creates):
            verdict = cb.no_lost_updates(made)
            assert verdict.holds is True
            assert [note.kind for note in verdict.notes] == ["superseded"]

    def test_the_token_of_the_run_travels_with_the_verdict(self) -> None:
        made = next(made for made in every(cb.scenarios.counter, policy=cb.LastWriterWins()) if made.lost)
        verdict = cb.no_lost_updates(made)
        assert verdict.token == made.token
        again = cb.simulate(cb.scenarios.counter, policy=cb.LastWriterWins(), replay=verdict.token)
        assert str(cb.no_lost_updates(again)) == str(verdict)


class TestOnARealLog:
    """The log of a real store, on the event loop of everybody: the writers' versions are in its events."""

    @staticmethod
    async def race(policy: Any) -> tuple[int, cb.Log]:
        memory = cb.SharedMemory(cb.InMemoryStore(), policy=policy)
        await memory.agent("lead").shared.write("count", 0)

        async def counter(name: str) -> None:
            async def add_one(found: int) -> int:
                await asyncio.sleep(0)
                return found + 1

            await memory.agent(name).shared.update("count", add_one)

        await asyncio.gather(*(counter(name) for name in ("web", "docs", "synth")))
        return await memory.value("shared/count"), await memory.log()

    def test_finds_the_updates_that_were_lost(self) -> None:
        count, log = run(self.race(cb.LastWriterWins()))
        verdict = cb.no_lost_updates(log)
        assert count == 1
        assert verdict.holds is False
        assert verdict.scope == "this log"
        assert [found.operations[-1].agent for found in verdict.findings] == ["docs", "synth"]
        assert verdict.findings[0].sentence == (
            "docs read version 1 of shared/count; web then made version 2; docs wrote version 3 without having seen that, "
            "so what web wrote is lost."
        )

    def test_finds_none_where_none_were(self) -> None:
        count, log = run(self.race(cb.Optimistic()))
        assert count == 3
        assert cb.no_lost_updates(log).holds is True

    def test_agrees_with_the_log_of_a_simulation(self) -> None:
        for made in every(cb.scenarios.counter(increments=2), policy=cb.LastWriterWins()):
            told = [found.operations[-1].made for found in cb.no_lost_updates(made).findings]
            assert [found.operations[-1].made for found in cb.no_lost_updates(made.log).findings] == told

    def test_of_one_actor_only_cannot_be_judged_where_others_wrote(self) -> None:
        _, log = run(self.race(cb.LastWriterWins()))
        synth = [event for event in log if event.actor == "synth"]
        verdict = cb.no_lost_updates(synth)
        assert verdict.holds is None
        assert "is not in the history" in verdict.why

    def test_takes_any_iterable_of_events(self) -> None:
        _, log = run(self.race(cb.LastWriterWins()))
        assert len(cb.no_lost_updates(event for event in log).findings) == 2

    def test_finds_a_delete_of_what_was_not_seen(self) -> None:
        async def main() -> cb.Log:
            memory = cb.SharedMemory(cb.InMemoryStore())
            web, docs = memory.agent("web"), memory.agent("docs")
            await web.shared.write("x", "old")
            await docs.value(KEY)
            await web.shared.write("x", "new")
            await docs.shared.delete("x")
            return await memory.log()

        (found,) = cb.no_lost_updates(run(main())).findings
        assert "docs deleted it without having seen that, so what web wrote is lost." in found.sentence

    def test_of_agents_that_never_look_holds_and_says_what_was_superseded(self) -> None:
        async def main() -> cb.Log:
            memory = cb.SharedMemory(cb.InMemoryStore())
            for name in ("web", "docs", "web"):
                await memory.agent(name).shared.write("x", name)
            return await memory.log()

        verdict = cb.no_lost_updates(run(main()))
        assert verdict.holds is True
        assert len(verdict.notes) == 2

    def test_tells_when_it_happened_in_seconds_since_its_first_event(self) -> None:
        async def main() -> cb.Log:
            memory = cb.SharedMemory(cb.InMemoryStore(clock=cb.LogicalClock(step_seconds=30)))
            for number in range(3):
                await memory.agent("web").write("x", number)
            return await memory.log()

        history = History.from_log(run(main()))
        assert [op.began_at for op in history] == [0, 30, 60]
        assert [op.kind for op in history] == ["write"] * 3
        assert history.agents == ["web"]


def test_the_check_finds_what_a_slow_reading_of_its_definition_finds() -> None:
    """For every write whose writer had looked: was there a newer version, made by somebody, that it replaced?"""

    def slowly(history: History) -> list[Operation]:
        guilty = []
        for place, op in enumerate(history):
            if not op.is_write or op.agent == "given" or op.saw is None:
                continue
            for earlier in history[:place]:
                unseen = earlier.is_write and earlier.key == op.key and earlier.made is not None and earlier.made > op.saw
                if unseen and op not in guilty:
                    guilty.append(op)
        return guilty

    async def muddles(me: cb.AgentMemory) -> None:
        seen = await me.value(KEY, 0)
        await me.shared.write("x", seen + 1)
        await me.shared.update("x", lambda n: (n or 0) + 1, cb.LastWriterWins())
        await me.shared.delete("y")
        await me.shared.write("y", await me.value("shared/y", 0))
        await me.shared.append("z", me.name)

    violations = 0
    for seed in range(60):
        made = cb.simulate(muddles, muddles, muddles, seed=seed, given={"shared/y": 5})
        verdict = cb.no_lost_updates(made)
        assert [found.operations[-1] for found in verdict.findings] == slowly(made.history)
        violations += verdict.holds is False
    assert violations > 30


def test_a_history_of_thousands_of_losses_is_judged_in_linear_steps() -> None:
    told = Told().given()
    for number in range(1, 3001):
        told.write("web" if number % 2 else "docs", number - 1 if number > 1 else 1, number)

    class Counted(History):
        steps = 0

        def __iter__(self) -> Any:
            for op in super().__iter__():
                Counted.steps += 1
                yield op

    verdict = cb.no_lost_updates(Counted(told.operations))
    assert len(verdict.findings) == 2999
    assert Counted.steps < 10 * 3001


def test_operations_print_as_sentences() -> None:
    op = Operation(0, "web", "read", KEY, saw=3, began_at=90)
    assert str(op) == "t=90 s  web reads shared/x at version 3"
    assert str(replace(op, kind="write", made=4)) == "t=90 s  web writes shared/x as version 4"
    assert str(replace(op, kind="compare-and-set", ok=False, replaced=5)) == (
        "t=90 s  web compare-and-sets shared/x: refused, version 5 is there"
    )
    assert str(replace(op, kind="compare-and-set", ok=False)) == "t=90 s  web compare-and-sets shared/x: refused"
    assert str(replace(op, kind="write")) == "t=90 s  web writes shared/x"
    assert str(replace(op, kind="list", key="shared", saw=None)) == "t=90 s  web lists shared"
    assert str(replace(op, kind="think", key="", note="5 s")) == "t=90 s  web thinks 5 s"
    assert str(replace(op, kind="merge", note="newer", made=2)) == "t=90 s  web merges shared/x: newer"


def test_a_board_can_be_seen_as_it_was_at_every_operation() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        await me.shared.write("x", ["a"])
        await me.shared.append("x", "b")
        await me.shared.delete("x")

    history = cb.simulate(agent, given={KEY: "old"}).history
    seen = [{key: (cell.value, cell.version) for key, cell in history.board_at(place).items()} for place in range(-1, 4)]
    assert seen == [{}, {KEY: ("old", 1)}, {KEY: (["a"], 2)}, {KEY: (["a", "b"], 3)}, {}]
