"""The checks of what the built-in stores offer to those who follow: the log, `watch`, prefixes and pages."""

# ruff: noqa: D103 - the name of a check says what it checks

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from commonboard.entry import ABSENT, Event, Write
from commonboard.errors import CommonboardError, ConflictError, InvalidKeyError
from commonboard.stores.conformance.basic import ODD_KEYS
from commonboard.stores.conformance.checking import BUILT_IN, Check, check, keys, refused, same, true

CHECKS: list[Check] = []


@check(CHECKS, *BUILT_IN)
async def each_change_leaves_one_event_and_nothing_else_does(store: Any) -> None:
    await store.set("a", "1", {"agent": "web"})
    await store.set("a", "2")
    await store.delete("a")
    await store.delete("a")
    await store.get("a")
    await store.list()
    with refused(ConflictError, "a commit that expects a version that never was"):
        await store.commit(Write("a", "3", expect=999))
    await store.commit(Write("a", "3", expect=ABSENT))
    log = list(await store.events())
    told = [(e.operation, e.key, e.value) for e in log]
    wanted = [("insert", "a", "1"), ("replace", "a", "2"), ("delete", "a", None), ("insert", "a", "3")]
    same(told, wanted, "the log")
    same([e.actor for e in log], ["web", None, None, None], "the actors, taken from the metadata where set has them")
    true(all(later.seq > earlier.seq for earlier, later in pairwise(log)), "log positions do not grow")
    same([e.version_before for e in log[1:]], [e.version for e in log[:-1]], "the versions before, by the event before")


@check(CHECKS, *BUILT_IN)
async def clear_leaves_an_event_for_each_entry(store: Any) -> None:
    for key in ("a", "b"):
        await store.set(key, "1")
    position = (await store.list()).position
    await store.clear()
    same([(e.operation, e.key) for e in await store.events(position)], [("delete", "a"), ("delete", "b")], "the log of a clear")


@check(CHECKS, *BUILT_IN)
async def an_event_says_when_and_since_when(store: Any) -> None:
    await store.set("a", "1")
    entry = await store.get("a")
    await store.set("a", "2")
    first, second = await store.events()
    same((first.created_at, second.created_at), (entry.created_at,) * 2, "created_at of the events")
    true(second.at >= first.at and first.at.utcoffset() is not None, f"the times of the events are {first.at} and {second.at}")


@check(CHECKS, *BUILT_IN)
async def the_log_can_be_asked_from_a_position_by_key_and_by_actor(store: Any) -> None:
    for key, actor in (("a", "web"), ("b", "docs"), ("a", "docs"), ("a/b", "web")):
        await store.commit(Write(key, "1", actor=actor))
    log = list(await store.events())
    same(list(await store.events(log[1].seq)), log[2:], "the events after the second")
    same(list(await store.events(log[-1].seq)), [], "the events after the last")
    same(list(await store.events(key="a")), [log[0], log[2]], "the events of one key")
    same(list(await store.events(actor="docs")), [log[1], log[2]], "the events of one actor")
    same(list(await store.events(log[0].seq, key="a", actor="docs")), [log[2]], "the events by all three")


@check(CHECKS, *BUILT_IN)
async def a_log_that_is_changed_does_not_change_the_store(store: Any) -> None:
    await store.set("a", "1")
    log = await store.events()
    log.clear()
    same(len(await store.events()), 1, "the length of the log after a reader cleared his copy")


@check(CHECKS, *BUILT_IN)
async def the_position_of_a_list_is_where_its_news_begin(store: Any) -> None:
    await store.set("a", "1")
    position = (await store.list()).position
    same(list(await store.events(position)), [], "the events after the position of a list")
    await store.set("a", "2")
    same([e.value for e in await store.events(position)], ["2"], "the events after the position of a list and a set")


@check(CHECKS, *BUILT_IN)
async def watch_gives_what_happened_and_then_what_happens(store: Any) -> None:
    await store.set("a", "1")
    await store.set("a", "2")
    first = (await store.events())[0]
    following = [asyncio.ensure_future(_follow(store, 0, 5)), asyncio.ensure_future(_follow(store, first.seq, 4))]
    for _ in range(5):
        await asyncio.sleep(0)
    await store.set("a", "3")
    await asyncio.sleep(0.01)
    await store.commit(Write("b", "4"), Write("a", None))
    every, later = await asyncio.gather(*following)
    same(every, list(await store.events()), "what a follower from the beginning saw")
    same(later, every[1:], "what a follower from the first event saw")
    await store.set("a", "5")


async def _follow(store: Any, after: int, count: int) -> list[Event]:
    seen: list[Event] = []
    watching = store.watch(after)
    async for event in watching:
        seen.append(event)
        if len(seen) == count:
            break
    await watching.aclose()
    return seen


