"""Replicas: copies that tell each other of their writes, in every order of delivery."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.sim.orders import every

import commonboard as cb
from commonboard.errors import SimulationError

TWO, THREE = cb.World(replicas=2), cb.World(replicas=3)


def values(made: cb.Run, key: str = "shared/x") -> list[Any]:
    """What each replica holds at a key, as plain data."""
    found = [next((entry.value for entry in page if entry.key == key), None) for page in made.boards.values()]
    return [getattr(value, "value", value) for value in found]


def disagreements(made: cb.Run) -> list[str]:
    return [op.note for op in made.history if "disagrees" in op.note]


def merges(made: cb.Run) -> list[cb.Operation]:
    return [op for op in made.history if op.kind == "merge"]


def writer(value: Any, key: str = "x", times: int = 1) -> Any:
    async def writes(me: cb.AgentMemory) -> None:
        for _ in range(times):
            await me.shared.write(key, value)

    return writes


def adder(item: Any) -> Any:
    async def adds(me: cb.AgentMemory) -> None:
        await me.shared.update("x", lambda found: (found or []) + [item])

    return adds


async def counter(me: cb.AgentMemory) -> None:
    await me.shared.update("x", lambda found: (found or 0) + 1)


class TestLawfulPoliciesConverge:
    """Whatever the order of the deliveries, all replicas end with the same value."""

    @pytest.mark.parametrize(
        ("policy", "final"), [(cb.LastWriterWins(), "b"), (cb.FirstWriterWins(), "a")], ids=lambda each: str(each)
    )
    def test_two_writers_on_two_replicas(self, policy: Any, final: str) -> None:
        runs = list(every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=policy))
        assert len(runs) == 6
        raced = [made for made in runs if any("dropped" in op.note for op in merges(made))]
        assert {tuple(values(made)) for made in raced} == {(final, final)}  # equal stamps are told apart by the actor
        assert all(len(set(values(made))) == 1 for made in runs)
        assert all(disagreements(made) == [] for made in runs)

    @pytest.mark.parametrize(
        ("agent", "policy", "final"),
        [
            (counter, cb.Merge(cb.PNCounter), 2),
            (counter, cb.Merge(cb.GCounter), 2),
        ],
        ids=["PNCounter", "GCounter"],
    )
    def test_counters_on_two_replicas_lose_nothing(self, agent: Any, policy: Any, final: Any) -> None:
        runs = list(every(agent, agent, world=TWO, policy=policy))
        assert len(runs) == 20
        for made in runs:
            assert values(made) == [final, final]
            assert disagreements(made) == []
            assert cb.no_lost_updates(made).holds is True

    def test_a_plain_number_that_two_replicas_lift_counts_once(self) -> None:
        async def sets(me: cb.AgentMemory) -> None:
            await me.shared.write("x", 4)
            await me.shared.delete("x")
            await me.shared.write("x", 5)
            await me.think(seconds=5)
            await counter(me)

        async def adds(me: cb.AgentMemory) -> None:
            await me.think(seconds=3)
            if await me.value("shared/x") == 5:
                await counter(me)

        for made in every({"a": sets, "b": adds}, world=TWO, policy=cb.Merge(cb.PNCounter)):
            assert set(values(made)) <= {6, 7}

    def test_sets_on_two_replicas_lose_nothing_whatever_was_given(self) -> None:
        for given in ({}, {"shared/x": ["old"]}):
            for made in every({"a": adder("a"), "b": adder("b")}, world=TWO, policy=cb.Merge(cb.ORSet), given=given):
                assert values(made) == [["a", "b", *given.get("shared/x", [])]] * 2
                assert disagreements(made) == []
                assert cb.no_lost_updates(made).holds is True

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "policy", [cb.LastWriterWins(), cb.FirstWriterWins(), cb.Merge(cb.ORSet)], ids=lambda policy: policy.name
    )
    def test_three_writers_on_three_replicas(self, policy: Any) -> None:
        # Blind writes of plain lists: nine events, in all orders.
        crew = {name: writer([name]) for name in "abc"}
        count = 0
        for made in every(crew, world=THREE, policy=policy):
            count += 1
            assert len({repr(value) for value in values(made)}) == 1
            assert disagreements(made) == []
        assert count == len(set(_orders_of_three()))

    @pytest.mark.parametrize("agents", [2, 3])
    @pytest.mark.parametrize(
        "policy", [cb.LastWriterWins(), cb.FirstWriterWins(), cb.Merge(cb.PNCounter)], ids=lambda policy: policy.name
    )
    def test_many_increments_in_many_orders(self, agents: int, policy: Any) -> None:
        scenario = cb.scenarios.counter(agents=agents, increments=3)
        finals = set()
        for seed in range(40):
            made = cb.simulate(scenario, policy=policy, seed=seed, world=cb.World(replicas=agents))
            assert made.ok, made.troubles
            assert len(set(values(made, "shared/count"))) == 1
            assert disagreements(made) == []
            finals.add(values(made, "shared/count")[0])
        assert (finals == {3 * agents}) is isinstance(policy, cb.Merge)


def _orders_of_three() -> Iterator[tuple[str, ...]]:
    """All orders of three writes and their six deliveries, each delivery after its write."""

    def go_on(done: tuple[str, ...], written: str, left: frozenset[str]) -> Iterator[tuple[str, ...]]:
        if len(written) == 3 and not left:
            yield done
        for name in "abc":
            if name not in written:
                news = {name + other for other in "abc" if other != name}
                yield from go_on((*done, name), written + name, left | news)
        for message in left:
            yield from go_on((*done, message), written, left - {message})

    return go_on((), "", frozenset())


class TestWhatWasDroppedMayComeBack:
    """The second of three writes loses against the first, and the first is then written over by one who saw only it."""

    def test_so_that_all_replicas_agree_on_who_was_first_of_those_who_are_left(self) -> None:
        async def twice(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "a1")
            await me.think(seconds=10)
            await me.shared.write("x", "a2")

        async def once(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "b1")

        async def idles(me: cb.AgentMemory) -> None:
            return None

        finals, came_back = set(), 0
        for seed in range(200):
            made = cb.simulate({"a": twice, "b": once, "c": idles}, world=THREE, policy=cb.FirstWriterWins(), seed=seed)
            assert disagreements(made) == []
            assert len(set(values(made))) == 1
            finals.add(values(made)[0])
            came_back += any(op.note == "kept b's and dropped a's" and op.replica == "replica-3" for op in merges(made))
        assert finals == {"b1", "a2"}
        assert came_back > 0


class TestWhatIsKept:
    def test_optimistic_keeps_both_and_says_so(self) -> None:
        runs = list(every({"a": adder("a"), "b": adder("b")}, world=TWO, policy=cb.Optimistic()))
        apart = [made for made in runs if any(op.note == "kept both" for op in merges(made))]
        assert 0 < len(apart) < len(runs)
        for made in runs:
            assert made.unresolved == (1 if made in apart else 0)
            assert cb.no_lost_updates(made).holds is True
            assert len({repr(value) for value in values(made)}) == 1
            if made in apart:
                assert values(made) == [["b"], ["b"]]  # reads see the one with the greater stamp, or name
                assert "1 key still has more than one value" in str(made)
            else:
                assert sorted(values(made)[0]) == ["a", "b"]

    @pytest.mark.parametrize("answer", [cb.RETRY, cb.Reject("ask a person")], ids=["retry", "reject"])
    def test_retry_and_reject_keep_both(self, answer: Any) -> None:
        def policy(base: Any, mine: cb.Version, theirs: cb.Version) -> Any:
            return answer

        runs = list(every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=policy))
        assert {made.unresolved for made in runs} == {0, 1}

    def test_who_writes_over_one_of_two_siblings_has_not_seen_the_other(self) -> None:
        # a and b meet and both stay; a then writes over b's, which is what it reads. Its own first write must stay a sibling.
        async def a(me: cb.AgentMemory) -> None:
            await me.shared.update("x", lambda found: (found or []) + ["a1"])
            await me.think(seconds=10)
            await me.shared.update("x", lambda found: found + ["a2"])
            await me.shared.update("x", lambda found: found + ["a3"])

        async def b(me: cb.AgentMemory) -> None:
            await me.shared.update("x", lambda found: (found or []) + ["b1"])
            await me.think(seconds=20)

        seen = 0
        for seed in range(200):
            made = cb.simulate({"a": a, "b": b}, world=TWO, policy=cb.Optimistic(), seed=seed)
            assert disagreements(made) == []
            assert len({repr(value) for value in values(made)}) == 1
            if values(made)[0] == ["b1", "a2", "a3"] and "kept both" in [op.note for op in merges(made)]:
                seen += 1
                assert made.unresolved == 1
        assert seen > 0

    def test_a_later_write_that_saw_both_resolves_them(self) -> None:
        async def a(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "a1")
            await me.think(seconds=10)
            await me.shared.write("x", "a2")

        def first_keep_both_then_join(base: Any, mine: cb.Version, theirs: cb.Version) -> Any:
            return cb.RETRY if "a2" not in (mine.value, theirs.value) else cb.Keep(f"{mine.value}+{theirs.value}")

        notes = set()
        for made in every({"a": a, "b": writer("b1")}, world=TWO, policy=first_keep_both_then_join):
            notes |= {op.note.partition(";")[0] for op in merges(made)}
        assert {"newer", "kept both", "made of both"} <= notes


class TestABase:
    def bases(self, crew: Any, **options: Any) -> set[tuple[Any, ...]]:
        """What a policy was shown: the three values, of all orders."""
        shown = set()

        def policy(base: cb.Version | None, mine: cb.Version, theirs: cb.Version) -> Any:
            shown.add((base.value if base is not None else "nothing", *sorted((mine.value, theirs.value))))
            return max(mine, theirs, key=lambda version: version.order)

        for _ in every(crew, world=TWO, policy=policy, **options):
            pass
        return shown

    def test_is_what_was_given_to_both(self) -> None:
        assert self.bases({"a": writer("a"), "b": writer("b")}, given={"shared/x": "old"}) == {("old", "a", "b")}

    def test_is_nothing_where_there_was_nothing(self) -> None:
        assert self.bases({"a": writer("a"), "b": writer("b")}) == {("nothing", "a", "b")}

    def test_is_the_newest_write_that_both_have_seen(self) -> None:
        async def a(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "a1")
            await me.think(seconds=10)
            await me.shared.write("x", "a2")

        async def b(me: cb.AgentMemory) -> None:
            await me.think(seconds=10)
            await me.shared.write("x", "b1")

        # a1 has reached b or not; where it has, it is the base.
        assert self.bases({"a": a, "b": b}) == {("a1", "a2", "b1"), ("nothing", "a1", "b1"), ("nothing", "a2", "b1")}

    def test_is_newer_than_what_was_given_where_something_newer_has_been_seen_by_both(self) -> None:
        async def a(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "a1")
            await me.think(seconds=10)
            await me.shared.write("x", "a2")

        async def b(me: cb.AgentMemory) -> None:
            await me.think(seconds=10)
            await me.shared.write("x", "b1")

        shown = self.bases({"a": a, "b": b}, given={"shared/x": "old"})
        assert shown == {("a1", "a2", "b1"), ("old", "a1", "b1"), ("old", "a2", "b1")}

    def test_is_nothing_where_two_merges_have_crossed(self) -> None:
        def twice(name: str) -> Any:
            async def writes(me: cb.AgentMemory) -> None:
                await me.shared.write("x", f"{name}1")
                await me.think(seconds=10)
                await me.shared.write("x", f"{name}2")

            return writes

        shown = self.bases({"a": twice("a"), "b": twice("b")}, given={"shared/x": "old"})
        assert ("old", "a2", "b2") in shown  # nothing has been exchanged
        assert ("a1", "a2", "b2") in shown  # b has seen a1, and not the other way round
        assert ("nothing", "a2", "b2") in shown  # each has seen the other's first, and there is no telling which is newer

    def test_of_a_three_way_merge_makes_all_changes_count_once(self) -> None:
        def add_up(base: int, mine: int, theirs: int) -> int:
            return mine + theirs - base

        for made in every(counter, counter, world=TWO, policy=cb.ThreeWay(add_up), given={"shared/x": 100}):
            assert values(made) == [102, 102]
            assert cb.no_lost_updates(made).holds is True

    def test_is_asked_for_and_missing_so_a_three_way_merge_keeps_both(self) -> None:
        def add_up(base: int, mine: int, theirs: int) -> int:
            return mine + theirs - base

        runs = list(every({"a": writer(1), "b": writer(2)}, world=TWO, policy=cb.ThreeWay(add_up)))
        assert {made.unresolved for made in runs} == {0, 1}


class TestWhatPolicyIsNotLawful:
    @staticmethod
    def keep_mine(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Version:
        return mine

    @staticmethod
    def join_in_order(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Keep:
        return cb.Keep(mine.value + theirs.value)

    @pytest.mark.parametrize("name", ["keep_mine", "join_in_order"])
    def test_one_that_depends_on_the_side_is_caught_when_the_second_replica_has_seen_the_same(self, name: str) -> None:
        runs = list(every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=getattr(self, name)))
        apart = [made for made in runs if len(set(values(made))) > 1]
        assert 0 < len(apart) < len(runs)
        for made in runs:
            assert bool(disagreements(made)) is (made in apart)
        (told,) = disagreements(apart[0])
        assert re.search("; disagrees with replica-[12], which has seen the same writes$", told)
        assert merges(apart[0])[-1].note == told

    def test_no_divergence_of_any_function_goes_unnoticed(self) -> None:
        functions: list[Callable[..., Any]] = [
            self.keep_mine,
            lambda base, mine, theirs: theirs,
            lambda base, mine, theirs: cb.RETRY if base is None else mine,
            lambda base, mine, theirs: cb.Keep(len(str(mine.value)) + 2 * len(str(theirs.value))),
        ]
        diverged = 0
        for number, seed in itertools.product(range(len(functions)), range(15)):
            made = cb.simulate(cb.scenarios.counter(agents=3, increments=2), policy=functions[number], seed=seed, world=THREE)
            apart = len(set(map(repr, values(made, "shared/count")))) > 1
            diverged += apart
            assert not apart or disagreements(made), (number, seed)
        assert diverged > 3

    def test_a_policy_that_waits_cannot_settle_what_nobody_waits_for(self) -> None:
        async def slow(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Version:
            await asyncio.sleep(1)
            return mine

        with pytest.raises(SimulationError, match="the policy's resolve waited"):
            list(every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=slow))

    def test_an_answer_that_is_none_is_refused(self) -> None:
        with pytest.raises(cb.CommonboardError, match="answered 'newest'"):
            list(every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=lambda base, mine, theirs: "newest"))


class TestAResolution:
    def test_makes_no_event_and_is_no_write(self) -> None:
        for made in every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=cb.LastWriterWins()):
            assert [(event.actor, event.operation) for event in made.log] != []
            assert sorted(str(event.actor) for event in made.log) == ["a", "b"]
            assert len(made.history.writes()) == 2
            assert len(merges(made)) == 2

    def test_names_its_write_its_source_and_what_it_drops(self) -> None:
        dropped = set()
        for made in every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=cb.LastWriterWins()):
            dots = {op.agent: op.dot for op in made.history.writes()}
            assert dots == {"a": "replica-1:1", "b": "replica-2:1"}
            for op in merges(made):
                assert op.dot is not None
                assert op.source == op.dot.partition(":")[0] != op.replica == op.agent
                if op.dropped:
                    assert op.note == "kept b's and dropped a's"
                dropped |= {op.dropped}
        assert dropped == {(), ("replica-1:1",)}

    def test_that_leaves_a_board_as_it_was_makes_no_version(self) -> None:
        for made in every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=cb.LastWriterWins()):
            for name in made.history.replicas:
                for before, op in enumerate(made.history):
                    if op.kind != "merge" or op.replica != name:
                        continue
                    earlier = made.history.board_at(before - 1, name).get("shared/x")
                    after = made.history.board_at(before, name)["shared/x"]
                    changed = earlier is None or earlier.value != after.value
                    assert (op.made is not None) is changed

    def test_that_leaves_a_board_as_it_was_refuses_nobody(self) -> None:
        # b's write reaches replica 1 and loses against what a wrote: nothing there has changed under a's second write.
        async def first(me: cb.AgentMemory) -> None:
            entry = await me.shared.write("x", "first")
            await me.think(seconds=10)
            await me.shared.write("x", "again", expect=entry.version)

        def keep_first(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Version:
            return min(mine, theirs, key=lambda version: version.order)

        runs = [
            made
            for made in every({"a": first, "b": writer("b")}, world=TWO, policy=keep_first)
            if any(op.replica == "replica-1" and "kept a's" in op.note for op in merges(made))
        ]
        assert runs
        assert all(made.retries == 0 for made in runs)

    def test_of_a_plain_text_made_of_two_lists_reads_back(self) -> None:
        def told(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Keep:
            return cb.Keep("two lists")

        finals = {tuple(map(repr, values(made))) for made in every({"a": adder("a"), "b": adder("b")}, world=TWO, policy=told)}
        assert ("'two lists'", "'two lists'") in finals

    def test_of_a_delete_and_a_write_is_the_policy_s(self) -> None:
        async def deletes(me: cb.AgentMemory) -> None:
            await me.shared.delete("x")

        kept = set()
        for made in every({"a": deletes, "b": writer("new")}, world=TWO, policy=cb.LastWriterWins(), given={"shared/x": "old"}):
            assert len(set(values(made))) == 1
            assert disagreements(made) == []
            kept.add(values(made)[0])
        assert kept == {"new", None}  # the delete after the write had come, or before and lost, or the write after the delete
        gone = set()
        for made in every({"a": writer("new"), "b": deletes}, world=TWO, policy=cb.LastWriterWins(), given={"shared/x": "old"}):
            assert len(set(values(made))) == 1
            gone.add(values(made)[0])
        assert gone == {"new", None}

    def test_of_a_deleted_key_travels(self) -> None:
        async def deletes(me: cb.AgentMemory) -> None:
            await me.shared.delete("x")

        async def idles(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)

        for made in every({"a": deletes, "b": idles}, world=TWO, given={"shared/x": "old"}):
            assert values(made) == [None, None]
            assert [(op.note, op.text, op.made) for op in merges(made)] == [("newer", None, 2)]


class TestWhatTheCheckFinds:
    def test_each_dropped_write_once_and_only_those(self) -> None:
        for made in every({"a": writer("a"), "b": writer("b")}, world=TWO, policy=cb.LastWriterWins()):
            verdict = cb.no_lost_updates(made)
            dropped = any("dropped" in op.note for op in merges(made))
            assert len(verdict.findings) == dropped
            if dropped:
                (found,) = verdict.findings
                assert found.sentence.startswith(
                    "a wrote shared/x on replica-1 while another wrote it elsewhere; when the two met on "
                )
                assert found.sentence.endswith("the policy kept b's and dropped a's, so what a wrote is lost.")
                assert found.operations[0].agent == "a"

    def test_an_arrival_that_was_overwritten_unseen(self) -> None:
        async def slow(me: cb.AgentMemory) -> None:
            found = await me.value("shared/x")
            await me.shared.write("x", f"{found}+a")

        found = 0
        for made in every({"a": slow, "b": writer("b")}, world=TWO, policy=cb.LastWriterWins(), given={"shared/x": "old"}):
            for each in cb.no_lost_updates(made).findings:
                if each.operations[-1].kind == "write":
                    found += 1
                    assert each.sentence == (
                        "a read version 1 of shared/x; b then made version 2; a wrote version 3 without having seen that, "
                        "so what b wrote is lost."
                    )
        assert found == 2

    def test_no_wrong_name_after_a_delivery_of_nothing_new(self) -> None:
        # Stale news of b's first write must not take the blame for version numbers that c made.
        for seed in range(60):
            made = cb.simulate(cb.scenarios.counter(agents=4, increments=2), policy=cb.LastWriterWins(), seed=seed, world=TWO)
            by_dot = {op.dot: op.agent for op in made.history.writes() if op.dot}
            for found in cb.no_lost_updates(made).findings:
                guilty = found.operations[-1]
                if guilty.kind == "merge":
                    continue
                for victim in found.operations[:-1]:
                    if victim.kind == "merge":
                        assert victim.made is not None
                        assert victim.note != "nothing new"
                        assert by_dot[victim.dot] in found.sentence

    def test_nothing_where_everything_is_merged(self) -> None:
        for seed in range(30):
            made = cb.simulate(
                cb.scenarios.counter(agents=3, increments=2),
                policy=cb.Merge(cb.PNCounter),
                seed=seed,
                world=THREE,
            )
            assert cb.no_lost_updates(made).holds is True
            assert made.lost == []


def test_what_was_written_by_one_who_had_seen_a_value_outranks_all_that_it_outranked() -> None:
    async def thrice(me: cb.AgentMemory) -> None:
        for number in range(3):
            await me.shared.write("x", f"b{number}")

    async def once(me: cb.AgentMemory) -> None:
        await me.shared.write("x", "c")

    async def last(me: cb.AgentMemory) -> bool:
        await me.think(seconds=10)
        sees = await me.value("shared/x") == "b2"
        if sees:
            await me.shared.write("x", "a")
        return sees

    told = 0
    for seed in range(150):
        made = cb.simulate({"a": last, "b": thrice, "c": once}, policy=cb.LastWriterWins(), seed=seed, world=THREE)
        early = next(op.agent for op in made.history if op.agent in ("c", "replica-3")) == "c"
        if made.results["a"] and early:
            told += 1
            assert values(made) == ["a"] * 3
    assert told > 20


def test_agents_are_given_to_the_replicas_in_turn() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        await me.write("x", 1)

    made = cb.simulate(dict.fromkeys("abcde", agent), world=TWO)
    homes = {op.agent: op.replica for op in made.history if op.kind == "write"}
    assert homes == {"a": "replica-1", "b": "replica-2", "c": "replica-1", "d": "replica-2", "e": "replica-1"}
    assert made.history.replicas == list(made.boards) == ["replica-1", "replica-2"]
    assert all(len(page) == 5 for page in made.boards.values())
    assert made.board == made.boards["replica-1"]


def test_a_world_of_one_replica_is_one_store() -> None:
    alone = cb.simulate(cb.scenarios.counter, seed=4, world=cb.World(replicas=1))
    assert str(alone.history) == str(cb.simulate(cb.scenarios.counter, seed=4).history)
    assert (alone.boards, alone.history.replicas, alone.unresolved) == ({}, [], 0)


def test_more_replicas_than_agents_hear_of_everything() -> None:
    made = cb.simulate({"a": writer("a", times=3)}, world=cb.World(replicas=4))
    assert values(made) == ["a"] * 4
    assert len(merges(made)) == 9


def test_an_agent_reads_only_what_has_reached_its_replica() -> None:
    async def reads(me: cb.AgentMemory) -> Any:
        return await me.value("shared/x")

    seen = {made.results["b"] for made in every({"a": writer("new"), "b": reads}, world=TWO, given={"shared/x": "old"})}
    assert seen == {"old", "new"}


class TestWhatNobodyCanSay:
    @staticmethod
    async def adds(me: cb.AgentMemory) -> None:
        await me.shared.update("x", lambda found: (found or []) + [me.name])

    def test_a_merge_that_keeps_both_in_another_order_on_each_replica_is_no_pass(self) -> None:
        def in_a_row(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Keep:
            return cb.Keep(mine.value + theirs.value)

        run = cb.simulate({"a": self.adds, "b": self.adds}, policy=in_a_row, world=TWO, seed=None)
        verdict = cb.no_lost_updates(run)
        assert verdict.holds is None
        assert "disagrees with replica-2" in verdict.why

    def test_an_error_of_the_policy_says_where_replicas_met_and_how_to_see_it_again(self) -> None:
        def broken(base: Any, mine: cb.Version, theirs: cb.Version) -> cb.Version:
            raise KeyError("no such thing")

        with pytest.raises(KeyError) as caught:
            cb.simulate({"a": self.adds, "b": self.adds}, policy=broken, world=TWO, seed=None)
        (note,) = caught.value.__notes__
        assert "deliver replica-1:1 shared/x to replica-2" in note
        assert "replay='cb1-" in note
