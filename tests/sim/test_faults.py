"""What may go wrong between replicas and with agents: every kind of fault, in every order of small programs."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.sim.orders import every

import commonboard as cb
from commonboard.errors import InvalidArgumentError, OutcomeUnknownError, SimulationError
from commonboard.history import WRITES
from commonboard.policies import Optimistic
from commonboard.sim.asks import Commit, Look
from commonboard.sim.driver import TIME_PASSES
from commonboard.sim.faults import AgentCrash, Crash, Drop, Duplicate, Heal, Message, Partition
from commonboard.sim.network import Network, Way, first_world
from commonboard.sim.store import EPOCH

LAWFUL: list[Any] = [cb.LastWriterWins(), cb.FirstWriterWins(), cb.Optimistic(), cb.Merge(cb.ORSet)]
FAULTS: dict[str, dict[str, Any]] = {
    "drop": {"drops": 1},
    "duplicate": {"duplicates": 1},
    "partition": {"partitions": 1},
    "one-way partition": {"partitions": 1, "one_way": True},
    "durable crash": {"crashes": 1},
    "forgetful crash": {"crashes": 1, "durable": False},
    "agent crash": {"agent_crashes": 1},
    "lost answer": {"lost_answers": 1},
    "clock skew": {"clock_skew": {"replica-2": -5}},
    "eventual": {"visibility": "eventual"},
    "strong": {"visibility": "strong", "partitions": 1},
    "in order": {"reorder": False, "duplicates": 1},
    "latency": {"latency": 2.5},
    "everything": {
        "visibility": "eventual",
        "drops": 1,
        "duplicates": 1,
        "partitions": 1,
        "crashes": 1,
        "durable": False,
        "agent_crashes": 1,
        "lost_answers": 1,
        "clock_skew": {"replica-1": 3},
    },
}


EFFECTS: dict[str, tuple[str, str]] = {
    "partition": ("partition", "1 message held up"),
    "one-way partition": ("partition", "1 message held up"),
    "durable crash": ("crash", "1 message lost"),
    "forgetful crash": ("crash", "1 value forgotten"),
    "agent crash": ("agent crash", "1 operation before it, all to be done again"),
}


def world(name: str, replicas: int = 2) -> cb.World:
    return cb.World(replicas=replicas, **FAULTS[name])


def writer(value: Any, key: str = "x") -> Any:
    async def writes(me: cb.AgentMemory) -> None:
        await me.shared.write(key, value)

    return writes


def adder(item: Any) -> Any:
    async def adds(me: cb.AgentMemory) -> None:
        for attempt in range(2):
            try:
                await me.shared.update("x", lambda found, new=f"{item}{attempt}": sorted({*(found or []), new}))
            except (OutcomeUnknownError, cb.ConflictError):
                await me.think(seconds=1)

    return adds


def values(made: cb.Run, key: str = "shared/x") -> list[Any]:
    found = [next((entry.value for entry in page if entry.key == key), None) for page in made.boards.values()]
    return [getattr(value, "value", value) for value in found]


def of_kind(made: cb.Run, kind: str) -> list[Any]:
    return [fault for fault in made.faults if fault.kind == kind]


class TestAWorld:
    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"replicas": 0}, "replicas must be a whole number of at least 1"),
            ({"replicas": 2, "drops": -1}, "drops must be a whole number of at least 0"),
            ({"replicas": 2, "crashes": True}, "crashes must be a whole number"),
            ({"lost_answers": 1.0}, "lost_answers must be a whole number"),
            ({"replicas": 2, "visibility": "causal"}, "visibility is 'sticky', 'eventual' or 'strong'"),
            ({"replicas": 2, "latency": -1}, "latency is a number"),
            ({"replicas": 2, "latency": float("inf")}, "latency is a number"),
            ({"replicas": 2, "reorder": 0}, "reorder is True or False"),
            ({"replicas": 2, "one_way": True}, "allow one with partitions=1"),
            ({"replicas": 2, "durable": False}, "allow one with crashes=1"),
            ({"replicas": 2, "clock_skew": {"replica-3": 1}}, "clock_skew names 'replica-3'"),
            ({"replicas": 2, "clock_skew": {"replica-1": 1.5}}, "the skew of replica-1 is a whole number"),
            ({"replicas": 2, "clock_skew": -5}, "clock_skew takes a dict"),
        ],
    )
    def test_says_what_is_wrong_with_it(self, options: Any, told: str) -> None:
        with pytest.raises(InvalidArgumentError, match=told):
            cb.World(**options)

    @pytest.mark.parametrize("name", ["drops", "duplicates", "partitions", "crashes"])
    def test_of_one_store_has_nothing_between_replicas(self, name: str) -> None:
        with pytest.raises(InvalidArgumentError, match=f"{name}= is about what happens between replicas"):
            cb.World(**{name: 1})
        for other in ({"visibility": "strong"}, {"reorder": False}, {"latency": 1.0}, {"clock_skew": {}}):
            with pytest.raises(InvalidArgumentError, match="between replicas"):
                cb.World(**other)  # type: ignore[arg-type]

    def test_prints_what_may_happen(self) -> None:
        assert repr(cb.World(2, partitions=1)) == "World(replicas=2, partitions=1)"
        assert str(cb.World(agent_crashes=2)) == "one store; at most 2 agent crashes"
        assert str(world("everything")) == (
            "2 replicas, eventual; messages may overtake each other; at most 1 drop, 1 duplicate, 1 partition, 1 crash that "
            "forgets, 1 agent crash, 1 lost answer; stamps by clocks: that of replica-1 is 3 ahead"
        )

    def test_offers_nothing_that_it_does_not_allow(self) -> None:
        for made in every({"a": writer(1), "b": writer(2)}, world=cb.World(replicas=2), policy=cb.LastWriterWins()):
            assert made.faults == []
            assert all(label.startswith(("deliver ", "a writes ", "b writes ")) for label in made.choices.labels)

    def test_a_seed_with_all_of_them_finds_each_kind(self) -> None:
        kinds = Counter[str]()
        for seed in range(60):
            made = cb.simulate(
                {"a": adder("a"), "b": adder("b")}, world=world("everything"), policy=cb.Merge(cb.ORSet), seed=seed
            )
            kinds.update(fault.kind for fault in made.faults)
            for fault in made.faults:
                assert made.history[fault.index].kind == "fault"
                assert made.history[fault.index].note == fault.what
                assert str(fault) in str(made)
        assert set(kinds) == {"drop", "duplicate", "partition", "crash", "agent crash", "lost answer", "clock skew"}
        assert max(kinds.values()) <= 60


class TestEachFault:
    """A run in which it touches something, and one in which it does not."""

    @pytest.mark.parametrize("name", list(EFFECTS))
    def test_touches_something_or_nothing_and_then_no_check_passes(self, name: str) -> None:
        kind, effect = EFFECTS[name]

        async def twice(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "a1")
            await me.write("y", "a2")

        async def idles(me: cb.AgentMemory) -> None:
            await me.read("shared/x")

        effects = Counter[str]()
        for made in every({"a": twice, "b": idles}, world=world(name), policy=cb.LastWriterWins()):
            for fault in of_kind(made, kind):
                effects[fault.effect] += 1
                touched = fault.effect != "touched nothing"
                assert fault.touched == touched or fault.touched > 1
                verdict = cb.no_lost_updates(made)
                assert verdict.holds is (True if touched else None)
                assert touched or str(fault) in verdict.why
        assert effects["touched nothing"] > 0
        assert any(effect in told for told in effects), effects

    @pytest.mark.parametrize(
        ("name", "kind", "effect"),
        [
            ("drop", "drop", "1 message lost"),
            ("duplicate", "duplicate", "1 message sent twice"),
            ("lost answer", "lost answer", "1 operation not answered"),
        ],
    )
    def test_of_these_always_touches_something(self, name: str, kind: str, effect: str) -> None:
        counts = Counter[int]()
        for made in every({"a": adder("a")}, world=world(name), policy=cb.Optimistic()):
            counts[len(of_kind(made, kind))] += 1
            assert all(fault.effect == effect for fault in made.faults)
        assert counts[0] > 0
        assert counts[1] > 0

    def test_a_skewed_clock_touches_what_it_stamps(self) -> None:
        reads = cb.simulate({"a": writer(1), "b": lambda me: me.value("shared/x")}, world=world("clock skew"))
        writes = cb.simulate({"a": writer(1), "b": writer(2)}, world=world("clock skew"))
        assert [fault.effect for fault in reads.faults] == ["touched nothing"]
        assert [fault.effect for fault in writes.faults] == ["1 operation stamped"]
        assert writes.faults[0].what == "the clock of replica-2 is 5 behind"

    def test_a_message_that_is_dropped_arrives_only_at_the_end(self) -> None:
        async def waits(me: cb.AgentMemory) -> Any:
            await me.think(seconds=100)
            return await me.value("shared/x")

        seen = set()
        for made in every({"a": writer(1), "b": waits}, world=world("drop")):
            seen.add((bool(made.faults), made.results["b"]))
            assert values(made) == [1, 1]  # by the round of anti-entropy
        assert seen == {(False, 1), (False, None), (True, None)}

    def test_a_message_that_is_duplicated_arrives_twice_and_changes_nothing(self) -> None:
        for made in every({"a": adder("a"), "b": adder("b")}, world=world("in order"), policy=cb.Merge(cb.ORSet), timing="exact"):
            dots = Counter((op.dot, op.replica) for op in made.history if op.kind == "merge")
            assert sum(count == 2 for count in dots.values()) == len(made.faults)
            assert values(made) == [["a0", "a1", "b0", "b1"]] * 2
            if len(made.choices) > 12:
                break

    def test_the_other_messages_of_a_crashed_replica_are_lost(self) -> None:
        lost = set()
        for made in every({"a": writer(1), "b": writer(2, "y")}, world=world("durable crash"), policy=cb.LastWriterWins()):
            assert values(made) == [1, 1]
            assert values(made, "shared/y") == [2, 2]
            lost |= {fault.messages for fault in made.faults}
        assert lost == {0, 1, 2}

    def test_what_was_not_durable_is_gone_unless_it_had_arrived_elsewhere(self) -> None:
        ends = Counter[Any]()
        for made in every({"a": writer("new"), "b": writer(2, "y")}, world=world("forgetful crash"), given={"shared/x": "old"}):
            forgotten = [op for op in made.history if op.fault == "forgotten" and op.key == "shared/x"]
            arrived = any(op.kind == "merge" and op.key == "shared/x" and op.note != "nothing new" for op in made.history)
            assert len(set(values(made))) == 1
            ends[values(made)[0], bool(forgotten), arrived] += 1
            for op in forgotten:
                before = made.history.board_at(op.index - 1, op.replica)["shared/x"]
                after = made.history.board_at(op.index, op.replica)["shared/x"]
                assert (before.value, after.value) == ("new", "old")
                assert after.version == before.version + 1  # no version is used twice
        assert ends["old", True, False] > 0
        assert ends["new", True, True] > 0
        assert ("old", False, False) not in ends


class TestOneWay:
    def test_only_one_direction_is_stopped(self) -> None:
        passed = set()
        for made in every({"a": writer(1), "b": writer(2, "y")}, world=world("one-way partition")):
            cut = next((op for op in made.history if op.fault == "partition"), None)
            if cut is None:
                continue
            heal = next(op for op in made.history if op.fault == "heal")
            during = [op for op in made.history[cut.index : heal.index] if op.kind == "merge"]
            assert all(op.source != cut.agent for op in during)
            passed |= {op.source for op in during}
        assert passed == {"replica-1", "replica-2"}

    def test_of_three_replicas_each_may_lose_either_direction(self) -> None:
        labels = {choice.label for choice in Network(world("one-way partition", 3), Optimistic(), ["a"]).choices()}
        assert labels == {f"nothing {verb} replica-{n}" for verb in ("leaves", "reaches") for n in (1, 2, 3)}


class TestVisibility:
    @staticmethod
    async def writes_and_reads(me: cb.AgentMemory) -> Any:
        await me.shared.write("x", "mine")
        return await me.value("shared/x")

    @pytest.mark.parametrize(("visibility", "broken"), [("sticky", False), ("eventual", True), ("strong", False)])
    def test_read_your_writes_is_broken_where_any_replica_may_answer(self, visibility: Any, broken: bool) -> None:
        crew = {"a": self.writes_and_reads}
        seen = {made.results["a"] for made in every(crew, world=cb.World(replicas=2, visibility=visibility))}
        assert seen == ({"mine", None} if broken else {"mine"})

    def test_strong_is_one_copy_and_waits_while_it_cannot_be_reached(self) -> None:
        waited = set()
        for made in every({"a": writer(1), "b": self.writes_and_reads}, world=world("strong")):
            mine = [op for op in made.history if op.agent in ("a", "b")]
            assert {op.replica for op in mine} == {"replica-1"}
            cut = next((op for op in made.history if op.fault == "partition"), None)
            if cut is not None:
                heal = next(op for op in made.history if op.fault == "heal")
                assert not any(op.agent == "b" and cut.index < op.index < heal.index for op in made.history)
                waited |= {fault.operations for fault in made.faults}
        assert waited == {0, 1}

    def test_eventual_reaches_no_replica_beyond_a_partition(self) -> None:
        crew = {"a": self.writes_and_reads}
        for made in every(crew, world=cb.World(replicas=2, visibility="eventual", partitions=1)):
            cut = next((op.index for op in made.history if op.fault == "partition"), 99)
            heal = next((op.index for op in made.history if op.fault == "heal"), 99)
            assert all(op.replica == "replica-1" for op in made.history if op.agent == "a" and cut < op.index < heal)

    def test_a_version_read_at_one_replica_is_refused_at_another_that_has_something_newer(self) -> None:
        async def careful(me: cb.AgentMemory) -> str:
            entry = await me.read("shared/x")
            assert entry is not None
            await me.shared.write("x", "mine", expect=entry.version)
            return str(entry.value)

        ends = Counter[Any]()
        for made in every(
            {"a": careful, "b": writer("theirs")}, world=cb.World(replicas=2, visibility="eventual"), given={"shared/x": "old"}
        ):
            read = next(op for op in made.history if op.agent == "a" and op.kind == "read")
            try_ = next(op for op in made.history if op.agent == "a" and op.kind == "compare-and-set")
            there = made.history.board_at(try_.index - 1, try_.replica)["shared/x"].value
            # What is behind what the agent saw holds nothing that it has not seen.
            assert try_.ok is not (read.value == "old" and there == "theirs")
            ends[read.replica == try_.replica, try_.ok, there == read.value] += 1
            if try_.ok and read.value == "theirs":
                assert values(made) == ["mine", "mine"]  # it rests on what was read, wherever it is written
                assert made.unresolved == 0
        assert (False, True, False) in ends
        assert {key[:2] for key in ends} == set(itertools.product((True, False), (True, False)))

    def test_what_an_agent_saw_elsewhere_counts_as_seen(self) -> None:
        async def looks(me: cb.AgentMemory) -> None:
            await me.value("shared/x")
            await me.shared.write("x", "a")

        found = Counter[Any]()
        crew = {"a": looks, "b": writer("b")}
        for made in every(crew, world=cb.World(replicas=2, visibility="eventual"), policy=cb.LastWriterWins()):
            read = next(op for op in made.history if op.kind == "read")
            write = next(op for op in made.history if op.agent == "a" and op.kind == "write")
            there = made.history.board_at(write.index - 1, write.replica).get("shared/x")
            unseen = there is not None and read.text is None
            assert (write.saw is not None and write.replaced is not None and write.saw < write.replaced) is unseen
            found[unseen, read.replica == write.replica] += 1
        assert len(found) == 4

    def test_a_set_loses_nothing_although_each_update_may_find_another_state(self) -> None:
        async def adds(me: cb.AgentMemory) -> None:
            for item in ("1", "2"):
                await me.shared.update("x", lambda found, item=item: [*(found or []), item])

        for made in every({"a": adds}, world=cb.World(replicas=2, visibility="eventual"), policy=cb.Merge(cb.ORSet)):
            assert values(made) == [["1", "2"]] * 2


class TestMessages:
    def test_in_order_none_overtakes_another(self) -> None:
        async def twice(me: cb.AgentMemory) -> None:
            await me.shared.write("x", 1)
            await me.shared.write("y", 2)

        def orders(reorder: bool) -> set[tuple[Any, ...]]:
            runs = every({"a": twice}, world=cb.World(replicas=2, reorder=reorder))
            return {tuple(op.dot for op in made.history if op.kind == "merge") for made in runs}

        assert orders(True) == {("replica-1:1", "replica-1:2"), ("replica-1:2", "replica-1:1")}
        assert orders(False) == {("replica-1:1", "replica-1:2")}

    def test_take_their_time_where_time_is_exact(self) -> None:
        async def reads(me: cb.AgentMemory) -> list[Any]:
            found = []
            for _ in range(5):
                found.append(await me.value("shared/x"))
                await me.think(seconds=1)
            return found

        for made in every({"a": writer(1), "b": reads}, world=world("latency")):
            assert made.results["b"][:3] == [None] * 3
            (merge,) = (op for op in made.history if op.kind == "merge")
            assert merge.ended_at >= 2.5
        assert TIME_PASSES.label == "time passes"

    def test_where_time_is_free_only_the_record_tells_how_long_they_took(self) -> None:
        for made in every({"a": writer(1), "b": lambda me: me.value("shared/x")}, world=world("latency"), timing="free"):
            (merge,) = (op for op in made.history if op.kind == "merge")
            assert merge.ended_at == 2.5

    def test_a_skewed_clock_wins_or_loses_whatever_came_last(self) -> None:
        async def late(me: cb.AgentMemory) -> None:
            await me.think(seconds=10)
            await me.shared.write("x", "late")

        def finals(skew: int) -> set[Any]:
            crew = {"a": writer("early"), "b": late}
            runs = every(crew, world=cb.World(replicas=2, drops=1, clock_skew={"replica-2": skew}), policy=cb.LastWriterWins())
            return {values(made)[0] for made in runs if of_kind(made, "drop") and made.history.writes()[-1].agent == "b"}

        assert finals(-5) == {"early", "late"}  # late, where it had seen the early one, or was itself dropped after it
        assert finals(+5) == {"late"}


class TestAgents:
    def test_that_crash_clean_nothing_up_and_begin_anew(self) -> None:
        tidied: list[str] = []

        async def agent(me: cb.AgentMemory) -> str:
            try:
                await me.shared.append("log", me.replica)
                await me.think(seconds=5)
            finally:
                tidied.append(me.replica)
            return me.replica

        ends = Counter[Any]()
        for made in every({"a": agent}, world=cb.World(agent_crashes=1)):
            assert made.ok
            ends[made.results["a"], tuple(made.value("shared/log")), tuple(tidied)] += 1
            tidied.clear()
        # What a crashed life would clean up happens when the run is over, and never before.
        assert set(ends) == {
            ("a~1", ("a~1",), ("a~1",)),
            ("a~2", ("a~2",), ("a~2", "a~1")),
            ("a~2", ("a~1", "a~2"), ("a~2", "a~1")),
        }

    def test_that_crash_are_not_woken_by_what_others_do(self) -> None:
        event: list[asyncio.Event] = []
        woken: list[str] = []

        async def sleeper(me: cb.AgentMemory) -> None:
            if not event:
                event.append(asyncio.Event())
            await me.read("shared/x")
            await asyncio.wait_for(event[0].wait(), timeout=1000)
            woken.append(me.replica)

        async def waker(me: cb.AgentMemory) -> None:
            await me.think(seconds=5)
            event[0].set()

        lives = set()
        for made in every({"a": sleeper, "b": waker}, world=cb.World(agent_crashes=1)):
            lives.add(tuple(woken))
            assert made.ok
            event.clear()
            woken.clear()
        assert lives == {("a~1",), ("a~2",)}

    def test_that_crash_start_with_new_names_for_their_changes(self) -> None:
        async def adds(me: cb.AgentMemory) -> None:
            await me.shared.update("x", lambda found: (found or 0) + 1)
            await me.shared.update("x", lambda found: (found or 0) + 1)

        finals = set()
        for made in every({"a": adds}, world=cb.World(agent_crashes=1), policy=cb.Merge(cb.GCounter)):
            finals.add(values_of_one(made))
            assert values_of_one(made) == len(made.history.writes())  # nothing is counted under a name of before
        assert finals == {2, 3}

    def test_that_get_no_answer_may_write_twice(self) -> None:
        async def retries(me: cb.AgentMemory) -> None:
            for _ in range(2):
                try:
                    await me.shared.update("x", lambda n: (n or 0) + 1)
                    break
                except OutcomeUnknownError as error:
                    told_of.append((error.key, "nobody knows whether it happened" in str(error)))

        told_of: list[Any] = []
        finals = Counter[int]()
        for made in every({"a": retries}, world=cb.World(lost_answers=1)):
            finals[values_of_one(made)] += 1
            told = [op.acknowledged for op in made.history if op.kind in ("write", "compare-and-set")]
            assert told == ([False, True] if made.faults else [True])
            assert len(made.log) == len(told)
        assert finals == {1: 1, 2: 1}
        assert told_of == [("shared/x", True)]

    def test_a_connection_that_breaks_is_what_a_lost_answer_looks_like(self) -> None:
        assert issubclass(OutcomeUnknownError, ConnectionError)
        with pytest.raises(SimulationError, match="answers by itself"):
            cb.simulate({"a": writer(1)}, world=cb.World(lost_answers=1), store=Five)


class Five:
    """Anybody's store."""

    def __init__(self) -> None:
        self.kept: dict[str, cb.MemoryEntry] = {}

    async def get(self, key: str) -> cb.MemoryEntry | None:
        return self.kept.get(key)

    async def set(self, key: str, value: str, metadata: Any = None) -> None:
        self.kept[key] = cb.MemoryEntry(key, value, metadata or {})

    async def list(self) -> list[cb.MemoryEntry]:
        return list(self.kept.values())

    async def delete(self, key: str) -> None:
        self.kept.pop(key, None)

    async def clear(self) -> None:
        self.kept.clear()


