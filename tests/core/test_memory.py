"""SharedMemory and AgentMemory: names, keys, reads, writes, metadata, reserved keys, the log."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import Any

import pytest
from tests.helpers import FiveMethods, WithCompareAndSet, everything, run

from commonboard import ABSENT, ConflictError, InMemoryStore, LogicalClock, Optimistic, SharedMemory, Write
from commonboard.errors import CapabilityError, InvalidKeyError, NameNotAllowedError, StoreShapeError, UnstorableValueError

RESERVED = ["__oma_checkpoint__", "__oma_approval__", "__commonboard__"]


# --- stores ---


@pytest.mark.parametrize("store", [None, 0, "", [], {}, object()])
def test_a_store_that_is_given_is_never_taken_for_none(store: Any) -> None:
    with pytest.raises(StoreShapeError, match="is not a memory store: it lacks "):
        SharedMemory(store)


@pytest.mark.parametrize("missing", ["get", "set", "list", "delete", "clear"])
def test_a_store_without_one_of_the_five_methods_is_refused_by_its_name(missing: str) -> None:
    faulty = type("Faulty", (FiveMethods,), {missing: None})
    with pytest.raises(
        TypeError, match=rf"Faulty is not a memory store: it lacks {missing}; a store has five async methods: get, set"
    ):
        SharedMemory(faulty())


def test_a_class_in_the_place_of_a_store_is_told_as_that() -> None:
    with pytest.raises(StoreShapeError, match=r"InMemoryStore is a class, not a store; make one with InMemoryStore\(\)"):
        SharedMemory(InMemoryStore)


def test_a_store_that_is_not_async_is_told_at_the_call() -> None:
    class Plain(FiveMethods):
        def get(self, key: str) -> Any:  # type: ignore[override]
            return None

    with pytest.raises(StoreShapeError, match=r"Plain.get is not async: it returned NoneType; write `async def get`"):
        run(SharedMemory(Plain()).read("a"))


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("text", "gave a str as an entry"),
        ({"key": "a", "value": "1"}, "gave a dict as an entry"),
        (Write("a", "1"), None),
        (Write(5, "1"), "the key must be text"),  # type: ignore[arg-type]
        (Write("a", b"1"), "the value for 'a' is a bytes"),  # type: ignore[arg-type]
        (Write("a", "1", metadata=["x"]), "gave a Write as an entry"),  # type: ignore[arg-type]
        (Write("a", "1", created_at="now"), "gave a Write as an entry"),  # type: ignore[arg-type]
        (Write("a", "1", expires_at_turn="soon"), "expires_at_turn for 'a' must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_a_store_whose_entries_are_none_is_told_at_the_call(entry: Any, why: str | None) -> None:
    class Odd(FiveMethods):
        async def get(self, key: str) -> Any:
            return entry

        async def list(self) -> Any:
            return [entry]

    memory = SharedMemory(Odd())
    if why is None:
        assert run(memory.value("a")) == "1"
    else:
        for call in (memory.read("a"), memory.list()):
            with pytest.raises(StoreShapeError, match=why):
                run(call)


def test_a_store_whose_list_is_none_is_told_at_the_call() -> None:
    class Odd(FiveMethods):
        async def list(self) -> Any:
            return 5

    with pytest.raises(StoreShapeError, match=r"Odd.list gave a int; it gives a list of entries"):
        run(SharedMemory(Odd()).list())


def test_what_a_foreign_store_keeps_is_not_aliased_by_what_a_memory_gives() -> None:
    class Live(FiveMethods):
        async def get(self, key: str) -> Any:
            return self.entries.get(key)

        async def set(self, key: str, value: str, metadata: Any = None) -> None:
            self._put(key, value, None)
            self.entries[key].metadata = metadata

    async def main() -> None:
        memory = SharedMemory(Live())
        made = await memory.agent("web").write("key", 1, metadata={"deep": [1]})
        made.metadata["deep"].append(2)
        found = await memory.read("web/key")
        assert found is not None
        found.metadata["deep"].append(3)
        again = await memory.read("web/key")
        assert again is not None
        assert again.metadata["deep"] == [1]

    run(main())


# --- names and keys ---


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "an agent's name is non-empty text such as 'web', not ''"),
        (None, "not None"),
        (5, "not 5"),
        ("a/b", "cannot hold a '/', which separates it from its keys: 'a/b'; use '-' instead"),
        ("/", "cannot hold a '/'"),
        ("shared", "'shared' is the name of a reserved namespace"),
        *[(name, "is the name of a reserved namespace; give the agent another name") for name in RESERVED],
    ],
)
def test_a_name_that_cannot_head_keys_is_refused(name: Any, why: str) -> None:
    memory = SharedMemory()
    with pytest.raises(NameNotAllowedError, match=why):
        memory.agent(name)
    with pytest.raises(NameNotAllowedError, match=why):
        run(memory.write(name, "key", 1))
    assert run(everything(memory.store))[0] == []


def test_an_agent_writes_under_its_name_and_everybody_in_the_shared_block() -> None:
    async def main() -> None:
        memory = SharedMemory()
        web, docs = memory.agent("web"), memory.agent("docs")
        await web.write("key", 1)
        await docs.write("key", 2)
        await web.shared.write("key", 3)
        await docs.shared.write("key", 4)
        assert [(e.key, e.value, e.actor) for e in await memory.list()] == [
            ("web/key", 1, "web"),
            ("docs/key", 2, "docs"),
            ("shared/key", 4, "docs"),
        ]
        assert await web.value("docs/key") == 2
        assert (web.key("a/b"), web.shared.key("k")) == ("web/a/b", "shared/k")
        assert [repr(it) for it in (web, web.shared)] == ["AgentMemory('web')", "<shared/… as changed by web>"]

    run(main())


@pytest.mark.parametrize("key", ["", None, 5, b"k"])
def test_a_short_key_that_is_no_text_is_refused(key: Any) -> None:
    async def main() -> None:
        me = SharedMemory().agent("web")
        for call in (
            lambda: me.write(key, 1),
            lambda: me.shared.write(key, 1),
            lambda: me.update(key, lambda old: 1),
            lambda: me.append(key, 1),
            lambda: me.delete(key),
            lambda: me.compare_and_set(key, None, 1),
            lambda: me.write_expiring(key, 1, 1),
        ):
            with pytest.raises(NameNotAllowedError, match=r"a key under '(web|shared)' is non-empty text"):
                await call()

    run(main())


@pytest.mark.parametrize("key", ["", None, 5, "a\0", "\ud800"])
def test_a_full_key_that_is_none_is_refused_by_reads(key: Any) -> None:
    async def main() -> None:
        me = SharedMemory().agent("web")
        for call in (me.read(key), me.value(key), me._memory.read(key)):
            with pytest.raises(InvalidKeyError):
                await call

    run(main())


def test_a_nul_in_a_short_key_is_refused_by_every_write() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        for call in (me.write("a\0", 1), me.update("a\0", lambda old: 1), me.append("a\0", 1), me.delete("a\0")):
            with pytest.raises(InvalidKeyError, match="the key holds a NUL character at position 5"):
                await call
        assert await memory.log() == []

    run(main())


def test_reserved_keys_are_hidden_refused_and_kept() -> None:
    async def main() -> None:
        store = InMemoryStore()
        for name in RESERVED:
            await store.set(f"{name}/run1", "{}")
            await store.set(name, "{}")
        memory = SharedMemory(store)
        me = memory.agent("web")
        await me.write("key", 1)
        for name in RESERVED:
            assert await memory.read(f"{name}/run1") is None
            assert await memory.read(name) is None
            assert await me.value(f"{name}/run1", "default") == "default"
            assert await memory.list(name) == []
            assert await me.list(f"{name}/") == []
        assert [entry.key for entry in await memory.list()] == ["web/key"]
        assert [entry.key for entry in await memory.list(limit=1)] == ["web/key"]
        assert "run1" not in await memory.summary()
        assert [record["key"] for record in (await memory.snapshot())["entries"]] == ["web/key"]
        assert {event.key for event in await memory.log()} == {"web/key"}
        await memory.restore(await SharedMemory().snapshot())
        assert [entry.key for entry in await store.list()] == [f"{n}{end}" for n in RESERVED for end in ("/run1", "")]
        assert [event.key async for event in _first(memory.watch(), 2)] == ["web/key", "web/key"]

    run(main())


async def _first(events: Any, count: int) -> Any:
    for _ in range(count):
        yield await anext(events)


# --- reads and writes ---


def test_a_write_gives_the_new_entry_and_says_who_and_why() -> None:
    async def main() -> None:
        memory = SharedMemory(InMemoryStore(clock=LogicalClock()), turn=4)
        entry = await memory.write("web", "notes", {"customers": 3}, reason="read the report", metadata={"page": 2})
        assert (entry.key, entry.value, entry.version) == ("web/notes", {"customers": 3}, 1)
        assert entry == await memory.read("web/notes")
        assert entry.metadata == {"page": 2, "agent": "web", "sharedMemoryValueEncoding": "json"}
        (event,) = await memory.log()
        assert (event.operation, event.actor, event.reason, event.turn) == ("insert", "web", "read the report", 4)
        assert (event.value, event.encoding) == ('{"customers":3}', "json")

    run(main())


def test_the_writer_and_the_markers_cannot_be_faked_by_metadata() -> None:
    async def main() -> None:
        memory = SharedMemory()
        faked = {"agent": "somebody else", "sharedMemoryValueEncoding": "json", "commonboardType": "orset", "mine": 1}
        await memory.agent("web").shared.write("key", "[not JSON", metadata=faked)
        entry = await memory.read("shared/key")
        assert entry is not None
        assert (entry.value, entry.metadata) == ("[not JSON", {"mine": 1, "agent": "web"})

    run(main())


def test_a_write_may_expect_what_it_replaces() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        first = await me.write("key", "one", expect=ABSENT)
        with pytest.raises(ConflictError, match="expected no entry and found version 1 by web; nothing was written"):
            await me.write("key", "two", expect=ABSENT)
        await me.write("key", "two", expect=first.version)
        with pytest.raises(ConflictError, match="expected version 1 and found version 2 by web") as refused:
            await me.write("key", "three", expect=first.version)
        assert (refused.value.expected, refused.value.found_version, refused.value.mine) == (1, 2, "three")
        await me.write("key", "three", expect="two")
        with pytest.raises(ConflictError, match="expected the text 'two'"):
            await me.delete("key", expect="two")
        assert await me.value("web/key") == "three"
        await me.delete("key", expect=3)
        with pytest.raises(ConflictError, match=r"found no entry \(its absence is version 4\)"):
            await me.write("key", "four", expect=3)

    run(main())


def test_compare_and_set_compares_values() -> None:
    async def main() -> None:
        for store in (InMemoryStore(), WithCompareAndSet()):
            me = SharedMemory(store).agent("web")
            assert await me.shared.compare_and_set("key", None, {"a": 1, "b": [2]}) is True
            assert await me.shared.compare_and_set("key", None, "again") is False
            assert await me.shared.compare_and_set("key", {"b": [2], "a": 1.5}, "no") is False
            assert await me.shared.compare_and_set("key", {"b": [2], "a": 1}, "yes") is True
            assert await me.value("shared/key") == "yes"

    run(main())


def test_a_delete_is_logged_with_who_and_why_and_nothing_is_logged_where_nothing_is() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        await me.delete("key", reason="never there")
        await me.write("key", 1)
        await me.delete("key", reason="done")
        log = await memory.log()
        assert [(e.operation, e.actor, e.reason) for e in log] == [("insert", "web", None), ("delete", "web", "done")]
        assert await memory.log(1) == log[1:]
        assert await memory.log(actor="docs") == []
        assert await memory.log(key="web/key") == log

    run(main())


def test_append_is_one_step_and_makes_the_list() -> None:
    async def main() -> None:
        for store in (InMemoryStore(), WithCompareAndSet()):
            memory = SharedMemory(store)
            me = memory.agent("web")
            await me.shared.append("list", {"n": 0}, reason="first")
            await asyncio.gather(*(memory.agent(f"agent-{n}").shared.append("list", n) for n in range(1, 20)))
            made = await me.shared.append("list", [20])
            assert made.value == await me.value("shared/list")
            assert (made.value[0], sorted(made.value[1:-1]), made.value[-1]) == ({"n": 0}, list(range(1, 20)), [20])

    with pytest.warns(UserWarning, match="has no versions"):
        run(main())


@pytest.mark.parametrize("store", [InMemoryStore, WithCompareAndSet])
@pytest.mark.parametrize("there", ["a text", {"a": 1}, 5, True, '["looks like a list"]'])
def test_an_append_to_what_is_no_list_is_refused_and_changes_nothing(store: Any, there: Any) -> None:
    async def main() -> None:
        memory = SharedMemory(store())
        me = memory.agent("web")
        await me.shared.write("key", there)
        before = await everything(memory.store)
        with pytest.raises(UnstorableValueError, match=r"cannot append to 'shared/key': what is .*there is not a list"):
            await me.shared.append("key", 1)
        assert await everything(memory.store) == before

    run(main())


def test_lists_are_pages_and_hidden_entries_do_not_count() -> None:
    async def main() -> None:
        store = InMemoryStore()
        memory = SharedMemory(store)
        me = memory.agent("web")
        for number in range(6):
            await me.write(f"key {number}", number)
            await me.write_expiring(f"brief {number}", number, 1)
            await store.set(f"__oma_checkpoint__/{number}", "x")
        await memory.advance_turn()
        page = await memory.list("web", limit=4)
        assert [entry.value for entry in page] == [0, 1, 2, 3]
        rest = await memory.list("web", limit=4, after=page.cursor)
        assert [entry.value for entry in rest] == [4, 5]
        assert rest.cursor is None
        assert [entry.value for entry in await me.list("web/key 5")] == [5]
        assert await memory.list(limit=0) == []

    run(main())


def test_pages_of_a_foreign_store_are_refused_and_its_prefixes_are_whole_segments() -> None:
    async def main() -> None:
        memory = SharedMemory(FiveMethods())
        await memory.write("web", "a", 1)
        await memory.write("website", "a", 2)
        assert [entry.key for entry in await memory.list("web")] == ["web/a"]
        for options in ({"limit": 1}, {"after": "x"}):
            with pytest.raises(CapabilityError, match="FiveMethods lists everything at once; it has no limit= and no after="):
                await memory.list(**options)
        for call in (memory.log(), anext(memory.watch())):
            with pytest.raises(CapabilityError, match="FiveMethods keeps no log; use a built-in store"):
                await call

    run(main())


@pytest.mark.parametrize(("seconds", "tokens"), [(-1, 0), (0, -1), (float("nan"), 0), (float("inf"), 0)])
def test_a_thought_takes_no_negative_time(seconds: float, tokens: int) -> None:
    with pytest.raises(ValueError, match="think takes at least 0 seconds and 0 tokens"):
        run(SharedMemory().agent("web").think(seconds, tokens))
    run(SharedMemory().agent("web").think(3600, 100))  # costs nothing outside a simulation


def test_its_repr_says_what_it_is_made_of() -> None:
    memory = SharedMemory(policy=Optimistic(attempts=3))
    expected = "SharedMemory(InMemoryStore(0 entries, 0 events), policy=Optimistic(attempts=3, backoff=0), turn=0)"
    assert repr(memory) == expected


def test_many_writes_of_one_program_leave_nothing_behind_in_its_task() -> None:
    async def main() -> None:
        memory = SharedMemory()
        for number in range(200):
            await memory.write("web", "key", number)
        assert len(list(copy_context())) < 20

    run(main())


def test_a_read_of_a_key_without_its_namespace_says_what_is_likely_meant() -> None:
    async def main() -> None:
        me = SharedMemory().agent("extractor")
        await me.write("invoice", 1)
        with pytest.warns(UserWarning, match="such as 'extractor/invoice' or 'shared/invoice'"):
            assert await me.read("invoice") is None
        with pytest.raises(AttributeError, match=r"me\.value\('shared/…'\)"):
            me.shared.value  # noqa: B018

    run(main())


def test_a_change_that_did_not_expect_a_missing_entry_is_told_so() -> None:
    async def main() -> None:
        with pytest.raises(TypeError) as caught:
            await SharedMemory().agent("web").shared.update("n", lambda n: n + 1)
        assert caught.value.__notes__ == [
            "there was no entry at 'shared/n', so the change was given None; begin with `(found or …)`"
        ]

    run(main())


def test_an_agent_can_watch_the_log_and_then_knows_what_it_saw() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("web")
        await memory.agent("docs").shared.write("x", 1)
        async for event in me.watch():
            assert (event.key, event.actor) == ("shared/x", "docs")
            break
        await me.shared.write("x", 2)
        assert (await memory.log())[-1].saw == 1

    run(main())
