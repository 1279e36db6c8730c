"""A real JupyterLab in a real browser, for the tests of this folder and for a look by hand.

By hand, `.venv/bin/python tests/browser/lab.py notebooks/00_the_incident.ipynb out.png` runs every cell and saves what a reader
sees, as `out.png`, or as `out-1.png`, `out-2.png` … where it is long. `--dark` takes the dark theme, `--as-saved` runs nothing.

The browser works on a copy of the notebooks, with settings of its own, and never reaches outside this machine: what it asks of
the outside is refused and written down.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page, Playwright, Route, sync_playwright

ROOT = Path(__file__).resolve().parent.parent.parent
TOKEN = "commonboard"
PATIENCE = 120_000  # milliseconds, for whatever a busy machine may make us wait for; nothing is measured by it

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"]
# The first two are those of `make lab`.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
    # All cells are drawn, not only those in view, so that each can be looked at.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}
DARK = {"@jupyterlab/apputils-extension/themes": {"theme": "JupyterLab Dark"}}


def find_browser(playwright: Playwright) -> str | None:
    """The path of a Chromium: COMMONBOARD_BROWSER, or one that is installed, or playwright's own."""
    named = os.environ.get("COMMONBOARD_BROWSER")
    if named:
        return named
    installed = [path for path in map(shutil.which, BROWSERS) if path]
    mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    places = [*installed, mac, playwright.chromium.executable_path]
    return next((place for place in places if Path(place).exists()), None)


NO_BROWSER = (
    "no Chromium or Chrome found: install one (on Debian or Ubuntu: apt-get install chromium), "
    "or name it in the environment variable COMMONBOARD_BROWSER"
)


@dataclass
class Lab:
    """A running JupyterLab, on a copy of notebooks/."""

    folder: Path
    url: str

    def ask(self, path: str, method: str = "GET") -> Any:
        """The server's answer to a call of its REST interface."""
        request = urllib.request.Request(f"{self.url}/{path}", method=method, headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or "null")

    def stop_kernels(self) -> None:
        """End every kernel, so that what is shown next comes from the file alone."""
        for session in self.ask("api/sessions"):
            self.ask(f"api/sessions/{session['id']}", method="DELETE")


@contextmanager
def jupyterlab(notebooks: Path, *, dark: bool = False) -> Iterator[Lab]:
    """Start JupyterLab on a copy of a folder of notebooks; stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="commonboard-lab-") as name:
        home = Path(name)
        shutil.copytree(notebooks, home / "root" / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
        if (ROOT / "docs").is_dir():
            shutil.copytree(ROOT / "docs", home / "root" / "docs")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        lab = Lab(home / "root" / "notebooks", f"http://127.0.0.1:{port}")
        with (home / "log").open("w+") as log:
            server = subprocess.Popen(_command(port, home), env=_environment(home, dark), stdout=log, stderr=log)
            try:
                _wait_for_server(lab, server, home / "log")
                yield lab
            finally:
                _stop(server)


def _command(port: int, home: Path) -> list[str]:
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": home / "root",
        "ServerApp.terminals_enabled": False,
        "IdentityProvider.token": TOKEN,
        "LabApp.extension_manager": "readonly",
        "LabApp.expose_app_in_browser": True,
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *given]


def _environment(home: Path, dark: bool) -> dict[str, str]:
    folders = {"CONFIG_DIR": "config", "DATA_DIR": "data", "RUNTIME_DIR": "runtime"}
    own = {f"JUPYTER_{key}": str(home / value) for key, value in folders.items()}
    own |= {f"JUPYTERLAB_{key}_DIR": str(home / key.lower()) for key in ("SETTINGS", "WORKSPACES")}
    for path, settings in (SETTINGS | (DARK if dark else {})).items():
        file = home / "settings" / f"{path}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    return os.environ | own | {"IPYTHONDIR": str(home / "ipython")}


def _wait_for_server(lab: Lab, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(PATIENCE // 250):
        if server.poll() is not None:
            break
        try:
            lab.ask("api")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.25)
        else:
            return
    raise RuntimeError(f"JupyterLab did not start. Its log:\n{log.read_text()}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    # The first signal asks "are you sure?" on a terminal, the second does not; terminate ends both questions.
    for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if server.poll() is None:
            server.send_signal(how)
            try:
                server.wait(timeout=15)
            except subprocess.TimeoutExpired:
                continue


@dataclass
class Complaints:
    """What a page did that no reader should meet."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


