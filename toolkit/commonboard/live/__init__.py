"""The same agents for real: on the running event loop, on a real store, in one process or in several."""

from commonboard.live.orders import in_every_order
from commonboard.live.processes import LiveRunError
from commonboard.live.result import LiveRun
from commonboard.live.run import run_live

__all__ = ["LiveRun", "LiveRunError", "in_every_order", "run_live"]
