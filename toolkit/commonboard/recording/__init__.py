"""A recorder around any store: every call becomes an operation of a history, with the versions that are certain."""

from commonboard.recording.facts import MARK, acting
from commonboard.recording.stores import RecordedBuiltInStore, RecordedStore, record

__all__ = ["MARK", "RecordedBuiltInStore", "RecordedStore", "acting", "record"]
