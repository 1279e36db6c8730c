"""What a simulation cannot repeat, refused where an agent calls it: threads, sockets, subprocesses, sleeping for real.

While a run is stepped, a few calls of the standard library ask first whether the simulation's loop is running in this
thread; other threads go on undisturbed. A draw from the global random is noticed at the end, and warned about. What
cannot be noticed: the wall clock, and names that were bound before (`from time import sleep`).
"""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, Final

from commonboard.errors import SimulationError

_REFUSED: Final[tuple[tuple[Any, str, str], ...]] = (
    (threading.Thread, "start", "a thread"),
    (subprocess.Popen, "__init__", "a subprocess"),
    (socket.socket, "connect", "the network"),
    (time, "sleep", "time.sleep"),
)


class SimulationWarning(UserWarning):
    """The run may come out otherwise the next time."""


def refusal(what: str) -> SimulationError:
    """The error for something that a simulation cannot repeat."""
    return SimulationError(
        f"{what} was used in a simulation, which could not repeat it; use me.think(seconds) for work that takes time, "
        "or run these agents live: await cb.run_live(agents)"
    )


class Outside:
    """`with Outside(loop_class):` refuses what an agent may not use, and puts everything back however it ends."""

    def __init__(self, loops: type[Any]) -> None:
        self._loops = loops
        self._kept: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        self._random = random.getstate()
        for owner, name, what in _REFUSED:
            self._kept.append((owner, name, vars(owner).get(name)))
            setattr(owner, name, self._asking(getattr(owner, name), what))

    def __exit__(self, *error: object) -> None:
        for owner, name, original in reversed(self._kept):
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        if random.getstate() != self._random:
            warnings.warn(
                "an agent drew from the global random, so this run cannot be repeated; draw from a random.Random(seed) that is "
                "made anew for each run",
                SimulationWarning,
                stacklevel=5,
            )

    def _asking(self, original: Callable[..., Any], what: str) -> Callable[..., Any]:
        def ask(*args: Any, **options: Any) -> Any:
            if isinstance(asyncio._get_running_loop(), self._loops):
                raise refusal(what)
            return original(*args, **options)

        return ask