@contextmanager
def browser_page(playwright: Playwright, *, dark: bool = False, height: int = 2000) -> Iterator[tuple[Page, Complaints]]:
    """A page of a fresh browser, and the list of what went wrong in it."""
    path = find_browser(playwright)
    if path is None:
        raise RuntimeError(NO_BROWSER)
    quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    quiet += ["--disable-component-update", "--disable-sync"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        quiet.append("--no-sandbox")  # Chromium refuses its sandbox to root, which is what a container gives
    with tempfile.TemporaryDirectory(prefix="commonboard-browser-", ignore_cleanup_errors=True) as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=path,
            headless=True,
            args=quiet,
            viewport={"width": 1280, "height": height},
            color_scheme="dark" if dark else "light",
        )
        page = context.pages[0]
        page.set_default_timeout(PATIENCE)
        complaints = Complaints()
        page.on("pageerror", lambda error: complaints.errors.append(f"page error: {error}"))
        page.on("console", lambda line: complaints.errors.append(f"console: {line.text}") if line.type == "error" else None)

        def keep_inside(route: Route) -> None:
            host = urlsplit(route.request.url).hostname
            if host in {"127.0.0.1", "localhost", "::1"}:
                route.continue_()
            else:
                complaints.outside.append(route.request.url)
                route.abort()

        context.route(lambda url: url.startswith(("http", "ws")), keep_inside)
        try:
            yield page, complaints
        finally:
            context.close()


# --- what a reader does ----------------------------------------------------------------------------------------------

# The open notebook, as JupyterLab has it.
NOTEBOOK = "window.jupyterapp.shell.currentWidget"


def open_notebook(page: Page, lab: Lab, name: str) -> None:
    """Open a notebook by itself and wait until its kernel is there to run it."""
    page.goto(f"{lab.url}/doc/tree/notebooks/{name}?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(f"{NOTEBOOK}?.sessionContext?.session?.kernel?.status === 'idle'")


def run_all_cells(page: Page) -> None:
    """Clear all outputs, run all cells from the menu, and wait until the last has ended or one has failed."""
    page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(
        f"""() => {{
            const cells = {CODE_CELLS}.filter(cell => cell.source.trim());
            const idle = {NOTEBOOK}.sessionContext.session.kernel.status === 'idle';
            const failed = cells.some(cell => cell.outputs.some(output => output.output_type === 'error'));
            return idle && (failed || cells.every(cell => cell.count !== null));
        }}"""
    )
    # What comes last over the wire is drawn after the kernel is idle.
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 500)))")


CODE_CELLS = f"""
    Array.from({NOTEBOOK}.content.model.cells).filter(cell => cell.type === 'code').map(cell => (
        {{source: cell.sharedModel.getSource(), count: cell.executionCount, outputs: cell.outputs.toJSON()}}))
"""


def code_cells(page: Page) -> list[dict[str, Any]]:
    """Source, count and outputs of every code cell, as they are now."""
    return page.evaluate(f"() => {CODE_CELLS}")


def error_outputs(page: Page) -> list[str]:
    """Every error that a cell shows."""
    outputs = [output for cell in code_cells(page) for output in cell["outputs"]]
    return [f"{output['ename']}: {output['evalue']}" for output in outputs if output["output_type"] == "error"]


def save(page: Page) -> None:
    """Save the notebook as Ctrl+S does."""
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")


def pictures(page: Page) -> list[dict[str, Any]]:
    """The pictures in outputs: their alternative text and whether they are really there to be seen."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output img')].map(img => (
            {alt: img.alt, seen: img.complete && img.naturalWidth > 0 && img.getClientRects().length > 0}))"""
    )


def screenshots(page: Page, out: Path, height: int) -> list[Path]:
    """Save the notebook from its first cell to its last, in pieces of at most `height` pixels."""
    scroller = page.locator(".jp-WindowedPanel-outer").first
    # JupyterLab lets one scroll on beyond the last cell: what is below it is empty.
    full = scroller.evaluate(
        """panel => Math.ceil([...panel.querySelectorAll('.jp-Cell')].at(-1).getBoundingClientRect().bottom
                              - panel.getBoundingClientRect().top + panel.scrollTop)"""
    )
    box = scroller.bounding_box()
    assert box is not None
    visible = int(box["height"])
    starts = range(0, max(full, 1), visible)
    paths = [out] if len(starts) == 1 else [out.with_stem(f"{out.stem}-{number}") for number in range(1, len(starts) + 1)]
    for path, start in zip(paths, starts, strict=True):
        scroller.evaluate("(panel, start) => panel.scrollTo(0, start)", start)
        page.wait_for_timeout(200)
        page.screenshot(path=path)
    return paths


def main() -> int:
    """Run a notebook and save pictures of it; 1 if something went wrong in it."""
    parser = argparse.ArgumentParser(description="Run a notebook in a real JupyterLab and save pictures of what a reader sees.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("out", type=Path, help="a .png")
    parser.add_argument("--dark", action="store_true", help="the dark theme")
    parser.add_argument("--as-saved", action="store_true", help="run nothing: show it as a reader without a kernel sees it")
    parser.add_argument("--height", type=int, default=1600, help="pixels of one picture (1600)")
    given = parser.parse_args()
    with (
        jupyterlab(given.notebook.resolve().parent, dark=given.dark) as lab,
        sync_playwright() as playwright,
        browser_page(playwright, dark=given.dark, height=given.height) as (page, complaints),
    ):
        open_notebook(page, lab, given.notebook.name)
        if not given.as_saved:
            run_all_cells(page)
        wrong = [*error_outputs(page), *complaints.errors, *(f"asked outside: {url}" for url in complaints.outside)]
        for path in screenshots(page, given.out, given.height):
            print(path)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
