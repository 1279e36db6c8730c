"""What may happen between replicas and to agents, as values that can be chosen; and what came of each fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from commonboard.history import Operation
from commonboard.sim.replicas import Sibling

FaultKind = Literal["drop", "duplicate", "partition", "crash", "agent crash", "lost answer", "clock skew"]
Side = Literal["both", "out", "in"]


@dataclass(frozen=True, slots=True)
class Message:
    """One write on its way to one replica; to choose it is to deliver it.

    Attributes:
        source, target, dot: from which replica to which, and the name of the write.
        site: the target's place among the replicas.
        key, sibling: what it brings.
        due: not before this virtual second, where time is exact.
    """

    source: str
    target: str
    dot: str
    site: int = field(compare=False)
    key: str = field(compare=False)
    sibling: Sibling = field(compare=False, repr=False)
    due: float = field(default=0.0, compare=False)
    is_fault: ClassVar[bool] = False

    @property
    def what(self) -> str:
        return f"{self.dot} {self.key} to {self.target}"

    @property
    def label(self) -> str:
        return f"deliver {self.what}"


@dataclass(frozen=True, slots=True)
class Drop:
    """A message is lost."""

    message: Message
    is_fault: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return f"drop {self.message.what}"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A message will arrive twice."""

    message: Message
    is_fault: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return f"duplicate {self.message.what}"


@dataclass(frozen=True, slots=True)
class Partition:
    """A replica is cut off from the rest: in both directions, or only what it sends (`out`), or what is sent to it (`in`)."""

    replica: str
    side: Side = "both"
    is_fault: ClassVar[bool] = True

    @property
    def label(self) -> str:
        words = {
            "both": f"cut off {self.replica}",
            "out": f"nothing leaves {self.replica}",
            "in": f"nothing reaches {self.replica}",
        }
        return words[self.side]

    def stops(self, source: str, target: str) -> bool:
        """Whether a message from one replica to the other has to wait."""
        leaves, enters = source == self.replica != target, target == self.replica != source
        return (leaves and self.side != "in") or (enters and self.side != "out")

    def between(self, one: str, other: str) -> bool:
        """Whether a question and its answer cannot both pass between the two."""
        return self.stops(one, other) or self.stops(other, one)


@dataclass(frozen=True, slots=True)
class Heal:
    """The partition ends."""

    replica: str
    is_fault: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return f"heal {self.replica}"


@dataclass(frozen=True, slots=True)
class Crash:
    """A replica stops, and starts again."""

    replica: str
    is_fault: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return f"crash {self.replica}"


@dataclass(frozen=True, slots=True)
class AgentCrash:
    """An agent stops where it is, and starts again from the beginning.

    Attributes:
        agent: its name.
        agent_place: its place in the crew.
    """

    agent: str
    agent_place: int
    is_fault: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return f"{self.agent} crashes and starts again"


Choice = Message | Drop | Duplicate | Partition | Heal | Crash | AgentCrash


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a run, and what it touched.

    Attributes:
        kind: `drop`, `duplicate`, `partition`, `crash`, `agent crash`, `lost answer` or `clock skew`.
        who: the replica or the agent concerned.
        what: what happened, in words.
        operation: its record in the history; `index` is its place there.
        healed: the record of the end of a partition.
        messages: how many messages it held up, lost or delivered twice.
        operations: how many operations waited, failed, are done again or were stamped because of it.
        values: how many values were forgotten.
    """

    kind: FaultKind
    who: str
    what: str
    operation: Operation = field(compare=False, repr=False)
    healed: Operation | None = field(default=None, compare=False, repr=False)
    messages: int = 0
    operations: int = 0
    values: int = 0

    @property
    def index(self) -> int:
        """Its place in the history."""
        return self.operation.index

    @property
    def touched(self) -> int:
        """How many messages, operations and values it touched; after 0 the run has not shown what such a fault does."""
        return self.messages + self.operations + self.values

    @property
    def effect(self) -> str:
        """What it touched, in words."""
        return ", ".join(self._effects()) or "touched nothing"

    def _effects(self) -> Iterator[str]:
        held = {"partition": "held up", "duplicate": "sent twice"}.get(self.kind, "lost")
        waited = {"partition": "waited", "agent crash": "before it, all to be done again", "clock skew": "stamped"}
        if self.messages:
            yield f"{_counted(self.messages, 'message')} {held}"
        if self.operations:
            yield f"{_counted(self.operations, 'operation')} {waited.get(self.kind, 'not answered')}"
        if self.values:
            yield f"{_counted(self.values, 'value')} forgotten"

    def __str__(self) -> str:
        return f"{self.what} (operation {self.index}): {self.effect}"


@dataclass(slots=True)
class FaultBook:
    """The faults of a world: how many may still happen, and which did.

    Attributes:
        left: how many of each kind may still happen; empty where none ever may.
        faults: those that did, in order.
    """

    left: dict[FaultKind, int]
    faults: list[Fault] = field(default_factory=list)

    def copy(self) -> FaultBook:
        """A book of its own."""
        return FaultBook(dict(self.left), list(self.faults))

    def record(self, kind: FaultKind, who: str, what: str, replica: str | None = None) -> Operation:
        """Enter a fault; gives its record for the history."""
        if kind in self.left:
            self.left[kind] -= 1
        op = Operation(-1, who, "fault", "", fault=kind, note=what, replica=replica)
        self.faults.append(Fault(kind, who, what, op))
        return op

    def touch(self, place: int = -1, *, messages: int = 0, operations: int = 0, values: int = 0) -> None:
        """A fault, the last one unless told, touched so much more."""
        fault = self.faults[place]
        self.faults[place] = replace(
            fault,
            messages=fault.messages + messages,
            operations=fault.operations + operations,
            values=fault.values + values,
        )

    def touch_partition(self, *, messages: int = 0, operations: int = 0, healed: Operation | None = None) -> None:
        """The partition that lasts touched so much more; or it ends."""
        place = max(place for place, fault in enumerate(self.faults) if fault.kind == "partition")
        self.touch(place, messages=messages, operations=operations)
        if healed is not None:
            self.faults[place] = replace(self.faults[place], healed=healed)

    def touch_skew(self, replica: str) -> None:
        """The skewed clock of a replica, if it is skewed, stamped one more write."""
        for place, fault in enumerate(self.faults):
            if fault.kind == "clock skew" and fault.who == replica:
                self.touch(place, operations=1)

    def idle(self) -> tuple[str, ...]:
        """The faults that have touched nothing so far."""
        return tuple(sorted(fault.what for fault in self.faults if not fault.touched))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
