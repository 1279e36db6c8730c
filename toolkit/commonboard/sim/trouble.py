"""What went wrong with an agent: where it is in its own code, and what it waits for."""

from __future__ import annotations

import asyncio
import linecache
import re
from dataclasses import dataclass
from typing import Any

from commonboard.errors import ConflictError, NotAdmittedError


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
        where = f", at line {self.line} of {self.function}" if self.line else ""
        where += f": {self.source}" if self.line and self.source else ""
        return f"{self.agent or 'somebody'} {self.what}{where}"


def died(agent: str, error: BaseException, whose: str = "") -> Trouble:
    """The trouble of an agent that raised."""
    errors = _plain(error)
    told = "; ".join(f"{type(e).__name__}: {e}" if str(e) else type(e).__name__ for e in errors)
    if any(isinstance(e, RuntimeError) and str(e).endswith(("different loop", "different event loop")) for e in errors):
        told += " (it belongs to another event loop; make locks, queues and tasks inside the agents, or fresh for each run)"
    told = re.sub(r" at 0x[0-9A-Fa-f]+", "", told)  # the same text in every run
    what = f"raised {told}" + (f" in {whose}" if whose else "")
    frames = []
    trace = (errors[0] if len(errors) == 1 else error).__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    return Trouble(agent, what, *_own(frames))


def is_told(error: BaseException | None) -> bool:
    """Whether an agent ended because it was refused, and told so: that is its policy's answer, and no fault of the agent."""
    return isinstance(error, (ConflictError, NotAdmittedError))


def stuck(agent: str, task: asyncio.Task[Any], endless: str = "") -> Trouble:
    """The trouble of an agent that is still running."""
    frames, inner = [], ""
    waits: Any = task.get_coro()
    while waits is not None:
        frame = getattr(waits, "cr_frame", None)
        if frame is not None:
            frames.append((waits.cr_code, frame.f_lineno))
            inner = waits.__qualname__ if is_plumbing(waits.cr_code.co_filename) else ""
        waits = getattr(waits, "cr_await", None)
    if endless:
        return Trouble(agent, f"never ends ({endless} is spent)", *_own(frames))
    return Trouble(
        agent, f"waits for {inner or _named(getattr(task, '_fut_waiter', None))}, which nobody will end", *_own(frames)
    )


def _plain(error: BaseException) -> list[BaseException]:
    """The errors of a group, and of the groups in it; an error that is no group, alone."""
    if isinstance(error, BaseExceptionGroup):
        return [plain for each in error.exceptions for plain in _plain(each)]
    return [error]


def _named(waiting: Any) -> str:
    """What a future is called."""
    if isinstance(waiting, asyncio.Task):
        return f"the task {waiting.get_name()}"
    return {"Future": "a Future", "_GatheringFuture": "gather"}.get(type(waiting).__name__, type(waiting).__name__)


def _own(frames: list[tuple[Any, int]]) -> tuple[str, int, str]:
    """The innermost place that is neither Python's nor the library's: the line that the agent's author wrote."""
    theirs = [(code, line) for code, line in frames if not is_plumbing(code.co_filename)] or frames[:1]
    if not theirs:
        return "", 0, ""
    lines = [(code, line, linecache.getline(code.co_filename, line).strip()) for code, line in theirs]
    # A line that cannot be shown, as in the `__init__` of a dataclass, nobody wrote.
    code, line, source = next((found for found in reversed(lines) if found[2]), lines[-1])
    return code.co_name, line, source


def _folder(path: str, up: int) -> str:
    return "/".join(path.replace("\\", "/").split("/")[:-up]) + "/"


_PLUMBING = (_folder(asyncio.__file__, 2), _folder(__file__, 2))


def is_plumbing(filename: str) -> bool:
    """Whether a file is Python's or the library's, and not the agent author's."""
    filename = filename.replace("\\", "/")
    return filename.startswith(_PLUMBING) or "/site-packages/" in filename
