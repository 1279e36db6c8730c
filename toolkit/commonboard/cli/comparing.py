"""`commonboard compare`: a scenario under several policies, as a table and as a page to hand around."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commonboard.cli.printing import CALLED_WRONGLY, check_page, plainly, say_json, show_table, write_page
from commonboard.errors import InvalidArgumentError

if TYPE_CHECKING:
    from commonboard.policies import ConflictPolicy
    from commonboard.sim import Scenario


def compare(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="Which incident; `--list` tells them all.")
    ] = "research_crew",
    policies: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            help="Of LastWriterWins, FirstWriterWins, Optimistic, Merge, AppendOnly. Unless given: what suits the scenario.",
            show_default=False,
        ),
    ] = "",
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How many runs for each row.")] = 200,
    agents: Annotated[str, typer.Option(metavar="N,…", help="How many agents; several make a curve.", show_default=False)] = "",
    keys: Annotated[str, typer.Option(metavar="N,…", help="How many keys they share.", show_default=False)] = "",
    think: Annotated[
        str, typer.Option(metavar="S,…", help="Virtual seconds between a read and its write.", show_default=False)
    ] = "",
    replicas: Annotated[
        str, typer.Option(metavar="N,…", help="How many copies of the board, which meet at times.", show_default=False)
    ] = "",
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one page that needs nothing else: table, chart, picture of a loss.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The rows as JSON, for scripts.")] = False,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="How many processes make the runs.")] = 1,
    listed: Annotated[bool, typer.Option("--list", help="Tell which scenarios there are, and what each can be given.")] = False,
) -> None:
    """Run the same agents under several conflict policies, many times, and count what became of their work.

    Nothing is random but the order in which agents come to write, and seeds decide that: the same command gives the same table.

    Exit codes: 0 the table was made, 1 a run failed, 2 called wrongly.

    *Example:* `commonboard compare counter --agents 2,4,8 --html counter.html`
    """
    from commonboard.compare import compare as run

    with plainly(), ExitStack() as stack:
        if listed:
            _list()
            return
        with plainly(CALLED_WRONGLY):
            chosen = _scenario(scenario)
            named = _policies(policies, chosen)
            knobs = {"agents": _numbers(agents, int), "keys": _numbers(keys, int), "think": _numbers(think, float)}
            worlds = _worlds(replicas)
            check_page(html)
        try:
            made = run(chosen, named, seeds=seeds, world=worlds, executor=_executor(jobs, stack), **knobs)
        except InvalidArgumentError as error:
            with plainly(CALLED_WRONGLY):
                raise InvalidArgumentError(f"{error} (`commonboard compare --list` tells what each scenario takes)") from None
        if json:
            say_json(_rows(made))
        else:
            from commonboard.show.tables import tabled

            show_table(tabled(made))
        if html is not None:
            from commonboard.cli.page import page

            write_page(html, page(made, _command()), quiet=json)


def _scenarios() -> dict[str, Scenario]:
    from commonboard import scenarios
    from commonboard.sim import Scenario

    found = {name: getattr(scenarios, name) for name in scenarios.__all__}
    return {name: each for name, each in found.items() if isinstance(each, Scenario)}


def _scenario(name: str) -> Scenario:
    known = _scenarios()
    wanted = name.replace("-", "_").replace(" ", "_").lower()
    if wanted not in known:
        raise InvalidArgumentError(f"there is no scenario {name!r}; there are: {', '.join(known)}")
    return known[wanted]


def _list() -> None:
    from commonboard.show.tables import Table, Td

    rows = []
    for name, each in _scenarios().items():
        numbers = {knob: value for knob, value in each.numbers.items() if isinstance(value, int | float)}
        takes = ", ".join(
            f"--{'think' if knob == 'seconds' else knob} ({value:g})" for knob, value in numbers.items() if knob in _OURS
        )
        rows.append([Td(name), Td(each.story), Td(takes)])
    show_table(Table("The scenarios", ["scenario", "what happens", "takes (and has)"], rows))


_OURS = ("agents", "keys", "seconds")
_ALIASES = {"lww": "lastwriterwins", "fww": "firstwriterwins"}


def _policies(names: str, scenario: Scenario) -> list[ConflictPolicy] | None:
    """The policies of these names; `None` for those that suit the scenario."""
    from commonboard.policies import AppendOnly, FirstWriterWins, LastWriterWins, Merge, Optimistic

    if not names:
        return None
    known: dict[str, Callable[[], ConflictPolicy]] = {
        "lastwriterwins": LastWriterWins,
        "firstwriterwins": FirstWriterWins,
        "optimistic": Optimistic,
        "appendonly": AppendOnly,
    }
    if scenario.crdt is not None:
        crdt = scenario.crdt
        known["merge"] = lambda: Merge(crdt)
    made = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        plain = name.lower().replace("-", "").replace("_", "")
        plain = _ALIASES.get(plain, plain)
        if plain == "merge" and plain not in known:
            raise InvalidArgumentError(
                f"no CRDT fits what the agents of {scenario.name!r} share, so Merge cannot be compared in it"
            )
        if plain not in known:
            raise InvalidArgumentError(
                f"there is no policy {name!r}; there are LastWriterWins, FirstWriterWins, Optimistic, Merge and AppendOnly; "
                "one of your own is compared in Python: cb.compare(scenario, [mine])"
            )
        made.append(known[plain]())
    return made


def _numbers(text: str, kind: type[int] | type[float]) -> Any:
    """`4` as a number, `2,4,8` as a list, nothing as `None`."""
    if not text:
        return None
    try:
        numbers = [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise InvalidArgumentError(f"{text!r} is not {what} with commas between them, such as 2,4,8") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _worlds(text: str) -> Any:
    from commonboard.sim import World

    numbers = _numbers(text, int)
    if numbers is None:
        return None
    try:
        return [World(replicas=number) for number in (numbers if isinstance(numbers, list) else [numbers])]
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(str(error)) from None


def _executor(jobs: int, stack: ExitStack) -> Any:
    from concurrent.futures import ProcessPoolExecutor

    return stack.enter_context(ProcessPoolExecutor(jobs)) if jobs > 1 else None


def _rows(made: Any) -> list[dict[str, Any]]:
    from dataclasses import asdict

    return [asdict(row) | {"lost": row.lost, "lost_percent": row.lost_percent} for row in made]


def _command() -> str:
    """What was typed, for the page to say."""
    return shlex.join(["commonboard", *sys.argv[1:]])
