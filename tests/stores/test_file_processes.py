"""FileStore and processes: the lock, the takeover, forks, crashes at any moment, and followers in other processes."""

# ruff: noqa: ASYNC240 - these stores work in the call, and so do their tests

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import everything, python, run

from commonboard import Event, FileStore, Write
from commonboard.errors import StoreClosedError, StoreFileError, StoreLockedError

ONLY_POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has neither fork nor kill -9")

HOLD = """
import asyncio, sys
from commonboard import FileStore
store = FileStore(sys.argv[1])
asyncio.run(store.set("from the child", "1"))
print("open", flush=True)
for line in sys.stdin:
    asyncio.run(store.set(*line.split()))
    print("written", flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "board.json"


def started(path: Path) -> subprocess.Popen[str]:
    child = python(HOLD, path)
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n", child.communicate()
    return child


def ended(child: subprocess.Popen[str]) -> None:
    _, err = child.communicate()
    assert err == ""


# --- the lock ---


def test_a_second_process_is_refused_by_name_and_may_read(path: Path) -> None:
    child = started(path)
    with pytest.raises(StoreLockedError) as raised:
        FileStore(path)
    assert f"{path} is open in another process" in str(raised.value)
    assert f"process {child.pid}" in str(raised.value)
    assert "open it with readonly=True" in str(raised.value)
    reader = FileStore(path, readonly=True)
    assert [entry.key for entry in run(reader.list())] == ["from the child"]
    ended(child)
    assert run(FileStore(path).get("from the child")) is not None


@ONLY_POSIX
def test_a_killed_process_leaves_no_lock_behind(path: Path) -> None:
    child = started(path)
    child.kill()
    child.communicate()
    assert [entry.key for entry in run(FileStore(path).list())] == ["from the child"]


TRY = """
import sys
from commonboard import FileStore
from commonboard.errors import StoreLockedError
try:
    FileStore(sys.argv[1])
    print("open")
except StoreLockedError:
    print("locked")
"""


def from_another_process(path: Path) -> str:
    out, err = python(TRY, path).communicate()
    assert err == ""
    return out.strip()


def test_closing_frees_the_lock_and_a_failed_opening_takes_none(path: Path) -> None:
    store = FileStore(path)
    assert from_another_process(path) == "locked"
    store.close()
    assert from_another_process(path) == "open"
    path.write_text("broken")
    with pytest.raises(StoreFileError):
        FileStore(path)
    path.unlink()
    assert from_another_process(path) == "open"


def test_a_later_opener_in_the_process_takes_over_and_the_older_object_says_so(path: Path) -> None:
    async def main() -> None:
        older = FileStore(path)
        await older.set("a", "1")
        newer = FileStore(path)
        before = path.read_bytes()
        for call in (older.get("a"), older.list(), older.set("a", "2"), older.delete("a"), older.clear(), older.commit()):
            with pytest.raises(StoreClosedError, match=r"a later FileStore\(path\) in this process took it over; use that one"):
                await call
        assert path.read_bytes() == before
        assert from_another_process(path) == "locked"
        older.close()  # an object that was taken over frees nothing
        assert from_another_process(path) == "locked"
        await newer.set("a", "2")
        assert (await newer.get("a")).version == 2
        assert [event.value for event in await newer.events()] == ["1", "2"]
        newer.close()
        assert from_another_process(path) == "open"

    run(main())


def test_the_cell_that_deletes_the_file_and_opens_it_can_be_run_again(path: Path) -> None:
    for _ in range(2):
        path.unlink(missing_ok=True)
        store = FileStore(path)
        run(store.set("a", "1"))
        assert run(store.get("a")).version == 1
        assert len(run(store.events())) == 1


def test_a_takeover_that_fails_leaves_the_older_object_at_work(path: Path) -> None:
    store = FileStore(path)
    run(store.set("a", "1"))
    good = path.read_bytes()
    path.write_text("broken")
    with pytest.raises(StoreFileError):
        FileStore(path)
    path.write_bytes(good)
    run(store.set("a", "2"))
    assert from_another_process(path) == "locked"


def test_a_reader_in_the_same_process_takes_nothing_over(path: Path) -> None:
    writer = FileStore(path)
    run(writer.set("a", "1"))
    readers = [FileStore(path, readonly=True) for _ in range(2)]
    run(writer.set("a", "2"))
    assert [run(reader.get("a")).value for reader in readers] == ["2", "2"]
    readers[0].close()
    assert from_another_process(path) == "locked"


def test_a_lock_file_that_somebody_deleted_is_made_and_locked_anew(path: Path) -> None:
    FileStore(path)
    Path(f"{path}.lock").unlink()
    newer = FileStore(path)
    assert from_another_process(path) == "locked"
    newer.close()
    assert from_another_process(path) == "open"


FORK = """
import asyncio, os, sys
from commonboard import FileStore
from commonboard.errors import CommonboardError
path = sys.argv[1]
store = FileStore(path)
asyncio.run(store.set("a", "1"))
reader = FileStore(path, readonly=True)
child = os.fork()
if child == 0:
    for attempt in (lambda: asyncio.run(store.set("a", "2")), lambda: asyncio.run(store.get("a")), lambda: FileStore(path)):
        try:
            attempt()
            print("child did it")
        except CommonboardError as error:
            text = str(error).replace(str(os.getppid()), "PARENT").replace(str(os.getpid()), "CHILD")
            print("child", type(error).__name__, text)
    store.close()
    print("child reads", asyncio.run(reader.get("a")).value, flush=True)
    sys.stdin.readline()  # outlive the parent's store
    os._exit(0)
