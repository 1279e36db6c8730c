"""Checks judge a history: what went wrong in it, by whom, and in which operations."""

from commonboard.check import models
from commonboard.check.anomalies import anomalies
from commonboard.check.converges import converges, no_acknowledged_loss
from commonboard.check.exploration import Explored
from commonboard.check.invented import no_invented_facts
from commonboard.check.jepsen import parse_calls, read_calls
from commonboard.check.lineage import Lineage, Readers, lineage, who_read
from commonboard.check.linearizable import NotLinearizable, linearizable
from commonboard.check.lost_updates import no_lost_updates
from commonboard.check.model import Call, Model
from commonboard.check.properties import always, at_the_end
from commonboard.check.sessions import session_guarantees
from commonboard.check.staleness import Staleness, staleness
from commonboard.check.verdict import BudgetSpent, CheckFailed, Exhausted, Finding, Holds, Unknown, Verdict, Violation

__all__ = [
    "BudgetSpent",
    "Call",
    "CheckFailed",
    "Exhausted",
    "Explored",
    "Finding",
    "Holds",
    "Lineage",
    "Model",
    "NotLinearizable",
    "Readers",
    "Staleness",
    "Unknown",
    "Verdict",
    "Violation",
    "always",
    "anomalies",
    "at_the_end",
    "converges",
    "lineage",
    "linearizable",
    "models",
    "no_acknowledged_loss",
    "no_invented_facts",
    "no_lost_updates",
    "parse_calls",
    "read_calls",
    "session_guarantees",
    "staleness",
    "who_read",
]
