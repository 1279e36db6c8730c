"""`compare` gives the table that `compare` gives in Python, and a page that needs nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commonboard import scenarios
from commonboard.cli import app
from commonboard.cli.page import page
from commonboard.compare import compare

runner = CliRunner()
FEW = ("--seeds", "5")


def call(*arguments: str, code: int = 0) -> str:
    done = runner.invoke(app, ["compare", *arguments])
    assert done.exit_code == code, done.output
    return done.output


def rows(*arguments: str) -> list[dict[str, object]]:
    made: list[dict[str, object]] = json.loads(call(*arguments, *FEW, "--json"))
    return made


def test_the_headline_comparison_is_of_the_research_crew() -> None:
    lines = call(*FEW).splitlines()
    assert lines[0].startswith("Research crew (seconds 30): 5 runs a row, seeds 0 to 4.")
    assert [line.split()[0] for line in lines[1:]] == ["policy", "LastWriterWins", "Optimistic", "Merge(ORSet)"]


def test_the_numbers_are_those_of_python() -> None:
    made = compare(scenarios.counter, seeds=5, agents=[2, 3])
    told = rows("counter", "--agents", "2,3")
    assert [(row["policy"], row["at"], row["kept"], row["lost"]) for row in told] == [
        (row.policy, row.at, row.kept, row.lost) for row in made
    ]
    assert any(row.lost for row in made)


def test_policies_are_named_as_one_likes() -> None:
    told = rows("counter", "--policies", "lww, first-writer-wins,Optimistic,merge,append_only")
    names = ["LastWriterWins", "FirstWriterWins", "Optimistic", "Merge(PNCounter)", "AppendOnly"]
    assert [row["policy"] for row in told] == names


def test_one_number_is_fixed_and_several_make_rows() -> None:
    assert [row["at"] for row in rows("counter", "--policies", "lww", "--agents", "3")] == [None]
    assert [row["at"] for row in rows("counter", "--policies", "lww", "--keys", "1,2")] == [1, 2]
    assert [row["at"] for row in rows("counter", "--policies", "lww", "--think", "0,1.5")] == [0, 1.5]


def test_replicas_are_worlds() -> None:
    told = rows("consolidation", "--policies", "lww", "--replicas", "1,2")
    assert [row["world"] for row in told] == ["one store", "2 replicas"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "there is no scenario 'nosuch'; there are: claim_the_task, consolidation, counter, research_crew"),
        (["counter", "--policies", "mine"], "there is no policy 'mine'; there are LastWriterWins"),
        (["claim-the-task", "--policies", "merge"], "no CRDT fits what the agents of 'claim the task' share"),
        (["counter", "--agents", "two"], "'two' is not whole numbers with commas between them, such as 2,4,8"),
        (["counter", "--agents", "0"], "a whole number of at least 1"),
        (["counter", "--agents", "2,3", "--keys", "1,2"], "one knob at a time"),
        (["research_crew", "--agents", "2"], "`commonboard compare --list` tells what each scenario takes"),
        (["counter", "--html", "nosuch/page.html"], "make it first"),
        (["counter", "--html", "."], ". is a folder; give the page a name, such as page.html"),
        (["counter", "--replicas", "0"], "replicas"),
    ],
)
def test_what_is_called_wrongly_is_told_in_one_line(arguments: list[str], said: str) -> None:
    done = runner.invoke(app, ["compare", *arguments, *FEW])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_list_tells_every_scenario_and_what_it_takes() -> None:
    told = call("--list")
    for name in scenarios.__all__:
        assert name in told
    assert "--agents (2), --think (0), --keys (1)" in told


def test_a_run_that_fails_is_not_called_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    async def breaks(me: object) -> None:
        raise ValueError("it broke")

    from commonboard.sim import Scenario

    broken = Scenario("broken", "It breaks.", {"web": breaks}, intents=("a",))
    monkeypatch.setattr(scenarios, "counter", broken)
    done = runner.invoke(app, ["compare", "counter", *FEW])
    assert done.exit_code == 1
    assert "it broke" in done.stderr


@pytest.mark.slow
def test_processes_give_the_same_table() -> None:
    assert call("counter", "--agents", "2,3", *FEW, "--jobs", "2") == call("counter", "--agents", "2,3", *FEW)


class Reader(HTMLParser):
    """What a browser would ask for, what is read out, and whether all that is opened is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.alts: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.asked += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]
        if tag == "img":
            self.alts.append(given.get("alt") or "")
        elif tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def html_of(tmp_path: Path, *arguments: str) -> str:
    target = tmp_path / "page.html"
    assert call(*arguments, *FEW, "--html", str(target)).endswith(f"wrote {target}\n")
    return target.read_text(encoding="utf-8")


def test_the_page_has_table_chart_and_the_picture_of_a_loss_and_needs_nothing_else(tmp_path: Path) -> None:
    html = html_of(tmp_path, "research_crew")
    read = Reader(html)
    assert read.open == []
    assert {"table", "h1", "main"} <= read.tags
    assert "script" not in read.tags
    assert len(read.alts) == 2
    assert read.alts[0].startswith("What each policy loses")
    assert re.search("so what (web|docs) wrote is lost", read.alts[1])
    assert [asked[:30] for asked in read.asked if not asked.startswith("data:image/svg+xml;base64,")] == []
    assert "@import" not in html
    assert "prefers-color-scheme: dark" in html


def test_the_page_says_what_is_gone_and_how_to_make_it_again() -> None:
    made = compare(scenarios.research_crew, seeds=20)
    row = made.row("LastWriterWins")
    html = page(made, "commonboard compare research_crew --seeds 20")
    assert f"{row.lost} of {row.intended}" in html
    assert f"in {row.runs_lost} of 20 runs" in html
    assert "<code>commonboard compare research_crew --seeds 20</code>" in html
    assert html == page(made, "commonboard compare research_crew --seeds 20")


def test_a_page_on_which_nothing_was_lost_says_so_and_shows_no_loss() -> None:
    from commonboard.policies import Optimistic

    html = page(compare(scenarios.counter, [Optimistic()], seeds=3), "x")
    assert "Nothing was lost under any of them, in these runs" in html
    assert "One such loss" not in html
    assert len(Reader(html).alts) == 1


def test_the_worst_row_of_a_sweep_is_told_with_its_number(tmp_path: Path) -> None:
    html = html_of(tmp_path, "counter", "--agents", "2,8")
    assert "<strong>LastWriterWins</strong> with 8 agents" in html
    assert "</strong> with 1 key," in html_of(tmp_path, "counter", "--keys", "1,9")


def test_what_is_typed_is_escaped() -> None:
    html = page(compare(scenarios.counter, seeds=2), "x <script>&")
    assert "<code>x &lt;script&gt;&amp;</code>" in html


def test_without_matplotlib_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    made = compare(scenarios.counter, seeds=2)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install &#x27;commonboard[lab]&#x27;" in page(made, "x").replace("'", "&#x27;")


@pytest.mark.slow
def test_the_page_names_the_command_that_made_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "commonboard.cli", "compare", "counter", "--seeds", "2", "--html", "a page.html"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    html = (tmp_path / "a page.html").read_text(encoding="utf-8")
    assert "commonboard compare counter --seeds 2 --html &#x27;a page.html&#x27;" in html.replace("'", "&#x27;")
