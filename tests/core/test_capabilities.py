"""What each kind of store can carry: all else is a `CapabilityError` at the call, and nothing is tried."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from tests.helpers import FiveMethods, WithBoth, WithCompareAndSet, everything, run

from commonboard import (
    ABSENT,
    AppendOnly,
    ConflictError,
    ConflictPolicy,
    FileStore,
    FirstWriterWins,
    InMemoryStore,
    LastWriterWins,
    Merge,
    Optimistic,
    SharedMemory,
    SingleWriter,
    ThreeWay,
    Write,
)
from commonboard.crdt import ORSet
from commonboard.errors import CapabilityError
from commonboard.stores import is_built_in
from commonboard.stores.port import CapabilityWarning, port


def mine(base: Any, mine: Any, theirs: Any) -> Any:
    return mine


class Blind(ConflictPolicy):
    expects = "nothing"


POLICIES: dict[str, Any] = {
    "LastWriterWins": LastWriterWins(),
    "FirstWriterWins": FirstWriterWins(),
    "Optimistic": Optimistic(),
    "Merge": Merge(ORSet),
    "ThreeWay": ThreeWay(lambda base, mine, theirs: mine),
    "AppendOnly": AppendOnly(),
    "SingleWriter": SingleWriter("me"),
    "a function": mine,
    "blind": Blind(),
}
BY_VALUE = {"LastWriterWins", "FirstWriterWins", "Optimistic", "Merge", "ThreeWay", "blind"}
BY_NOTHING = {"LastWriterWins", "Merge", "blind"}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("store", "works"),
    [
        (InMemoryStore, set(POLICIES)),
        (WithCompareAndSet, BY_VALUE),
        (WithBoth, BY_VALUE),
        (FiveMethods, BY_NOTHING),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
@pytest.mark.filterwarnings("ignore:.*has no versions")
def test_a_policy_works_exactly_where_the_store_can_carry_it(store: Any, works: set[str], policy: str) -> None:
    async def main() -> None:
        memory = SharedMemory(store())
        me = memory.agent("me")

        def change(value: Any) -> Any:
            ran.append(value)
            return ["x"]

        ran: list[Any] = []
        if policy in works:
            entry = await me.shared.update("key", change, POLICIES[policy])
            assert entry is not None
            assert len(ran) == 1
        else:
            with pytest.raises(CapabilityError, match=r"needs (versions|compare_and_set).*; use .*or a built-in store"):
                await me.shared.update("key", change, POLICIES[policy])
            assert ran == []
            assert await everything(memory.store) == []

    run(main())


@pytest.mark.parametrize("policy", ["FirstWriterWins", "Optimistic", "Merge", "ThreeWay"])
@pytest.mark.filterwarnings("ignore:.*has no versions")
def test_by_value_a_conflict_is_noticed_and_settled(policy: str) -> None:
    async def main() -> Any:
        memory = SharedMemory(WithCompareAndSet())
        me, other = memory.agent("me"), memory.agent("other")
        await other.shared.write("key", ["a"])
        beaten = False

        async def change(value: Any) -> Any:
            nonlocal beaten
            if not beaten:
                beaten = True
                await other.shared.write("key", ["a", "theirs"])
            if policy == "Merge":
                value.add("mine")
                return None
            return [*value, "mine"]

        three = ThreeWay(lambda base, mine, theirs: [*theirs, *(item for item in mine if item not in base)])
        await me.shared.update("key", change, three if policy == "ThreeWay" else POLICIES[policy])
        found = await memory.value("shared/key")
        return sorted(getattr(found, "value", found))

    wanted = ["a", "theirs"] if policy == "FirstWriterWins" else ["a", "mine", "theirs"]
    assert run(main()) == wanted


def test_by_value_a_change_there_and_back_goes_unseen_and_a_warning_says_so_once() -> None:
    async def main() -> None:
        memory = SharedMemory(WithCompareAndSet())
        me, other = memory.agent("me"), memory.agent("other")
        await other.shared.write("key", "A")

        async def change(value: Any) -> Any:
            await other.shared.write("key", "B")
            await other.shared.write("key", "A")
            return f"{value}+mine"

        await me.shared.update("key", change)
        assert await memory.value("shared/key") == "A+mine"
        await me.shared.update("key 2", lambda value: 1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(main())
    assert [str(warning.message) for warning in caught] == [
        "WithCompareAndSet has no versions: conflicts are found by comparing texts, "
        "so a change from A to B and back to A is not noticed (ABA)"
    ]
    assert issubclass(caught[0].category, CapabilityWarning)


def test_on_a_built_in_store_the_same_change_there_and_back_is_noticed() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me, other = memory.agent("me"), memory.agent("other")
        await other.shared.write("key", "A")
        runs = 0

        async def change(value: Any) -> Any:
            nonlocal runs
            runs += 1
            if runs == 1:
                await other.shared.write("key", "B")
                await other.shared.write("key", "A")
            return f"{value}+mine"

        await me.shared.update("key", change)
        assert runs == 2

    run(main())


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda me: me.write("key", 1, expect=ABSENT), "FiveMethods has no compare_and_set, so a write cannot expect anything"),
        (lambda me: me.write("key", 1, expect="text"), "has no compare_and_set"),
        (lambda me: me.delete("key", expect=ABSENT), "has no compare_and_set"),
        (lambda me: me.compare_and_set("key", None, 1), "has no compare_and_set"),
        (lambda me: me.append("key", 1), "FiveMethods can append neither in one step nor by compare-and-set"),
    ],
)
def test_what_five_methods_cannot_do_is_refused_at_the_call(call: Any, why: str) -> None:
    memory = SharedMemory(FiveMethods())
    with pytest.raises(CapabilityError, match=why):
        run(call(memory.agent("me")))
    assert run(everything(memory.store)) == []


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (
            lambda me: me.write("key", 2, expect=3),
            "WithCompareAndSet keeps no versions; expect ABSENT or the stored text instead of 3",
        ),
        (lambda me: me.delete("key", expect="1"), "can compare-and-set a value only: no conditional delete, no expiry with it"),
    ],
)
def test_what_compare_and_set_alone_cannot_do_is_refused_at_the_call(call: Any, why: str) -> None:
    async def main() -> None:
        memory = SharedMemory(WithCompareAndSet())
        me = memory.agent("me")
        await me.write("key", 1)
        before = await everything(memory.store)
        with pytest.raises(CapabilityError, match=why):
            await call(me)
        assert await everything(memory.store) == before

    run(main())


def test_a_foreign_store_takes_one_write_at_a_time_and_no_append() -> None:
    async def main() -> None:
        foreign = port(WithBoth())
        with pytest.raises(CapabilityError, match="WithBoth cannot write 2 keys as one step"):
            await foreign.commit(Write("a", "1"), Write("b", "1"))
        with pytest.raises(CapabilityError, match="WithBoth cannot append in one step"):
            await foreign.commit(Write("a", "1", append=True))
        with pytest.raises(CapabilityError, match="no expiry with it"):
            await foreign.commit(Write("a", "1", expect=ABSENT, expires_at_turn=1))
        assert await foreign.store.list() == []

    run(main())


def test_a_refused_compare_and_set_says_what_is_there() -> None:
    async def main() -> None:
        memory = SharedMemory(WithCompareAndSet())
        me = memory.agent("me")
        await me.write("key", "theirs")
        with pytest.raises(ConflictError, match="found another text than it expected; nothing was written") as refused:
            await me.write("key", "mine", expect="other")
        assert (refused.value.found.value, refused.value.found_version) == ("theirs", None)

    run(main())


def test_the_built_in_stores_are_known_by_what_they_offer(tmp_path: Any) -> None:
    assert [is_built_in(store) for store in (InMemoryStore(), FileStore(tmp_path / "b.json"), WithBoth(), FiveMethods())] == [
        True,
        True,
        False,
        False,
    ]