sys.stdin.readline()
asyncio.run(store.set("a", "3"))
print("parent writes", flush=True)
os.close(1)
os._exit(0)
"""


@ONLY_POSIX
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_think_that_it_owns_the_file(path: Path) -> None:
    child = python(FORK, path)
    assert child.stdin is not None
    assert child.stdout is not None
    told = [child.stdout.readline().strip() for _ in range(4)]
    assert told[0].startswith("child StoreClosedError")
    assert "was opened by process PARENT, which this one (CHILD) was forked from" in told[0]
    assert told[1].startswith("child StoreClosedError")
    assert told[2].startswith("child StoreLockedError")
    assert "is locked by process PARENT" in told[2]
    assert told[3] == "child reads 1"
    assert from_another_process(path) == "locked"  # the child's close freed nothing
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "parent writes\n"
    child.wait()
    assert from_another_process(path) == "open"  # though the child still lives
    child.communicate("\n")
    assert json.loads(path.read_text())["entries"][0]["value"] == "3"


# --- crashes ---

# One process forks the writers, so that Python starts once and not thirty times.
WRITERS = """
import asyncio, os, sys
from commonboard import FileStore

async def write(path):
    store = FileStore(path)
    number = (await store.list()).position
    while True:
        number += 1
        await store.set(f"key {number % 5}", str(number) + "x" * 2000, {"n": number})
        os.write(1, b"%d\\n" % number)  # in one piece, whenever the kill comes

for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        asyncio.run(write(sys.argv[1]))
    os.waitpid(pid, 0)
    os.write(1, b"dead\\n")
