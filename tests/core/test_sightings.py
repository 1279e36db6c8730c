"""`saw`: each write says which version its writer had seen, through reads, lists and tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.helpers import FiveMethods, run

from commonboard import AgentMemory, LastWriterWins, SharedMemory


async def saw(me: AgentMemory, key: str = "key") -> int | None:
    """What the agent's next blind write of the shared key says it had seen."""
    await me.shared.write(key, "mine")
    return (await me._memory.log(key=f"shared/{key}"))[-1].saw


async def two() -> tuple[AgentMemory, AgentMemory]:
    """An agent that looks, and one that has written the shared key three times (version 3)."""
    memory = SharedMemory()
    me, other = memory.agent("me"), memory.agent("other")
    for number in range(3):
        await other.shared.write("key", number)
    return me, other


def test_who_never_looked_saw_nothing() -> None:
    async def main() -> None:
        me, _ = await two()
        assert await saw(me) is None
        assert await saw(me) is None  # to write is not to look

    run(main())


@pytest.mark.parametrize("how", ["read", "value", "list", "list of all", "page by page"])
def test_every_way_to_look_is_seen(how: str) -> None:
    async def main() -> None:
        me, other = await two()
        await other.shared.write("later", 1)
        ways: dict[str, Any] = {
            "read": lambda: me.read("shared/key"),
            "value": lambda: me.value("shared/key"),
            "list": lambda: me.list("shared"),
            "list of all": me.list,
            "page by page": lambda: me.list(limit=1),
        }
        await ways[how]()
        await other.shared.write("key", "newer")
        assert await saw(me) == 3
        assert await saw(me) == 5  # who has looked knows what he wrote himself

    run(main())


def test_the_last_look_counts() -> None:
    async def main() -> None:
        me, other = await two()
        await me.read("shared/key")
        await other.shared.write("key", "newer")
        await me.read("shared/key")
        assert await saw(me) == 4

    run(main())


def test_to_see_nothing_is_to_see_the_version_of_an_absence() -> None:
    async def main() -> None:
        me, other = await two()
        await me.read("shared/never")
        assert await saw(me, "never") == 0
        await other.shared.delete("key")
        await me.read("shared/key")
        assert await saw(me) == 4

    run(main())


def test_a_listing_shows_what_is_not_there_too() -> None:
    async def main() -> None:
        me, other = await two()
        await other.shared.delete("key")
        await me.list("shared")
        assert await saw(me) == 4
        assert await saw(me, "never") == 0
        await me.list("elsewhere")
        await other.write("mine", 1)
        assert await saw(me, "never 2") == 0
        stranger = me._memory.agent("stranger")
        await stranger.list("elsewhere")
        assert await saw(stranger, "never 3") is None

    run(main())


def test_a_page_shows_only_what_is_on_it() -> None:
    async def main() -> None:
        me, _ = await two()
        await me.list("shared", limit=0)
        assert await saw(me) is None

    run(main())


def test_a_listing_after_a_clear_shows_that_a_known_key_is_gone() -> None:
    async def main() -> None:
        me, _ = await two()
        await me.read("shared/key")
        await me._memory.store.clear()
        await me.list()
        assert await saw(me) == 4

    run(main())


def test_what_gathered_tasks_read_their_agent_has_seen() -> None:
    async def main() -> None:
        me, other = await two()
        await other.shared.write("second", 1)
        await asyncio.gather(me.value("shared/key"), me.value("shared/second"))
        assert (await saw(me), await saw(me, "second")) == (3, 1)

    run(main())


def test_a_task_that_read_an_old_version_says_so_though_another_task_saw_a_newer_one() -> None:
    async def main() -> None:
        me, other = await two()
        old_was_read, may_write = asyncio.Event(), asyncio.Event()

        async def slow() -> int | None:
            await me.read("shared/key")
            old_was_read.set()
            await may_write.wait()
            return await saw(me)

        task = asyncio.create_task(slow())
        await old_was_read.wait()
        await other.shared.write("key", "newer")
        await asyncio.create_task(me.read("shared/key"))  # type: ignore[arg-type]
        may_write.set()
        assert await task == 3

    run(main())


def test_agents_do_not_see_with_each_others_eyes() -> None:
    async def main() -> None:
        me, other = await two()
        await me.read("shared/key")
        assert await saw(other) is None
        assert await saw(me._memory.agent("me")) is None  # a new handle is a new pair of eyes

    run(main())


@pytest.mark.parametrize("policy", [None, LastWriterWins()])
def test_an_update_saw_what_its_change_was_given(policy: Any) -> None:
    async def main() -> None:
        me, other = await two()

        async def change(value: Any) -> Any:
            if value == 2:
                await other.shared.write("key", "in between")
            return "mine"

        await me.shared.update("key", change, policy)
        event = (await me._memory.log())[-1]
        assert (event.version_before, event.saw) == ((4, 4) if policy is None else (4, 3))

    run(main())


def test_an_append_saw_what_it_was_added_to() -> None:
    async def main() -> None:
        memory = SharedMemory()
        for name in ("a", "b"):
            await memory.agent(name).shared.append("list", name)
        assert [(e.version_before, e.saw) for e in await memory.log()] == [(0, 0), (1, 1)]

    run(main())


def test_a_delete_says_what_it_had_seen() -> None:
    async def main() -> None:
        me, other = await two()
        await me.read("shared/key")
        await other.shared.write("key", "newer")
        await me.shared.delete("key")
        event = (await me._memory.log())[-1]
        assert (event.operation, event.version_before, event.saw) == ("delete", 4, 3)

    run(main())


def test_on_a_store_without_versions_nothing_is_seen_and_nothing_breaks() -> None:
    async def main() -> None:
        me = SharedMemory(FiveMethods()).agent("me")
        await me.read("shared/key")
        await me.list()
        entry = await me.shared.write("key", 1)
        assert entry.version is None
        await me.shared.delete("key")
        assert await me.value("shared/key") is None

    run(main())
