"""Small programs of agents: the incidents that the notebooks replay.

Each is a `Scenario`: run it with `simulate(scenario, policy=…)`, and ask the run what is `lost`. Called with other numbers it
gives a variant: `counter(agents=4)`.
"""

from commonboard.scenarios.claims import claim_the_task
from commonboard.scenarios.consolidations import consolidation
from commonboard.scenarios.counters import counter
from commonboard.scenarios.crews import research_crew

__all__ = ["claim_the_task", "consolidation", "counter", "research_crew"]
