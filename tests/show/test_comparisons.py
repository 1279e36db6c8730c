"""A comparison as a table for a person and for pandas, and as charts: the same bytes each time, told in words too."""

from __future__ import annotations

import builtins
import re
from typing import Any
from xml.etree import ElementTree

import pytest

import commonboard as cb
from commonboard import scenarios
from commonboard.check.comparison import Comparison, Row
from commonboard.compare import compare
from commonboard.show import ChartError, charts, comparison_chart, frame, html, text

WORLDS = {"one store": cb.World(), "2 replicas": cb.World(replicas=2)}


def made(*rows: Row, knob: str = "", worlds: Any = None, seeds: int = 200) -> Comparison:
    return Comparison(
        rows,
        scenario=scenarios.counter(agents=3),
        policies={row.policy: cb.Optimistic() for row in rows},
        worlds=worlds or {"one store": cb.World()},
        seeds=range(seeds),
        knob=knob,
        variants={row.at: scenarios.counter for row in rows},
    )


def row(policy: str = "Optimistic", **facts: Any) -> Row:
    usual = {"world": "one store", "at": None, "runs": 200, "intended": 400, "kept": 400, "overwritten": 0, "discarded": 0}
    usual |= {"rejected": 0, "unresolved": 0, "unknown": 0, "retries": 0, "virtual_s": 12000.0, "tokens": 560000, "losses": ()}
    return Row(policy, **(usual | facts))


