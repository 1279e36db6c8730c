"""Random programs: each store beside a model that was written without looking at it, and the file beside the memory."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Coroutine
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from commonboard import ABSENT, ANY, ConflictError, FileStore, InMemoryStore, KeyUnchanged, Write
from commonboard.errors import CorruptValueError, UnstorableValueError

JSON = {"sharedMemoryValueEncoding": "json"}
KEYS = st.sampled_from(["a", "a/b", "ab", "%", "é/x"])
TEXTS = st.sampled_from(["", "1", "2", "[1]", '{"a":1}'])
METADATA = st.sampled_from([None, {"agent": "web"}, {"agent": "docs", "deep": {"n": [1]}}, JSON])
EXPECTED = st.one_of(st.just(ANY), st.just(ANY), st.just(ABSENT), st.integers(0, 6), TEXTS)
WRITES = st.builds(
    Write,
    KEYS,
    st.one_of(st.none(), TEXTS),
    METADATA,
    EXPECTED,
    actor=st.sampled_from([None, "web"]),
    reason=st.sampled_from([None, "why"]),
    turn=st.sampled_from([None, 0, 3]),
    saw=st.sampled_from([None, 1]),
    expires_at_turn=st.sampled_from([None, 2]),
)
APPENDS = st.builds(
    Write, KEYS, st.sampled_from(["1", '"x"']), METADATA, turn=st.sampled_from([None, 0, 3]), append=st.just(True)
)
RESTORES = st.builds(
    Write,
    KEYS,
    TEXTS,
    METADATA,
    operation=st.sampled_from(["restore", "import"]),
    created_at=st.just(datetime(2020, 2, 2, 2, 2, 2, 222_222, UTC)),
)


def at_once(call: Coroutine[Any, Any, Any]) -> Any:
    """What the call gives: these stores never wait for anything, so it needs no event loop."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the store waited for something")


class Refused(Exception):
    """The model would not do it."""


@dataclass
class Row:
    value: str
    metadata: dict[str, Any]
    version: int
    created: datetime
    expires: int | None


@dataclass
class Model:
    """What a store does, told plainly: rows in the order of creation, a version for each absence, a list of what happened."""

    rows: dict[str, Row] = field(default_factory=dict)
    absent: dict[str, int] = field(default_factory=dict)
    floor: int = 0
    log: list[tuple[Any, ...]] = field(default_factory=list)

    def version(self, key: str) -> int:
        return self.rows[key].version if key in self.rows else self.absent.get(key, self.floor)

    def write(self, write: Write, now: datetime) -> None:
        row, before = self.rows.get(write.key), self.version(write.key)
        self._check(write.expect, row, before)
        if write.value is None:
            if row is not None:
                del self.rows[write.key]
                self.absent[write.key] = before + 1
                self._note("delete", write, None, before, row.created)
            return
        made = Row(write.value, dict(write.metadata or {}), before + 1, now, write.expires_at_turn)
        if write.append:
            self._append(made, row, write)
        if row is not None:
            made.created = row.created
        made.created = write.created_at or made.created
        if write.operation == "restore":
            self.rows.pop(write.key, None)
        self.rows[write.key] = made
        self.absent.pop(write.key, None)
        self._note(write.operation or ("insert" if row is None else "replace"), write, made.value, before, made.created)

    def _check(self, expect: Any, row: Row | None, version: int) -> None:
        holds = {
            ANY: True,
            ABSENT: row is None,
        }.get(expect, version == expect if isinstance(expect, int) else row is not None and row.value == expect)
        if not holds:
            raise Refused

    def _append(self, made: Row, row: Row | None, write: Write) -> None:
        dead = row is not None and None not in (row.expires, write.turn) and write.turn >= row.expires
        items = []
        if row is not None and not dead:
            items = json.loads(row.value) if row.metadata.get("sharedMemoryValueEncoding") and row.value else None
            made.expires = row.expires
        if not isinstance(items, list):
            raise Refused
        made.value = json.dumps([*items, json.loads(write.value)], separators=(",", ":"))
        made.metadata |= JSON

    def _note(self, what: str, write: Write, value: str | None, before: int, created: datetime) -> None:
        self.log.append((len(self.log) + 1, what, write.key, value, before, before + 1, write.actor, write.reason, created))

    def commit(self, writes: list[Write], now: datetime) -> None:
        trial = deepcopy(self)
        for write in writes:
            trial.write(write, now)
        self.__dict__ = trial.__dict__

    def clear(self, now: datetime) -> None:
        for key in list(self.rows):
            self.write(Write(key, None), now)
        self.floor = max([self.floor, *self.absent.values()])
        self.absent = {}


