"""The first cell of every notebook, and the last: `guard = set_up()` and `await guard.finish()`.

Without them a notebook can look healthy and not be: IPython shows an exception group as plain text and never tells the front end
that the cell failed, and a task that dies in the background is heard of only when Python happens to throw it away.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from commonboard.errors import CommonboardError
from commonboard.sim.trouble import Trouble, died, stuck

_KERNEL = ("ipykernel", "IPython", "tornado", "zmq", "jupyter_client", "ipywidgets", "comm")
"""Packages whose tasks are a notebook's own machinery."""

PATIENCE = 5.0
"""Seconds that a task may take to clean up after it was cancelled."""

TABLES = {
    "display.width": 110,
    "display.max_columns": 20,
    "display.max_colwidth": 60,
    "display.max_rows": 40,
    "display.min_rows": 40,
    "display.precision": 3,
    "display.show_dimensions": False,
}
"""How tables are shown, whatever the size of the window."""


class StrayTaskError(CommonboardError, RuntimeError):
    """Tasks that a notebook started died without anybody having looked, or were still running at its end."""


def set_up() -> Guard:
    """Make a notebook fit to be read and to be run again: errors show, tables look the same everywhere, tasks are watched.

    Call it in the first cell, and `await guard.finish()` in the last. Calling it again, as somebody does who runs the cell
    twice, gives the same guard and starts over. It works outside of a notebook too.

    >>> set_up()
    Guard(0 tasks)
    """
    show_exception_groups()
    _fix_tables()
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return Guard()
    factory = loop.get_task_factory()
    if isinstance(factory, _Watching):
        factory.guard.forget_the_dead()
    else:
        factory = _Watching(Guard(), factory)
        loop.set_task_factory(factory)
    return factory.guard


class Guard:
    """Remembers the tasks that a notebook starts, and tells of those that nobody waited for."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._machinery = folders_of_the_kernel()

    def __repr__(self) -> str:
        return f"Guard({len(self._tasks)} task{'s' if len(self._tasks) != 1 else ''})"

    def watch(self, task: asyncio.Task[Any]) -> None:
        """Remember a task until it has ended well, or until somebody has seen how it ended."""
        code = getattr(task.get_coro(), "cr_code", None)
        if code is None or not code.co_filename.startswith(self._machinery):
            self._tasks[task] = None
            task.add_done_callback(self._ended)

    def forget_the_dead(self) -> None:
        """Start over: drop the tasks that have ended."""
        for task in self._died():
            task.exception()  # seen, so that Python does not print it at some later moment
        self._tasks = {task: None for task in self._tasks if not task.done()}

    async def finish(self) -> None:
        """Cancel what still runs, and say that all is well if there was nothing of the kind.

        Raises:
            StrayTaskError: a task was still running, or died without anybody having looked. It names each, and where it was.
        """
        await asyncio.sleep(0)  # what is about to end may end
        running = [task for task in self._tasks if not task.done() and task is not asyncio.current_task()]
        told = [_obituary(task) for task in self._died()]
        told += [f"{_name(task)} was still running{place_of(stuck('', task))}" for task in running]
        for task in running:
            task.cancel()
        if running:
            _, deaf = await asyncio.wait(running, timeout=PATIENCE)
            told += [f"{_name(task)} went on though it was cancelled" for task in running if task in deaf]
        self.forget_the_dead()
        if told:
            listed = "".join(f"\n- {line}" for line in told)
            raise StrayTaskError(f"await each task in the cell that starts it, or cancel it there:{listed}")
        sys.stdout.write("No task died unseen, and none was left running.\n")

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if not _died_unseen(task):
            self._tasks.pop(task, None)

    def _died(self) -> list[asyncio.Task[Any]]:
        return [task for task in self._tasks if _died_unseen(task)]


class _Watching:
    """A task factory that shows each new task to the guard."""

    def __init__(self, guard: Guard, before: Any) -> None:
        self.guard = guard
        self._make: Any = before or _plain_task

    def __call__(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        task = self._make(loop, coroutine, **options)
        self.guard.watch(task)
        return task


def _plain_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    return asyncio.Task(coroutine, loop=loop, **options)


def _died_unseen(task: asyncio.Task[Any]) -> bool:
    """Whether it raised, and nobody has asked for the exception. Asking with `exception()` would count as having seen it."""
    return task.done() and not task.cancelled() and bool(task._log_traceback)


def _obituary(task: asyncio.Task[Any]) -> str:
    error = task.exception()
    assert error is not None
    trouble = died("", error)
    return f"{_name(task)} {trouble.what}{place_of(trouble)}"


def _name(task: asyncio.Task[Any]) -> str:
    return getattr(task.get_coro(), "__qualname__", task.get_name())


def place_of(trouble: Trouble) -> str:
    """Where it happened in the code of whoever wrote it; empty where nobody knows."""
    return f", at line {trouble.line} of {trouble.function}: {trouble.source}" if trouble.line else ""


def folders_of_the_kernel() -> tuple[str, ...]:
    """Where the notebook kernel's own code lies: its tasks are no concern of the guard's."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in _KERNEL)
    return tuple(str(Path(file).parent) + os.sep for file in files if file)


def show_exception_groups() -> None:
    """Let IPython tell the front end of an exception group as of any other error.

    It prints a group, and whatever was raised while one was handled, as plain text: the cell counts as done, or never ends.
    """
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    if shell is not None:
        shell.set_custom_exc((Exception, BaseExceptionGroup), _show)


def _show(
    shell: Any, kind: type[BaseException], error: BaseException, trace: TracebackType | None, tb_offset: int | None = None
) -> list[str]:
    if not _holds_a_group(error):
        shell.showtraceback((kind, error, trace), running_compiled_code=True)
        return []
    lines = traceback.format_exception(kind, error, trace)
    shell._showtraceback(kind, error, lines)
    return lines


def _holds_a_group(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, BaseExceptionGroup):
        error = error.__context__
    return error is not None


def _fix_tables() -> None:
    try:
        import pandas
    except ImportError:
        return  # then there are no tables
    for name, value in TABLES.items():
        pandas.set_option(name, value)
