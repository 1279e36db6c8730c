"""The state of a world as a value: equal where two worlds behave the same from now on. See `Network.key`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from commonboard.rule import Board
from commonboard.values import canonical_json

if TYPE_CHECKING:
    from commonboard.sim.faults import Message
    from commonboard.sim.network import Network


def facts_key(metadata: Mapping[str, Any]) -> Hashable:
    """Metadata as a value."""
    items = tuple(sorted(metadata.items()))
    # As values, 1, 1.0 and True are equal; as JSON text they are not.
    return items if all(type(fact) is str for _, fact in items) else canonical_json(dict(metadata))


def board_key(board: Board, order: bool, positions: bool) -> Hashable:
    """A board as a value: the entries in order of creation if `order`, its log too if `positions`."""
    entries = [(key, e.value, facts_key(e.metadata), e.version, e.expires_at_turn) for key, e in board.entries.items()]
    if not order:
        entries.sort(key=lambda entry: entry[0])
    log: Hashable = None
    if positions:
        log = board.seq, board.dropped, tuple(board.born.items()), tuple(event[:11] for event in board.log)
    return tuple(entries), tuple(sorted(board.gone.items())), board.floor, log


def messages_key(network: Network) -> Hashable:
    """The messages on their way, as a value."""
    world = network.world

    def told(message: Message) -> tuple[str, str, str, float]:
        due = message.due - network.clock if world.latency and not network.free else 0.0
        return message.source, message.target, message.dot, due

    sent = [(told(message), message.sibling.key()) for message in network.messages]
    # In order, each channel is a queue; out of order, it does not matter who was sent first.
    return tuple(sorted(sent, key=lambda each: each[0] if world.reorder else each[0][:2]))


def writes_key(network: Network) -> Hashable:
    """The writes that may still be a base, the stamps that are used up, and the clock that counts all writes."""
    found = []
    for key, writes in sorted(network.writes.items()):
        held = {sibling.seen for copy in network.copies().values() for sibling in copy.get(key, [])}
        held |= {message.sibling.seen for message in network.messages if message.key == key}
        common = {one & other for one in held for other in held}
        bases = [w for w in writes if any(w.live[0] in both and both <= w.seen for both in common)]
        used = frozenset(write.order for write in writes) if network.world.may_reuse_stamps else None
        found.append((key, frozenset(write.key() for write in bases), used))
    return tuple(found), network.written if network.has_clocks else 0
