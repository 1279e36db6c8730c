"""The checks of what the built-in stores offer: versions, commits that are all or nothing, and refusals that change nothing."""

# ruff: noqa: D103 - the name of a check says what it checks

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from commonboard.entry import ABSENT, ANY, Event, Expectation, KeyUnchanged, PrefixUnchanged, Read, Write
from commonboard.errors import ConflictError, InvalidKeyError, InvalidWriteError, TurnError, UnstorableValueError
from commonboard.stores.conformance.checking import BUILT_IN, Check, check, refused, same, true

CHECKS: list[Check] = []
BAD_KEYS: list[Any] = ["", "a\0b", "half \ud800", 5, None, b"key", ["key"]]
LIST = {"sharedMemoryValueEncoding": "json"}


async def everything(store: Any) -> list[Any]:
    """All that can be seen of a store, to compare with after a refusal."""
    entries = list(await store.list())
    return [entries, list(await store.events()), [await store.look(key) for key in ("a", "b", "nothing")]]


async def is_refused(
    store: Any, error: type[Exception], *writes: Any, reads: Iterable[Read] = (), what: str = "the commit"
) -> list[Exception]:
    """Fail unless the commit raises this error and changes nothing; gives the error."""
    before = await everything(store)
    with refused(error, what) as raised:
        await store.commit(*writes, reads=reads)
    same(await everything(store), before, f"what is there after {what} was refused")
    return list(raised)


async def version(store: Any, key: str) -> int:
    """The version of the key, or of its absence."""
    found = (await store.look(key)).version
    true(isinstance(found, int) and not isinstance(found, bool), f"the version of {key!r} is {found!r}, not a whole number")
    return int(found)


@check(CHECKS, *BUILT_IN)
async def a_version_only_grows_across_writes_deletes_clears_and_restores(store: Any) -> None:
    then = datetime(2026, 1, 1, tzinfo=UTC)
    seen = [await version(store, "a")]

    async def must_have_grown(what: str) -> None:
        seen.append(await version(store, "a"))
        true(seen[-1] > seen[-2], f"the version after {what} is {seen[-1]}, and before it was {seen[-2]}")

    for _ in range(2):
        await store.set("a", "1")
        await must_have_grown("set")
        await store.set("a", "1")
        await must_have_grown("a set of the same text")
        await store.delete("a")
        await must_have_grown("delete")
        await store.commit(Write("a", "2", operation="restore", created_at=then))
        await must_have_grown("a restore")
        await store.clear()
        await must_have_grown("clear")


@check(CHECKS, *BUILT_IN)
async def the_entry_the_event_and_look_agree_on_the_version(store: Any) -> None:
    (event,) = await store.commit(Write("a", "1"))
    reading, entry = await store.look("a"), await store.get("a")
    same((reading.version, entry.version, (await store.list())[0].version), (event.version,) * 3, "the versions")
    same(reading.entry, entry, "the entry that look gives")
    (event,) = await store.commit(Write("a", None))
    reading = await store.look("a")
    same((reading.entry, reading.version), (None, event.version), "look at a deleted key")


@check(CHECKS, *BUILT_IN)
async def clear_raises_the_floor_for_keys_that_were_deleted_before(store: Any) -> None:
    for _ in range(3):
        await store.set("gone", "1")
        await store.delete("gone")
    held = await version(store, "gone")
    await store.set("a", "1")
    await store.clear()
    true(await version(store, "gone") >= held, "the version of an absence shrank in a clear")
    await store.set("gone", "2")
    true(await version(store, "gone") > held, "a version was given out a second time after a clear")


