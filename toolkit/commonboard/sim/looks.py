"""What a transaction looks at, as operations of the history, at the moment of its snapshot."""

from __future__ import annotations

from commonboard.entry import MemoryEntry
from commonboard.history import Operation
from commonboard.sim.store import Recorder
from commonboard.transactions import Looks
from commonboard.values import ENCODING, TYPE, canonical_json


class NotedLooks(Looks):
    """Notes a `read` for each key that a transaction looks at, and a `list` for each prefix that it lists.

    The store is asked once, for the snapshot, and everything that is looked at later is what was there then. So each look stands
    in the history where the snapshot was taken, with the version that the snapshot shows; only what the agent itself did beside
    the transaction stays before it. Keys of the snapshot that it never looks at leave no trace, nor does its looking at what it
    wrote itself.

    Args:
        name: the transaction's name.
        agent: whose it is.
        recorder: the simulation's record.
    """

    def __init__(self, name: str, agent: str, recorder: Recorder) -> None:
        super().__init__(name)
        self._agent = agent
        self._recorder = recorder
        self._called = self._happened = (0, 0.0)

    def begin(self) -> None:
        self._called = (self._recorder.tick(), self._recorder.loop.now)

    def taken(self) -> None:
        self._happened = (self._recorder.tick(), self._recorder.loop.now)

    def read(self, key: str, entry: MemoryEntry | None, version: int) -> None:
        op = Operation(-1, self._agent, "read", key, saw=version)
        if entry is not None:
            op.text, op.encoding, op.type_tag = entry.value, entry.metadata.get(ENCODING), entry.metadata.get(TYPE)
        self._note(op)

    def listed(self, prefix: str, keys: list[str]) -> None:
        self._note(Operation(-1, self._agent, "list", prefix, canonical_json(keys), "json"))

    def _note(self, op: Operation) -> None:
        self._recorder.check_open()
        op.transaction = self.name
        op.begin, op.began_at = self._called
        op.end, op.ended_at = self._happened
        operations, place = self._recorder.operations, self._place()
        operations.insert(place, op)
        for number in range(place, len(operations)):
            operations[number].index = number

    def _place(self) -> int:
        """Before what others have done since the snapshot; a search, which runs the agent alone, knows of no others."""
        operations = self._recorder.operations
        place = len(operations)
        for number in range(len(operations) - 1, -1, -1):
            op = operations[number]
            is_look = op.transaction is not None and op.kind in ("read", "list")
            if op.agent == self._agent and op.kind != "think":
                break
            if op.agent != self._agent and not is_look:
                if op.end <= self._happened[0]:
                    break
                place = number
        return place
