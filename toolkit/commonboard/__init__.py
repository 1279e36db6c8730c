"""commonboard: the memory that several AI agents share. The public face, and nothing else."""

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
from commonboard.errors import CommonboardError, ConflictError
from commonboard.handle import AgentMemory
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
from commonboard.stores import FileStore, InMemoryStore, MemoryStore

__version__ = "0.1.0"
