"""The table at the top of the README is what its command prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_table_of_the_readme_is_what_its_command_prints() -> None:
    shown = re.search(
        r"```console\n\$ commonboard compare\n(.*?)\n```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert shown is not None
    command = [sys.executable, "-m", "commonboard.cli", "compare"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "140"}).stdout
    assert [line.rstrip() for line in printed.splitlines()] == shown[1].splitlines()
