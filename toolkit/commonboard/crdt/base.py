"""What all CRDTs of this package have in common: a replica id, one way to merge, one text.

A state-based CRDT (Shapiro, Preguiça, Baquero, Zawirski 2011) is a value that several replicas change without asking
each other. `merge` takes two states to the least one that knows everything both know. It is commutative, associative
and idempotent, so it does not matter how often, or in which order, states meet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from commonboard.crdt.codec import check_replica
from commonboard.errors import CommonboardError


class UnboundReplicaError(CommonboardError, RuntimeError):
    """A CRDT without a replica id was asked to change; bind it first."""


class CrdtTypeError(CommonboardError, TypeError):
    """A CRDT was merged with, or given, something of another kind."""


class CrdtValueError(CommonboardError, ValueError):
    """A change that this type of CRDT cannot make, such as taking from a counter that only grows."""


class ReplicaReusedError(CommonboardError, ValueError):
    """Two states hold different updates under one name: a replica id was used twice. Nothing was merged."""


class Crdt(ABC):
    """The base of the CRDTs.

    Args:
        replica: the id in whose name this object changes the state, such as `"researcher~1f"`: the agent's name and its
            incarnation. `None` gives a state that can be read and merged, but not changed.

    **A replica id must be new for each incarnation.** An agent that starts again without the state it had, a cloned
    agent, two processes with one name: each of them would name its updates `("researcher", 1)`, `("researcher", 2)`, … once
    more. A merge believes the names, and takes two different updates for one. A counter cannot notice it at all; a set
    raises `ReplicaReusedError` where it sees the proof, which is one name on two elements. So never count on the error.

    **An object is a value, not the replica itself.** `copy`, `bind`, `merge`, `+` and `become` give new objects with
    the same id. Go on with one of them, and drop the others: two that both change are a reused id. For the same reason,
    before you change a state that you have read from a store which may be behind, merge into it the last state that you
    made yourself.

    Two objects are equal if they are of one type and in one state; the replica id does not count. They have no hash, as
    their state changes.
    """

    __slots__ = ("_replica",)

    tag: ClassVar[str]
    """The name of the type in stored text."""

    def __init__(self, replica: str | None = None) -> None:
        self._replica = None if replica is None else check_replica(replica)

    @property
    def replica(self) -> str | None:
        """The id in whose name this object changes the state, or `None`."""
        return self._replica

    @property
    @abstractmethod
    def value(self) -> Any:
        """What a reader wants: plain JSON data, a fresh copy."""

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """A new object in the least state that knows all that both know. It keeps this object's replica id.

        Raises:
            CrdtTypeError: if the other is not of the same type.
        """

    @abstractmethod
    def copy(self) -> Self:
        """A new object in the same state, with the same replica id, sharing nothing that changes."""

    @abstractmethod
    def become(self, value: Any) -> Self:
        """A copy which has this value, reached by the smallest update: for agents that return a plain value.

        Raises:
            CrdtTypeError: if the value is not of the plain type that `value` gives.
            UnboundReplicaError: if this object has no replica id.
        """

    @abstractmethod
    def to_json(self) -> str:
        """The state as canonical text. Equal states give equal texts. The replica id is no part of it."""

    @classmethod
    @abstractmethod
    def from_json(cls, text: str) -> Self:
        """The state that `to_json` wrote, without a replica id.

        Raises:
            CorruptValueError: if the text is anything that `to_json` could not mean. It says what.
        """

    @abstractmethod
    def _state(self) -> Any:
        """All of the state and nothing else, comparable with `==`."""

    def bind(self, replica: str) -> Self:
        """A copy that changes in the name of this replica."""
        bound = self.copy()
        bound._replica = check_replica(replica)
        return bound

    def le(self, other: Self) -> bool:
        """Whether `other` already knows all that this state knows (the order of the lattice).

        Raises:
            CrdtTypeError: if the other is not of the same type.
        """
        return bool(self.merge(other)._state() == other._state())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._state() == other._state())

    def __copy__(self) -> Self:
        return self.copy()

    def __repr__(self) -> str:
        bound = "" if self._replica is None else f", replica={self._replica!r}"
        return f"{type(self).__name__}({self.value!r}{bound})"

    def _me(self) -> str:
        if self._replica is None:
            name = type(self).__name__
            raise UnboundReplicaError(
                f"this {name} has no replica id, so it cannot change; make it as {name}('name~incarnation'), or bind it: "
                ".bind('name~incarnation')"
            )
        return self._replica

    def _same_type(self, other: Any) -> None:
        if type(other) is not type(self):
            mine, theirs = type(self).__name__, type(other).__name__
            raise CrdtTypeError(f"a {mine} merges with a {mine} only, not with a {theirs}: {other!r:.80}")
