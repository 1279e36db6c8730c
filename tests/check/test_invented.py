"""Invented facts: what a report says and nobody had written."""

from __future__ import annotations

from typing import Any

import pytest
from tests.check.notation import told

import commonboard as cb
from commonboard.check.invented import no_invented_facts
from commonboard.scenarios.crews import DOCS_FOUND, INVENTED, WEB_FOUND


def cites(brief: Any) -> Any:
    return brief["cites"]


class TestTheResearchCrew:
    """Its brief cites a fact that nobody ever wrote."""

    @pytest.mark.parametrize("policy", [cb.LastWriterWins(), cb.Optimistic()])
    @pytest.mark.parametrize("world", [cb.World(), cb.World(replicas=2)])
    def test_invents_one_fact_whatever_happens(self, policy: Any, world: cb.World) -> None:
        for seed in range(10):
            made = cb.simulate(cb.scenarios.research_crew, policy=policy, seed=seed, world=world)
            verdict = no_invented_facts(made, "synth/brief", facts=cites)
            assert isinstance(verdict, cb.Violation)
            (found,) = verdict.findings
            assert found.kind == "invented fact"
            assert found.sentence == (
                f"synth's synth/brief says {INVENTED!r}; nobody had written that before, so synth invented it."
            )
            assert [op.key for op in found.operations] == ["synth/brief"]

    def test_found_the_other_facts_on_the_board(self) -> None:
        made = cb.simulate(cb.scenarios.research_crew)
        verdict = no_invented_facts(made, "synth/brief", facts=lambda brief: [WEB_FOUND, DOCS_FOUND])
        assert isinstance(verdict, cb.Holds)
        assert verdict.notes == []

    def test_may_name_the_sources_that_count(self) -> None:
        made = cb.simulate(cb.scenarios.research_crew)
        (found,) = no_invented_facts(made, "synth/brief", facts=lambda brief: [WEB_FOUND, DOCS_FOUND], sources="web").findings
        assert found.kind == "fact without a source"
        assert found.sentence == (
            f"synth's synth/brief says {DOCS_FOUND!r}; docs had written that as version 1 of docs/findings, "
            "and nobody had under web."
        )
        both = no_invented_facts(made, "synth/brief", facts=lambda brief: [WEB_FOUND, DOCS_FOUND], sources=["web", "docs"])
        assert isinstance(both, cb.Holds)

    def test_is_caught_by_its_log_alone(self) -> None:
        made = cb.simulate(cb.scenarios.research_crew)
        (found,) = no_invented_facts(made.log, "synth/brief", facts=cites).findings
        assert INVENTED in found.sentence
        verdict = no_invented_facts(made.log, "synth/brief", facts=lambda brief: [WEB_FOUND])
        assert isinstance(verdict, cb.Unknown)
        assert verdict.why == "a log has no reads, so what synth had read is not known"


class TestAFact:
    def verdict(self, words: str, **options: Any) -> cb.Verdict:
        return no_invented_facts(told(words), "z", **options)

    def test_that_was_read_is_none(self) -> None:
        assert isinstance(self.verdict("w1a1=fact r2a1=fact w2z1=fact"), cb.Holds)

    def test_that_was_listed_is_none(self) -> None:
        assert isinstance(self.verdict("w1p/a1=fact l2p w2z1=fact"), cb.Holds)

    def test_that_came_by_way_of_others_is_none(self) -> None:
        assert isinstance(self.verdict("w1a1=fact r2a1=fact w2b1=note r3b1=note w3z1=fact"), cb.Holds)

    def test_that_its_writer_wrote_down_before_is_none(self) -> None:
        assert isinstance(self.verdict("w2a1=fact w2z1=fact"), cb.Holds)

    def test_within_a_longer_text_is_none(self) -> None:
        assert isinstance(self.verdict("w1a1=the-fact-is r2a1=the-fact-is w2z1=fact"), cb.Holds)

    def test_that_was_there_before_the_history_began_is_none(self) -> None:
        assert isinstance(self.verdict("r2a4=fact w2z1=fact"), cb.Holds)

    def test_that_others_wrote_unread_is_noted(self) -> None:
        verdict = self.verdict("w1a1=fact w2z1=fact")
        assert isinstance(verdict, cb.Holds)
        (note,) = verdict.notes
        assert note.sentence == "docs's z says 'fact'; web had written that as version 1 of a, on which the report does not rest."

    def test_that_was_written_only_later_is_invented(self) -> None:
        assert self.verdict("w2z1=fact w1a1=fact").holds is False

    def test_that_stood_in_an_earlier_report_only_is_invented(self) -> None:
        assert self.verdict("w1z1=fact r2z1=fact w2z2=fact").holds is False

    def test_is_left_open_where_nobody_knows_what_was_found(self) -> None:
        history = told("w1a1=a l2a w2z1=fact")
        history[1].text = '["a", "b"]'
        verdict = no_invented_facts(history, "z")
        assert isinstance(verdict, cb.Unknown)
        assert verdict.why.startswith("nobody knows what docs found at some looks")

    def test_may_be_a_number_and_is_compared_by_type(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.write("found", {"lost": 40, "sure": True})

        async def synth(me: cb.AgentMemory) -> None:
            await me.think(seconds=1)
            await me.value("web/found")
            await me.write("report", {"n": 40, "one": 1})

        made = cb.simulate({"web": web, "synth": synth})
        assert no_invented_facts(made, "synth/report", facts=lambda report: [report["n"]]).holds is True
        assert no_invented_facts(made, "synth/report", facts=lambda report: [report["one"]]).holds is False


class TestUnknown:
    def test_where_there_is_no_report(self) -> None:
        verdict = no_invented_facts(told("w1a1"), "z")
        assert isinstance(verdict, cb.Unknown)
        assert verdict.why == "nobody wrote 'z'"

    def test_where_the_report_holds_no_facts(self) -> None:
        verdict = no_invented_facts(told("w1z1"), "z", facts=lambda value: [])
        assert isinstance(verdict, cb.Unknown)
        assert verdict.why == "z holds no facts"


class TestWrongFactsAndSources:
    """A mistake in what is handed in is told, and never judged."""

    @pytest.mark.parametrize(
        ("facts", "why"),
        [
            (lambda report: report, "facts gave 'x1', and must give a list of facts"),  # else each letter would be a fact
            (lambda report: None, "facts gave None, and must give a list"),
            (lambda report: report["cites"], "facts raised TypeError: .* for the report 'x', which is 'x1'"),
            (3, "facts is a function of the report's value.*, not 3"),
        ],
    )
    def test_facts_are_a_list(self, facts: Any, why: str) -> None:
        with pytest.raises(cb.InvalidArgumentError, match=why):
            no_invented_facts(told("w1x1"), "x", facts=facts)

    @pytest.mark.parametrize("sources", [3, [], [3], None])
    def test_sources_are_prefixes(self, sources: Any) -> None:
        with pytest.raises(cb.InvalidArgumentError, match="sources is a prefix, or a list of prefixes"):
            no_invented_facts(told("w1x1"), "x", sources=sources)

    def test_an_empty_text_says_nothing(self) -> None:
        history = told("w1x1")
        history[0].text = ""
        verdict = no_invented_facts(history, "x")
        assert isinstance(verdict, cb.Unknown)
        assert verdict.why == "x holds no facts"
