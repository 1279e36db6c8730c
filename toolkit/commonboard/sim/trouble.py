"""What went wrong with an agent: where it is in its own code, and what it waits for."""

from __future__ import annotations

import asyncio
import linecache
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Trouble:
    """One agent that did not come to its end.

    Attributes:
        agent: its name.
        what: `raised …`, `waits for …` or `never ends …`.
        function, line, source: where in the agent's own code: the function, the line number in its file or cell, its text.
    """

    agent: str
    what: str
    function: str = ""
    line: int = 0
    source: str = ""

    def __str__(self) -> str:
        where = f", at line {self.line} of {self.function}: {self.source}" if self.line else ""
        return f"{self.agent or 'somebody'} {self.what}{where}"


def died(agent: str, error: BaseException, whose: str = "") -> Trouble:
    """The trouble of an agent that raised."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, BaseExceptionGroup):
        told = "; ".join(f"{type(e).__name__}: {e}" for e in error.exceptions)
    if isinstance(error, RuntimeError) and "different loop" in str(error):
        told += " (it was made outside the run; make locks, queues and tasks inside the agents, or fresh for each run)"
    what = f"raised {told}" + (f" in {whose}" if whose else "")
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    return Trouble(agent, what, *_own(frames))


def stuck(agent: str, task: asyncio.Task[Any], endless: bool = False) -> Trouble:
    """The trouble of an agent that is still running."""
    frames, inner = [], ""
    waits: Any = task.get_coro()
    while waits is not None:
        frame = getattr(waits, "cr_frame", None)
        if frame is not None:
            frames.append((waits.cr_code, frame.f_lineno))
            inner = waits.__qualname__
        waits = getattr(waits, "cr_await", None)
    if endless:
        return Trouble(agent, "never ends (the budget of steps is spent)", *_own(frames))
    waiting = getattr(task, "_fut_waiter", None)
    what = inner if len(frames) > 1 else type(waiting).__name__.lstrip("_") if waiting is not None else "nothing"
    return Trouble(agent, f"waits for {what}, which nobody will end", *_own(frames))


def _own(frames: list[tuple[Any, int]]) -> tuple[str, int, str]:
    """The innermost place that is neither asyncio's nor the library's: the line that the agent's author wrote."""
    theirs = [(code, line) for code, line in frames if not _is_plumbing(code.co_filename)]
    if not theirs:
        return "", 0, ""
    code, line = theirs[-1]
    return code.co_name, line, linecache.getline(code.co_filename, line).strip()


_PLUMBING = tuple(module.rpartition("/")[0] + "/" for module in (asyncio.__file__.replace("\\", "/"), __file__.replace("\\", "/").rpartition("/")[0]))


def _is_plumbing(filename: str) -> bool:
    return filename.replace("\\", "/").startswith(_PLUMBING)
