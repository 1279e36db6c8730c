"""The same agents for real, in several processes around one store."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import run
from tests.live.stores import BoardInFile, FiveInFile, OnlyHere

import commonboard as cb
from commonboard import scenarios
from commonboard.check.linearizable import linearizable
from commonboard.live import LiveRunError, run_live


def counting(times: int) -> Any:
    async def count(me: cb.AgentMemory) -> int:
        for _ in range(times):
            await me.shared.update("n", lambda n: (n or 0) + 1)
        return os.getpid()

    return count


def test_a_built_in_store_loses_nothing_and_the_history_is_one(tmp_path: Path) -> None:
    crew = dict.fromkeys("abc", counting(10))
    live = run(
        run_live(crew, store=partial(BoardInFile, tmp_path / "board.db"), processes=2, policy=cb.Optimistic(attempts=1000))
    )
    assert live.ok, live
    assert live.processes == 2
    assert live.value("shared/n") == 30
    assert list(live.results) == list("abc")
    assert len(set(live.results.values()) - {os.getpid()}) == 2
    assert live.results["a"] == live.results["c"] != live.results["b"]
    assert [op.made for op in live.history.writes()] == list(range(1, 31))
    assert [op.index for op in live.history] == list(range(len(live.history)))
    assert all(op.begin < op.end for op in live.history)
    assert cb.no_lost_updates(live).holds is True
    assert linearizable()(live).holds is True
    assert [event.version for event in live.log if event.key == "shared/n"] == list(range(1, 31))
    assert {call.outcome for call in live.calls} == {"wrote"}
    assert " in 2 processes" in str(live)


def test_five_methods_with_compare_and_set_lose_nothing_either(tmp_path: Path) -> None:
    store = partial(FiveInFile, tmp_path / "five.db")
    live = run(run_live(dict.fromkeys("ab", counting(10)), store=store, processes=2, policy=cb.Optimistic(attempts=1000)))
    assert live.ok, live
    assert live.state == {"shared/n": 20}
    assert cb.no_lost_updates(live).holds is True
    assert [op.made for op in live.history.writes()] == list(range(1, 21))
    assert {op.key for op in live.history if op.kind != "think"} == {"shared/n"}


def test_last_writer_wins_is_seen_to_lose_between_processes(tmp_path: Path) -> None:
    async def slow(me: cb.AgentMemory) -> None:
        async def change(found: Any) -> Any:
            while not await me.value(f"{other[me.name]}/looked"):
                await me.think(seconds=1)
            return [*found, me.name]

        async def looks_first(found: Any) -> Any:
            await me.write("looked", True)
            return await change(found)

        await me.shared.update("names", looks_first)

    other = {"web": "docs", "docs": "web"}
    store = partial(FiveInFile, tmp_path / "five.db")
    live = run(
        run_live(
            {"web": slow, "docs": slow},
            store=store,
            processes=2,
            policy=cb.LastWriterWins(),
            given={"shared/names": []},
            pace=0.001,
        )
    )
    assert live.ok, live
    assert len(live.value("shared/names")) == 1
    assert cb.no_lost_updates(live).holds is False
    assert "is lost" in str(live.spacetime())


def test_a_scenario_travels_with_its_functions(tmp_path: Path) -> None:
    live = run(run_live(scenarios.research_crew, store=partial(BoardInFile, tmp_path / "b.db"), processes=5))
    assert live.ok, live
    assert live.processes == 3
    assert [fate.name for fate in live.fates] == ["kept", "kept"]


def test_what_an_agent_raises_returns_or_prints_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Odd(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__("odd")

    async def raises(me: cb.AgentMemory) -> None:
        raise cb.ConflictError("no", key="shared/n", found_version=3)

    async def raises_oddly(me: cb.AgentMemory) -> None:
        raise Odd(1, 2)

    async def returns_a_lock(me: cb.AgentMemory) -> Any:
        return threading.Lock()

    async def prints(me: cb.AgentMemory) -> None:
        print("hello from", me.name)

    crew = {"raises": raises, "oddly": raises_oddly, "lock": returns_a_lock, "prints": prints}
    live = run(run_live(crew, store=partial(BoardInFile, tmp_path / "b.db"), processes=2))
    assert live.outcome == "failed"
    assert list(live.results) == ["prints"]
    assert list(live.errors) == ["raises", "oddly", "lock"]
    error = live.errors["raises"]
    assert isinstance(error, cb.ConflictError)
    assert error.found_version == 3
    assert str(live.errors["oddly"]) == "the agent 'oddly' raised Odd: odd"
    assert "what the agent 'lock' returned cannot travel back: TypeError: " in str(live.errors["lock"])
    assert {trouble.agent: trouble.function for trouble in live.troubles}["oddly"] == "raises_oddly"
    assert "hello from prints" in capsys.readouterr().out


def test_the_time_is_up_in_every_process_and_one_that_dies_is_told(tmp_path: Path) -> None:
    async def waits(me: cb.AgentMemory) -> None:
        await me.write("began", True)
        await asyncio.Event().wait()

    async def dies(me: cb.AgentMemory) -> None:
        await me.write("began", True)
        os._exit(3)

    store = partial(BoardInFile, tmp_path / "b.db")
    live = run(run_live({"waits": waits, "dies": dies}, store=store, processes=2, timeout_s=2.0))
    assert live.outcome == "endless"
    assert {trouble.agent for trouble in live.troubles} == {"waits", "dies"}
    assert any("died, and its record with it" in str(trouble) for trouble in live.troubles)
    assert live.state == {"waits/began": True, "dies/began": True}
    assert {op.agent for op in live.history.writes()} == {"waits", "dies"}  # the log tells what the dead one wrote
    assert cb.no_lost_updates(live).holds is None


class TestWhatIsRefused:
    def test_a_store_that_lives_in_one_process(self, tmp_path: Path) -> None:
        agents = dict.fromkeys("ab", counting(1))
        path = tmp_path / "board.json"
        for store, words in [
            (None, "the default store is open in this process only"),
            (cb.InMemoryStore(), "InMemoryStore is open in this process only"),
            (cb.InMemoryStore, "cannot share InMemoryStore: it lives in the memory of one process"),
            (partial(cb.FileStore, path), "cannot share FileStore: one process at a time has its file open"),
            (lambda: cb.FileStore(path), "cannot share FileStore"),
        ]:
            with pytest.raises(cb.CapabilityError, match=words):
                run(run_live(agents, store=store, processes=2))
        cb.FileStore(path).close()  # nobody holds it

    def test_one_that_shows_each_process_something_else(self) -> None:
        with pytest.raises(cb.CapabilityError, match="cannot share OnlyHere: one does not see what another wrote"):
            run(run_live(dict.fromkeys("ab", counting(1)), store=OnlyHere, processes=2))

    def test_an_agent_that_cannot_travel_is_named(self, tmp_path: Path) -> None:
        lock = threading.Lock()

        async def locked(me: cb.AgentMemory) -> None:
            with lock:
                await me.write("k", 1)

        store = partial(BoardInFile, tmp_path / "b.db")
        with pytest.raises(LiveRunError, match=r"the agent 'locked' cannot travel to another process: TypeError: .*lock"):
            run(run_live({"fine": counting(1), "locked": locked}, store=store, processes=2, given={"shared/n": 1}))
        assert run(BoardInFile(tmp_path / "b.db").list()) == []

    def test_a_store_that_cannot_be_opened_elsewhere(self, tmp_path: Path) -> None:
        here = os.getpid()

        def opened() -> BoardInFile:
            if os.getpid() != here:
                raise PermissionError("not here")
            return BoardInFile(tmp_path / "b.db")

        with pytest.raises(LiveRunError, match="cannot be opened in another process: PermissionError: not here"):
            run(run_live(dict.fromkeys("ab", counting(1)), store=opened, processes=2))
        assert run(BoardInFile(tmp_path / "b.db").list()) == []

    def test_missing_cloudpickle_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cloudpickle", None)
        with pytest.raises(LiveRunError, match="install cloudpickle"):
            run(run_live(dict.fromkeys("ab", counting(1)), store=partial(BoardInFile, tmp_path / "b.db"), processes=2))
