"""commonboard: the memory that several AI agents share. The public face, and nothing else."""

from commonboard import scenarios
from commonboard.check import CheckFailed, Finding, Holds, Unknown, Verdict, Violation, no_lost_updates
from commonboard.course.data import data
from commonboard.crdt import GCounter, ORSet, PNCounter
from commonboard.entry import (
    ABSENT,
    ANY,
    Event,
    KeyUnchanged,
    Log,
    LogicalClock,
    MemoryEntry,
    Page,
    PrefixUnchanged,
    Reading,
    Write,
)
from commonboard.errors import (
    CapabilityError,
    CommonboardError,
    ConflictError,
    NotAdmittedError,
    SchemaError,
    UnstorableValueError,
)
from commonboard.handle import AgentMemory
from commonboard.history import History, Operation
from commonboard.memory import SharedMemory
from commonboard.policies import (
    RETRY,
    AppendOnly,
    ConflictPolicy,
    FirstWriterWins,
    Keep,
    LastWriterWins,
    Merge,
    Optimistic,
    Reject,
    SingleWriter,
    ThreeWay,
    Version,
)
from commonboard.sim import Run, Scenario, World, simulate
from commonboard.stores import FileStore, InMemoryStore, MemoryStore

__version__ = "0.1.0"
__all__ = [
    "ABSENT",
    "ANY",
    "RETRY",
    "AgentMemory",
    "AppendOnly",
    "CapabilityError",
    "CheckFailed",
    "CommonboardError",
    "ConflictError",
    "ConflictPolicy",
    "Event",
    "FileStore",
    "Finding",
    "FirstWriterWins",
    "GCounter",
    "History",
    "Holds",
    "InMemoryStore",
    "Keep",
    "KeyUnchanged",
    "LastWriterWins",
    "Log",
    "LogicalClock",
    "MemoryEntry",
    "MemoryStore",
    "Merge",
    "NotAdmittedError",
    "ORSet",
    "Operation",
    "Optimistic",
    "PNCounter",
    "Page",
    "PrefixUnchanged",
    "Reading",
    "Reject",
    "Run",
    "Scenario",
    "SchemaError",
    "SharedMemory",
    "SingleWriter",
    "ThreeWay",
    "Unknown",
    "UnstorableValueError",
    "Verdict",
    "Version",
    "Violation",
    "World",
    "Write",
    "data",
    "no_lost_updates",
    "scenarios",
    "simulate",
]
