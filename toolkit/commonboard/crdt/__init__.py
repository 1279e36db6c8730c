"""Values that several agents change at once and that merge without losing a change.

`GCounter`, `PNCounter` and `ORSet` are state-based CRDTs; `explain_merge` tells why a merge kept what it kept; `check_laws`,
`check_spec` and `search` judge anyone's type.
"""

from commonboard.crdt.base import Crdt, CrdtTypeError, CrdtValueError, ReplicaReusedError, UnboundReplicaError
from commonboard.crdt.counters import GCounter, PNCounter
from commonboard.crdt.explain import MergeExplanation, MergeRow, explain_merge
from commonboard.crdt.laws import check_laws, check_spec, search
from commonboard.crdt.reports import LawError, LawReport, LawRow, SpecReport, StepRow
from commonboard.crdt.sets import ORSet
from commonboard.crdt.specs import Update, counter_spec, set_spec

__all__ = [
    "Crdt",
    "CrdtTypeError",
    "CrdtValueError",
    "GCounter",
    "LawError",
    "LawReport",
    "LawRow",
    "MergeExplanation",
    "MergeRow",
    "ORSet",
    "PNCounter",
    "ReplicaReusedError",
    "SpecReport",
    "StepRow",
    "UnboundReplicaError",
    "Update",
    "check_laws",
    "check_spec",
    "counter_spec",
    "explain_merge",
    "search",
    "set_spec",
]
