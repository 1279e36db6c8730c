"""What may happen to a network beside the operations of agents, and what each of these things does to it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from commonboard.history import Operation
from commonboard.sim.faults import AgentCrash, Choice, Crash, Drop, Duplicate, Heal, Message, Partition, Side
from commonboard.sim.replicas import Replica

if TYPE_CHECKING:
    from commonboard.sim.network import Network


def choices(network: Network, over: bool, running: Iterable[int] | None) -> list[Choice]:
    """What may happen now; see `Network.choices`."""
    if over and network.cut is not None:
        return [Heal(network.cut.replica)]
    messages = _deliverable(network)
    found: list[Choice] = list(messages)
    if not network.book.left or (over and not found):
        return found
    if network.cut is not None:
        found.append(Heal(network.cut.replica))
    left = network.book.left
    found += [Drop(message) for message in messages if left["drop"]]
    found += [Duplicate(message) for message in messages if left["duplicate"]]
    found += [Crash(name) for name in network.world.names if left["crash"]]
    if over:
        return found
    if left["partition"] and network.cut is None:
        found += _partitions(network)
    if left["agent crash"]:
        places = range(len(network.agents)) if running is None else running
        found += [AgentCrash(network.agents[place], place) for place in places]
    return found


def _deliverable(network: Network) -> list[Message]:
    world, cut = network.world, network.cut
    if cut is None and world.reorder and not world.latency and not world.duplicates:
        return network.messages
    found: dict[Message, None] = {}  # two copies of one message are one choice
    channels = set[tuple[str, str]]()
    for message in network.messages:
        channel = (message.source, message.target)
        held = cut is not None and cut.stops(*channel)
        if not held and channel not in channels and (network.free or message.due <= network.clock):
            found.setdefault(message)
        if not world.reorder:
            channels.add(channel)
    return list(found)


def _partitions(network: Network) -> list[Partition]:
    names = network.world.names
    if not network.world.one_way:
        return [Partition(name) for name in (names[:1] if len(names) == 2 else names)]
    sides: tuple[Side, ...] = ("out",) if len(names) == 2 else ("out", "in")  # of two, what leaves one reaches the other
    return [Partition(name, side) for name in names for side in sides]


def take(network: Network, choice: Choice, now: datetime, blocked: int = 0) -> list[Operation]:
    """Let one of the choices happen; see `Network.take`."""
    if isinstance(choice, Message):
        return [_deliver(network, choice, now)]
    if isinstance(choice, Heal):
        return [_heal(network, blocked)]
    if isinstance(choice, Drop):
        return [_drop(network, choice.message)]
    if isinstance(choice, Duplicate):
        return [_duplicate(network, choice.message)]
    if isinstance(choice, Partition):
        return [_part(network, choice)]
    if isinstance(choice, Crash):
        return _crash(network, choice.replica, now)
    return [_crash_agent(network, choice.agent)]


def _deliver(network: Network, message: Message, now: datetime) -> Operation:
    network.messages.remove(message)
    target = network.sites[message.site]
    assert isinstance(target, Replica)
    return target.arrive(message.key, message.sibling, message.source, now)


def _drop(network: Network, message: Message) -> Operation:
    network.messages.remove(message)
    what = f"the message with {message.dot} is lost on its way to {message.target}"
    op = network.book.record("drop", message.target, what, message.target)
    op.key, op.source, op.dot = message.key, message.source, message.dot
    network.book.touch(messages=1)
    return op


def _duplicate(network: Network, message: Message) -> Operation:
    network.messages.insert(network.messages.index(message), message)
    what = f"the message with {message.dot} is sent to {message.target} twice"
    op = network.book.record("duplicate", message.target, what, message.target)
    op.key, op.source, op.dot = message.key, message.source, message.dot
    network.book.touch(messages=1)
    return op


def _part(network: Network, cut: Partition) -> Operation:
    network.cut = cut
    words = f"{cut.replica} is cut off from the rest" if cut.side == "both" else cut.label
    op = network.book.record("partition", cut.replica, words, cut.replica)
    network.book.touch(messages=sum(cut.stops(message.source, message.target) for message in network.messages))
    return op


def _heal(network: Network, blocked: int) -> Operation:
    assert network.cut is not None
    replica, network.cut = network.cut.replica, None
    op = Operation(-1, replica, "fault", "", replica=replica, fault="heal", note=f"the partition of {replica} heals")
    network.book.touch_partition(operations=blocked, healed=op)
    return op


def _crash(network: Network, name: str, now: datetime) -> list[Operation]:
    replica = network.sites[network.world.names.index(name)]
    assert isinstance(replica, Replica)
    kept = [message for message in network.messages if name not in (message.source, message.target)]
    lost, network.messages = len(network.messages) - len(kept), kept
    op = network.book.record("crash", name, f"{name} crashes and starts again", name)
    forgotten = [] if network.world.durable else replica.forget(now)
    replica.restart()
    network.book.touch(messages=lost, values=len(forgotten))
    return [op, *forgotten]


def _crash_agent(network: Network, agent: str) -> Operation:
    network.lives[agent] = network.life(agent) + 1
    op = network.book.record("agent crash", agent, f"{agent} crashes and starts again from the beginning")
    network.book.touch(operations=network.acted.pop(agent, 0))
    network.ledger.forget(agent)
    return op