class StoreMachine(RuleBasedStateMachine):
    """Does the same to the model and to each store, and finds them equal."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.model = Model()
        self.stores: list[Any] = self.make_stores()

    def make_stores(self) -> list[Any]:
        return [InMemoryStore(clock=self.clock)]

    def clock(self) -> datetime:
        return self.now

    def both(self, writes: list[Write], call: Any) -> list[Any]:
        """Do it on the model and on each store: all of them do it, or all refuse."""
        self.now += timedelta(microseconds=1001)
        try:
            self.model.commit(writes, self.now)
            done = True
        except Refused:
            done = False
        results = []
        for store in self.stores:
            try:
                results.append(at_once(call(store)))
                assert done or results[-1] is False, f"{store} did what it should refuse: {writes}"
            except (ConflictError, UnstorableValueError, CorruptValueError):
                assert not done, f"{store} refused what it should do: {writes}"
        return results

    @rule(key=KEYS, text=TEXTS, metadata=METADATA)
    def set(self, key: str, text: str, metadata: Any) -> None:
        actor = (metadata or {}).get("agent")
        self.both([Write(key, text, metadata, actor=actor)], lambda store: store.set(key, text, metadata))

    @rule(key=KEYS, text=TEXTS, turn=st.integers(0, 3))
    def set_with_expiry(self, key: str, text: str, turn: int) -> None:
        self.both([Write(key, text, expires_at_turn=turn)], lambda store: store.set_with_expiry(key, text, turn))

    @rule(key=KEYS, expected=st.one_of(st.none(), TEXTS), text=TEXTS)
    def compare_and_set(self, key: str, expected: str | None, text: str) -> None:
        write = Write(key, text, expect=ABSENT if expected is None else expected)
        before = len(self.model.log)
        results = self.both([write], lambda store: store.compare_and_set(key, expected, text))
        assert results == [len(self.model.log) > before] * len(self.stores)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.both([Write(key, None)], lambda store: store.delete(key))

    @rule(writes=st.lists(st.one_of(WRITES, APPENDS, RESTORES), max_size=3))
    def commit(self, writes: list[Write]) -> None:
        before = len(self.model.log)
        for events in self.both(writes, lambda store: store.commit(*deepcopy(writes))):
            assert [event.seq for event in events] == [note[0] for note in self.model.log[before:]]

    @rule(key=KEYS, text=TEXTS)
    def commit_what_was_read(self, key: str, text: str) -> None:
        seen = self.model.version(key)
        self.both([Write(key, text, expect=seen)], lambda store: store.commit(Write(key, text, expect=seen)))

    @rule(key=KEYS, offset=st.integers(0, 1))
    def commit_with_reads(self, key: str, offset: int) -> None:
        read = KeyUnchanged(key, self.model.version(key) + offset)
        for store in self.stores:
            if offset:
                with pytest.raises(ConflictError):
                    at_once(store.commit(Write("a", "no"), reads=[read]))
        if not offset:
            self.both([Write("a", "yes")], lambda store: store.commit(Write("a", "yes"), reads=[read]))

    @rule()
    def clear(self) -> None:
        self.now += timedelta(microseconds=1001)
        self.model.clear(self.now)
        for store in self.stores:
            at_once(store.clear())

    @rule(limit=st.integers(1, 3))
    def pages(self, limit: int) -> None:
        for store in self.stores:
            found, cursor = [], None
            while not found or cursor is not None:
                page = at_once(store.list(limit=limit, after=cursor))
                found += [entry.key for entry in page] or [None]
                cursor = page.cursor
            assert found == (list(self.model.rows) or [None])

    @invariant()
    def the_entries_are_those_of_the_model(self) -> None:
        wanted = [(key, r.value, r.metadata, r.version, r.created, r.expires) for key, r in self.model.rows.items()]
        for store in self.stores:
            page = at_once(store.list())
            assert [(e.key, e.value, e.metadata, e.version, e.created_at, e.expires_at_turn) for e in page] == wanted
            for key in ("a", "a/b", "ab", "%", "é/x", "never"):
                assert at_once(store.look(key)).version == self.model.version(key)

    @invariant()
    def the_log_is_that_of_the_model(self) -> None:
        for store in self.stores:
            log = at_once(store.events())
            told = [
                (e.seq, e.operation, e.key, e.value, e.version_before, e.version, e.actor, e.reason, e.created_at) for e in log
            ]
            assert told == self.model.log


class FileMachine(StoreMachine):
    """The same with a file beside the memory, which is closed, reopened, taken over, and read by somebody else."""

    def make_stores(self) -> list[Any]:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "board.json"
        return [FileStore(self.path, clock=self.clock), InMemoryStore(clock=self.clock)]

    def teardown(self) -> None:
        self.stores[0].close()
        shutil.rmtree(self.folder)

    @rule()
    def close_and_open(self) -> None:
        self.stores[0].close()
        self.stores[0] = FileStore(self.path, clock=self.clock)

    @rule()
    def open_without_closing(self) -> None:
        self.stores[0] = FileStore(self.path, clock=self.clock)

    @rule()
    def read_beside(self) -> None:
        if self.path.exists():
            reader, (writer, _) = FileStore(self.path, readonly=True), self.stores
            assert at_once(reader.list()) == at_once(writer.list())
            assert at_once(reader.events()) == at_once(writer.events())

    @rule()
    def touch(self) -> None:
        if self.path.exists():
            self.path.touch()

    @invariant()
    def the_file_and_the_memory_say_the_same(self) -> None:
        for call in ("list", "events"):
            file, memory = (at_once(getattr(store, call)()) for store in self.stores)
            assert file == memory
        pages = [at_once(store.list()) for store in self.stores]
        assert len({(page.position, page.floor, str(page.gone)) for page in pages}) == 1


@pytest.mark.parametrize(("machine", "examples"), [(StoreMachine, 150), (FileMachine, 60)], ids=lambda value: str(value))
def test_a_store_does_what_the_model_does(machine: type[StoreMachine], examples: int) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=25, deadline=None))


class _Forgetful(InMemoryStore):
    """Forgets in a commit when the entry expires."""

    async def commit(self, *writes: Any, reads: Any = ()) -> Any:
        return await super().commit(*(replace(write, expires_at_turn=None) for write in writes), reads=reads)


def test_the_machine_finds_a_store_that_differs_from_the_model() -> None:
    class Faulty(StoreMachine):
        def make_stores(self) -> list[Any]:
            return [_Forgetful(clock=self.clock)]

    quick = settings(max_examples=200, stateful_step_count=25, deadline=None, print_blob=False, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Faulty, settings=quick)
