"""The set-up cell and the guard: what died, what was left, what the kernel runs for itself; and all of it twice."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from commonboard.course import Guard, StrayTaskError, set_up, setup as module
from commonboard.course.data import data
from commonboard.errors import InvalidArgumentError

ROOT = Path(__file__).resolve().parent.parent.parent


async def breaks() -> None:
    await asyncio.sleep(0)
    raise ValueError("the work failed")


async def waits() -> None:
    await asyncio.sleep(1000)


async def grouped() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(breaks())
        group.create_task(waits())


def test_a_task_that_nobody_started_is_no_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    async def notebook() -> None:
        await set_up().finish()

    asyncio.run(notebook())
    assert capsys.readouterr().out == "No task died unseen, and none was left running.\n"


def test_tasks_that_were_awaited_gathered_or_grouped_are_no_trouble_even_if_they_raised() -> None:
    async def notebook() -> None:
        guard = set_up()
        with pytest.raises(ValueError, match="the work failed"):
            await asyncio.create_task(breaks())
        await asyncio.gather(breaks(), asyncio.sleep(0), return_exceptions=True)
        with pytest.raises(ExceptionGroup):
            await grouped()
        task = asyncio.create_task(waits())
        task.cancel()
        await asyncio.sleep(0)
        await guard.finish()
        assert repr(guard) == "Guard(0 tasks)"

    asyncio.run(notebook())


def test_a_task_that_died_unseen_is_named_with_its_error_and_its_line() -> None:
    async def notebook() -> None:
        guard = set_up()
        asyncio.create_task(breaks())  # noqa: RUF006 - nobody keeping it is the point
        await asyncio.sleep(0.01)
        await guard.finish()

    with pytest.raises(
        StrayTaskError, match=r"breaks raised ValueError: the work failed, at line \d+ of breaks: raise ValueError"
    ):
        asyncio.run(notebook())


def test_a_task_that_is_left_running_is_named_and_cancelled() -> None:
    async def notebook() -> asyncio.Task[None]:
        guard = set_up()
        task = asyncio.create_task(waits())
        with pytest.raises(StrayTaskError, match=r"waits was still running, at line \d+ of waits: await asyncio.sleep\(1000\)"):
            await guard.finish()
        assert task.cancelled()
        return task

    asyncio.run(notebook())


def test_a_task_that_will_not_be_cancelled_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)

    async def notebook() -> None:
        stop = asyncio.Event()

        async def deaf() -> None:
            while not stop.is_set():
                try:
                    await stop.wait()
                except asyncio.CancelledError:
                    continue

        guard = set_up()
        task = asyncio.create_task(deaf())
        with pytest.raises(StrayTaskError, match="deaf went on though it was cancelled"):
            await guard.finish()
        stop.set()
        await task

    asyncio.run(notebook())


def test_the_error_is_no_group_and_has_none_behind_it() -> None:
    async def notebook() -> None:
        guard = set_up()
        tasks = [asyncio.create_task(breaks()) for _ in range(2)]
        await asyncio.wait(tasks)
        await guard.finish()

    with pytest.raises(StrayTaskError) as raised:
        asyncio.run(notebook())
    assert str(raised.value).count("breaks raised") == 2
    assert raised.value.__context__ is None


def test_finishing_again_says_nothing_of_what_was_told() -> None:
    async def notebook() -> None:
        guard = set_up()
        tasks = [asyncio.create_task(breaks()), asyncio.create_task(waits())]
        await asyncio.sleep(0.01)
        with pytest.raises(StrayTaskError):
            await guard.finish()
        await guard.finish()
        assert len(tasks) == 2

    asyncio.run(notebook())


def test_setting_up_again_gives_the_same_guard_forgets_the_dead_and_keeps_what_runs() -> None:
    async def notebook() -> None:
        guard = set_up()
        tasks = [asyncio.create_task(breaks()), asyncio.create_task(waits())]
        await asyncio.sleep(0.01)
        assert set_up() is guard
        assert repr(guard) == "Guard(1 task)"
        with pytest.raises(StrayTaskError) as raised:
            await guard.finish()
        assert "breaks" not in str(raised.value)
        assert "waits was still running" in str(raised.value)
        assert len(tasks) == 2

    asyncio.run(notebook())


def test_another_task_factory_that_was_there_goes_on_making_the_tasks() -> None:
    made: list[Any] = []

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(coroutine)
        return asyncio.Task(coroutine, loop=loop, **options)

    async def notebook() -> None:
        asyncio.get_running_loop().set_task_factory(factory)
        set_up()
        await asyncio.create_task(asyncio.sleep(0), name="mine")

    asyncio.run(notebook())
    assert made[0].__qualname__ == "sleep"


def test_the_tasks_of_the_kernel_itself_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KERNEL", ("asyncio",))

    async def notebook() -> None:
        guard = set_up()
        task = asyncio.create_task(asyncio.sleep(1000))
        assert repr(guard) == "Guard(0 tasks)"
        await guard.finish()
        task.cancel()

    asyncio.run(notebook())


def test_it_works_without_a_loop_and_does_not_need_pandas_or_ipython() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None; from commonboard.course import set_up; print(set_up(), 'zmq' in sys.modules)"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "toolkit")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "Guard(0 tasks) False\n"
    assert isinstance(set_up(), Guard)


def test_tables_look_the_same_however_wide_the_window_is() -> None:
    frame = pd.DataFrame({f"a long name of a column {number}": ["x" * 200] for number in range(12)})
    with pd.option_context("display.width", 40, "display.max_colwidth", 10, "display.max_columns", 2):
        set_up()
        first = repr(frame)
    with pd.option_context("display.width", 300, "display.max_colwidth", None):
        set_up()
        assert repr(frame) == first


class Shell:
    """What the set-up asks of IPython's shell."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[str]]] = []
        self.by_ipython: list[BaseException] = []

    def set_custom_exc(self, kinds: tuple[type[BaseException], ...], handler: Any) -> None:
        self.kinds, self.handler = kinds, handler

    def _showtraceback(self, kind: type[BaseException], error: BaseException, lines: list[str]) -> None:
        self.told.append((kind.__name__, lines))

    def showtraceback(self, what: tuple[Any, BaseException, Any], running_compiled_code: bool) -> None:
        self.by_ipython.append(what[1])


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = Shell()
    monkeypatch.setitem(sys.modules, "IPython", type("IPython", (), {"get_ipython": staticmethod(lambda: made)}))
    set_up()
    return made


