"""The same exploration gives the same verdict, to the byte; and it runs wherever code runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.explorer.programs import counter, racers

import commonboard as cb

ROOT = Path(__file__).resolve().parents[2]
LAST = cb.LastWriterWins()


def verdicts(hash_seed: int) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "toolkit"), "PYTHONHASHSEED": str(hash_seed), "CI": "1"}
    script = str(ROOT / "tests" / "explorer" / "verdicts.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_another_hash_seed_changes_nothing() -> None:
    told = verdicts(0)
    assert told.count("What was tried") == 38
    assert len(set(told.splitlines())) > 40
    assert verdicts(12345) == told


def test_explored_twice_in_one_process_the_verdict_is_the_same() -> None:
    def told() -> list[str]:
        agents = {"a": counter(2), "b": counter(1), "c": counter(1, "m")}
        ways: Any = ("states", "sleep sets", "none")
        return [str(cb.explore(agents, policy=LAST, reduction=how, budget=500, samples=7)) for how in ways]

    first = told()
    cb.explore(counter(3), counter(1), policy=cb.Optimistic())
    assert told() == first


def test_it_works_while_a_loop_is_running_and_leaves_it_alone() -> None:
    async def cell() -> tuple[Any, Any, str]:
        ticks = []

        async def other() -> None:
            for number in range(3):
                ticks.append(number)
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        mine = asyncio.current_task()
        verdict = racers()
        assert ticks == []  # nothing else runs meanwhile: a plain function
        assert asyncio.current_task() is mine
        await task
        assert ticks == [0, 1, 2]
        return verdict.holds, verdict.explored.violating, verdict.token

    assert asyncio.run(cell()) == (False, 4, racers().token)


def test_it_works_in_a_thread() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(racers()))
    thread.start()
    thread.join()
    assert str(found[0]) == str(racers())


def test_an_agent_may_explore_agents_of_its_own() -> None:
    async def plans(me: cb.AgentMemory) -> None:
        verdict = racers()
        await me.write("found", verdict.holds)
        await me.write("lost", verdict.explored.violating)

    verdict = cb.explore(plans, plans)
    assert verdict.holds is True
    assert verdict.explored.interleavings == 6
    run = cb.simulate(plans)
    assert (run.value("plans/found"), run.value("plans/lost")) == (False, 4)


def test_a_check_may_explore_too() -> None:
    def check(run: cb.Run) -> cb.check.Verdict:
        assert racers().holds is False
        return cb.no_lost_updates(run)

    assert cb.explore(counter(), counter(), policy=LAST, check=check).holds is False


def test_an_exploration_that_is_broken_off_leaves_nothing_behind() -> None:
    class Stop(Exception):
        pass

    def breaks(run: cb.Run) -> cb.check.Verdict:
        raise Stop

    async def cell() -> str:
        with pytest.raises(Stop):
            cb.explore(counter(2), counter(2), policy=LAST, check=breaks)
        await asyncio.sleep(0)
        return str(racers())

    assert asyncio.run(cell()) == str(racers())
    threading.Thread(target=lambda: None).start()  # what an exploration refuses its agents is allowed again


def test_agents_may_not_use_the_outside_as_in_a_simulation() -> None:
    async def reaches(me: cb.AgentMemory) -> None:
        await me.write("x", 1)
        await asyncio.to_thread(print)

    verdict = cb.explore(reaches)
    assert verdict.holds is False
    assert "could not repeat it" in str(verdict)


class TestProgress:
    @pytest.fixture
    def bars(self, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
        """The bars that were made."""
        made: list[dict[str, Any]] = []

        class Bar:
            def __init__(self, **options: Any) -> None:
                made.append(options)
                self.n = 0

            def update(self, by: int) -> None:
                self.n += by

            def close(self) -> None:
                made.append({"closed": self.n})

        monkeypatch.setattr("tqdm.auto.tqdm", Bar)
        return made

    def test_is_off_in_ci(self, bars: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "1")
        racers()
        assert bars == []

    def test_can_be_asked_for_in_ci(self, bars: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "1")
        cb.explore(counter(3), counter(2), policy=LAST, progress=True)
        assert len(bars) == 2
        assert "closed" in bars[1]

    def test_is_shown_elsewhere_only_on_long_work(self, bars: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CI", raising=False)
        racers()
        assert bars[0]["delay"] == 2.0

    def test_can_be_turned_off(self, bars: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CI", raising=False)
        racers(progress=False)
        assert bars == []

    def test_is_closed_when_the_check_raises(self, bars: list[Any]) -> None:
        def breaks(run: cb.Run) -> cb.check.Verdict:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            cb.explore(counter(), check=breaks, progress=True)
        assert "closed" in bars[-1]

    def test_an_interrupt_says_how_far_it_got_and_what_to_do(self) -> None:
        seen = 0

        def interrupted(state: Any) -> bool:
            nonlocal seen
            seen += 1
            if seen == 40:
                raise KeyboardInterrupt
            return True

        with pytest.raises(KeyboardInterrupt) as raised:
            cb.explore(counter(3), counter(3), counter(3), policy=LAST, check=cb.always(interrupted), progress=False)
        (note,) = [note for note in raised.value.__notes__ if "explore" in note]
        assert note.startswith("explore was interrupted after about ")
        assert note.endswith(" gives a verdict on so many")