@check(CHECKS, *BUILT_IN)
async def a_commit_is_all_or_nothing(store: Any) -> None:
    await store.set("a", "1", {"n": [1]})
    refusal = Write("nothing", "x", expect=99)
    await is_refused(store, ConflictError, Write("a", "2"), Write("b", "2"), refusal, what="a commit whose last write conflicts")
    await is_refused(store, ConflictError, refusal, Write("a", None), what="a commit whose first write conflicts")
    await is_refused(store, InvalidKeyError, Write("a", "2"), Write("", "2"), what="a commit with a key that is empty")
    await is_refused(store, UnstorableValueError, Write("a", "2"), Write("b", "x\0"), what="a commit with a NUL in a value")
    events = await store.commit(Write("a", "2"), Write("b", None), Write("c", "3"))
    same([event.key for event in events], ["a", "c"], "the events of a commit of which one write has nothing to do")
    same([(e.key, e.value) for e in await store.list()], [("a", "2"), ("c", "3")], "the entries after it")
    same(await store.commit(), [], "the events of a commit of nothing")


@check(CHECKS, *BUILT_IN)
async def writes_of_one_commit_see_those_before_them(store: Any) -> None:
    start = await version(store, "a")
    events = await store.commit(
        Write("a", "1", expect=ABSENT),
        Write("a", "2", expect=start + 1),
        Write("a", None, expect=start + 2),
        Write("a", "3", expect=ABSENT),
        Write("a", "4", expect=start + 4),
    )
    same([e.operation for e in events], ["insert", "replace", "delete", "insert", "replace"], "the operations of the events")
    same([e.version for e in events], [start + n for n in range(1, 6)], "the versions of the events")
    same(((await store.get("a")).value, await version(store, "a")), ("4", start + 5), "the entry after it")
    await is_refused(store, ConflictError, Write("a", "5"), Write("a", "6", expect=start + 5), what="a stale second write")


@check(CHECKS, *BUILT_IN)
async def each_kind_of_expectation_holds_or_refuses(store: Any) -> None:
    absence = await version(store, "a")
    await is_refused(store, ConflictError, Write("a", "1", expect=absence + 1), what="a version where nothing is")
    await store.commit(Write("a", "1", expect=absence))
    await store.commit(Write("a", "2", expect=ANY))
    there = await version(store, "a")
    await is_refused(store, ConflictError, Write("a", "3", expect=ABSENT), what="ABSENT where an entry is")
    await is_refused(store, ConflictError, Write("a", "3", expect=there - 1), what="an old version")
    await is_refused(store, ConflictError, Write("a", None, expect=there - 1), what="a delete that expects an old version")
    await store.commit(Write("a", None, expect=there))
    await is_refused(store, ConflictError, Write("a", "3", expect=there), what="the version of what was deleted")
    await is_refused(store, ConflictError, Write("a", "3", expect=absence), what="the first absence, after a delete")
    await store.commit(Write("a", "3", expect=ABSENT))
    await store.commit(Write("a", "4", expect=await version(store, "a")))
    wrong: Any
    for wrong in (True, 1.0, None, b"4"):
        await is_refused(store, InvalidWriteError, Write("a", "5", expect=wrong), what=f"the expectation {wrong!r}")


@check(CHECKS, *BUILT_IN, "compare_and_set")
async def a_text_is_expected_exactly(store: Any) -> None:
    await is_refused(store, ConflictError, Write("a", "1", expect="1"), what="a text where nothing is")
    await store.set("a", "1")
    for text in ("", "1 ", "01", "1.0"):
        await is_refused(store, ConflictError, Write("a", "2", expect=text), what=f"the text {text!r} where '1' is")
    await store.commit(Write("a", "2", expect="1"))
    same((await store.get("a")).value, "2", "the value after a commit that expects the text that is there")


@check(CHECKS, *BUILT_IN)
async def a_version_notices_that_a_text_changed_and_changed_back(store: Any) -> None:
    await store.set("a", "A")
    seen = await version(store, "a")
    await store.set("a", "B")
    await store.set("a", "A")
    await is_refused(store, ConflictError, Write("a", "C", expect=seen), what="a version from before A, B, A")
    absence = await version(store, "b")
    await store.set("b", "1")
    await store.clear()
    await is_refused(store, ConflictError, Write("b", "2", expect=absence), what="an absence from before a set and a clear")