def raised(function: Any) -> BaseException:
    with pytest.raises(BaseException) as caught:
        function()
    return caught.value


def group() -> None:
    raise BaseExceptionGroup("two things", [ValueError("a"), KeyError("b")])


def out_of_a_group() -> None:
    try:
        group()
    except BaseExceptionGroup:
        raise RuntimeError("nobody could help") from None


@pytest.mark.parametrize("how", [group, out_of_a_group])
def test_a_group_and_what_was_raised_out_of_one_are_shown_as_an_error(shell: Shell, how: Any) -> None:
    error = raised(how)
    assert isinstance(error, shell.kinds)
    lines = shell.handler(shell, type(error), error, error.__traceback__)
    assert shell.told == [(type(error).__name__, lines)]
    assert type(error).__name__ in "".join(lines)
    assert shell.by_ipython == []


def test_any_other_error_is_shown_as_ipython_does(shell: Shell) -> None:
    error = ValueError("plain")
    assert shell.handler(shell, ValueError, error, None) == []
    assert shell.by_ipython == [error]
    assert shell.told == []


def test_a_data_set_is_named_by_a_text() -> None:
    with pytest.raises(InvalidArgumentError, match=r"such as 'crew_board\.json', not an int"):
        data(3)  # type: ignore[arg-type]
