"""The world that agents live in: how many copies of the board there are, how these hang together, and what may go wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from commonboard.errors import InvalidArgumentError

if TYPE_CHECKING:
    from commonboard.sim.faults import FaultKind

Visibility = Literal["sticky", "eventual", "strong"]

_KINDS: dict[str, FaultKind] = {
    "drops": "drop",
    "duplicates": "duplicate",
    "partitions": "partition",
    "crashes": "crash",
    "agent_crashes": "agent crash",
    "lost_answers": "lost answer",
}
_ALWAYS = ("replicas", "agent_crashes", "lost_answers")
"""What makes sense on one store; all else does between replicas only."""


@dataclass(slots=True, repr=False)
class World:
    """How the agents' copies of the board hang together, and what may go wrong.

    Every number of faults is "at most so many in a run". Whether and when they happen are choices like any other: a seed draws
    them, a token replays them, a search tries them all. When all agents have come to their end, partitions heal, all messages
    arrive, and each replica hands all it has to each other one, once (anti-entropy).

    Args:
        replicas: how many copies there are; agents are given to them in turn. 1 means one store for all.
        visibility: `"sticky"`: an agent stays with the replica that it is given. `"eventual"`: each of its operations may happen
            at any replica that it can reach (follows of the log, and commits that rest on a list, stay where they are).
            `"strong"`: every operation happens at the first replica, and waits while the agent's own is cut off from it.
        reorder: whether messages between two replicas may overtake each other.
        latency: how long a message takes at least, in virtual seconds.
        drops: how many messages may be lost.
        duplicates: how many messages may arrive twice.
        partitions: how many times a replica may be cut off from the rest. What is sent across waits until the partition heals.
        one_way: whether a partition stops messages in one direction only.
        crashes: how many times a replica may crash and start again; messages on their way from and to it are lost.
        durable: whether a replica that crashed still has what was written; if not, it comes back with what it was given.
        agent_crashes: how many times an agent may stop where it is, without any cleaning up, and start again from the beginning.
        lost_answers: how many times a write may happen whose agent is told `OutcomeUnknownError`.
        clock_skew: by replica, how far its clock is ahead (or behind, if negative), in writes. Stamps then come from clocks,
            which count all writes anywhere, instead of Lamport times; so of writes that have not seen each other, the one with
            the clock that is ahead always wins under `LastWriterWins`. `{}` gives clocks that agree.

    Raises:
        InvalidArgumentError: a number is out of range, or something between replicas is asked of one copy.

    >>> print(World(replicas=2, partitions=1))
    2 replicas, sticky; messages may overtake each other; at most 1 partition
    """

    replicas: int = 1
    _: KW_ONLY
    visibility: Visibility = "sticky"
    reorder: bool = True
    latency: float = 0.0
    drops: int = 0
    duplicates: int = 0
    partitions: int = 0
    one_way: bool = False
    crashes: int = 0
    durable: bool = True
    agent_crashes: int = 0
    lost_answers: int = 0
    clock_skew: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        _whole("replicas", self.replicas, 1)
        for name in _KINDS:
            _whole(name, getattr(self, name), 0)
        for name in ("reorder", "one_way", "durable"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidArgumentError(f"{name} is True or False, not {getattr(self, name)!r:.60}")
        if self.visibility not in get_args(Visibility):
            raise InvalidArgumentError(f"visibility is 'sticky', 'eventual' or 'strong', not {self.visibility!r:.60}")
        latency = self.latency
        if isinstance(latency, bool) or not isinstance(latency, (int, float)) or not 0 <= latency < float("inf"):
            raise InvalidArgumentError(f"latency is a number of virtual seconds of at least 0, not {latency!r:.60}")
        self._check_together()
        self._check_clocks()

    def _check_together(self) -> None:
        if self.replicas == 1:
            asked = next((name for name, _ in self._unusual() if name not in _ALWAYS), None)
            if asked is not None:
                raise InvalidArgumentError(f"{asked}= is about what happens between replicas; ask for replicas=2 or more")
        if self.one_way and not self.partitions:
            raise InvalidArgumentError("one_way=True says how a partition is; allow one with partitions=1 or more")
        if not self.durable and not self.crashes:
            raise InvalidArgumentError("durable=False says what a crash does; allow one with crashes=1 or more")

    def _check_clocks(self) -> None:
        if self.clock_skew is None:
            return
        if not isinstance(self.clock_skew, Mapping):
            raise InvalidArgumentError(f"clock_skew takes a dict such as {{'replica-2': -5}}, not {self.clock_skew!r:.60}")
        for name, skew in self.clock_skew.items():
            if name not in self.names:
                raise InvalidArgumentError(f"clock_skew names {name!r:.60}, but the replicas are {', '.join(self.names)}")
            if isinstance(skew, bool) or not isinstance(skew, int):
                raise InvalidArgumentError(f"the skew of {name} is a whole number of writes, not {skew!r:.60}")
        self.clock_skew = dict(self.clock_skew)

    def _unusual(self) -> Iterator[tuple[str, Any]]:
        """What was set otherwise than usual."""
        for each in fields(self):
            if (value := getattr(self, each.name)) != each.default:
                yield each.name, value

    @property
    def names(self) -> list[str]:
        """The replicas' names; one store has none."""
        return [f"replica-{number}" for number in range(1, self.replicas + 1)] if self.replicas > 1 else []

    @property
    def limits(self) -> dict[FaultKind, int]:
        """How many faults of each kind may happen; empty where none may."""
        limits = {kind: getattr(self, name) for name, kind in _KINDS.items()}
        return limits if any(limits.values()) else {}

    @property
    def is_plain(self) -> bool:
        """Whether it has nothing but a number of replicas."""
        return all(name == "replicas" for name, _ in self._unusual())

    @property
    def may_reuse_stamps(self) -> bool:
        """Whether an actor might come to a stamp that it has used, unless somebody sees to it."""
        return self.visibility == "eventual" or not self.durable or self.clock_skew is not None

    @property
    def may_fork(self) -> bool:
        """Whether an agent may find a state without its own last change: its changes then need a new name each time."""
        return self.visibility == "eventual" or not self.durable

    def __repr__(self) -> str:
        return f"World({', '.join(f'{name}={value!r}' for name, value in self._unusual())})"

    def __str__(self) -> str:
        parts = ["one store"] if self.replicas == 1 else [f"{self.replicas} replicas, {self.visibility}"]
        if self.replicas > 1:
            parts.append("messages may overtake each other" if self.reorder else "messages arrive in order")
        if self.latency:
            parts.append(f"messages take at least {self.latency:g} s")
        if allowed := [self._allowed(name, kind) for name, kind in _KINDS.items() if getattr(self, name)]:
            parts.append(f"at most {', '.join(allowed)}")
        if self.clock_skew is not None:
            off = {name: skew for name, skew in sorted(self.clock_skew.items()) if skew}
            skews = [f"that of {name} is {abs(skew)} {'ahead' if skew > 0 else 'behind'}" for name, skew in off.items()]
            parts.append(f"stamps by clocks: {', '.join(skews)}" if skews else "stamps by clocks that agree")
        return "; ".join(parts)

    def _allowed(self, name: str, kind: str) -> str:
        count = getattr(self, name)
        ending = "" if count == 1 else "es" if kind.endswith("crash") else "s"
        forgets = "" if self.durable else " that forgets" if count == 1 else " that forget"
        more = {"partitions": " in one direction" * self.one_way, "crashes": forgets}.get(name, "")
        return f"{count} {kind}{ending}{more}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def _whole(name: str, number: Any, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise InvalidArgumentError(f"{name} must be a whole number of at least {least}, not {number!r:.60}")
