"""What is loaded into each kernel that a validation starts: the cure for exception groups, and a guard over tasks.

The notebooks of the course bring both with them (`set_up`). Anybody's notebooks do not, so the kernel's configuration names this
module as an IPython extension; nothing is put into the notebook's names. After the last cell the validation awaits `finish()`.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from types import FrameType
from typing import Any

from commonboard.course.setup import PATIENCE, folders_of_the_kernel, place_of, show_exception_groups
from commonboard.sim.trouble import died, stuck

MIME = "application/vnd.commonboard.tasks+json"
"""How `finish` tells the validation what it found: a list of `{"source", "nth", "what"}`."""
CONFIGURATION = f"c = get_config()\nc.InteractiveShellApp.extensions = [{__name__!r}]\n"
LAST_CELL = f"await __import__({__name__!r}, fromlist=['finish']).finish()"

Birth = tuple[str, int, bool]
"""The source of the cell that started a task, how many cells of this source had run then, and whether the cell did it itself."""


class CellGuard:
    """Remembers which cell started which task, and how the tasks ended."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._machinery = folders_of_the_kernel()
        self._loops: list[asyncio.AbstractEventLoop] = []
        self._tasks: dict[asyncio.Task[Any], Birth] = {}
        self._ran: Counter[str] = Counter()
        self._cell = ""

    def before_cell(self, info: Any) -> None:
        """A cell is about to run."""
        self._cell = info.raw_cell
        self._ran[self._cell] += 1
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops.append(loop)
            loop.set_task_factory(self._factory(loop.get_task_factory()))

    def _factory(self, before: Any) -> Any:
        def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
            task = before(loop, coroutine, **options) if before else asyncio.Task(coroutine, loop=loop, **options)
            code = getattr(coroutine, "cr_code", None)
            if code is None or not code.co_filename.startswith(self._machinery):
                own = self._started_by_the_cell(sys._getframe(1))
                self._tasks[task] = self._cell, self._ran[self._cell], own
            return task

        return make

    def _started_by_the_cell(self, frame: FrameType | None) -> bool:
        """Whether code of the notebook itself asked for the task, be it by way of a TaskGroup; not a library that it uses."""
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "asyncio":
            frame = frame.f_back
        return frame is not None and frame.f_globals is self._shell.user_ns

    def told(self) -> list[dict[str, Any]]:
        """The tasks that died unseen, and those of the notebook's own that still run, with the cells that started them."""
        found = []
        for task, (cell, nth, own) in self._tasks.items():
            name = getattr(task.get_coro(), "__qualname__", task.get_name())
            if not task.done():
                if not own or task is asyncio.current_task():
                    continue
                trouble = stuck("", task)
                what = f"{name}, a task that it started, was still running at the end{place_of(trouble)}"
            elif not task.cancelled() and task._log_traceback:  # asking with exception() would count as having seen it
                error = task.exception()
                assert error is not None
                trouble = died("", error)
                what = f"{name}, a task that it started, {trouble.what}{place_of(trouble)}, and nobody looked"
            else:
                continue
            found.append({"source": cell, "nth": nth, "what": what})
        return found

    async def end(self) -> None:
        """Cancel what still runs, so that the kernel can go."""
        running = [task for task, (_, _, own) in self._tasks.items() if own and not task.done()]
        running = [task for task in running if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=PATIENCE)


_guards: list[CellGuard] = []


def load_ipython_extension(shell: Any) -> None:
    """What IPython calls when the kernel starts."""
    show_exception_groups()
    guard = CellGuard(shell)
    shell.events.register("pre_run_cell", guard.before_cell)
    _guards.append(guard)


async def finish() -> None:
    """Tell the validation of the tasks that nobody waited for.

    Raises:
        IndexError: the extension was not loaded, so nothing was watched.
    """
    from IPython.display import publish_display_data

    guard = _guards[-1]
    await asyncio.sleep(0)  # what is about to end may end
    told = guard.told()
    await guard.end()
    publish_display_data({MIME: told, "text/plain": ""})  # type: ignore[no-untyped-call]
