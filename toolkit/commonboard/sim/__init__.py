"""Concurrent agents on one thread, in virtual time, the same on every run."""

from commonboard.sim.run import Run, simulate
from commonboard.sim.scenario import Scenario
from commonboard.sim.world import World

__all__ = ["Run", "Scenario", "World", "simulate"]
