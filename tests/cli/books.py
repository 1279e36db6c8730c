"""Makes notebooks as somebody might have who has never heard of commonboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def printed(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def value(text: str, mime: str = "text/plain") -> dict[str, Any]:
    return {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {mime: text}}


def code(source: str, *outputs: dict[str, Any], count: int | None = 0, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    """A cell of code; a count of 0 is to be the right one."""
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": "code", "execution_count": count, "metadata": metadata, "outputs": list(outputs), "source": source}


def words(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def book(*cells: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A notebook that was run from top to bottom, in the format that JupyterLab saves."""
    made, ran = [], 0
    for place, cell in enumerate(cells):
        cell = {**cell, "id": f"cell-{place}"}
        if cell.get("execution_count") == 0:
            ran += 1
            cell["execution_count"] = ran
        made.append(cell)
    language = {"name": "python", "version": "3.11.7"}
    whole = {"cells": made, "metadata": {"kernelspec": KERNEL, "language_info": language}, "nbformat": 4, "nbformat_minor": 5}
    return whole | more


def save(path: Path, *cells: dict[str, Any], **more: Any) -> Path:
    path.write_text(json.dumps(book(*cells, **more)), encoding="utf-8")
    return path
