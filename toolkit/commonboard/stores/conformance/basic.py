"""The checks of the five methods, which every store has."""

# ruff: noqa: D103 - the name of a check says what it checks

from __future__ import annotations

import asyncio
from typing import Any

from commonboard.stores.conformance.checking import Check, NotOffered, check, facts, keys, same, true

CHECKS: list[Check] = []

ODD_KEYS = [
    *("a", "A", "a ", " a", "a b", "a/b", "a//b", "/a", "a/", "ab", "a_b", "a%b", "a*b", "a?b", "a[b]", "a.b", "a:b", "a\\b"),
    *("%", "_", "*", "?", "[", ".", "..", "/", "\\", "'", '"', "'; DROP TABLE entries; --", "{a}", "$1", "a\n", "a\n\n", "\t"),
    *("é", "e\u0301", "É", "ß", "ss", "日本", "😀", "\u200b", "\u202e", "null", "None", "0", "00", "1e3", "k" * 1000),
]
TEXTS = ["", " ", "a", "a\n", "\r\n", '{"looks": "like JSON"}', "null", "0", "1.0", "é", "😀", "\u2028", "\x01", "x" * 100_000]


@check(CHECKS)
async def a_missing_key_reads_as_none(store: Any) -> None:
    same(await store.get("nothing"), None, "get of a key that was never set")


@check(CHECKS)
async def what_is_set_reads_back(store: Any) -> None:
    for text in TEXTS:
        await store.set("key", text)
        entry = await store.get("key")
        same((entry.key, entry.value), ("key", text), "get after set")
    for number, text in enumerate(TEXTS):
        await store.set(f"key {number}", text)
    same([entry.value for entry in await store.list()][1:], TEXTS, "the values in the list")


@check(CHECKS)
async def metadata_read_back(store: Any) -> None:
    metadata = {"agent": "web", "n": 1, "part": 0.25, "yes": True, "nothing": None, "deep": {"list": [1, [2, {"é": "😀"}]]}}
    await store.set("key", "text", metadata)
    same(dict((await store.get("key")).metadata), metadata, "the metadata of get")
    same((await facts(store))[0][2], metadata, "the metadata in the list")


@check(CHECKS)
async def set_replaces_the_metadata(store: Any) -> None:
    await store.set("key", "one", {"a": 1, "b": 2})
    await store.set("key", "two", {"b": 3})
    same(dict((await store.get("key")).metadata), {"b": 3}, "the metadata after a second set")
    await store.set("key", "three")
    same(dict((await store.get("key")).metadata or {}), {}, "the metadata after a set without any")


@check(CHECKS)
async def keys_are_opaque(store: Any) -> None:
    for key in ODD_KEYS:
        await store.set(key, f"value of {key}")
    same(await keys(store), ODD_KEYS, "the keys in the list")
    for key in ODD_KEYS:
        entry = await store.get(key)
        true(entry is not None, f"{key!r} was set, and get finds nothing")
        same((entry.key, entry.value), (key, f"value of {key}"), "get")
    await _delete_one_by_one(store, ODD_KEYS)


async def _delete_one_by_one(store: Any, there: list[str]) -> None:
    left = list(there)
    for key in there:
        await store.delete(key)
        left.remove(key)
        same(await keys(store), left, f"the keys after the delete of {key!r}")


@check(CHECKS)
async def the_list_gives_the_first_created_first(store: Any) -> None:
    for key in ("b", "a", "c"):
        await store.set(key, "1")
    await store.set("b", "2")
    same(await keys(store), ["b", "a", "c"], "the list after overwriting the first key")
    await store.delete("b")
    await store.set("b", "3")
    same(await keys(store), ["a", "c", "b"], "the list after delete and set of the first key")


@check(CHECKS)
async def overwriting_keeps_created_at(store: Any) -> None:
    await store.set("key", "one")
    created = _created(await store.get("key"))
    await asyncio.sleep(0.03)
    await store.set("key", "two")
    same(_created(await store.get("key")), created, "created_at after a second set")
    same(_created((await store.list())[0]), created, "created_at in the list")


@check(CHECKS)
async def delete_then_set_is_a_new_creation(store: Any) -> None:
    await store.set("key", "one", {"a": 1})
    created = _created(await store.get("key"))
    for _ in range(60):  # the store's clock may be coarse
        await asyncio.sleep(0.02)
        await store.delete("key")
        same(await store.get("key"), None, "get after delete")
        await store.set("key", "two")
        if _created(await store.get("key")) != created:
            break
    true(_created(await store.get("key")) > created, "created_at is the old one after delete and set")
    same(dict((await store.get("key")).metadata or {}), {}, "the metadata after delete and set")


