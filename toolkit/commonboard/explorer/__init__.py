"""`explore`: every interleaving of some agents up to equivalence, and the smallest run in which something goes wrong."""

from commonboard.explorer.judging import every_intent_kept
from commonboard.explorer.run import explore
from commonboard.explorer.visible import visible

__all__ = ["every_intent_kept", "explore", "visible"]
