"""Refreshing: runs a notebook, drops what differs from run to run, writes only what has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commonboard.course import validation
from commonboard.course.lint import lint
from commonboard.course.refresh import (
    NotebookError,
    clean,
    new_notebook,
    notebooks_in,
    read_notebook,
    refresh,
    source,
    write_notebook,
)

VIEW = "application/vnd.jupyter.widget-view+json"


def cell(source: str, *outputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": 1, "source": source, "outputs": list(outputs), "metadata": {}} | more


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def cleaned(*cells: dict[str, Any]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = clean({"cells": list(cells)})["cells"]
    return made


def test_what_a_run_leaves_behind_is_dropped() -> None:
    notebook = {
        "cells": [
            cell("1", metadata={"execution": {"shell.execute_reply": "2026"}, "collapsed": True, "tags": ["kept"]}, id="random")
        ],
        "metadata": {"widgets": {}, "kernelspec": {"name": "my-venv"}, "language_info": {"name": "python", "version": "3.11.7"}},
    }
    made = clean(notebook)
    assert made["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in made["metadata"]
    assert "version" not in made["metadata"]["language_info"]
    assert made["cells"][0]["metadata"] == {"tags": ["kept"]}
    assert made["cells"][0]["id"] != "random"


def test_a_widgets_view_goes_and_what_is_seen_without_a_kernel_stays() -> None:
    data = {VIEW: {"model_id": "1234"}, "text/html": "<p>a</p>\n<p>b</p>", "text/plain": "Stepper()"}
    (made,) = cleaned(cell("1", {"output_type": "display_data", "metadata": {}, "data": data}))
    assert made["outputs"][0]["data"] == {"text/html": ["<p>a</p>\n", "<p>b</p>"], "text/plain": ["Stepper()"]}


def test_pieces_of_a_stream_are_joined_however_they_were_flushed() -> None:
    whole = cleaned(cell("1", stream("one\ntwo\n"), stream("oh\n", "stderr")))
    pieces = cleaned(cell("1", stream("on"), stream("e\ntwo\n"), stream("o", "stderr"), stream("h\n", "stderr")))
    assert pieces == whole
    assert whole[0]["outputs"][0]["text"] == ["one\n", "two\n"]


def test_a_cells_name_follows_from_what_is_in_it() -> None:
    first, second, again = cleaned(cell("1"), cell("2"), cell("1"))
    assert len({first["id"], second["id"], again["id"]}) == 3
    assert cleaned(cell("new"), cell("1"), cell("2"), cell("1"))[1:] == [first, second, again]


def test_cleaning_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    assert write_notebook(clean({"cells": [cell("1\n\n", stream("ä\n"))]}), path)
    assert not write_notebook(clean(read_notebook(path)), path)
    assert "ä" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"nbformat": 3, "nbformat_minor": 0, "cells": []}', '{"nbformat": 4, "nbformat_minor": 4, "cells": []}'],
)
def test_what_is_no_notebook_of_this_format_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    with pytest.raises(NotebookError, match="open it in JupyterLab and save it again"):
        read_notebook(path)


def test_notebooks_are_found_in_folders_of_folders_but_not_what_jupyter_keeps_beside_them(tmp_path: Path) -> None:
    for name in ("b", "sub/a", ".ipynb_checkpoints/b-checkpoint"):
        (tmp_path / f"{name}.ipynb").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.ipynb").touch()
    assert [path.name for path in notebooks_in([tmp_path])] == ["b.ipynb", "a.ipynb"]


def test_progress_is_shown_after_two_seconds_and_never_under_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def bar(paths: list[Path], **options: Any) -> list[Path]:
        asked.append(options)
        return []

    monkeypatch.setattr("tqdm.auto.tqdm", bar)
    (tmp_path / "a.ipynb").touch()
    for ci in ("true", ""):
        monkeypatch.setenv("CI", ci)
        refresh([tmp_path])
    assert [(options["delay"], options["disable"]) for options in asked] == [(2, True), (2, False)]


def test_a_new_notebook_has_what_every_notebook_needs(tmp_path: Path) -> None:
    path = new_notebook(tmp_path, 5, "What's new?", "What is new here?")
    assert path.name == "05_what_s_new.ipynb"
    sources = [source(cell) for cell in read_notebook(path)["cells"]]
    assert sources[0] == "# What's new?\n\n*What is new here?*"
    assert "guard = set_up()" in sources[1]
    assert sources[-1] == "await guard.finish()"
    with pytest.raises(NotebookError, match="is there already"):
        new_notebook(tmp_path, 5, "What's new?", "What is new here?")


def test_the_command_lints_and_says_by_its_status_whether_all_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new_notebook(tmp_path, 0, "New", "Was it run?")
    assert validation.main(["lint", str(tmp_path)]) == 1
    assert capsys.readouterr().out.endswith("1 notebook, 2 things to mend\n")
    assert validation.main(["lint", str(tmp_path / "gone")]) == 1
    assert "there is no notebook at" in capsys.readouterr().err
    for wrong in ([], ["lint"], ["mend", str(tmp_path)]):
        assert validation.main(wrong) == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.slow
def test_a_new_notebook_runs_is_clean_and_changes_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = new_notebook(tmp_path, 0, "New", "Does it run?")
    assert validation.main(["refresh", str(tmp_path)]) == 0
    assert lint(tmp_path) == []
    first = path.read_bytes()
    assert refresh([path]) == []
    assert path.read_bytes() == first
    assert capsys.readouterr().out == f"saved {path}\n1 notebook ran to the end; 1 changed\n"


@pytest.mark.slow
def test_a_notebook_that_fails_is_left_as_it_was_and_the_cell_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.ipynb"
    write_notebook(clean({"cells": [cell("import os\nos.environ['TZ']", stream("saved")), cell("1 / 0")]}), path)
    before = path.read_bytes()
    assert validation.main(["refresh", str(path)]) == 1
    told = capsys.readouterr().err
    assert "a.ipynb does not run to its end, and was left as it is" in told
    assert "1 / 0" in told
    assert "ZeroDivisionError" in told
    assert "\x1b" not in told
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_notebook_runs_in_its_own_folder_and_always_in_the_same_environment(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    asked = "import os\nprint(os.listdir(), [os.environ.get(n) for n in ('TZ', 'COLUMNS', 'CI', 'PYTHONHASHSEED', 'MPLBACKEND')])"
    write_notebook(clean({"cells": [cell(asked)]}), path)
    assert refresh([tmp_path]) == [path]
    (output,) = read_notebook(path)["cells"][0]["outputs"]
    assert output["text"] == ["['a.ipynb'] ['UTC', '80', 'true', '0', 'module://matplotlib_inline.backend_inline']\n"]