"""


@ONLY_POSIX
def test_what_was_acknowledged_outlives_kill_9_at_any_moment(path: Path) -> None:
    moments = random.Random(20261130)
    writers = python(WRITERS, path)
    assert writers.stdin is not None
    assert writers.stdout is not None
    acknowledged = 0
    for _ in range(40):
        writers.stdin.write("begin\n")
        writers.stdin.flush()
        first = writers.stdout.readline()
        assert int(first) > acknowledged, writers.communicate()
        time.sleep(moments.random() * 0.02)
        os.kill(int(Path(f"{path}.lock").read_text()), signal.SIGKILL)
        told = [first]
        while (line := writers.stdout.readline()) != "dead\n":
            assert line, writers.communicate()
            told.append(line)
        acknowledged = int(told[-1])
        run(_holds_all(path, acknowledged))
    ended(writers)


async def _holds_all(path: Path, acknowledged: int) -> None:
    store = FileStore(path)
    log = await store.events()
    newest = log[-1].seq
    assert newest in (acknowledged, acknowledged + 1)  # the last one may have been written, and not yet told
    assert [event.seq for event in log] == list(range(max(newest - 999, 1), newest + 1))
    for entry in await store.list():
        number = entry.metadata["n"]
        assert entry.value == str(number) + "x" * 2000
        assert number > newest - 5
        assert entry.key == f"key {number % 5}"
    assert len(await store.list()) == min(newest, 5)
    assert sorted(found.name for found in path.parent.iterdir()) == ["board.json", "board.json.lock"]
    store.close()


def test_what_a_crash_left_beside_the_file_is_taken_away(path: Path) -> None:
    run(FileStore(path).set("a", "1"))
    left = path.with_name("board.json.commonboard-tmp")
    left.write_text("half of a boa")
    other = path.with_name("board.json.tmp-77-1")  # of a program that has not crashed
    other.write_text("theirs")
    assert run(FileStore(path).get("a")).value == "1"
    assert not left.exists()
    assert other.read_text() == "theirs"


# --- tasks, loops, followers ---


def test_a_cancelled_call_happened_or_not(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path)
        await store.set("a", "before")
        for steps in range(4):
            task = asyncio.create_task(store.set("a", str(steps)))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            (result,) = await asyncio.gather(task, return_exceptions=True)
            happened = result is None
            assert happened == (steps > 0)
            assert (await store.get("a")).value == (str(steps) if happened else "before")
            assert await everything(store) == await everything(FileStore(path, readonly=True))

    run(main())


def test_it_works_in_one_event_loop_after_another(path: Path) -> None:
    store = FileStore(path)
    for number in range(3):
        run(store.set("a", str(number)))
        assert run(store.get("a")).version == number + 1


def test_a_follower_whose_loop_is_gone_hinders_no_writer(path: Path) -> None:
    store = FileStore(path)

    async def leave_waiting() -> None:
        watching = store.watch()
        waiting = asyncio.ensure_future(anext(watching))
        await asyncio.sleep(0)
        leftover.append((watching, waiting))

    leftover: list[Any] = []
    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave_waiting())
    loop.close()
    run(store.set("a", "1"))
    assert run(store.get("a")).value == "1"
    leftover[0][1]._log_destroy_pending = False  # it was left on purpose


async def _follow(store: FileStore, count: int) -> list[Event]:
    seen = []
    async for event in store.watch():
        seen.append(event)
        if len(seen) == count:
            break
    return seen


def test_a_reader_follows_what_another_process_writes(path: Path) -> None:
    child = started(path)

    async def main() -> None:
        following = asyncio.create_task(_follow(FileStore(path, readonly=True), 3))
        await asyncio.sleep(0)
        assert child.stdin is not None
        child.stdin.write("a 1\nb 2\n")
        child.stdin.flush()
        seen = await asyncio.wait_for(following, 60)
        assert [(event.seq, event.key, event.value) for event in seen] == [
            (1, "from the child", "1"),
            (2, "a", "1"),
            (3, "b", "2"),
        ]

    run(main())
    ended(child)


def test_a_follower_hears_that_its_store_was_closed(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path)
        following = asyncio.create_task(_follow(store, 1))
        await asyncio.sleep(0)
        store.close()
        with pytest.raises(StoreClosedError, match="it was closed"):
            await asyncio.wait_for(following, 60)

    run(main())


def test_a_store_needs_no_event_loop_and_no_thread_to_be_opened_and_closed(path: Path) -> None:
    before = threading.active_count()
    FileStore(path).close()
    assert threading.active_count() == before


def test_many_agents_of_one_process_lose_nothing(path: Path) -> None:
    async def main() -> None:
        store = FileStore(path)
        await asyncio.gather(*(store.set(f"key {number}", "1") for number in range(25)))
        await asyncio.gather(*(store.commit(Write("list", str(number), append=True)) for number in range(10)))
        store.close()
        again = FileStore(path)
        assert len(await again.list()) == 26
        assert json.loads((await again.get("list")).value) == list(range(10))

    run(main())