@check(CHECKS, *BUILT_IN)
async def a_refusal_says_what_is_there(store: Any) -> None:
    await store.set("a", "1", {"deep": [1]})
    there = await version(store, "a")
    (error,) = await is_refused(store, ConflictError, Write("a", "2", expect=there + 5), what="a wrong version")
    said: Any = error
    same((said.key, said.expected, said.found_version, said.mine), ("a", there + 5, there, "2"), "what the ConflictError says")
    same((said.found.value, said.found.version), ("1", there), "the entry in the ConflictError")
    said.found.metadata["deep"].append(2)
    same((await store.get("a")).metadata, {"deep": [1]}, "the metadata after a reader changed what the ConflictError gave")
    absence = await version(store, "nothing")
    (error,) = await is_refused(store, ConflictError, Write("nothing", "2", expect=absence + 5), what="a wrong version")
    said = error
    same((said.found, said.found_version), (None, absence), "what the ConflictError says where nothing is")


@check(CHECKS, *BUILT_IN)
async def reads_of_versions_must_not_have_changed(store: Any) -> None:
    await store.set("a", "1")
    mine, none = await version(store, "a"), await version(store, "nothing")
    await store.commit(Write("b", "1"), reads=[KeyUnchanged("a", mine), KeyUnchanged("nothing", none)])
    await store.set("a", "1")
    await is_refused(store, ConflictError, Write("b", "2"), reads=[KeyUnchanged("a", mine)], what="a read that has changed")
    await is_refused(store, ConflictError, reads=[KeyUnchanged("a", mine)], what="a commit of nothing but a stale read")
    await store.set("nothing", "1")
    await is_refused(store, ConflictError, Write("b", "2"), reads=[KeyUnchanged("nothing", none)], what="an absence that ended")
    await store.delete("nothing")
    await is_refused(store, ConflictError, Write("b", "2"), reads=[KeyUnchanged("nothing", none)], what="an old absence")
    wrong: Any = ("a", 1)
    await is_refused(store, InvalidWriteError, Write("b", "2"), reads=[wrong], what="reads of the wrong kind")


@check(CHECKS, *BUILT_IN)
async def reads_of_prefixes_must_not_have_changed(store: Any) -> None:
    await store.set("web/a", "1")
    position = (await store.list("web")).position
    await store.set("website/a", "1")
    await store.set("other", "1")
    await store.commit(Write("b", "1"), reads=[PrefixUnchanged("web", position)])
    for change in (Write("web/a", "2"), Write("web/new", "1"), Write("web/new", None), Write("web", "itself")):
        await store.commit(change)
        await is_refused(
            store,
            ConflictError,
            Write("b", "2"),
            reads=[PrefixUnchanged("web", position)],
            what=f"a prefix listed before {change}",
        )
        position = (await store.list("web")).position
        await store.commit(Write("b", "3"), reads=[PrefixUnchanged("web", position)])
    await is_refused(
        store, ConflictError, Write("b", "4"), reads=[PrefixUnchanged("", position)], what="the prefix of everything"
    )


@check(CHECKS, *BUILT_IN)
async def of_many_who_expect_one_version_exactly_one_wins(store: Any) -> None:
    for key, expect in (("a", ABSENT), ("a", await version(store, "a") + 1)):
        await _one_of_ten(store, key, expect)


async def _one_of_ten(store: Any, key: str, expect: Expectation) -> None:
    writes = [store.commit(Write(key, str(number), expect=expect)) for number in range(10)]
    came = await asyncio.gather(*writes, return_exceptions=True)
    won = [number for number, result in enumerate(came) if isinstance(result, list)]
    same(len(won), 1, f"how many of ten that expect {expect!r} won")
    true(all(isinstance(result, list | ConflictError) for result in came), f"the others got {came!r:.200}")
    same((await store.get(key)).value, str(won[0]), "the value, by the number of who won")


