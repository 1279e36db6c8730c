"""The recorder: what it notes, what it concludes, and what it leaves unknown."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

import pytest
from tests.helpers import FiveMethods, WithBoth, WithCompareAndSet, run
from tests.recording.slow import Gated, Paused, PausedWithCompareAndSet

import commonboard as cb
from commonboard.check.linearizable import linearizable
from commonboard.history import GIVEN
from commonboard.recording import MARK, acting, record
from commonboard.stores import conformance

KEY = "shared/x"


def brief(history: Iterable[cb.Operation]) -> list[tuple[Any, ...]]:
    return [(op.agent, op.kind, op.text, op.saw, op.replaced, op.made) for op in history]


async def as_agent(name: str, *calls: Any) -> None:
    with acting(name):
        for call in calls:
            await call()


class TestFiveMethods:
    def test_every_call_is_an_operation_with_its_interval_and_its_version(self) -> None:
        ticks = iter([10.0, 10.5, 11.0, 11.25])
        recorded = record(FiveMethods(), clock=lambda: next(ticks))

        async def main() -> None:
            with acting("web"):
                await recorded.set(KEY, "1")
                await recorded.get(KEY)

        run(main())
        write, read = recorded.history
        assert brief([write, read]) == [("web", "write", "1", None, 0, 1), ("web", "read", "1", 1, None, None)]
        assert (write.begin, write.end, read.begin, read.end) == (0, 1, 2, 3)
        assert (write.began_at, write.ended_at, read.began_at, read.ended_at) == (0.0, 0.5, 1.0, 1.25)

    def test_calls_that_overlap_have_intervals_that_overlap(self) -> None:
        recorded = record(Paused())

        async def main() -> None:
            await asyncio.gather(as_agent("a", lambda: recorded.get(KEY)), as_agent("b", lambda: recorded.get(KEY)))

        run(main())
        first, second = recorded.history
        assert first.begin < second.begin < first.end < second.end

    def test_readers_never_see_the_mark_and_the_store_does(self) -> None:
        inner = WithBoth()
        recorded: Any = record(inner)

        async def main() -> None:
            await recorded.set("k", "1", {"agent": "web", "page": 2})
            await recorded.set_with_expiry("e", "2", 5, {"agent": "web"})
            await recorded.compare_and_set("c", None, "3")
            assert (await recorded.get("k")).metadata == {"agent": "web", "page": 2}
            assert [entry.metadata for entry in await recorded.list()] == [{"agent": "web", "page": 2}, {"agent": "web"}, {}]
            assert (await recorded.get("e")).expires_at_turn == 5

        run(main())
        assert all(MARK in entry.metadata for entry in inner.entries.values())
        assert len({entry.metadata[MARK] for entry in inner.entries.values()}) == 3
        assert [op.agent for op in recorded.history][:2] == ["web", "web"]

    def test_taking_the_mark_out_leaves_a_store_that_hands_out_its_own_entries_alone(self) -> None:
        class Aliasing(FiveMethods):
            async def get(self, key: str) -> cb.MemoryEntry | None:
                return self.entries.get(key)

        inner = Aliasing()
        recorded = record(inner)

        async def main() -> None:
            await recorded.set("k", "1")
            await recorded.get("k")

        run(main())
        assert MARK in inner.entries["k"].metadata

    def test_a_copy_of_marked_metadata_gets_a_mark_of_its_own(self) -> None:
        recorded = record(FiveMethods(), name="r")

        async def main() -> None:
            with acting("web"):
                await recorded.set(KEY, "1", {MARK: "r:1"})
                await recorded.set(KEY, "2", {MARK: "r:1"})
                await recorded.get(KEY)

        run(main())
        assert [op.saw for op in recorded.history if op.kind == "read"] == [2]

    def test_a_write_knows_what_its_agent_had_seen(self) -> None:
        recorded = record(FiveMethods())

        async def main() -> None:
            await as_agent("web", lambda: recorded.get(KEY))
            await as_agent("docs", lambda: recorded.set(KEY, "blind"))
            await as_agent("web", lambda: recorded.set(KEY, "1"))
            await as_agent("docs", lambda: recorded.list(), lambda: recorded.set(KEY, "2"))

        run(main())
        writes = [op for op in recorded.history if op.kind == "write"]
        assert [(op.saw, op.replaced, op.made) for op in writes] == [(None, 0, 1), (0, 1, 2), (2, 2, 3)]
        verdict = cb.no_lost_updates(recorded.history)
        assert [finding.operations[-1].text for finding in verdict.findings] == ["1"]

    def test_two_overlapping_writes_have_no_versions_until_somebody_looks(self) -> None:
        async def main(look: bool) -> Any:
            inner = Gated("1", "2")
            recorded = record(inner)
            tasks = [asyncio.create_task(as_agent(name, lambda n=name: recorded.set(KEY, n))) for name in ("1", "2")]
            await asyncio.sleep(0)
            for gate in inner.gates.values():
                gate.set()
            await asyncio.gather(*tasks)
            if look:
                with acting("3"):
                    await recorded.get(KEY)
            return recorded

        unknown = run(main(look=False))
        assert [op.made for op in unknown.history] == [None, None]
        assert unknown.doubts == ["1 and 2 wrote 'shared/x' at the same time, and nothing tells in which order"]
        assert cb.no_lost_updates(unknown.history).holds is None
        assert sorted([op.text for op in one.writes()] for one in unknown.histories()) == [["1", "2"], ["2", "1"]]
        known = run(main(look=True))
        assert brief(known.history) == [
            ("1", "write", "1", None, 0, 1),
            ("2", "write", "2", None, 1, 2),
            ("3", "read", "2", 2, None, None),
        ]
        assert known.doubts == []

    def test_a_store_that_answers_late_is_not_believed_on_the_order_of_its_answers(self) -> None:
        async def main() -> Any:
            inner = Gated("first")
            recorded = record(inner)
            first = asyncio.create_task(as_agent("web", lambda: recorded.set(KEY, "first")))
            await asyncio.sleep(0)  # it has happened, and its answer is late
            await as_agent("docs", lambda: recorded.set(KEY, "second"), lambda: recorded.get(KEY))
            inner.gates["first"].set()
            await first
            unsure = recorded.history  # for all that was seen, it may have happened after the read
            await as_agent("docs", lambda: recorded.get(KEY))
            return unsure, recorded

        unsure, recorded = run(main())
        assert [op.made for op in unsure if op.kind == "write"] == [None, None]
        assert brief(recorded.history) == [
            ("web", "write", "first", None, 0, 1),
            ("docs", "write", "second", None, 1, 2),
            ("docs", "read", "second", 2, None, None),
            ("docs", "read", "second", 2, None, None),
        ]
        assert linearizable()(recorded.history).holds is True

    def test_a_compare_and_set_that_succeeds_tells_what_was_there(self) -> None:
        async def main() -> Any:
            recorded: Any = record(PausedWithCompareAndSet())
            swap = recorded.compare_and_set
            await asyncio.gather(
                as_agent("a", lambda: swap(KEY, None, "1")),
                as_agent("b", lambda: recorded.get(KEY), lambda: swap(KEY, "1", "2")),
                as_agent("c", lambda: swap(KEY, None, "3")),
            )
            return recorded

        recorded = run(main())
        swaps = [op for op in recorded.history if op.kind == "compare-and-set"]
        assert [(op.agent, op.ok, op.replaced, op.made) for op in swaps] == [
            ("a", True, 0, 1),
            ("c", False, None, None),
            ("b", True, 1, 2),
        ]

    def test_optimistic_agents_through_compare_and_set_lose_nothing_and_every_version_is_known(self) -> None:
        async def main() -> Any:
            recorded = record(PausedWithCompareAndSet())
            memory = cb.SharedMemory(recorded)

            async def count(me: cb.AgentMemory) -> None:
                for _ in range(5):
                    await me.shared.update("n", lambda n: (n or 0) + 1)

            await asyncio.gather(*(count(memory.agent(name)) for name in "abc"))
            return recorded

        with pytest.warns(UserWarning, match="ABA"):
            recorded = run(main())
        assert cb.no_lost_updates(recorded.history).holds is True
        assert linearizable()(recorded.history).holds is True
        assert [op.made for op in recorded.history.writes()] == list(range(1, 16))

    def test_what_was_there_before_is_given(self) -> None:
        inner = FiveMethods()

        async def main() -> Any:
            await inner.set(KEY, "[]", {"sharedMemoryValueEncoding": "json"})
            recorded = record(inner)
            await as_agent("web", lambda: recorded.get(KEY), lambda: recorded.set(KEY, "1"))
            return recorded

        recorded = run(main())
        assert brief(recorded.history) == [
            (GIVEN, "write", "[]", None, 0, 1),
            ("web", "read", "[]", 1, None, None),
            ("web", "write", "1", 1, 1, 2),
        ]
        assert recorded.history[0].value == []
        assert linearizable()(recorded.history).holds is True

    def test_a_store_that_drops_metadata_leaves_the_versions_unknown(self) -> None:
        class Forgetful(FiveMethods):
            async def set(self, key: str, value: str, metadata: Any = None) -> None:
                await super().set(key, value, None)

        async def main() -> Any:
            recorded = record(Forgetful())
            await as_agent("web", lambda: recorded.set(KEY, "1"), lambda: recorded.get(KEY), lambda: recorded.set(KEY, "2"))
            return recorded

        recorded = run(main())
        assert [op.made for op in recorded.history] == [None, None, None]
        assert "so the versions of 'shared/x' are not known" in recorded.doubts[0]
        assert cb.no_lost_updates(recorded.history).holds is None

    def test_who_writes_around_the_recorder_is_noticed(self) -> None:
        inner = FiveMethods()

        async def main() -> Any:
            recorded = record(inner)
            await as_agent("web", lambda: recorded.set(KEY, "1"))
            await inner.set(KEY, "2")
            await as_agent("web", lambda: recorded.get(KEY))
            return recorded

        assert run(main()).doubts != []

    def test_deletes_count_where_something_was_there(self) -> None:
        async def main() -> Any:
            recorded = record(FiveMethods())
            await as_agent(
                "web",
                lambda: recorded.get(KEY),
                lambda: recorded.delete(KEY),
                lambda: recorded.set(KEY, "1"),
                lambda: recorded.delete(KEY),
                lambda: recorded.delete(KEY),
                lambda: recorded.get(KEY),
                lambda: recorded.set(KEY, "2"),
            )
            return recorded

        recorded = run(main())
        assert brief(recorded.history) == [
            ("web", "read", None, 0, None, None),
            ("web", "write", "1", 0, 0, 1),
            ("web", "delete", None, 1, 1, 2),
            ("web", "read", None, 2, None, None),
            ("web", "write", "2", 2, 2, 3),
        ]
        assert cb.no_lost_updates(recorded.history).holds is True

    def test_the_delete_of_what_nobody_ever_saw_is_unknown(self) -> None:
        async def main() -> Any:
            recorded = record(FiveMethods())
            await as_agent("web", lambda: recorded.delete(KEY))
            return recorded

        recorded = run(main())
        assert brief(recorded.history) == [("web", "delete", None, None, None, None)]
        assert "nobody knows whether anything was there" in recorded.doubts[0]

    def test_clear_deletes_each_key_that_was_there(self) -> None:
        async def main() -> Any:
            recorded = record(FiveMethods())
            await as_agent(
                "web",
                lambda: recorded.set("a", "1"),
                lambda: recorded.get("b"),
                lambda: recorded.clear(),
                lambda: recorded.get("a"),
            )
            return recorded

        recorded = run(main())
        assert [(op.kind, op.key, op.saw, op.made) for op in recorded.history] == [
            ("write", "a", None, 1),
            ("read", "b", 0, None),
            ("delete", "a", None, 2),
            ("read", "a", 2, None),
        ]

    def test_it_offers_what_the_store_offers_and_no_more(self) -> None:
        assert not hasattr(record(FiveMethods()), "compare_and_set")
        assert not hasattr(record(WithCompareAndSet()), "set_with_expiry")
        assert not hasattr(record(WithBoth()), "commit")
        with pytest.raises(cb.StoreShapeError, match="lacks get"):
            record(object())
        with pytest.raises(cb.InvalidArgumentError, match="recorded already"):
            record(record(FiveMethods()))

    @pytest.mark.parametrize("make", [FiveMethods, WithBoth])
    def test_it_does_what_a_store_must(self, make: Any) -> None:
        assert run(conformance.run(lambda: record(make()), built_in=False)).failed == []

    def test_a_method_that_is_not_async_is_named(self) -> None:
        class Plain(FiveMethods):
            def get(self, key: str) -> Any:  # type: ignore[override]
                return None

        with pytest.raises(cb.StoreShapeError, match=r"Plain\.get is not async"):
            run(record(Plain()).get("k"))


class TestNoAnswer:
    def test_a_cancelled_write_that_nobody_saw_is_neither_done_nor_refused(self) -> None:
        async def main() -> Any:
            inner = Gated("1")
            recorded = record(inner)
            await as_agent("web", lambda: recorded.set(KEY, "0"))
            task = asyncio.create_task(as_agent("web", lambda: recorded.set(KEY, "1")))
            await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            return recorded

        recorded = run(main())
        first, second = recorded.history
        assert (first.made, first.acknowledged) == (1, True)
        assert (second.ok, second.made, second.acknowledged) == (True, None, False)
        assert second.end > first.end
        assert cb.no_lost_updates(recorded.history).holds is None

    def test_one_that_somebody_saw_happened(self) -> None:
        async def main() -> Any:
            inner = Gated("1")
            inner.lost.add("1")
            recorded = record(inner)
            inner.gates["1"].set()
            with pytest.raises(ConnectionError):
                await as_agent("web", lambda: recorded.set(KEY, "1"))
            await as_agent("docs", lambda: recorded.get(KEY), lambda: recorded.set(KEY, "2"))
            return recorded

        recorded = run(main())
        assert brief(recorded.history) == [
            ("web", "write", "1", None, 0, 1),
            ("docs", "read", "1", 1, None, None),
            ("docs", "write", "2", 1, 1, 2),
        ]
        assert recorded.history[0].acknowledged is False
        assert linearizable()(recorded.history).holds is True

    def test_a_read_without_an_answer_is_no_operation(self) -> None:
        class Broken(FiveMethods):
            async def get(self, key: str) -> Any:
                raise TimeoutError

        recorded = record(Broken())
        with pytest.raises(TimeoutError):
            run(recorded.get(KEY))
        assert len(recorded.history) == 0

    def test_a_call_still_in_flight_is_told_as_one_without_an_answer(self) -> None:
        async def main() -> Any:
            inner = Gated("1")
            recorded = record(inner)
            task = asyncio.create_task(as_agent("web", lambda: recorded.set(KEY, "1")))
            await asyncio.sleep(0)
            history = recorded.history
            inner.gates["1"].set()
            await task
            return history, recorded.history

        before, after = run(main())
        assert (before[0].made, before[0].acknowledged) == (None, False)
        assert (after[0].made, after[0].acknowledged) == (1, True)


class TestWhoCalled:
    def test_code_of_no_agent_saw_what_its_own_task_saw(self) -> None:
        async def main() -> Any:
            recorded = record(Paused())
            memory = cb.SharedMemory(recorded, policy=cb.LastWriterWins())

            async def add(name: str) -> None:
                await memory.agent(name).shared.update("x", lambda n: (n or 0) + 1)

            await asyncio.gather(add("web"), add("docs"))
            await recorded.list()
            return recorded

        recorded = run(main())
        assert cb.no_lost_updates(recorded.history).holds is False
        assert {op.agent for op in recorded.history if op.kind == "write"} == {"web", "docs"}
        assert {op.agent for op in recorded.history if op.kind == "read"} == {"unknown"}

    def test_what_another_task_of_no_agent_read_is_not_guessed(self) -> None:
        async def main(who: str | None) -> Any:
            recorded = record(FiveMethods())

            async def both() -> None:
                await asyncio.create_task(recorded.get(KEY))
                await asyncio.create_task(recorded.set(KEY, "1"))

            if who is None:
                await both()
            else:
                await as_agent(who, both)
            return recorded

        unsure = run(main(None))
        assert [(op.kind, op.made) for op in unsure.history] == [("read", None), ("write", None)]
        assert cb.no_lost_updates(unsure.history).holds is None
        assert [(op.saw, op.made) for op in run(main("web")).history.writes()] == [(0, 1)]

    def test_an_agent_needs_a_name(self) -> None:
        with pytest.raises(cb.NameNotAllowedError), acting("a/b"):
            pass


class TestBuiltIn:
    def test_it_does_what_a_built_in_store_must(self) -> None:
        report = run(conformance.run(lambda: record(cb.InMemoryStore()), built_in=True))
        assert report.failed == []

    def test_versions_are_the_store_s_own(self) -> None:
        async def main() -> Any:
            recorded = record(cb.InMemoryStore())
            web, docs = cb.SharedMemory(recorded).agent("web"), cb.SharedMemory(recorded).agent("docs")
            await web.shared.append("x", "a")
            await docs.value("shared/x")
            await web.shared.update("x", lambda found: [*found, "b"])
            await docs.shared.write("x", ["c"], reason="tidied")
            with contextlib.suppress(cb.ConflictError):
                await docs.shared.write("x", ["d"], expect=1)
            await docs.shared.delete("x")
            await docs.shared.delete("x")
            await web.list()
            return recorded

        recorded = run(main())
        assert [(op.kind, op.saw, op.replaced, op.made, op.ok) for op in recorded.history] == [
            ("append", 0, 0, 1, True),
            ("read", 1, None, None, True),
            ("read", 1, None, None, True),
            ("compare-and-set", 1, 1, 2, True),
            ("write", 1, 2, 3, True),
            ("compare-and-set", 3, 3, None, False),
            ("delete", 3, 3, 4, True),
            ("list", None, None, None, True),
        ]
        assert recorded.history[4].reason == "tidied"
        assert cb.no_lost_updates(recorded.history).holds is False

    def test_plain_calls_say_what_their_caller_had_read(self) -> None:
        async def main() -> Any:
            recorded: Any = record(cb.InMemoryStore())
            await as_agent("web", lambda: recorded.get(KEY))
            await as_agent("docs", lambda: recorded.compare_and_set(KEY, None, "1"))
            await as_agent("web", lambda: recorded.set(KEY, "2"))
            return recorded

        recorded = run(main())
        assert brief(recorded.history) == [
            ("web", "read", None, 0, None, None),
            ("docs", "compare-and-set", "1", 0, 0, 1),
            ("web", "write", "2", 0, 1, 2),
        ]

    def test_what_another_task_of_no_agent_read_is_not_guessed_here_either(self) -> None:
        async def main() -> Any:
            recorded = record(cb.InMemoryStore())
            await asyncio.create_task(recorded.get(KEY))
            await asyncio.create_task(recorded.set(KEY, "1"))
            return recorded

        assert cb.no_lost_updates(run(main()).history).holds is None

    def test_clear_is_a_delete_of_each_key(self) -> None:
        async def main() -> Any:
            recorded = record(cb.InMemoryStore())
            await recorded.set("a", "1")
            await recorded.set("b", "1")
            await as_agent("web", lambda: recorded.clear())
            await recorded.get("a")
            return recorded

        assert [(op.agent, op.kind, op.key, op.saw, op.made) for op in run(main()).history][2:] == [
            ("web", "delete", "a", None, 2),
            ("web", "delete", "b", None, 2),
            ("unknown", "read", "a", 2, None),
        ]

    def test_a_refused_write_of_another_kind_says_which(self) -> None:
        class Full(cb.InMemoryStore):
            async def commit(self, *writes: Any, reads: Any = ()) -> Any:
                raise cb.StoreWriteError("the disk is full")

        recorded = record(Full())
        with pytest.raises(cb.StoreWriteError):
            run(recorded.set(KEY, "1"))
        (op,) = recorded.history
        assert (op.ok, op.made, op.note, op.acknowledged) == (False, None, "StoreWriteError", True)

    def test_the_log_settles_what_got_no_answer_and_tells_what_others_wrote(self) -> None:
        class Lossy(cb.InMemoryStore):
            async def commit(self, *writes: Any, reads: Any = ()) -> Any:
                events = await super().commit(*writes, reads=reads)
                if writes[0].value == "lost":
                    await asyncio.Event().wait()
                return events

        async def main() -> Any:
            inner = Lossy()
            recorded: Any = record(inner)
            await as_agent("web", lambda: recorded.set(KEY, "1", {"agent": "web"}))
            task = asyncio.create_task(as_agent("web", lambda: recorded.set(KEY, "lost", {"agent": "web"})))
            await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await inner.set(KEY, "theirs", {"agent": "stranger"})
            before = recorded.history
            await recorded.settle()
            return before, recorded.history

        before, after = run(main())
        assert [(op.text, op.made, op.acknowledged) for op in before] == [("1", 1, True), ("lost", None, False)]
        assert [(op.agent, op.text, op.made, op.acknowledged) for op in after] == [
            ("web", "1", 1, True),
            ("web", "lost", 2, False),
            ("stranger", "theirs", 3, True),
        ]

    def test_what_was_there_before_is_given(self) -> None:
        async def main() -> Any:
            inner = cb.InMemoryStore()
            await inner.set(KEY, "old")
            recorded = record(inner)
            await as_agent("web", lambda: recorded.get(KEY), lambda: recorded.set(KEY, "new"), lambda: recorded.get(KEY))
            return recorded

        recorded = run(main())
        assert brief(recorded.history)[0] == (GIVEN, "write", "old", None, 0, 1)
        assert linearizable()(recorded.history).holds is True

    def test_following_the_log_goes_through(self) -> None:
        async def main() -> Any:
            recorded: Any = record(cb.InMemoryStore())
            await recorded.set(KEY, "1")
            async for event in recorded.watch():
                return event.value, len(await recorded.events())
            return None

        assert run(main()) == ("1", 1)
