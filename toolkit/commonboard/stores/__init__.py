"""The stores, and the protocol that they keep."""

from commonboard.stores.file import FileStore
from commonboard.stores.in_memory import InMemoryStore
from commonboard.stores.protocol import BuiltInStore, MemoryStore, check_store, is_built_in

__all__ = ["BuiltInStore", "FileStore", "InMemoryStore", "MemoryStore", "check_store", "is_built_in"]
