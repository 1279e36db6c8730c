"""Other people's stores in a simulation: a decorator around the simulation's own, or anybody's five methods."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import commonboard as cb
from commonboard.errors import CapabilityError, SimulationError, StoreShapeError
from commonboard.stores.port import CapabilityWarning


async def counter(me: cb.AgentMemory) -> None:
    await me.shared.update("count", lambda n: (n or 0) + 1)


class DictStore:
    """Five methods and a dict: no versions, no log."""

    def __init__(self) -> None:
        self.entries: dict[str, cb.MemoryEntry] = {}

    async def get(self, key: str) -> cb.MemoryEntry | None:
        return self.entries.get(key)

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        self.entries[key] = cb.MemoryEntry(key, value, dict(metadata or {}))

    async def list(self) -> list[cb.MemoryEntry]:
        return [*self.entries.values()]

    async def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    async def clear(self) -> None:
        self.entries.clear()


class AtomicDictStore(DictStore):
    """With a compare-and-set that is one step."""

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        there = self.entries.get(key)
        if (None if there is None else there.value) != expected:
            return False
        await self.set(key, value, metadata)
        return True


class Passing:
    """A decorator that hands five methods on."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def get(self, key: str) -> Any:
        return await self.inner.get(key)

    async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        await self.inner.set(key, value, metadata)

    async def list(self) -> Any:
        return await self.inner.list()

    async def delete(self, key: str) -> None:
        await self.inner.delete(key)

    async def clear(self) -> None:
        await self.inner.clear()


class HandMade(Passing):
    """A compare-and-set made by hand out of `get` and `set`: between the two, anybody may write."""

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        there = await self.get(key)
        if (None if there is None else there.value) != expected:
            return False
        await self.set(key, value, metadata)
        return True


