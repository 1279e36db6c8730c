"""The research crew: three agents, one list of open questions, and nobody crashed."""

from __future__ import annotations

from typing import Any

from commonboard.crdt import ORSet
from commonboard.handle import AgentMemory
from commonboard.sim.scenario import Scenario, State, scenario

WEB_ASKS = "Which customers left in Q3?"
DOCS_ASKS = "What did the exit survey say?"
WEB_FOUND = "churn is up 4 % since May"
DOCS_FOUND = "support answers after 9 days"
INVENTED = "the March outage cost 40 customers"
"""What the brief cites, though nobody ever wrote it: the log can tell."""


def _add(question: str) -> Any:
    def add(questions: Any) -> Any:
        return (questions or []) + [question]

    return add


@scenario
def research_crew(seconds: float = 30, given: tuple[str, ...] = ("Why is churn up?",)) -> Scenario:
    """`web` and `docs` write what they found and add a question each; `synth` writes the brief.

    Args:
        seconds: virtual seconds that `web` and `docs` read before they write.
        given: the questions that are open before.
    """

    async def web(me: AgentMemory) -> None:
        await me.think(seconds=seconds, tokens=800)
        await me.shared.update("open_questions", _add(WEB_ASKS), reason="read the web")
        await me.write("findings", [WEB_FOUND], reason="read the web")

    async def docs(me: AgentMemory) -> None:
        await me.think(seconds=seconds, tokens=800)
        await me.shared.update("open_questions", _add(DOCS_ASKS), reason="read the documents")
        await me.write("findings", [DOCS_FOUND], reason="read the documents")

    async def synth(me: AgentMemory) -> None:
        await me.think(seconds=2 * seconds, tokens=1200)
        questions = list(await me.value("shared/open_questions", []))
        found = await me.value("web/findings", []) + await me.value("docs/findings", [])
        brief = {"title": "The churn report", "cites": [*found, INVENTED], "open": len(questions)}
        await me.write("brief", brief, reason="wrote the brief")

    def kept(state: State, intent: Any) -> bool:
        return intent in (state.get("shared/open_questions") or [])

    return Scenario(
        name="research crew",
        story="Two researchers add a question each to one shared list; a third writes the brief.",
        agents={"web": web, "docs": docs, "synth": synth},
        given={"shared/open_questions": list(given)},
        intents=(WEB_ASKS, DOCS_ASKS),
        kept=kept,
        by={WEB_ASKS: "web", DOCS_ASKS: "docs"}.get,
        crdt=ORSet,
    )
