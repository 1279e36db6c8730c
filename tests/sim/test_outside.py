"""What a simulation cannot repeat is refused where an agent uses it, and is as it was afterwards."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import commonboard as cb
from commonboard.sim.outside import SimulationWarning


def _connect() -> None:
    with socket.socket() as line:
        line.connect(("127.0.0.1", 9))


USES: dict[str, Callable[[], Any]] = {
    "a thread": lambda: threading.Thread(target=int).start(),
    "a subprocess": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    "the network": lambda: _connect(),
    "time.sleep": lambda: time.sleep(0),
}


@pytest.mark.parametrize("what", USES)
def test_an_agent_that_uses_it_fails_and_is_told_what_to_do(what: str) -> None:
    async def agent(me: cb.AgentMemory) -> None:
        USES[what]()
        await me.write("done", True)

    run = cb.simulate(agent)
    assert run.outcome == "failed"
    assert run.state == {}
    (trouble,) = run.troubles
    assert f"{what} was used in a simulation" in trouble.what
    assert "me.think" in trouble.what


def test_it_works_again_after_the_run_and_meanwhile_in_other_threads() -> None:
    done = []

    async def agent(me: cb.AgentMemory) -> None:
        release.set()
        other.join()

    release = threading.Event()
    other = threading.Thread(target=lambda: (release.wait(), time.sleep(0), done.append("other")))
    other.start()
    assert cb.simulate(agent).ok
    assert done == ["other"]
    assert "connect" not in vars(socket.socket)
    for what in ("a thread", "a subprocess", "time.sleep"):
        USES[what]()


def test_a_draw_from_the_global_random_is_warned_about() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        await me.write("drawn", random.random())

    with pytest.warns(SimulationWarning, match="global random"):
        cb.simulate(agent)


def test_a_draw_from_a_generator_of_its_own_is_fine() -> None:
    async def agent(me: cb.AgentMemory) -> None:
        await me.write("drawn", random.Random(7).random())

    assert cb.simulate(agent).state == cb.simulate(agent).state
