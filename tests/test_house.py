"""The rules of the house that no linter knows: who may import whom, what an import may load, what may stand in a file."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import commonboard

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "toolkit" / "commonboard"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A module imports from its own rung and from the rungs above it, never from below. `__init__` is the face and may see all.
RUNGS = [
    ("errors",),
    ("entry",),
    ("values",),
    ("rule",),
    ("stores",),
    ("policies",),
    ("snapshot", "updating", "parts", "handle", "transactions", "memory"),
    ("history", "recording"),
    ("crdt",),
    ("patterns",),
    ("sim",),
    ("check",),
    ("scenarios",),
    ("show",),
    ("compare", "explorer", "anomaly_grid", "judge", "live"),
    ("course",),
    ("cli",),
]
RUNG = {name: height for height, rung in enumerate(RUNGS) for name in rung}

# The one hook by which results reach their pictures, `import_module` of this name: followed when somebody looks, not at import.
HOOK = "commonboard.show"

HEAVY = ["IPython", "anywidget", "ipywidgets", "matplotlib", "numpy", "pandas", "pydantic"]


def below_the_package(path: Path) -> str:
    """`stores` for …/commonboard/stores/file.py, `entry` for …/commonboard/entry.py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_from_commonboard(path: Path) -> Iterator[tuple[int, str]]:
    """Line and first name after `commonboard.` of every import in a file, those inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ["commonboard", *path.relative_to(PACKAGE).parent.parts]
            base = base[: len(base) - node.level + 1] if node.level else []
            start = ".".join(base + ([node.module] if node.module else []))
            names = [f"{start}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            names = [text for text in texts if text != HOOK]
        for name in names:
            first, _, rest = name.partition(".")
            if first == "commonboard":
                yield node.lineno, rest.partition(".")[0] or "__init__"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_from_what_stands_above_it(path: Path) -> None:
    me = below_the_package(path)
    if me == "__init__":
        return
    assert me in RUNG, f"{me} has no place in the order yet: give it one, in RUNGS and in docs/design.md"
    wrong = [
        f"line {line}: {me} imports {other}"
        for line, other in imported_from_commonboard(path)
        if RUNG.get(other, len(RUNGS)) > RUNG[me]
    ]
    assert wrong == []


def test_the_reader_of_imports_sees_every_way_to_import_but_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    (tmp_path / "stores").mkdir()
    path = tmp_path / "stores" / "file.py"
    path.write_text(
        "import commonboard.sim\n"
        "from commonboard import memory\n"
        "from .. import show\n"
        "from ..check.grid import Grid\n"
        "from .protocol import MemoryStore\n"
        "def late():\n"
        "    import commonboard as cb\n"
        "    importlib.import_module('commonboard.show')\n"
        "    return importlib.import_module('commonboard.live')\n"
    )
    found = sorted(imported_from_commonboard(path))
    assert found == [(1, "sim"), (2, "memory"), (3, "show"), (4, "check"), (5, "stores"), (7, "__init__"), (9, "live")]


# What `import commonboard` did, told by Python's own audit events.
PROBE = """
import json, sys, threading
told = []
def listen(event, args):
    if event.startswith(("socket.", "_thread.start", "subprocess.")):
        told.append(event)
