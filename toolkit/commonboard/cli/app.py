"""The commands by name. Each module beside this one has the commands of one subject."""

from __future__ import annotations

from typing import Annotated

import typer

from commonboard.cli.boards import log, show
from commonboard.cli.comparing import compare
from commonboard.cli.grid import grid
from commonboard.cli.lab import lab
from commonboard.cli.validating import validate

app = typer.Typer(
    name="commonboard",
    no_args_is_help=True,
    add_completion=False,  # it would write into the shell's files
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"commonboard {version('commonboard')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Several AI agents share one memory: see what goes wrong, and compare the ways of settling it."""


app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(lab)
app.command()(compare)
app.command()(grid)
app.command()(show)
app.command()(log)
app.command()(validate)