def values_of_one(made: cb.Run) -> int:
    value = made.value("shared/x")
    return int(getattr(value, "value", value))


class TestQuiet:
    """After one round of anti-entropy, a second one changes nothing, and all replicas hold the same."""

    @pytest.mark.parametrize("name", list(FAULTS))
    def test_for_lawful_policies_under_every_fault(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        rounds: list[int] = []
        finish = Network.finish

        def and_again(network: Network, now: Any) -> Any:
            records = finish(network, now)
            rounds.append(len(network.anti_entropy(now)))
            return records

        monkeypatch.setattr(Network, "finish", and_again)
        dots = 0
        for policy, replicas, seed in itertools.product(LAWFUL, (2, 3), range(8)):
            crew = {name: adder(name) for name in "abc"}
            made = cb.simulate(crew, world=world(name, replicas), policy=policy, seed=seed)
            assert made.ok, made.troubles
            assert rounds.pop() == 0
            assert not any("disagrees" in op.note for op in made.history), made
            assert len({repr(sorted(copy.items())) for copy in made.copies.values()}) == 1
            written = [op.dot for op in made.history.writes() if op.dot]
            assert len(written) == len(set(written))
            dots += len(written)
        assert dots > 100

    def test_a_replica_names_nothing_as_before_its_crash(self) -> None:
        async def twice(me: cb.AgentMemory) -> None:
            await me.shared.write("x", 1)
            await me.shared.write("x", 2)

        dots = set[tuple[str | None, ...]]()
        for made in every({"a": twice}, world=world("forgetful crash"), policy=cb.LastWriterWins()):
            dots.add(tuple(op.dot for op in made.history.writes()))
            assert values(made)[0] == values(made)[1]
        assert dots == {
            ("replica-1:1", "replica-1:2"),
            ("replica-1:1", "replica-1~2:1"),
            ("replica-1~2:1", "replica-1~2:2"),
        }


class TestPlainData:
    """The world as a search uses it."""

    KEYS = ("shared/x", "shared/y")

    def start(self, name: str) -> Network:
        return first_world(world(name, 3), cb.LastWriterWins(), ["a", "b"], {"shared/x": "old"}, EPOCH)

    def steps(self, network: Network, counts: tuple[int, int]) -> list[Any]:
        """All that can happen: agents write numbers, by how often each has done so."""
        found: list[Any] = []
        for place, count in enumerate(counts):
            if count < 2:
                ask = self.ask(place, count)
                found += [(place, way, ask) for way in network.ways(place, ask)]
        return found + network.choices(over=not any(count < 2 for count in counts))

    def ask(self, place: int, count: int) -> Any:
        if count == 1 and place == 0:
            return Look("shared/x")
        text = f"{'ab'[place]}{count}"
        return Commit((cb.Write(self.KEYS[(place + count) % 2], text, {"agent": "ab"[place]}, saw=0),), (), "writes")

    def step(self, network: Network, counts: tuple[int, int], step: Any) -> tuple[tuple[int, int], str]:
        """Take it; gives the counts after it, and what came of it."""
        if not isinstance(step, tuple):
            return counts, repr([facts(op) for op in network.take(step, EPOCH)])
        place, way, ask = step
        records: list[Any] = []
        try:
            answer: Any = network.perform(place, way, ask, EPOCH, records)
        except OutcomeUnknownError as error:
            answer = str(error)
        after = (counts[0] + (place == 0), counts[1] + (place == 1))
        return after, repr(([facts(op) for op in records], str(answer)[:40] if not isinstance(answer, list) else len(answer)))

    def walks(self, name: str) -> Iterator[tuple[Network, tuple[int, int]]]:
        """Worlds that random walks come to, each after a few steps."""
        for seed in range(60):
            random, network, counts = Random(seed), self.start(name), (0, 0)
            for _ in range(random.randrange(1, 9)):
                possible = self.steps(network, counts)
                if not possible:
                    break
                counts, _ = self.step(network, counts, random.choice(possible))
            yield network, counts

    @pytest.mark.parametrize("name", ["everything", "drop", "forgetful crash", "one-way partition", "strong", "in order"])
    def test_a_copy_changes_apart(self, name: str) -> None:
        changed = 0
        for network, counts in self.walks(name):
            before = network.key(order=True, positions=True)
            assert network.copy().key(order=True, positions=True) == before
            for step in self.steps(network, counts):
                copied = network.copy()
                self.step(copied, counts, step)
                changed += copied.key(order=True, positions=True) != before
                assert network.key(order=True, positions=True) == before, step
            copied = network.copy()
            copied.finish(EPOCH)
            assert network.key(order=True, positions=True) == before
        assert changed > 100

    @pytest.mark.parametrize("name", ["everything", "drop", "forgetful crash", "one-way partition", "strong", "in order"])
    def test_equal_keys_have_equal_futures(self, name: str) -> None:
        known: dict[Any, tuple[Network, tuple[int, int]]] = {}
        met = 0
        for network, counts in self.reached(name):
            state = (network.key(), counts)
            if state not in known:
                known[state] = (network, counts)
                continue
            met += 1
            self.same_future(known[state][0], network, counts, Random(met))
        assert met > 20

    def reached(self, name: str) -> Iterator[tuple[Network, tuple[int, int]]]:
        """Many worlds, of which some are equal though they were come to in another order: three steps in all orders."""
        first = self.start(name)
        level = [(first, (0, 0))]
        random = Random(name)
        for _ in range(4):
            following = []
            for network, counts in level:
                for step in self.steps(network, counts):
                    copied = network.copy()
                    after, _ = self.step(copied, counts, step)
                    following.append((copied, after))
            random.shuffle(following)
            level = following[:300]
            yield from level

    def same_future(self, one: Network, other: Network, counts: tuple[int, int], random: Random) -> None:
        one, other = one.copy(), other.copy()
        for _ in range(6):
            mine, theirs = self.steps(one, counts), self.steps(other, counts)
            assert sorted(map(repr, map(told, mine))) == sorted(map(repr, map(told, theirs)))
            if not mine:
                break
            step = random.choice(mine)
            _, first = self.step(one, counts, step)
            counts, second = self.step(other, counts, step)
            assert first == second
        assert [facts(op) for op in one.finish(EPOCH)] == [facts(op) for op in other.finish(EPOCH)]
        assert one.key() == other.key()
        assert one.lost() == other.lost()

    def test_a_key_tells_apart_what_goes_on_differently(self) -> None:
        network = self.start("everything")
        keys = {network.key()}
        for step in self.steps(network, (0, 0)):
            copied = network.copy()
            self.step(copied, (0, 0), step)
            keys.add(copied.key())
        assert len(keys) == 1 + len(self.steps(network, (0, 0)))

    def test_order_and_positions_count_only_when_asked_for(self) -> None:
        def made(*keys: str) -> Network:
            network = first_world(cb.World(), Optimistic(), ["a", "b"], {}, EPOCH)
            for place, key in enumerate(keys):
                network.perform(place, Way(0), Commit((cb.Write(key, "1"),), (), "writes"), EPOCH, [])
            return network

        one, other = made("k/1", "k/2"), made("k/2", "k/1")
        assert one.key() == other.key()
        assert one.key(order=True) != other.key(order=True)
        assert one.key(positions=True) != other.key(positions=True)

    def test_choices_are_values_that_hold_in_any_equal_world(self) -> None:
        network = self.start("everything")
        self.step(network, (0, 0), self.steps(network, (0, 0))[0])
        copied = network.copy()
        assert network.choices() == copied.choices()
        assert len({choice.label for choice in network.choices()}) == len(network.choices())
        kinds = {type(choice) for choice in network.choices()}
        assert kinds == {Message, Drop, Duplicate, Crash, Partition, AgentCrash}
        copied.take(next(choice for choice in network.choices() if isinstance(choice, Partition)), EPOCH)
        assert any(isinstance(choice, Heal) for choice in copied.choices())
        assert not any(isinstance(choice, Heal) for choice in network.choices())
        assert [type(choice) for choice in copied.choices(over=True)] == [Heal]

    def test_agents_that_are_done_do_not_crash(self) -> None:
        network = self.start("everything")
        crashes = [choice.agent for choice in network.choices(running=[1]) if isinstance(choice, AgentCrash)]
        assert crashes == ["b"]


def facts(op: Any) -> tuple[Any, ...]:
    return op.agent, op.kind, op.key, op.text, op.saw, op.replaced, op.made, op.ok, op.dot, op.source, op.note, op.fault


def told(step: Any) -> Any:
    return step if isinstance(step, tuple) else step.label


def test_a_run_with_everything_is_the_same_whatever_the_hash_seed() -> None:
    root = Path(__file__).resolve().parents[2]
    program = (
        "import commonboard as cb\n"
        "from tests.sim.test_faults import adder, world\n"
        "how = {'world': world('everything', 3), 'policy': cb.Merge(cb.ORSet)}\n"
        "for seed in range(12):\n"
        "    made = cb.simulate({n: adder(n) for n in 'abc'}, seed=seed, **how)\n"
        "    again = cb.simulate({n: adder(n) for n in 'abc'}, replay=made.token, **how)\n"
        "    assert repr(list(again.history)) == repr(list(made.history))\n"
        "    print(made, made.history, made.copies, sep='\\n')\n"
    )

    def output(hash_seed: str) -> str:
        environment = os.environ | {"PYTHONPATH": f"{root / 'toolkit'}:{root}", "PYTHONHASHSEED": hash_seed}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=root)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert output("0") == output("12345")


def test_a_commit_that_rests_on_a_list_happens_where_the_list_was_taken() -> None:
    async def claims(me: cb.AgentMemory) -> None:
        store = me._memory.store
        page = await store.list("shared")
        await store.commit(cb.Write(f"shared/{me.name}", "1"), reads=[cb.PrefixUnchanged("shared", page.position)])

    ends = Counter[Any]()
    for made in every({"a": claims, "b": writer(2)}, world=cb.World(replicas=2, visibility="eventual")):
        listed, tried = (next(op for op in made.history if op.agent == "a" and op.kind in kinds) for kinds in (("list",), WRITES))
        between = [op for op in made.history[listed.index : tried.index] if op.replica == listed.replica and op.made is not None]
        assert tried.replica == listed.replica
        assert tried.ok is (between == [])
        ends[tried.ok, tried.replica] += 1
    assert len(ends) == 4
