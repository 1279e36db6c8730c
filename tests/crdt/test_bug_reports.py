"""What went wrong in other people's sets and counters, each told as the behaviour that is right. The issue is named beside it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from commonboard.crdt import GCounter, ORSet, PNCounter


def test_a_remove_is_not_undone_by_a_copy_that_has_seen_as_much() -> None:
    # basho/riak_dt#78: a short cut took "has seen at least as much" for "is newer".
    a = ORSet("a") + ["foo", "bar"]
    c = a.bind("c").merge(ORSet("b") + ["baz"])
    a.remove("bar")
    assert a.merge(c).value == c.merge(a).value == ["baz", "foo"]


def test_an_element_held_by_two_adds_that_were_each_removed_somewhere_goes() -> None:
    # basho/riak_dt#82: present on both sides was taken to mean that it stays.
    a, b = ORSet("a") + ["x"], ORSet("b") + ["x"]
    c = ORSet("c").merge(a)
    a.remove("x")
    a = a.merge(b)
    b.remove("x")
    b = b.merge(c)
    assert a.merge(b).value == b.merge(a).value == []


def test_adds_of_several_elements_at_once_have_a_dot_each() -> None:
    # basho/riak_dt#90: several fields shared one dot, and the dot was the merge key.
    made = ORSet("a") + ["x", "y"]
    assert made.dots("x") != made.dots("y")
    other = made.bind("b")
    other.remove("x")
    assert made.merge(other).value == ["y"]


def test_replicas_with_names_of_their_own_count_apart() -> None:
    # nurl-lang/nurl#169: every node called itself replica 0.
    nodes = [GCounter(f"node-{n}~1") + 1 for n in range(3)]
    assert nodes[0].merge(nodes[1]).merge(nodes[2]).value == 3


def test_an_increment_that_arrives_by_two_ways_counts_once() -> None:
    # sourcenetwork/defradb#5274: a merged increment was counted again.
    a = PNCounter("a") + 1
    b, c = PNCounter("b").merge(a), PNCounter("c").merge(a)
    assert b.merge(c).merge(a).merge(b).value == 1


def test_a_counter_has_no_way_to_be_set_past_what_others_counted() -> None:
    # automerge/automerge-swift#64: the encoder set the counter, so it was last-writer-wins.
    base = PNCounter("a") + 10
    mine, theirs = base.become(12), base.bind("b").become(11)
    assert mine.merge(theirs).value == 13
    assert not hasattr(base, "set")


def test_removing_again_and_again_leaves_nothing_behind() -> None:
    # ipfs/go-ds-crdt#38: each remove buried all old tags once more.
    made = ORSet("a")
    for _ in range(1_000):
        made.add("x")
        made.remove("x")
    assert made.to_json() == '{"e":[],"t":"orset","v":1,"vv":{"a":1000}}'


def test_three_concurrent_changes_end_in_one_state_in_all_orders() -> None:
    # reearth/ygo#110: three concurrent writes ended differently in different orders, and a later key was gone.
    base = ORSet("base") + ["x"]
    a, b, c = base.bind("a"), base.bind("b"), base.bind("c") + ["later"]
    a.remove("x")
    b.add("x")
    ends = {x.merge(y).merge(z).to_json() for x, y, z in permutations([a, b, c])}
    assert len(ends) == 1
    assert ORSet.from_json(ends.pop()).value == ["later", "x"]


def test_what_a_merge_gives_is_the_same_after_saving_and_loading_either_side() -> None:
    # automerge/automerge#579: the winner of a conflict changed after save and load.
    a, b = ORSet("a") + ["x", "y"], ORSet("b") + ["x", 1]
    a.remove("x")
    for left in (a, ORSet.from_json(a.to_json())):
        for right in (b, ORSet.from_json(b.to_json())):
            assert left.merge(right).to_json() == a.merge(b).to_json()


def test_one_element_added_many_times_and_delivered_twice_and_out_of_order_is_one_element() -> None:
    # jepsen-io/maelstrom#95: the test of a grow-only set never added an element twice, so it could not see this.
    states = [ORSet("a") + ["x"]]
    for _ in range(3):
        states.append(states[-1] + ["x"])
    for order in permutations(states):
        received = ORSet("b")
        for state in (*order, *order):
            received = received.merge(state)
        assert received.value == ["x"]
        assert received == states[-1]


# --- in a store with compare-and-set -------------------------------------------------------------------------------------


class Cell:
    """One key with compare-and-set, which can lose an answer after it has written."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lose_next_answer = False

    def compare_and_set(self, expected: str, text: str) -> bool:
        if self.text != expected:
            return False
        self.text = text
        lost, self.lose_next_answer = self.lose_next_answer, False
        return not lost


def write_merged(cell: Cell, state: Any, read: str) -> None:
    """Merge at write: on a refusal the state made once is merged again, never made again."""
    while not cell.compare_and_set(read, state.merge(type(state).from_json(read)).to_json()):
        read = cell.text


def test_a_write_that_is_refused_is_merged_again_and_loses_nothing() -> None:
    # TopGunBuild/topgun#54: the server wrote blindly, and all concurrent values were lost.
    cell = Cell(ORSet().to_json())
    read = cell.text
    for agent in ("a", "b", "c"):  # all three have read the empty set
        write_merged(cell, ORSet.from_json(read).bind(f"{agent}~1") + [f"of {agent}"], read)
    assert ORSet.from_json(cell.text).value == ["of a", "of b", "of c"]


def test_the_same_agents_without_the_expectation_lose_all_but_the_last() -> None:
    cell = Cell(ORSet().to_json())
    read = cell.text
    for agent in ("a", "b", "c"):
        cell.text = (ORSet.from_json(read).bind(f"{agent}~1") + [f"of {agent}"]).to_json()
    assert ORSet.from_json(cell.text).value == ["of c"]


def test_a_write_whose_answer_was_lost_counts_once_when_it_is_merged_again() -> None:
    cell = Cell(PNCounter().to_json())
    cell.lose_next_answer = True
    read = cell.text
    write_merged(cell, PNCounter.from_json(read).bind("a~1") + 1, read)
    assert PNCounter.from_json(cell.text).value == 1


def test_a_write_whose_answer_was_lost_counts_twice_when_the_change_is_made_again() -> None:
    cell = Cell(PNCounter().to_json())
    cell.lose_next_answer = True
    for _ in range(2):
        read = cell.text
        if cell.compare_and_set(read, (PNCounter.from_json(read).bind("a~1") + 1).to_json()):
            break
    assert PNCounter.from_json(cell.text).value == 2
