"""`--no-skips`: a test that was skipped counts as failed, however it was skipped; an expected failure does not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = (Path(__file__).resolve().parent / "conftest.py").read_text(encoding="utf-8")
SKIPS = {
    "called": "import pytest\ndef test_it():\n    pytest.skip('no server')\n",
    "marked": "import pytest\n@pytest.mark.skip(reason='no server')\ndef test_it():\n    pass\n",
    "by a fixture": "import pytest\n@pytest.fixture\ndef f():\n    pytest.skip('no server')\ndef test_it(f):\n    pass\n",
    "a whole module": "import pytest\npytest.skip('no server', allow_module_level=True)\n",
    "a missing package": "import pytest\npytest.importorskip('no_such_package', reason='no server')\n",
}


@pytest.fixture(autouse=True)
def ask_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMONBOARD_NO_SKIPS", raising=False)


@pytest.mark.parametrize("how", SKIPS)
def test_a_skip_passes_by_default_and_fails_under_no_skips(pytester: pytest.Pytester, how: str) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SKIPS[how])
    plain = pytester.runpytest_inprocess("-p", "no:nbval")
    plain.assert_outcomes(skipped=1)
    strict = pytester.runpytest_inprocess("-p", "no:nbval", "--no-skips")
    assert strict.ret != 0
    strict.stdout.fnmatch_lines(["*--no-skips allows none*", "*no server*"])


def test_the_environment_asks_for_it_too(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONBOARD_NO_SKIPS", "1")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SKIPS["called"])
    pytester.runpytest_inprocess("-p", "no:nbval").assert_outcomes(failed=1)


def test_an_expected_failure_is_no_skip(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("import pytest\n@pytest.mark.xfail\ndef test_it():\n    assert False\n")
    pytester.runpytest_inprocess("-p", "no:nbval", "--no-skips").assert_outcomes(xfailed=1)