@check(CHECKS, *BUILT_IN)
async def transfers_between_two_keys_lose_nothing(store: Any) -> None:
    await store.commit(Write("a", "50"), Write("b", "50"))

    async def transfer(amount: int) -> None:
        while True:
            a, b = await store.get("a"), await store.get("b")
            await asyncio.sleep(0)
            less = Write("a", str(int(a.value) - amount), expect=a.version)
            more = Write("b", str(int(b.value) + amount), expect=b.version)
            try:
                await store.commit(less, more)
            except ConflictError:
                continue
            return

    await asyncio.gather(*(transfer(amount) for amount in range(1, 7)))
    same([(await store.get(key)).value for key in ("a", "b")], ["29", "71"], "the two values after six transfers at once")


@check(CHECKS, *BUILT_IN)
async def appends_at_the_same_time_all_survive(store: Any) -> None:
    appends = [store.commit(Write("a", str(number), LIST, append=True)) for number in range(20)]
    await asyncio.gather(*appends)
    found = (await store.get("a")).value
    same(sorted(int(item) for item in found.strip("[]").split(",")), list(range(20)), "the items after 20 appends at once")
    same((await store.get("a")).metadata.get("sharedMemoryValueEncoding"), "json", "the marker of the list")


@check(CHECKS, *BUILT_IN)
async def an_append_adds_one_item_to_the_list_that_is_there(store: Any) -> None:
    await store.commit(Write("a", '"x"', append=True))
    same((await store.get("a")).value, '["x"]', "the list after an append to nothing")
    await store.set("a", ' [1, {"b": [2]} ] ', LIST)
    (event,) = await store.commit(Write("a", "[3]", append=True))
    same((event.value, event.encoding), (' [1, {"b": [2]} ,[3]]', "json"), "the event of an append")
    await store.set("a", "[ ]", LIST)
    await store.commit(Write("a", "null", append=True))
    same((await store.get("a")).value, "[null]", "the list after an append to an empty one")
    for text, metadata in (("[1]", None), ("text", LIST | {}), ('{"a": 1}', LIST), ('"text"', LIST)):
        await store.set("a", text, metadata)
        with refused(Exception, f"an append to {text!r} with the metadata {metadata!r}"):
            await store.commit(Write("a", "1", append=True))
        same((await store.get("a")).value, text, "the value after an append was refused")
    for item in ("", "not JSON", "NaN", "1,2", None):
        await is_refused(store, UnstorableValueError, Write("b", item, append=True), what=f"an append of {item!r}")


@check(CHECKS, *BUILT_IN)
async def a_restore_keeps_created_at_and_goes_last(store: Any) -> None:
    then = datetime(2020, 2, 2, tzinfo=UTC)
    for key in ("a", "b"):
        await store.set(key, "1")
    await store.commit(Write("a", "2", operation="restore", created_at=then))
    same([entry.key for entry in await store.list()], ["b", "a"], "the list after a restore of the first key")
    same((await store.get("a")).created_at, then, "created_at after a restore")
    await store.set("a", "3")
    same((await store.get("a")).created_at, then, "created_at after a restore and a set")
    same([e.operation for e in await store.events(key="a")], ["insert", "restore", "replace"], "the operations")


@check(CHECKS, *BUILT_IN)
async def an_import_keeps_created_at_and_its_place(store: Any) -> None:
    then = datetime(2020, 2, 2, tzinfo=UTC)
    for key in ("a", "b"):
        await store.set(key, "1")
    (event,) = await store.commit(Write("a", "2", operation="import", created_at=then, expires_at_turn=7))
    entry = await store.get("a")
    same((event.operation, event.created_at), ("import", then), "the event of an import")
    same((entry.created_at, entry.expires_at_turn), (then, 7), "created_at and expires_at_turn after an import")
    same([entry.key for entry in await store.list()], ["a", "b"], "the list after an import of the first key")