@check(CHECKS, *BUILT_IN)
async def a_follower_who_goes_away_disturbs_nobody(store: Any) -> None:
    leaving, staying = asyncio.ensure_future(_follow(store, 0, 3)), asyncio.ensure_future(_follow(store, 0, 2))
    await asyncio.sleep(0)
    await store.set("a", "1")
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    await store.set("a", "2")
    same([event.value for event in await staying], ["1", "2"], "what the other follower saw")


@check(CHECKS, *BUILT_IN)
async def a_prefix_is_whole_segments(store: Any) -> None:
    for key in ("web", "web/a", "web/a/b", "website/a", "we", "Web/a", "/web/a"):
        await store.set(key, "1")
    found = {prefix: await _under(store, prefix) for prefix in ("web", "web/", "web/a", "we", "w", "web/a/b/c", "/web")}
    wanted = {
        "web": ["web", "web/a", "web/a/b"],
        "web/": ["web/a", "web/a/b"],
        "web/a": ["web/a", "web/a/b"],
        "we": ["we"],
        "w": [],
        "web/a/b/c": [],
        "/web": ["/web/a"],
    }
    same(found, wanted, "the keys under each prefix")


@check(CHECKS, *BUILT_IN)
async def the_empty_prefix_is_everything(store: Any) -> None:
    for key in ODD_KEYS:
        await store.set(key, "1")
    same(await _under(store, ""), ODD_KEYS, "the keys under the empty prefix")


@check(CHECKS, *BUILT_IN)
async def no_character_of_a_prefix_is_special(store: Any) -> None:
    for name in ODD_KEYS:
        await store.set(f"{name}/below", "1")
    for name in ODD_KEYS:
        wanted = [f"{other}/below" for other in ODD_KEYS if f"{other}/below".startswith(name if name[-1] == "/" else name + "/")]
        same(await _under(store, name), wanted, f"the keys under the prefix {name!r:.40}")


async def _under(store: Any, prefix: str) -> list[str]:
    return [entry.key for entry in await store.list(prefix)]


@check(CHECKS, *BUILT_IN)
async def pages_give_every_entry_once_and_in_order(store: Any) -> None:
    names = [f"a/{number}" for number in range(7)]
    for name in names:
        await store.set(name, "1")
        await store.set(f"other/{name}", "1")
    for limit in (1, 2, 3, 6, 7, 8):
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            page = await store.list("a", limit=limit, after=cursor)
            true(len(page) <= limit, f"a page of limit {limit} has {len(page)} entries")
            found += [entry.key for entry in page]
            cursor, pages = page.cursor, pages + 1
            true(pages < 20, f"pages of {limit} do not come to an end")
        same(found, names, f"all pages of {limit}")
    same((await store.list("a")).cursor, None, "the cursor of a list without a limit")


@check(CHECKS, *BUILT_IN)
async def pages_bear_that_the_board_changes_between_them(store: Any) -> None:
    for name in ("a", "b", "c", "d"):
        await store.set(name, "1")
    first = await store.list(limit=2)
    await store.set("a", "2")
    await store.delete("b")
    await store.set("b", "2")
    await store.delete("c")
    await store.set("e", "2")
    second = await store.list(after=first.cursor)
    same([entry.key for entry in second], ["d", "b", "e"], "the second page, after overwriting, deleting and creating")


@check(CHECKS, *BUILT_IN)
async def a_limit_of_zero_is_empty_and_a_wrong_one_is_refused(store: Any) -> None:
    for name in ("a", "b"):
        await store.set(name, "1")
    page = await store.list(limit=0)
    same(list(page), [], "a page of limit 0")
    same([e.key for e in await store.list(after=page.cursor)], ["a", "b"], "the page after a page of limit 0")
    wrong: Any
    for wrong in (-1, 1.5, "1", True):
        with refused(CommonboardError, f"list with limit={wrong!r}"):
            await store.list(limit=wrong)
    for wrong in ("", "nonsense", "😀", 5):
        with refused(InvalidKeyError, f"list with after={wrong!r}"):
            await store.list(after=wrong)
    same(await keys(store), ["a", "b"], "the list")


@check(CHECKS, *BUILT_IN)
async def a_list_tells_the_absences_under_its_prefix(store: Any) -> None:
    for name in ("a/x", "b/x"):
        await store.set(name, "1")
        await store.delete(name)
    page = await store.list("a")
    shown = page.gone.get("a/x", page.floor)
    same(shown, (await store.look("a/x")).version, "the version of an absence, by the list")
    never = page.gone.get("a/never", page.floor)
    same(never, (await store.look("a/never")).version, "the version of a key that never was, by the list")
