"""What the tests themselves use: their homes, the list of skipped tests, and the peak of a program's memory."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.homes import Homes, made_once, with_cache
from tests.processes import without_slow

_ROOT = Path(__file__).parent.parent
_CONFTEST = """
from tests.skipped import SkippedTests

def pytest_addoption(parser):
    parser.addoption("--skipped", action="store_true")

def pytest_configure(config):
    config.pluginmanager.register(SkippedTests(config))
"""
_PART = """
import os
import pytest

needs = pytest.mark.skipif("HAVE_IT" not in os.environ, reason="it is not installed")

def test_needs_nothing(): pass

@needs
@pytest.mark.parametrize("value", ["a::b", "[c]", "d e"])
def test_needs_it(value): pass

@pytest.fixture
def it():
    if "HAVE_IT" not in os.environ:
        pytest.skip("it is not installed")

class TestOne:
    def test_by_its_fixture(self, it): pass

@pytest.mark.xfail
def test_fails_as_expected(): assert False
"""
_WHOLE = """
import os
import pytest

if "HAVE_IT" not in os.environ:
    pytest.skip("it is not installed", allow_module_level=True)

def test_of_a_module(): pass
"""
_SKIPPED = {
    "folder/test_part.py::test_needs_it[a::b]", "folder/test_part.py::test_needs_it[[c]]",
    "folder/test_part.py::test_needs_it[d e]", "folder/test_part.py::TestOne::test_by_its_fixture",
    "test_whole.py::test_of_a_module",
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda home: (home / ".bashrc").touch(),
        lambda home: (home / ".cache" / "pip").mkdir(),
        lambda home: home.chmod(0o500),
        lambda home: (home / ".cache").chmod(0o755 if (home / ".cache").stat().st_mode & 0o777 != 0o755 else 0o700),
        lambda home: (home / ".cache" / "grpo-doctor").unlink(),
        lambda home: (home / ".cache").rename(home / ".config"),
        shutil.rmtree,
    ],
)
def test_a_home_that_is_not_as_it_was_made_is_no_other_tests(tmp_path: Path, change: Callable[[Path], object]) -> None:
    homes = Homes(tmp_path, tmp_path / "cache")
    first = homes.next(starts_processes=False)
    assert homes.next(starts_processes=False) == first
    change(first)
    second = homes.next(starts_processes=False)
    assert second != first
    assert list(second.rglob("*")) == list(with_cache(second).rglob("*"))
    assert homes.next(starts_processes=True) == second, "it comes after those that left nothing behind"
    third = homes.next(starts_processes=False)
    assert third not in (first, second), "what a process does later is not seen"


def test_what_all_workers_share_is_made_once_and_anew_where_that_failed(tmp_path: Path) -> None:
    made: list[str] = []

    def make(folder: Path) -> None:
        made.append("begun")
        (folder / "part").write_text("x")
        if len(made) == 1:
            pytest.skip("the package index does not answer")

    with pytest.raises(pytest.skip.Exception):
        made_once(tmp_path, "stack", make)
    (tmp_path / "stack" / "left").touch()
    for _ in range(2):
        assert [each.name for each in made_once(tmp_path, "stack", make).iterdir()] == ["part"]
    assert len(made) == 2


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    monkeypatch.delenv("HAVE_IT", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # Hypothesis and the like take a second of every start
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "folder").mkdir()
    files = {"conftest.py": _CONFTEST, "folder/test_part.py": _PART, "test_whole.py": _WHOLE, "pytest.ini": "[pytest]"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def _ran(project: Path, *options: str) -> tuple[int, set[str]]:
    """(exit code, tests that passed)."""
    argv = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-rp", "-q", "-n", "1", *options]
    done = subprocess.run(argv, cwd=project, capture_output=True, text=True, check=False, timeout=120)
    lines = done.stdout.splitlines()
    return done.returncode, {each.removeprefix("PASSED ") for each in lines if each.startswith("PASSED ")}


@pytest.mark.process
def test_what_was_skipped_runs_alone_later(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _ran(project) == (0, {"folder/test_part.py::test_needs_nothing"})
    monkeypatch.setenv("HAVE_IT", "1")
    assert _ran(project, "--skipped") == (0, _SKIPPED)
    assert len(_ran(project)[1]) == len(_SKIPPED) + 1
    assert _ran(project, "--skipped") == (0, set())


_CASES = """
import pytest
from tests.each import add_keywords, for_each

CASES = [("ABC001-one", (1, 1)), ("ABC001-two", (1, 2)), ("ABC002", (3, 4)), ("DEF001", (5, 5)), ("GHI001", (0, 0))]

@for_each("left, right", CASES)
def test_cases(left, right, tmp_path):
    (tmp_path / "new").mkdir()
    if not left:
        pytest.skip("nothing to compare")
    assert left == right
"""


@pytest.mark.process
def test_of_many_cases_in_one_test_those_that_fail_are_named(project: Path) -> None:
    (project / "conftest.py").write_text("from tests.each import add_keywords as pytest_itemcollected\n")
    (project / "test_cases.py").write_text(_CASES)

    def told(*options: str) -> str:
        argv = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-n0", "-rA", "test_cases.py", *options]
        return subprocess.run(argv, cwd=project, capture_output=True, text=True, check=False, timeout=120).stdout

    everything = told()
    assert "2 of 3 failed: ABC001-two, ABC002" in everything
    assert "assert 3 == 4" in everything
    assert "test_cases.py:12: in test_cases" in everything
    assert "1 failed, 1 passed, 1 skipped" in everything
    assert "1 of 1 failed: ABC002" in told("-k", "abc002")
    assert "1 passed, 2 deselected" in told("-k", "ABC001-one")


@pytest.mark.process
def test_the_peak_of_a_program_is_its_own() -> None:
    """A small program that a large process starts is small."""
    code = (
        "import subprocess, sys\n"
        "held = b'x' * (300 << 20)\n"
        "inner = 'from tests.peaks import own_kib, with_children_kib; print(own_kib(), with_children_kib())'\n"
        "print(subprocess.run([sys.executable, '-c', inner], capture_output=True, text=True, check=True).stdout)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=True)
    assert all(5 << 10 < int(each) < 100 << 10 for each in done.stdout.split()), done.stdout


def test_slow_tests_are_left_out_unless_they_are_asked_for(pytestconfig: pytest.Config) -> None:
    assert without_slow("not process") == "(not process) and not slow"
    assert without_slow("process or gpu") == "(process or gpu) and not slow"
    for asked in ("slow", "not slow", "slow or not slow", ""):
        assert without_slow(asked) == asked
    assert without_slow(pytestconfig.option.markexpr) == pytestconfig.option.markexpr  # it is applied to this very run
