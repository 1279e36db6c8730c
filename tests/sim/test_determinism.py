"""The same arguments give the same run: in one process, in two with other hash seeds, and on every Python of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import commonboard as cb

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "tests" / "sim" / "traces.py"
ASK = "import sys; print('%d.%d' % sys.version_info[:2])"


def output(python: str, *arguments: str, hash_seed: int = 0) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "toolkit"), "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def other_pythons() -> dict[str, str]:
    """Every other Python from 3.11 on that this machine has, one a version."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    candidates = [*filter(None, found), *map(str, sorted(home.glob("versions/3.*/bin/python3")))]
    pythons: dict[str, str] = {}
    for python in candidates:
        told = subprocess.run([python, "-c", ASK], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": ""})
        version = told.stdout.strip()
        if told.returncode == 0 and tuple(map(int, version.split("."))) >= (3, 11):
            pythons.setdefault(version, python)
    pythons.pop(f"{sys.version_info[0]}.{sys.version_info[1]}", None)
    return pythons


@pytest.fixture(scope="module")
def traces() -> str:
    """What many runs of every scenario, policy and world come to."""
    return output(sys.executable, str(TRACES))


def test_the_traces_tell_runs_apart(traces: str) -> None:
    lines = traces.splitlines()
    assert len(lines) > 60
    digests = {line.split(": ")[1].split()[0] for line in lines}
    assert len(digests) > 0.8 * len(lines)  # some policies have nothing to decide in some crews
    outcomes = [line.split()[-1] for line in lines]
    assert outcomes.count("finished") > 40


def test_another_hash_seed_changes_nothing(traces: str) -> None:
    assert output(sys.executable, str(TRACES), hash_seed=12345) == traces


@pytest.mark.slow
def test_every_python_of_the_machine_gives_the_same_bytes(traces: str) -> None:
    pythons = other_pythons()
    if not pythons:
        pytest.skip("there is no other Python from 3.11 on here: install one, such as with pyenv install 3.12")
    for version, python in pythons.items():
        assert output(python, str(TRACES), hash_seed=int(version.split(".")[1])) == traces, version


def test_a_token_of_one_process_replays_in_any_other() -> None:
    recorded = output(sys.executable, str(TRACES), "record")
    tokens = [line.split()[0] for line in recorded.splitlines()]
    assert len(set(tokens)) == len(tokens) > 3
    for python in (sys.executable, *other_pythons().values()):
        assert output(python, str(TRACES), *tokens, hash_seed=7) == recorded


def test_running_twice_in_one_process_changes_nothing() -> None:
    def told() -> list[str]:
        scenario = cb.scenarios.consolidation
        runs = [cb.simulate(scenario, policy=cb.Merge(cb.ORSet), seed=seed, world=cb.World(replicas=2)) for seed in range(5)]
        return [f"{made}\n{made.history}\n{made.state}\n{cb.no_lost_updates(made)}" for made in runs]

    first = told()
    for seed in range(20):
        cb.simulate(cb.scenarios.counter, seed=seed)
    assert told() == first
    assert len(set(first)) == 5
