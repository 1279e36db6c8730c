"""Wherever the runs are made, the table is the same; and what cannot be sent elsewhere is told by its name."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest
from tests.compare.crews import EverySecondTime, guest_book, keeps_theirs, tagged

import commonboard as cb
from commonboard import scenarios
from commonboard.check.comparison import Comparison
from commonboard.compare import ComparisonError, compare
from commonboard.sim.scenario import Scenario, scenario

WORLDS = [cb.World(), cb.World(replicas=2)]


def tables(executor: Any = None) -> list[Comparison]:
    """Comparisons of scenarios of functions inside a function, and of others; of own policies; in several pieces."""
    own = [cb.LastWriterWins(), keeps_theirs, EverySecondTime()]
    return [
        compare(scenarios.research_crew, seeds=120, executor=executor),
        compare(scenarios.counter(increments=2), agents=[1, 3], think=2, seeds=["a", "b", 3], world=WORLDS, executor=executor),
        compare(tagged(stubborn=True), own, seeds=60, world=WORLDS, executor=executor),
        compare(guest_book, {"first": cb.FirstWriterWins()}, seeds=10, executor=executor),
    ]


@pytest.fixture(scope="module")
def one_after_another() -> list[Comparison]:
    return tables()


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def alike(made: list[Comparison], expected: list[Comparison]) -> None:
    assert made == expected
    assert [repr(list(table)).encode() for table in made] == [repr(list(table)).encode() for table in expected]


class TestTheSameTable:
    def test_is_made_by_threads(self, one_after_another: list[Comparison]) -> None:
        with ThreadPoolExecutor(4) as threads:
            alike(tables(threads), one_after_another)

    def test_is_made_by_processes_that_begin_with_nothing(
        self, processes: ProcessPoolExecutor, one_after_another: list[Comparison]
    ) -> None:
        alike(tables(processes), one_after_another)

    def test_is_made_by_loky(self, one_after_another: list[Comparison]) -> None:
        loky = pytest.importorskip("loky", reason="loky is not installed: pip install loky")
        executor = loky.get_reusable_executor(max_workers=2)
        try:
            alike(tables(executor), one_after_another)
            here = lambda base, mine, theirs: theirs  # noqa: E731  # a lambda, and a scenario that no module has
            (row,) = compare(_local(), {"mine": here}, seeds=5, executor=executor)
            assert row == compare(_local(), {"mine": here}, seeds=5)[0]
        finally:
            executor.shutdown(wait=True)

    def test_is_made_by_whatever_has_a_submit(self, one_after_another: list[Comparison]) -> None:
        alike(tables(Backwards()), one_after_another)

    def test_leaves_the_executor_running(self, processes: ProcessPoolExecutor) -> None:
        compare(scenarios.counter, seeds=2, executor=processes)
        assert processes.submit(int, "7").result() == 7

    def test_is_made_in_pieces(self) -> None:
        counting = Backwards()
        compare(scenarios.counter, [cb.LastWriterWins()], seeds=120, executor=counting)
        assert [len(task.seeds) for task in counting.tasks] == [50, 50, 20]


class Later:
    """A future as small as it may be; its work is done when somebody asks for the result."""

    def __init__(self, function: Callable[..., Any], task: Any) -> None:
        self.function, self.task, self.asked, self.cancelled = function, task, 0, False

    def result(self) -> Any:
        self.asked += 1
        return pickle.loads(pickle.dumps(self.function))(pickle.loads(pickle.dumps(self.task)))

    def cancel(self) -> bool:
        self.cancelled = True
        return True


class Backwards:
    """Like an executor of another make: no class of `concurrent.futures`, and tasks go through pickle."""

    def __init__(self) -> None:
        self.futures: list[Later] = []

    def submit(self, function: Callable[..., Any], task: Any) -> Later:
        self.futures.append(Later(function, task))
        return self.futures[-1]

    @property
    def tasks(self) -> list[Any]:
        return [future.task for future in self.futures]


class TestThreads:
    def test_leave_nothing_of_the_simulation_behind_in_the_process(self) -> None:
        before = (asyncio.as_completed, gc.isenabled(), sys.get_asyncgen_hooks())
        with ThreadPoolExecutor(8) as threads:
            compare(scenarios.consolidation, seeds=400, executor=threads)
        assert (asyncio.as_completed, gc.isenabled(), sys.get_asyncgen_hooks()) == before

    def test_do_not_run_two_simulations_at_once(self) -> None:
        inside, most = [0], [0]

        class Watching(cb.LastWriterWins):
            def admit(self, base: Any, mine: Any) -> bool:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                threading.Event().wait(0.0005)  # lets other threads in, if they may
                inside[0] -= 1
                return True

        with ThreadPoolExecutor(4) as threads:
            compare(scenarios.research_crew, [Watching()], seeds=200, executor=threads)
        assert most == [1]


class TestAFailure:
    def test_stops_what_has_not_begun(self) -> None:
        async def breaks(me: cb.AgentMemory) -> None:
            raise KeyError("bug")

        executor = Backwards()
        crew = Scenario("broken", "", {"a": breaks}, intents=(1,))
        with pytest.raises(ComparisonError, match="KeyError"):
            compare(crew, [cb.LastWriterWins()], seeds=500, executor=_Unpickled(executor))
        assert [future.asked for future in executor.futures] == [1] + [0] * 9
        assert all(future.cancelled for future in executor.futures)

    def test_of_the_executor_itself_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, "cloudpickle", raising=False)
        closed = ThreadPoolExecutor(1)
        closed.shutdown()
        with pytest.raises(ComparisonError, match=r"ThreadPoolExecutor could not make the runs of 'local'.*after shutdown"):
            compare(_local(), seeds=1, executor=closed)  # which no pickle could send, and threads need none

    def test_of_a_process_that_dies_is_told(self) -> None:
        with (
            ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
            pytest.raises(
                ComparisonError, match=r"ProcessPoolExecutor could not make the runs of 'counter' under 'Deadly': Broken"
            ),
        ):
            compare(scenarios.counter, [Deadly()], seeds=1, executor=pool)


class Deadly(cb.LastWriterWins):
    def admit(self, base: Any, mine: Any) -> bool:
        os._exit(3)


class _Unpickled:
    def __init__(self, executor: Backwards) -> None:
        self.executor = executor

    def submit(self, function: Callable[..., Any], task: Any) -> Any:
        future = self.executor.submit(function, task)
        future.result = lambda: (setattr(future, "asked", future.asked + 1), function(task))[1]  # type: ignore[method-assign]
        return future


def _local() -> Scenario:
    async def signs(me: cb.AgentMemory) -> None:
        await me.shared.update("guests", lambda found: [*(found or []), me.name])

    def kept(state: Any, intent: Any) -> bool:
        return intent in state["shared/guests"]

    return Scenario("local", "", {"a": signs, "b": signs}, intents=("a", "b"), kept=kept, by=str)


class TestWhatCannotBeSent:
    @pytest.mark.parametrize(
        ("subject", "policy", "match"),
        [
            (
                _local(),
                cb.LastWriterWins(),
                r"the scenario 'local' cannot be sent to the processes of ProcessPoolExecutor: .*_local",
            ),
            (guest_book, lambda base, mine, theirs: theirs, r"the policy '<lambda>' cannot be sent to .*<lambda>"),
        ],
    )
    def test_is_named_with_what_to_do(self, processes: ProcessPoolExecutor, subject: Scenario, policy: Any, match: str) -> None:
        with pytest.raises(ComparisonError, match=match) as told:
            compare(subject, [policy], seeds=3, executor=processes)
        for way in ("at the top of a module", "by value, such as loky's", "threads, or none"):
            assert way in str(told.value)
        assert len(compare(guest_book, seeds=3, executor=processes)) == 2  # the pool goes on working

    def test_what_a_notebook_defines_is_not_found_elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.modules["__main__"], "InANotebook", InANotebook, raising=False)
        monkeypatch.setattr(InANotebook, "__module__", "__main__")
        monkeypatch.delitem(sys.modules, "cloudpickle", raising=False)
        with pytest.raises(ComparisonError, match="the policy 'InANotebook' is defined in a notebook or a script"):
            compare(scenarios.counter, [InANotebook()], seeds=1, executor=Broken())

    def test_an_executor_that_sends_by_value_is_not_asked_about_pickle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cloudpickle", _ByValue)
        with pytest.raises(
            ComparisonError, match=r"Broken could not make the runs of 'local' under 'LastWriterWins': OSError: gone"
        ):
            compare(_local(), [cb.LastWriterWins()], seeds=1, executor=Broken())


class _ByValue:
    @staticmethod
    def dumps(thing: Any) -> bytes:
        return b"__main__"


class InANotebook(cb.LastWriterWins):
    pass


class Broken(Executor):
    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(OSError("gone"))
        return future


class TestAScenarioOnItsWay:
    @pytest.mark.parametrize(
        "sent",
        [
            scenarios.counter,
            scenarios.counter(agents=3, seconds=1),
            scenarios.claim_the_task,
            scenarios.consolidation(notes=("x", "y")),
            scenarios.research_crew(seconds=1),
            tagged,
            guest_book,
        ],
    )
    def test_arrives_as_the_same_program(self, sent: Scenario) -> None:
        arrived = pickle.loads(pickle.dumps(sent))
        assert (arrived.name, arrived.story, arrived.intents, arrived.numbers) == (
            sent.name,
            sent.story,
            sent.intents,
            sent.numbers,
        )
        before, after = (cb.simulate(each, policy=cb.LastWriterWins(), seed=5) for each in (sent, arrived))
        assert (str(before.history), before.lost) == (str(after.history), after.lost)

    def test_goes_by_its_name_and_its_numbers(self) -> None:
        assert len(pickle.dumps(scenarios.counter(agents=9))) < 200

    def test_never_arrives_as_what_it_was_made_from(self) -> None:
        changed = dataclasses.replace(guest_book, agents={"only": guest_book.agents["a"]}, intents=("only",))
        assert list(pickle.loads(pickle.dumps(changed)).agents) == ["only"]
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(dataclasses.replace(scenarios.counter(agents=2), story="another"))

    def test_that_no_module_has_goes_by_value(self) -> None:
        @scenario
        def mine(agents: int = 2) -> Scenario:
            return guest_book

        @scenario
        def tagged(agents: int = 2) -> Scenario:  # the module has one of this name, and it is another
            return guest_book

        assert tagged.variant is not None
        tagged.variant.__module__, tagged.variant.__qualname__ = "tests.compare.crews", "tagged"
        for made in (mine, tagged):
            assert made(agents=3).__reduce__()[1] == (made.variant, {"agents": 3})

    def test_from_a_notebook_goes_by_value(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def mine(agents: int = 2) -> Scenario:
            return guest_book

        mine.__module__, mine.__qualname__ = "__main__", "mine"
        made = scenario(mine)(agents=3)
        monkeypatch.setattr(sys.modules["__main__"], "mine", made, raising=False)
        monkeypatch.setattr(sys.modules["__main__"], "__file__", "script.py", raising=False)
        assert made.__reduce__()[1] == ("__main__", "mine", {"agents": 3})
        monkeypatch.delattr(sys.modules["__main__"], "__file__")
        assert made.__reduce__()[1] == (mine, {"agents": 3})
