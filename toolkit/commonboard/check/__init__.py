"""Checks judge a history: what went wrong in it, by whom, and in which operations."""

from commonboard.check.lost_updates import no_lost_updates
from commonboard.check.verdict import CheckFailed, Finding, Holds, Unknown, Verdict, Violation

__all__ = ["CheckFailed", "Finding", "Holds", "Unknown", "Verdict", "Violation", "no_lost_updates"]
