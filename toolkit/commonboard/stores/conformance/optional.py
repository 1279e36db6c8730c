"""The checks of the two methods that a store may have: `compare_and_set` and `set_with_expiry`."""

# ruff: noqa: D103 - the name of a check says what it checks

from __future__ import annotations

import asyncio
from typing import Any

from commonboard.stores.conformance.checking import Check, check, facts, keys, same, true

CHECKS: list[Check] = []
CAS = "compare_and_set"
EXPIRY = "set_with_expiry"


@check(CHECKS, CAS)
async def compare_and_set_creates_only_what_is_absent(store: Any) -> None:
    same(await store.compare_and_set("key", None, "one", {"n": 1}), True, "compare_and_set(None) of a key that is not there")
    same(await store.compare_and_set("key", None, "two"), False, "compare_and_set(None) of a key that is there")
    same(await facts(store), [("key", "one", {"n": 1})], "the entries")
    await store.delete("key")
    same(await store.compare_and_set("key", None, "three"), True, "compare_and_set(None) of a deleted key")


@check(CHECKS, CAS)
async def compare_and_set_swaps_only_the_exact_text(store: Any) -> None:
    await store.set("key", "1", {"n": 1})
    before = await facts(store)
    for text in ("", "01", "1.0", "1 ", " 1", "1\n", '"1"', "%", "_", "one"):
        same(await store.compare_and_set("key", text, "new"), False, f"compare_and_set that expects {text!r} where '1' is")
    same(await facts(store), before, "the entries after it was refused")
    same(await store.compare_and_set("nothing", "1", "new"), False, "compare_and_set that expects a text where nothing is")
    same(await store.get("nothing"), None, "get after it was refused")
    same(await store.compare_and_set("key", "1", "2", {"n": 2}), True, "compare_and_set that expects what is there")
    same(await facts(store), [("key", "2", {"n": 2})], "the entries after it")


@check(CHECKS, CAS)
async def compare_and_set_keeps_the_place_and_replaces_the_metadata(store: Any) -> None:
    for key in ("a", "b"):
        await store.set(key, "1", {"x": 1})
    created = getattr(await store.get("a"), "created_at", None)
    await asyncio.sleep(0.03)
    await store.compare_and_set("a", "1", "2")
    same(await keys(store), ["a", "b"], "the list after compare_and_set of the first key")
    same(dict((await store.get("a")).metadata or {}), {}, "the metadata after compare_and_set without any")
    same(getattr(await store.get("a"), "created_at", None), created, "created_at after compare_and_set")


@check(CHECKS, CAS)
async def compare_and_set_cannot_see_that_a_text_changed_and_changed_back(store: Any) -> None:
    await store.set("key", "A")
    await store.set("key", "B")
    await store.set("key", "A")
    same(await store.compare_and_set("key", "A", "C"), True, "compare_and_set that expects A after A, B, A")


@check(CHECKS, CAS)
async def of_many_who_compare_and_set_at_once_exactly_one_wins(store: Any) -> None:
    for expected in (None, "start"):
        await store.set("key", "start") if expected else await store.delete("key")
        won = await asyncio.gather(*(store.compare_and_set("key", expected, str(number)) for number in range(10)))
        same(won.count(True), 1, f"how many of ten that expect {expected!r} won")
        same((await store.get("key")).value, str(won.index(True)), "the value, by the number of who won")


@check(CHECKS, CAS)
async def increments_by_compare_and_set_all_count(store: Any) -> None:
    await store.set("count", "0")

    async def increment() -> None:
        for _ in range(5):
            while True:
                text = (await store.get("count")).value
                await asyncio.sleep(0)
                if await store.compare_and_set("count", text, str(int(text) + 1)):
                    break

    await asyncio.gather(*(increment() for _ in range(8)))
    same((await store.get("count")).value, "40", "the count after 40 increments")


@check(CHECKS, EXPIRY)
async def the_turn_of_expiry_is_kept_and_the_store_hides_nothing(store: Any) -> None:
    await store.set_with_expiry("key", "text", 1, {"n": 1})
    for entry in (await store.get("key"), (await store.list())[0]):
        same((entry.value, entry.expires_at_turn, dict(entry.metadata)), ("text", 1, {"n": 1}), "the entry with an expiry")
    await store.set_with_expiry("key", "text", 5)
    same((await store.get("key")).expires_at_turn, 5, "expires_at_turn after it was set again")


@check(CHECKS, EXPIRY)
async def set_clears_an_earlier_expiry(store: Any) -> None:
    await store.set_with_expiry("key", "text", 3)
    await store.set("key", "text")
    same((await store.get("key")).expires_at_turn, None, "expires_at_turn after a plain set")


@check(CHECKS, EXPIRY, CAS)
async def compare_and_set_clears_an_earlier_expiry(store: Any) -> None:
    await store.set_with_expiry("key", "text", 3)
    true(await store.compare_and_set("key", "text", "new"), "compare_and_set of an entry that expires was refused")
    same((await store.get("key")).expires_at_turn, None, "expires_at_turn after compare_and_set")


@check(CHECKS, EXPIRY)
async def set_with_expiry_keeps_the_place(store: Any) -> None:
    for key in ("a", "b"):
        await store.set(key, "1")
    created = getattr(await store.get("a"), "created_at", None)
    await asyncio.sleep(0.03)
    await store.set_with_expiry("a", "2", 3)
    same(await keys(store), ["a", "b"], "the list after set_with_expiry of the first key")
    same(getattr(await store.get("a"), "created_at", None), created, "created_at after set_with_expiry")