sys.addaudithook(listen)
import commonboard
print(json.dumps({"modules": sorted(sys.modules), "told": told, "threads": threading.active_count()}))
"""


def run_python(*arguments: str, **environment: str) -> str:
    env = os.environ | {"PYTHONPATH": str(ROOT / "toolkit")} | environment
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=env, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_commonboard_loads_nothing_heavy_and_starts_nothing() -> None:
    report = json.loads(run_python("-c", PROBE))
    loaded = {name.partition(".")[0] for name in report["modules"]}
    assert "commonboard" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert report["told"] == []
    assert report["threads"] == 1


def test_importing_commonboard_needs_nothing_but_the_standard_library() -> None:
    # -S leaves site-packages out.
    assert run_python("-S", "-c", "import commonboard; print(commonboard.InMemoryStore.__name__)") == "InMemoryStore\n"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_file_is_short_enough_to_be_read_at_one_go(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 420


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


# --- what may stand in a tracked file --------------------------------------------------------------------------------


def tracked_text() -> Iterator[tuple[Path, str]]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, cwd=ROOT
    )
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:  # a source distribution has no git
        paths = [path for top in ("toolkit", "tests", "notebooks", "docs", "data") for path in (ROOT / top).rglob("*")]
    for path in paths:
        if path.is_file() and path.suffix not in {".png", ".pyc", ".jpg", ".db"} and "__pycache__" not in path.parts:
            yield path, path.read_text(encoding="utf-8")


def patterns_of_one_machine() -> dict[str, re.Pattern[str]]:
    # Put together here, so that this file does not hold what it looks for.
    hosts = [r"pypi" + r"\.org", r"python" + r"hosted", r"npm" + r"js\.(org|com)", r"deb" + r"\.debian", r"--index" + r"-url"]
    homes = ["/" + r"root/", "/" + r"home/\w", "/" + r"Users/\w", r"[A-Z]:\\" + r"Users"]
    homes += [re.escape(str(ROOT)) + r"\b"] if len(ROOT.parts) > 2 else []
    return {"a package registry": re.compile("|".join(hosts)), "a path of one machine": re.compile("|".join(homes))}


def test_no_tracked_file_names_a_registry_or_a_path_of_one_machine() -> None:
    patterns = patterns_of_one_machine()
    wrong, read = [], 0
    for path, text in tracked_text():
        read += 1
        for number, line in enumerate(text.splitlines(), 1):
            wrong += [f"{path.relative_to(ROOT)}:{number} names {what}" for what, it in patterns.items() if it.search(line)]
    assert read > 30
    assert wrong == []


@pytest.mark.parametrize("line", ["see /" + "root/.venv", "C:" + "\\Users\\me", "files.python" + "hosted.example"])
def test_the_search_for_registries_and_paths_finds_one(line: str) -> None:
    assert any(pattern.search(line) for pattern in patterns_of_one_machine().values())


def test_every_data_set_has_its_source_and_licence() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|(.+)\|(.+)\|(.+)\|$", (ROOT / "data" / "README.md").read_text("utf-8"), re.MULTILINE)
    described = {name for name, *cells in rows if all(cell.strip() for cell in cells)}
    there = {path.name for path in (ROOT / "data").iterdir()} - {"README.md"}
    assert described == there


# --- dependencies ----------------------------------------------------------------------------------------------------


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def lines_of(name: str) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text("utf-8").splitlines())
    return [line for line in lines if line]


def pins_of(name: str) -> dict[str, str]:
    return {canonicalize_name(package): version for package, _, version in (line.partition("==") for line in lines_of(name))}


def wanted(*extras: str) -> list[Requirement]:
    chosen = [project()["optional-dependencies"][extra] for extra in extras]
    return [Requirement(text) for text in sum(chosen, project()["dependencies"])]


def test_constraints_are_exact_pins_in_order_and_name_no_project_of_ours() -> None:
    lines = lines_of("constraints.txt")
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.]+", line)] == []
    names = [line.partition("==")[0] for line in lines]
    assert names == sorted(set(names))
    assert "commonboard" not in names


def test_constraints_pin_all_that_the_tests_install_within_the_ranges_of_the_project() -> None:
    pins = pins_of("constraints.txt")
    for need in wanted("lab", "test", "dev", "bench"):
        name = canonicalize_name(need.name)
        assert name in pins, f"{name} is not pinned in constraints.txt"
        assert need.specifier.contains(pins[name]), f"constraints.txt pins {name}=={pins[name]}, pyproject.toml asks {need}"


def test_every_range_has_a_floor() -> None:
    every = wanted(*project()["optional-dependencies"])
    assert [str(need) for need in every if not any(part.operator in {">=", "=="} for part in need.specifier)] == []


def test_binder_pins_what_the_tests_ran_with_and_leaves_the_server_alone() -> None:
    lines = lines_of("binder/requirements.txt")
    ranges = [line for line in lines if "==" not in line]
    (server,) = (need for need in wanted("lab") if need.name == "jupyterlab")
    assert [str(Requirement(line)) for line in ranges] == [str(server)], "Binder brings its own server: a range, not a pin"
    pins = pins_of("constraints.txt")
    here = {name: version for name, version in pins_of("binder/requirements.txt").items() if version}
    assert {name: pins.get(name) for name in here} == here
    names = {canonicalize_name(need.name) for need in wanted("lab")} - {"jupyterlab"}
    assert names <= set(here)


def test_binder_runs_on_a_python_that_the_project_supports() -> None:
    version = (ROOT / "binder" / "runtime.txt").read_text("utf-8").strip().removeprefix("python-")
    assert Version(version) in Requirement(f"x{project()['requires-python']}").specifier


# --- names and docstrings --------------------------------------------------------------------------------------------


def test_every_public_name_has_a_docstring() -> None:
    names = [name for name in commonboard.__all__ if not name.startswith("__")]
    assert names == sorted(set(names), key=names.index), "a name stands twice in __all__"
    things = {name: getattr(commonboard, name) for name in names}
    missing = [name for name, thing in things.items() if callable(thing) and not inspect.getdoc(thing)]
    for name, thing in things.items():
        if inspect.isclass(thing):
            missing += [f"{name}.{method}" for method in undocumented_methods(thing)]
    assert missing == []


def undocumented_methods(thing: type) -> Iterator[str]:
    """Public methods and properties of our own without a docstring; one of a base class or a protocol counts."""
    protocols = [getattr(commonboard, name, None) for name in ("MemoryStore", "BuiltInStore")]
    for name, member in vars(thing).items():
        ours = inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
        if ours and not name.startswith("_"):
            documents = [getattr(place, name, None) for place in (thing, *protocols)]
            if not any(inspect.getdoc(document) for document in documents if document is not None):
                yield name


def test_every_module_imports_and_says_what_it_is_for() -> None:
    def walk(package: ModuleType) -> Iterator[ModuleType]:
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)

    modules = list(walk(commonboard))
    assert len(modules) > 10
    assert [module.__name__ for module in modules if not module.__doc__] == []


# --- what is shipped -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_wheel_holds_the_package_its_data_and_nothing_else(tmp_path: Path) -> None:
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT)]
    run_python(*build)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    info = f"{wheel.name.split('-py3')[0]}.dist-info/"
    assert {name for name in names if not name.startswith(("commonboard/", info))} == set()
    assert "commonboard/py.typed" in names
    source = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.suffix in {".py", ".js", ".css"}}
    assert source <= names
    data = {f"commonboard/_data/{path.name}" for path in (ROOT / "data").iterdir()}
    assert data <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