class Native(Passing):
    """The same, handed on in one step."""

    async def compare_and_set(
        self, key: str, expected: str | None, value: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        return bool(await self.inner.compare_and_set(key, expected, value, metadata))


class Slotted:
    """Keeps what it decorates in a slot, and has no `__dict__`."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    get, set, list, delete, clear = Passing.get, Passing.set, Passing.list, Passing.delete, Passing.clear


pytestmark = pytest.mark.filterwarnings("ignore::commonboard.stores.port.CapabilityWarning")


class TestADecorator:
    def test_whose_compare_and_set_is_made_by_hand_loses_updates_and_the_check_finds_each(self) -> None:
        lost = 0
        for seed in range(40):
            made = cb.simulate(counter, counter, store=HandMade, seed=seed, given={"shared/count": 0})
            assert made.ok, made.troubles
            verdict = cb.no_lost_updates(made)
            missing = 2 - made.value("shared/count")
            assert len(verdict.findings) == missing
            assert verdict.holds is (missing == 0)
            lost += missing
        assert 0 < lost < 40

    def test_whose_compare_and_set_is_one_step_loses_nothing(self) -> None:
        for seed in range(40):
            made = cb.simulate(counter, counter, counter, store=Native, seed=seed)
            assert made.value("shared/count") == 3
            assert cb.no_lost_updates(made).holds is True

    def test_shows_its_race_in_the_base_store_s_own_steps(self) -> None:
        made = cb.simulate(counter, store=HandMade, given={"shared/count": 0})
        assert [(op.kind, op.saw, op.made) for op in made.history if op.agent != "given"] == [
            ("read", 1, None),
            ("read", 1, None),
            ("write", 1, 2),
        ]

    def test_that_overwrites_without_looking_supersedes_and_loses_nothing(self) -> None:
        async def writer(me: cb.AgentMemory) -> None:
            await me.shared.write("x", me.name)

        verdict = cb.no_lost_updates(cb.simulate(writer, writer, store=Passing))
        assert verdict.holds is True
        assert [note.kind for note in verdict.notes] == ["superseded"]

    def test_that_lists_before_it_writes_has_looked(self) -> None:
        async def creates(me: cb.AgentMemory) -> None:
            if not await me.list("shared"):
                await me.shared.write("x", me.name)

        verdicts = [cb.no_lost_updates(cb.simulate(creates, creates, store=Passing, seed=seed)) for seed in range(20)]
        assert {verdict.holds for verdict in verdicts} == {True, False}

    def test_that_looked_and_deleted_what_came_meanwhile_lost_it(self) -> None:
        async def cleans(me: cb.AgentMemory) -> None:
            if await me.value("shared/x") == "old":
                await me.shared.delete("x")

        async def writes(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "new")

        found = [
            cb.no_lost_updates(cb.simulate(cleans, writes, store=Passing, seed=seed, given={"shared/x": "old"}))
            for seed in range(20)
        ]
        assert any("deleted it without having seen that" in str(verdict) for verdict in found)
        assert any(verdict.holds for verdict in found)

    def test_whose_agent_writes_twice_after_one_look_is_not_its_own_victim(self) -> None:
        async def agent(me: cb.AgentMemory) -> None:
            await me.value("shared/x")
            await me.shared.write("x", "once")
            await me.shared.write("x", "twice")

        verdict = cb.no_lost_updates(cb.simulate(agent, store=Passing, given={"shared/x": "old"}))
        assert verdict.holds is True

    def test_that_commits_several_writes_at_once_has_each_recorded(self) -> None:
        class Batching(Passing):
            async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
                gone = cb.Write(key, None)
                await self.inner.commit(gone, cb.Write(key, value, metadata), cb.Write(f"{key}-copy", value, metadata))

        async def agent(me: cb.AgentMemory) -> None:
            await me.shared.write("x", "new")
            await me.shared.write("x", "newer")

        made = cb.simulate(agent, store=Batching)
        assert [(op.kind, op.key, op.value, op.made) for op in made.history] == [
            ("write", "shared/x", "new", 1),  # there was nothing to delete
            ("write", "shared/x-copy", "new", 1),
            ("delete", "shared/x", None, 2),
            ("write", "shared/x", "newer", 3),
            ("write", "shared/x-copy", "newer", 2),
        ]
        assert [event.key for event in made.log] == [op.key for op in made.history]

    def test_may_keep_what_it_decorates_in_a_slot_or_deep_down(self) -> None:
        for store in (Slotted, lambda base: Passing(Passing(Slotted(base)))):
            made = cb.simulate({"web": counter}, store=store, policy=cb.LastWriterWins(), given={"shared/count": 0})
            assert [str(op) for op in made.history][1:] == [
                "t=0 s  web reads shared/count at version 1",
                "t=0 s  web writes shared/count as version 2",
            ]
            assert made.state == {"shared/count": 1}

    def test_may_be_the_store_itself(self) -> None:
        assert cb.simulate(counter, counter, store=lambda base: base).value("shared/count") == 2

    def test_finds_what_was_given(self) -> None:
        assert cb.simulate(counter, store=Native, given={"shared/count": 40}).value("shared/count") == 41


class TestAStoreOfAnotherMake:
    def test_is_a_choice_at_each_call(self) -> None:
        finals = set()
        for seed in range(30):
            made = cb.simulate(
                counter, counter, store=DictStore, policy=cb.LastWriterWins(), seed=seed, given={"shared/count": 0}
            )
            assert [op.kind for op in made.history if op.agent == "counter-1"] == ["read", "write"]
            finals.add(made.value("shared/count"))
        assert finals == {1, 2}

    def test_is_not_judged_since_it_keeps_no_versions(self) -> None:
        made = cb.simulate(counter, counter, store=DictStore, policy=cb.LastWriterWins())
        verdict = cb.no_lost_updates(made)
        assert verdict.holds is None
        assert "the store keeps no versions" in verdict.sentence

    def test_with_an_atomic_compare_and_set_loses_nothing(self) -> None:
        for seed in range(30):
            made = cb.simulate(counter, counter, store=AtomicDictStore, seed=seed)
            assert made.ok, made.troubles
            assert made.value("shared/count") == 2
        refused = [op for op in made.history if not op.ok]
        assert made.retries == len(refused)

    def test_finds_what_was_given_and_its_end_is_the_board(self) -> None:
        made = cb.simulate(counter, store=DictStore, policy=cb.LastWriterWins(), given={"shared/count": 40, "web/note": "text"})
        assert made.state == {"shared/count": 41, "web/note": "text"}
        given = [op for op in made.history if op.agent == "given"]
        assert [(op.key, op.value, op.made) for op in given] == [("shared/count", 40, None), ("web/note", "text", None)]

    def test_begins_empty_in_each_run(self) -> None:
        runs = [cb.simulate(counter, store=DictStore, policy=cb.LastWriterWins()) for _ in range(2)]
        assert [made.value("shared/count") for made in runs] == [1, 1]

    def test_may_have_optional_arguments_of_its_own(self) -> None:
        class Sized(DictStore):
            def __init__(self, size: int = 10) -> None:
                super().__init__()
                assert size == 10

        assert cb.simulate(counter, store=Sized, policy=cb.LastWriterWins()).value("shared/count") == 1

    def test_may_take_virtual_time(self) -> None:
        class Slow(DictStore):
            async def get(self, key: str) -> cb.MemoryEntry | None:
                await asyncio.sleep(0.25)
                return await super().get(key)

            async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
                await asyncio.sleep(10)
                await super().set(key, value, metadata)

            async def list(self) -> list[cb.MemoryEntry]:
                await asyncio.sleep(100)
                return await super().list()

        made = cb.simulate(counter, store=Slow, policy=cb.LastWriterWins(), given={"shared/count": 7})
        assert made.state == {"shared/count": 8}
        assert made.seconds == 10.25  # of the agents: what was given was there before, and the board is read afterwards
        assert [(op.began_at, op.ended_at) for op in made.history] == [(0, 0), (0, 0.25), (0.25, 10.25)]

    def test_is_named_in_messages_by_its_own_class(self) -> None:
        made = cb.simulate(counter, store=DictStore)
        assert isinstance(made.errors["counter"], CapabilityError)
        assert "Optimistic needs compare_and_set, which DictStore does not have" in made.troubles[0].what

    def test_whose_methods_are_not_async_is_refused(self) -> None:
        class Plain(DictStore):
            def get(self, key: str) -> Any:
                return self.entries.get(key)

        made = cb.simulate(counter, store=Plain, policy=cb.LastWriterWins())
        assert isinstance(made.errors["counter"], StoreShapeError)
        assert "Plain.get is not async" in made.troubles[0].what
        assert made.state == {}

    def test_that_waits_for_nothing_that_comes_is_named(self) -> None:
        class Hangs(DictStore):
            async def list(self) -> list[cb.MemoryEntry]:
                await asyncio.Event().wait()
                return []

        async def nothing(me: cb.AgentMemory) -> None:
            return None

        with pytest.raises(SimulationError, match=r"the store waits for Event\.wait, which nobody will end"):
            cb.simulate(nothing, store=Hangs)

    def test_warns_once_of_what_it_cannot_do(self) -> None:
        with pytest.warns(CapabilityWarning, match="AtomicDictStore has no versions"):
            cb.simulate(counter, store=AtomicDictStore)


class TestAStoreThatReachesOutside:
    @pytest.mark.parametrize("where", ["thread", "network"])
    def test_is_refused_at_the_call_and_has_changed_nothing(self, where: str) -> None:
        touched = []

        class Outside(DictStore):
            async def get(self, key: str) -> cb.MemoryEntry | None:
                if where == "thread":
                    return await asyncio.to_thread(touched.append, key)
                await asyncio.open_connection("127.0.0.1", 9)
                touched.append(key)
                return None

        threads = threading.active_count()
        made = cb.simulate(counter, store=Outside, policy=cb.LastWriterWins())
        assert made.outcome == "failed"
        assert isinstance(made.errors["counter"], SimulationError)
        assert "which could not repeat it" in made.troubles[0].what
        assert "await cb.run_live(agents" in made.troubles[0].what
        assert (touched, made.state, threading.active_count()) == ([], {}, threads)

    def test_is_refused_even_if_only_what_was_given_reaches_it(self) -> None:
        class Outside(DictStore):
            async def set(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
                await asyncio.to_thread(print, "never")

        with pytest.raises(SimulationError, match="a thread"):
            cb.simulate(counter, store=Outside, given={"shared/count": 1})

    def test_a_built_in_store_on_disk_is_refused_and_its_file_stays_as_it_was(self, tmp_path: Path) -> None:
        path = tmp_path / "board.json"

        async def fill() -> None:
            store = cb.FileStore(path)
            await cb.SharedMemory(store).write("web", "x", 1)
            store.close()

        with asyncio.Runner() as runner:
            runner.run(fill())
        before = path.read_bytes()
        opened: list[cb.FileStore] = []

        def factory() -> cb.FileStore:
            opened.append(cb.FileStore(path))
            return opened[-1]

        with pytest.raises(SimulationError, match="FileStore cannot run under the simulator"):
            cb.simulate(counter, store=factory)
        opened[-1].close()
        assert path.read_bytes() == before

    def test_a_built_in_store_in_memory_is_refused_too_since_the_simulation_has_its_own(self) -> None:
        with pytest.raises(SimulationError, match=r"InMemoryStore cannot run under the simulator.* leave store= out"):
            cb.simulate(counter, store=cb.InMemoryStore)

    def test_a_store_and_several_replicas_exclude_each_other(self) -> None:
        with pytest.raises(SimulationError, match="cannot be used together"):
            cb.simulate(counter, store=DictStore, world=cb.World(replicas=2))