@check(CHECKS, *BUILT_IN)
async def what_look_gave_can_be_changed_without_changing_the_store(store: Any) -> None:
    await store.set("a", "1", {"deep": [1]})
    (await store.look("a")).entry.metadata["deep"].append(2)
    same((await store.get("a")).metadata, {"deep": [1]}, "the metadata after a reader changed what look gave")
    metadata: dict[str, Any] = {"deep": [1]}
    await store.commit(Write("a", "2", metadata))
    metadata["deep"].append(2)
    same((await store.get("a")).metadata, {"deep": [1]}, "the metadata after a writer changed his own")


@check(CHECKS, *BUILT_IN)
async def a_bad_key_is_refused_by_every_method(store: Any) -> None:
    await store.set("a", "1")
    before = await everything(store)
    for key in BAD_KEYS:
        for name, call in _calls_with(store, key).items():
            if callable(getattr(store, name, call)):
                with refused(InvalidKeyError, f"{name} of the key {key!r}"):
                    await call()
    same(await everything(store), before, "what is there after bad keys were refused")


def _calls_with(store: Any, key: Any) -> dict[str, Callable[[], Awaitable[Any]]]:
    calls: dict[str, Callable[[], Awaitable[Any]]] = {
        "get": lambda: store.get(key),
        "look": lambda: store.look(key),
        "set": lambda: store.set(key, "1"),
        "delete": lambda: store.delete(key),
        "commit": lambda: store.commit(Write(key, "1")),
        "a delete in commit": lambda: store.commit(Write(key, None)),
        "an append in commit": lambda: store.commit(Write(key, "1", append=True)),
        "commit with reads": lambda: store.commit(reads=[KeyUnchanged(key, 0)]),
        "set_with_expiry": lambda: store.set_with_expiry(key, "1", 1),
        "compare_and_set": lambda: store.compare_and_set(key, None, "1"),
    }
    if key != "":  # the empty prefix is everything
        calls["list"] = lambda: store.list(key)
    return calls


@check(CHECKS, *BUILT_IN)
async def a_bad_field_of_a_write_is_refused(store: Any) -> None:
    await store.set("a", "1")
    wrong: Any
    for wrong in (5, b"text", ["text"], "a\0b", "half \ud800"):
        await is_refused(store, UnstorableValueError, Write("a", wrong), what=f"the value {wrong!r}")
    for wrong in ([], "text", {"n": float("nan")}, {5: "five"}, {"deep": [{1, 2}]}):
        await is_refused(store, UnstorableValueError, Write("a", "2", wrong), what=f"the metadata {wrong!r}")
    for wrong in ("1", 1.0, True):
        await is_refused(store, TurnError, Write("a", "2", expires_at_turn=wrong), what=f"expires_at_turn={wrong!r}")
    fields: list[dict[str, Any]] = [
        {"actor": 5},
        {"reason": ["why"]},
        {"turn": "1"},
        {"saw": 1.0},
        {"created_at": "now"},
        {"created_at": datetime(2026, 1, 1)},  # noqa: DTZ001  # a time without a zone is what is refused here
        {"operation": "delete"},
    ]
    for field in fields:
        await is_refused(store, InvalidWriteError, Write("a", "2", **field), what=f"{field}")
    wrong = ("a", "2")
    await is_refused(store, InvalidWriteError, wrong, what="a tuple in the place of a Write")


@check(CHECKS, *BUILT_IN)
async def an_event_is_given_for_each_change(store: Any) -> None:
    (event,) = await store.commit(Write("a", "1", actor="web", reason="why", turn=3, saw=2))
    true(isinstance(event, Event), f"commit gave a {type(event).__name__}, not an Event")
    same((event.actor, event.reason, event.turn, event.saw), ("web", "why", 3, 2), "who, why, which turn, and what it had seen")
    same(list(await store.events()), [event], "the log")
