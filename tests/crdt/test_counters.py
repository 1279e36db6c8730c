"""GCounter and PNCounter: what they count, what they refuse, and what a replica id that is used twice does to them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from commonboard.crdt import CrdtTypeError, CrdtValueError, GCounter, ORSet, PNCounter, UnboundReplicaError
from commonboard.errors import CommonboardError, InvalidKeyError

BOTH = [GCounter, PNCounter]


def test_concurrent_increments_add_up() -> None:
    a, b, c = GCounter("a~1"), GCounter("b~1"), GCounter("c~1")
    a.inc()
    b.inc(2)
    c.inc(3)
    assert {x.merge(y).merge(z).value for x, y, z in permutations([a, b, c])} == {6}


def test_a_repeated_delivery_counts_once() -> None:
    a, b = PNCounter("a~1") + 2, PNCounter("b~1") - 5
    once = a.merge(b)
    assert once.merge(b).merge(b).merge(a) == once
    assert once.value == -3


def test_up_and_down_at_one_replica_survives_a_merge_with_its_older_state() -> None:
    older = PNCounter("a~1") + 1
    newer = older - 1
    assert newer.merge(older).value == 0
    assert older.merge(newer).value == 0


def test_a_value_may_be_negative_and_is_not_clamped() -> None:
    a, b = PNCounter("a~1") - 3, PNCounter("b~1") + 1
    assert (a.value, a.merge(b).value) == (-3, -2)


@pytest.mark.parametrize("kind", BOTH)
def test_nothing_counted_makes_no_slot(kind: Any) -> None:
    counter = kind("a~1") + 0
    assert counter == kind()
    assert counter.to_json() == kind().to_json()


def test_the_slots_can_be_looked_at_and_are_copies() -> None:
    g, pn = GCounter("a~1") + 2, PNCounter("a~1") + 2 - 1
    g.counts["a~1"] = pn.added["a~1"] = pn.taken["a~1"] = 99
    assert (g.counts, pn.added, pn.taken) == ({"a~1": 2}, {"a~1": 2}, {"a~1": 1})


@pytest.mark.parametrize("k", [True, 1.0, "1", None, [1]])
@pytest.mark.parametrize("kind", BOTH)
def test_only_whole_numbers_can_be_counted(kind: Any, k: Any) -> None:
    counter = kind("a~1")
    mutate = counter.inc if kind is GCounter else counter.add
    for call in (lambda: mutate(k), lambda: counter + k, lambda: k + counter, lambda: counter - k, lambda: counter.become(k)):
        with pytest.raises(CrdtTypeError, match="must be a whole number"):
            call()
    assert counter == kind()


def test_a_counter_that_only_grows_refuses_to_shrink_and_stays_as_it_was() -> None:
    counter = GCounter("a~1") + 3
    for call in (lambda: counter.inc(-1), lambda: counter - 1, lambda: counter.become(2)):
        with pytest.raises(CrdtValueError, match="PNCounter"):
            call()
    assert counter.value == 3


@pytest.mark.parametrize("kind", BOTH)
def test_a_counter_without_a_replica_id_can_be_read_and_merged_but_not_changed(kind: Any) -> None:
    unbound = kind()
    merged = unbound.merge(kind("a~1") + 2)
    assert merged.value == 2
    assert merged.replica is None
    mutate = merged.inc if kind is GCounter else merged.add
    for call in (mutate, lambda: merged + 1, lambda: 1 + merged, lambda: merged.become(2)):
        with pytest.raises(UnboundReplicaError, match="bind"):
            call()


@pytest.mark.parametrize("replica", ["", "a\0", "\ud800", 7, b"a"])
@pytest.mark.parametrize("kind", [GCounter, PNCounter, ORSet])
def test_what_cannot_be_a_replica_id_is_refused(kind: Any, replica: Any) -> None:
    for call in (lambda: kind(replica), lambda: kind().bind(replica)):
        with pytest.raises(InvalidKeyError, match="the replica id"):
            call()


@pytest.mark.parametrize(("mine", "theirs"), list(permutations([GCounter("a"), PNCounter("a"), ORSet("a")], 2)))
def test_different_types_do_not_merge_and_are_never_equal(mine: Any, theirs: Any) -> None:
    for call in (lambda: mine.merge(theirs), lambda: mine.le(theirs), lambda: mine.merge(None)):
        with pytest.raises(CrdtTypeError, match=r"merges with a \w+ only"):
            call()
    assert mine != theirs


def test_a_subclass_does_not_merge_with_its_base() -> None:
    class Mine(PNCounter):
        pass

    with pytest.raises(CommonboardError):
        PNCounter("a").merge(Mine("b"))


@pytest.mark.parametrize("kind", BOTH)
def test_le_is_the_order_of_knowledge(kind: Any) -> None:
    a = kind("a~1") + 1
    b = a.bind("b~1") + 1
    apart = kind("c~1") + 1
    assert a.le(b)
    assert not b.le(a)
    assert a.le(a)
    assert kind().le(a)
    assert not a.le(apart)
    assert not apart.le(a)


def test_a_pncounter_that_only_took_away_is_ahead_too() -> None:
    a = PNCounter("a~1")
    assert a.le(a - 1)
    assert not (a - 1).le(a)


# --- a replica id that is used twice: what happens then, for it cannot be noticed ----------------------------------------


def test_a_replica_id_used_twice_loses_increments_silently() -> None:
    first_life = PNCounter("researcher") + 1
    second_life = PNCounter("researcher") + 1  # started again without its state, under the same id
    assert first_life.merge(second_life).value == 1


def test_a_new_id_for_each_incarnation_loses_nothing() -> None:
    first_life = PNCounter("researcher~1f") + 1
    second_life = PNCounter("researcher~2a") + 1
    assert first_life.merge(second_life).value == 2