def _created(entry: Any) -> Any:
    created = getattr(entry, "created_at", None)
    if created is None:
        raise NotOffered("entries have no created_at")
    return created


@check(CHECKS)
async def deleting_what_is_not_there_does_nothing(store: Any) -> None:
    await store.delete("nothing")
    await store.set("key", "text")
    before = await facts(store)
    await store.delete("nothing")
    await store.delete("ke")
    same(await facts(store), before, "the entries after the delete of a key that is not there")


@check(CHECKS)
async def a_delete_takes_one_key_and_none_beneath_it(store: Any) -> None:
    for key in ("a", "a/b", "ab", "a/b/c"):
        await store.set(key, "text")
    await store.delete("a")
    same(await keys(store), ["a/b", "ab", "a/b/c"], "the keys after the delete of 'a'")


@check(CHECKS)
async def clear_removes_everything_and_the_store_goes_on(store: Any) -> None:
    await store.clear()
    for key in ("a", "b"):
        await store.set(key, "text")
    await store.clear()
    same(list(await store.list()), [], "the list after clear")
    same(await store.get("a"), None, "get after clear")
    await store.set("b", "new")
    same(await facts(store), [("b", "new", {})], "the entries after clear and set")


@check(CHECKS)
async def what_was_given_can_be_changed_afterwards(store: Any) -> None:
    metadata: dict[str, Any] = {"deep": {"list": [1]}}
    await store.set("key", "text", metadata)
    metadata["deep"]["list"].append(2)
    metadata["more"] = True
    same(dict((await store.get("key")).metadata), {"deep": {"list": [1]}}, "the metadata after the caller changed his own")


@check(CHECKS)
async def what_came_back_can_be_changed_without_changing_the_store(store: Any) -> None:
    await store.set("key", "text", {"deep": {"list": [1]}})
    for entry in (await store.get("key"), (await store.list())[0]):
        _scribble(entry)
        same(await facts(store), [("key", "text", {"deep": {"list": [1]}})], "the entries after a reader changed his copy")


def _scribble(entry: Any) -> None:
    try:
        entry.metadata["deep"]["list"].append(2)
        entry.metadata["more"] = True
        entry.value = "changed"
    except (AttributeError, TypeError):
        return  # it cannot be changed, which is as good


@check(CHECKS)
async def reads_change_nothing(store: Any) -> None:
    for number in range(100):
        await store.get(f"nothing/{number}")
        await store.delete(f"nothing/{number}")
    same(list(await store.list()), [], "the list after reads of keys that are not there")
    for key in ("b", "a"):
        await store.set(key, "text", {"n": 1})
    before = await facts(store)
    for key in ("a", "b", "nothing"):
        await store.get(key)
        await store.list()
    same(await facts(store), before, "the entries after some reads")


@check(CHECKS)
async def sets_at_the_same_time_all_survive(store: Any) -> None:
    await asyncio.gather(*(store.set(f"key {number}", str(number)) for number in range(25)))
    found = {entry.key: entry.value for entry in await store.list()}
    same(found, {f"key {number}": str(number) for number in range(25)}, "the entries after 25 sets at once")


@check(CHECKS)
async def sets_of_one_key_at_the_same_time_leave_one_of_them_whole(store: Any) -> None:
    await asyncio.gather(*(store.set("key", str(number), {"n": number}) for number in range(25)))
    ((_, value, metadata),) = await facts(store)
    true(value in [str(number) for number in range(25)], f"the value is {value!r}, which nobody set")
    same(metadata, {"n": int(value)}, f"the metadata beside the value {value!r}")


@check(CHECKS)
async def a_cancelled_set_happened_or_not_and_the_store_goes_on(store: Any) -> None:
    await store.set("key", "before")
    for steps in range(8):
        task = asyncio.ensure_future(store.set("key", f"after {steps}"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        value = (await store.get("key")).value
        true(value in ("before", *(f"after {s}" for s in range(steps + 1))), f"the value is {value!r}, which nobody set")
    await store.set("key", "last")
    same(await facts(store), [("key", "last", {})], "the entries after cancelled sets and one that was not cancelled")