QUIET = made(row("LastWriterWins", kept=296, overwritten=104, losses=tuple(range(104))), row("Optimistic", retries=1104))
SWEPT = made(
    *(row("LastWriterWins", at=n, kept=400 // n, overwritten=400 - 400 // n, losses=tuple(range(n - 1))) for n in (1, 2, 4)),
    *(row("Optimistic", at=n, tokens=560000 * n) for n in (1, 2, 4)),
    knob="agents",
)
APART = made(
    row("LastWriterWins", kept=0, overwritten=400, losses=tuple(range(200))),
    row("LastWriterWins", world="2 replicas", kept=399, unresolved=1),
    worlds=WORLDS,
)


class TestTheTableForATerminal:
    def test_has_a_row_for_each_policy_and_no_column_without_a_fact(self) -> None:
        assert str(QUIET).splitlines() == [
            "Counter (agents 3, increments 1, seconds 0, keys 1): 200 runs a row, seeds 0 to 199. "
            "Nothing was discarded, rejected or left unresolved.",
            "  policy          intended         kept  overwritten unseen  retries  virtual s/run  tokens/kept  runs with loss",
            "  LastWriterWins       400   296 (74 %)          104 (26 %)        0             60        1,892      104 (52 %)",
            "  Optimistic           400  400 (100 %)                   0    1,104             60        1,400               0",
        ]
        assert repr(QUIET) == text(QUIET) == str(QUIET)

    def test_of_a_real_comparison_fits_a_terminal(self) -> None:
        table = compare(scenarios.research_crew, seeds=40)
        lines = str(table).splitlines()
        assert [line.split()[0] for line in lines[1:]] == ["policy", "LastWriterWins", "Optimistic", "Merge(ORSet)"]
        assert max(map(len, lines)) <= 120

    def test_shows_the_swept_knob_and_leaves_it_out_of_the_heading(self) -> None:
        lines = str(SWEPT).splitlines()
        assert lines[0].startswith("Counter (increments 1, seconds 0, keys 1): 200 runs a row")
        assert lines[1].split()[:3] == ["policy", "agents", "intended"]
        assert [line.split()[:2] for line in lines[2:]] == [
            [policy, at] for policy in ("LastWriterWins", "Optimistic") for at in "124"
        ]

    def test_shows_worlds_where_there_are_several_and_names_the_only_one(self) -> None:
        lines = str(APART).splitlines()
        assert lines[1].startswith("  policy          world       intended")
        assert lines[3].startswith("  LastWriterWins  2 replicas")
        assert "200 runs a row, seeds 0 to 199, on 2 replicas." in str(made(row(), worlds={"2 replicas": cb.World(replicas=2)}))

    def test_says_none_and_all_only_where_it_is_so(self) -> None:
        lines = str(APART).splitlines()
        assert "399 (>99 %)" in lines[3]
        assert "1 (<1 %)" in lines[3]
        assert "400 (100 %)" in lines[2]
        assert re.search(r" 0 +400 \(100 %\)", lines[2])

    def test_names_every_fate_that_occurred(self) -> None:
        every = made(row(kept=395, overwritten=1, discarded=1, rejected=1, unresolved=1, unknown=1, losses=(3,)))
        head = str(every).splitlines()[1]
        for words in ("overwritten unseen", "discarded", "rejected (told)", "left unresolved", "lost, unknown why"):
            assert words in head
        assert str(every).splitlines()[0].endswith("seeds 0 to 199. What became of some of it nobody can tell.")

    def test_has_a_dash_where_nothing_was_kept(self) -> None:
        assert re.search(r" – +200 \(100 %\)$", str(APART).splitlines()[2])

    def test_does_not_invent_seeds(self) -> None:
        chosen = Comparison(
            [row(runs=2)],
            scenario=scenarios.claim_the_task,
            policies={"Optimistic": cb.Optimistic()},
            worlds={"one store": cb.World()},
            seeds=["a", 7],
            variants={None: scenarios.claim_the_task},
        )
        assert str(chosen).startswith("Claim the task (agents 2, seconds 60): 2 runs a row. Nothing was overwritten unseen,")


class TestTheTableForANotebook:
    def test_is_plain_html_with_a_caption_and_scopes(self) -> None:
        shown = QUIET._repr_html_()
        assert shown == html(QUIET)
        assert "<caption" in shown
        assert '<th scope="row" align="left" style="text-align:left">LastWriterWins</th>' in shown
        assert "104 (26 %)" in shown
        assert "<script" not in shown
        assert "<style" not in shown

    def test_escapes_what_people_call_their_policies(self) -> None:
        assert "<b>" not in made(row("<b>mine</b>"))._repr_html_()


class TestTheTableForPandas:
    def test_has_every_number_in_a_fitting_type_with_its_unit(self) -> None:
        table = QUIET.to_frame()
        assert table.shape == (2, 18)
        assert {name: str(dtype) for name, dtype in table.dtypes.items()} == {
            "policy": "str",
            "world": "str",
            "runs": "Int64",
            "intended": "Int64",
            "kept": "Int64",
            "overwritten": "Int64",
            "discarded": "Int64",
            "rejected": "Int64",
            "unresolved": "Int64",
            "unknown": "Int64",
            "lost": "Int64",
            "retries": "Int64",
            "lost_percent": "float64",
            "virtual_s": "float64",
            "virtual_s_per_run": "float64",
            "tokens": "Int64",
            "tokens_per_kept": "float64",
            "runs_lost": "Int64",
        }
        assert table.loc[0, ["lost", "lost_percent", "runs_lost", "virtual_s_per_run"]].tolist() == [104, 26.0, 104, 60.0]

    def test_has_a_column_for_the_knob(self) -> None:
        assert SWEPT.to_frame()["agents"].tolist() == [1, 2, 4, 1, 2, 4]
        seconds = made(row(at=1), row(at=2.5), knob="think").to_frame()["think_s"]
        assert (seconds.dtype, seconds.tolist()) == ("float64", [1.0, 2.5])

    def test_has_nothing_where_nothing_was_kept(self) -> None:
        assert frame(APART)["tokens_per_kept"].isna().tolist() == [True, False]


class TestTheChart:
    def test_of_a_sweep_has_three_panels_over_one_axis_and_a_line_for_each_policy(self) -> None:
        svg = SWEPT.chart().svg
        ElementTree.fromstring(svg)
        words = re.findall(r"<text [^>]*>([^<]*)</text>", svg)
        assert [word for word in words if word in ("lost updates (%)", "tokens per kept", "virtual s per run")] == [
            "lost updates (%)",
            "tokens per kept",
            "virtual s per run",
        ]
        assert words.count("agents") == 1
        assert words.count("LastWriterWins") == words.count("Optimistic") == 1

    def test_says_all_its_numbers_in_words(self) -> None:
        picture = SWEPT.chart()
        assert picture.alt.startswith(
            "Loss, price and delay of counter (increments 1, seconds 0, keys 1) against the number of agents."
        )
        assert picture.text.split("\n\n")[0].splitlines() == [
            "lost updates (%):",
            "agents  LastWriterWins  Optimistic",
            "     1               0           0",
            "     2              50           0",
            "     4              75           0",
        ]
        assert 'alt="Loss, price and delay' in picture._repr_html_()

    def test_of_a_sweep_leaves_out_a_price_that_there_is_not(self) -> None:
        nothing = made(row(at=1), row(at=2, kept=0, overwritten=400), row(at=3), knob="think")
        prices = nothing.chart().text.split("\n\n")[1].splitlines()
        assert prices == ["tokens per kept:", "time to think (virtual s)  Optimistic"] + [f"{n:>25}       1,400" for n in (1, 3)]

    def test_without_a_sweep_has_a_bar_for_each_policy(self) -> None:
        picture = QUIET.chart()
        ElementTree.fromstring(picture.svg)
        assert picture.text.splitlines() == [
            "                lost updates (%)  tokens per kept  virtual s per run",
            "LastWriterWins                26            1,892                 60",
            "    Optimistic                 0            1,400                 60",
        ]
        assert picture.caption.startswith("What each policy loses of counter (agents 3,")
        assert "1,892" in picture.svg

    def test_tells_worlds_apart_and_leaves_out_a_price_that_there_is_not(self) -> None:
        lines = APART.chart().text.splitlines()
        assert [line.split()[:3] for line in lines[1:]] == [
            ["LastWriterWins,", "one", "store"],
            ["LastWriterWins,", "2", "replicas"],
        ]
        assert lines[1].split()[-2] == "–"

    def test_says_what_it_does_not_count_as_lost(self) -> None:
        aside = "What was rejected or left unresolved does not count as lost."
        assert APART.chart().caption.endswith(aside)
        assert aside not in QUIET.chart().caption

    @pytest.mark.parametrize("comparison", [QUIET, SWEPT, APART])
    def test_is_the_same_bytes_each_time(self, comparison: Comparison) -> None:
        assert comparison.chart().svg == comparison.chart().svg
        assert "<dc:date>" not in comparison.chart().svg

    def test_of_real_runs_is_the_same_bytes_each_time(self) -> None:
        first, second = (compare(scenarios.counter, agents=[1, 2, 3], think=2, seeds=5).chart() for _ in range(2))
        assert (first.svg, first.alt) == (second.svg, second.alt)

    def test_with_more_lines_than_can_be_told_apart_is_refused(self) -> None:
        many = made(*(row(f"policy {n}", at=at) for n in range(7) for at in (1, 2)), knob="keys")
        with pytest.raises(ChartError, match="7 lines cannot be told apart"):
            many.chart()

    def test_without_matplotlib_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = builtins.__import__

        def without(name: str, *args: Any, **options: Any) -> Any:
            if name.startswith("matplotlib"):
                raise ImportError(name)
            return real(name, *args, **options)

        monkeypatch.setattr(builtins, "__import__", without)
        for comparison in (QUIET, SWEPT):
            with pytest.raises(ChartError, match=r"commonboard\[lab\]"):
                comparison.chart()


class TestPanelsAndBars:
    def test_a_line_may_lack_points_in_one_panel(self) -> None:
        picture = charts.panels({"loss": {"a": {1: 2.0}, "b": {}}, "price": {"a": {1: 3.0}, "b": {2: 4.0}}}, x="n", caption="It.")
        assert picture.text.split("\n\n")[1].splitlines() == ["price:", "n  a  b", "1  3   ", "2     4"]

    def test_lines_on_top_of_each_other_are_told_apart_by_their_dashes_too(self) -> None:
        lines = {"a": {1: 0.0, 2: 0.0}, "b": {1: 0.0, 2: 0.0}, "c": {1: 0.0, 2: 0.0}}
        svg = charts.panels({"loss": lines}, x="n", caption="It.").svg
        assert len(set(re.findall(r"stroke-dasharray: ([\d., ]+)", svg))) >= 2

    @pytest.mark.parametrize("empty", [{}, {"loss": {}}])
    def test_nothing_to_draw_is_refused(self, empty: Any) -> None:
        with pytest.raises(ChartError):
            charts.panels(empty, x="n", caption="It.")
        with pytest.raises(ChartError):
            charts.bars(empty, caption="It.")


def test_a_table_with_unknown_losses_claims_no_empty_column() -> None:
    async def adds(me: cb.AgentMemory) -> None:
        await me.shared.update("list", lambda found: [*(found or []), me.name])

    nobody_says = cb.Scenario("one list", "", {"a": adds, "b": adds}, intents=("a", "b"), kept=lambda s, i: i in s["shared/list"])
    told = str(cb.compare(nobody_says, [cb.LastWriterWins()], seeds=20))
    assert "Nothing was" not in told
    assert "nobody can tell: give the scenario by=" in told


def test_a_chart_of_what_is_no_comparison_is_refused_in_a_sentence() -> None:
    with pytest.raises(ChartError, match=r"what cb\.compare gives, not a list"):
        comparison_chart([1])  # type: ignore[arg-type]
