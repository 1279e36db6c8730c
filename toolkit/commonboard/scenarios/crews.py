"""The research crew: three agents, one list of open questions, and nobody crashed."""

from __future__ import annotations

from typing import Any

from commonboard.handle import AgentMemory
from commonboard.sim.scenario import Scenario, State, scenario

WEB_ASKS = "Which customers left in Q3?"
DOCS_ASKS = "What did the exit survey say?"


def _add(question: str) -> Any:
    def add(questions: Any) -> Any:
        return (questions or []) + [question]

    return add


@scenario
def research_crew(seconds: float = 30, given: tuple[str, ...] = ("Why is churn up?",)) -> Scenario:
    """`web` and `docs` add a question each when they have read for a while; `synth` writes the brief.

    Args:
        seconds: virtual seconds that `web` and `docs` read before they add their question.
        given: the questions that are open before.
    """

    async def web(me: AgentMemory) -> None:
        await me.think(seconds=seconds, tokens=800)
        await me.shared.update("open_questions", _add(WEB_ASKS), reason="read the web")

    async def docs(me: AgentMemory) -> None:
        await me.think(seconds=seconds, tokens=800)
        await me.shared.update("open_questions", _add(DOCS_ASKS), reason="read the documents")

    async def synth(me: AgentMemory) -> None:
        await me.think(seconds=2 * seconds, tokens=1200)
        questions = list(await me.value("shared/open_questions", []))
        await me.write("brief", f"The churn report must answer {len(questions)} questions.", reason="wrote the brief")

    def kept(state: State, intent: Any) -> bool:
        return intent in (state.get("shared/open_questions") or [])

    return Scenario(
        name="research crew",
        story="Two researchers add a question each to one shared list while a third writes the brief.",
        agents={"web": web, "docs": docs, "synth": synth},
        given={"shared/open_questions": list(given)},
        intents=(WEB_ASKS, DOCS_ASKS),
        kept=kept,
    )
