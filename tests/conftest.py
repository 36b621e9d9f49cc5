"""Fixtures for all tests: a home of their own, so that nothing of the person who runs them is read or written."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.each import add_keywords
from tests.homes import Folders, Homes
from tests.processes import NoProcesses, may_start_processes, without_slow
from tests.skipped import SkippedTests

# The tests start hundreds of programs of this checkout, most of them more than once: without bytecode (containers often
# set this) each would compile every module anew, three times the work of a `doctor check`, and every worker every test.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: a change is judged by the same examples in every run, however busy the machine: `--hypothesis-profile=default` looks
#: for others (https://hypothesis.readthedocs.io/en/latest/tutorial/settings.html)
settings.register_profile(
    "same-examples", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same-examples")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option of `tests.skipped`."""
    parser.addoption("--skipped", action="store_true", help="run only the tests that the run before skipped")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two for each core: about half of a worker's time goes by while it waits for programs. Without these, one.

    A worker costs some ten seconds of a core before its first test: it collects all of them, and reads the catalogue.
    """
    waiting = "not process" not in config.option.markexpr
    return len(os.sched_getaffinity(0)) * (2 if waiting else 1)


def pytest_configure(config: pytest.Config) -> None:
    """Take down what is skipped, and give the programs that tests start, and interrupt, the signals of a terminal.

    What a job in the background of a shell starts ignores SIGINT and SIGQUIT for ever, and what `nohup` starts SIGHUP.
    """
    config.option.markexpr = without_slow(config.option.markexpr)
    config.pluginmanager.register(SkippedTests(config), "doctor-skipped")
    config.pluginmanager.register(NoProcesses(), "doctor-no-processes")
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL),
    ):  # fmt: skip
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Name the cases of a test to `-k`."""
    add_keywords(item)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, and leave a million objects, which stay, out of every later look."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """The models of the tests are tiny, and several workers share the cores: more threads would wait for each other."""
    torch = sys.modules.get("torch")  # what needs it has imported it by now
    if torch is not None:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def _doctor_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all workers of a session."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "doctor-cache"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory, _doctor_cache: Path) -> Homes:
    return Homes(tmp_path_factory.mktemp("homes"), _doctor_cache)


@pytest.fixture(autouse=True)
def _own_home(request: pytest.FixtureRequest, _homes: Homes, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _homes.next(starts_processes=may_start_processes(request.node))
    for name, folder in (("HOME", home), ("XDG_STATE_HOME", home / "state"), ("HF_HOME", home / "hf")):
        monkeypatch.setenv(name, str(folder))
    for name in ("HF_TOKEN", "WANDB_API_KEY", "CUDA_VISIBLE_DEVICES", "VIRTUAL_ENV", "CONDA_PREFIX", "DOCTOR_RUN_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture(scope="session")
def _folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return Folders(tmp_path_factory.mktemp("tests"))


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, _folders: Folders) -> Path:
    """A new folder, as pytest's own: that one costs a look at all folders of the worker, and a link to the newest."""
    folder = _folders.named(request.node.name)
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def catalogue_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in the test's own process share the signatures and their engine, as the post-mortems of tests do."""
    from doctor.logs import postmortem
    from tests.prepared import prepared_once

    prepared = prepared_once()
    monkeypatch.setattr(postmortem, "prepare", lambda: prepared)


@pytest.fixture
def samples() -> Path:
    """Folder of sample files."""
    return Path(__file__).parent / "samples"
