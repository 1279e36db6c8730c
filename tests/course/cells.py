"""Runs the text of a notebook's cell as a notebook would."""

from __future__ import annotations

import ast
from typing import Any

import commonboard as cb
from commonboard.course import exercises as ex


def run_cell(code: str) -> Any:
    """What the last expression of a cell gives, after the set-up cell has been run."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    names: dict[str, Any] = {"cb": cb, "ex": ex}
    exec(compile(tree, "the cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "the cell", "eval"), names)
