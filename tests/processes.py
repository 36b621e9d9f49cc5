"""The mark `process`: what starts processes of its own. `pytest -m "not process"` is for daily work.

A test without the mark that starts a process fails where it does so, in every run: so the mark is never forgotten. Slow
tests need none, daily work leaves them out. Commands of the doctor that `run_doctor` runs need no mark either: they are
forks of one process, see `tests.commands`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "pty.spawn"}
_UNMARKED = "starts a process ({}): mark it `process`, or use tests.commands.run_doctor"
_in_threads: list[str] = []  # what threads of the test that runs have tried to start
_allowed = [True]  # an audit hook cannot be taken away: this tells whether it has anything to say


@contextmanager
def allowed() -> Iterator[None]:
    """What is started here is no test's own."""
    before, _allowed[0] = _allowed[0], True
    try:
        yield
    finally:
        _allowed[0] = before


def without_slow(expression: str) -> str:
    """Words of `-m`, which leave the tests marked `slow` out unless they name them; the option replaces the default."""
    return expression if not expression or "slow" in expression else f"({expression}) and not slow"


def may_start_processes(item: pytest.Item) -> bool:
    """Whether its marks allow it to."""
    return any(item.get_closest_marker(name) for name in ("process", "slow"))


class NoProcesses:
    """The plugin: fails a test that starts a process and is not marked so."""

    def __init__(self) -> None:
        """See whatever starts processes, from now on."""
        sys.addaudithook(self._see)

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Hold this test to its marks."""
        _allowed[0] = may_start_processes(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """What is made once for many tests is no test's own."""
        if fixturedef.scope == "function":
            return (yield)
        with allowed():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Fail a test of which a thread has started a process: what is raised there does not reach it."""
        _in_threads.clear()
        outcome = yield
        if _in_threads:
            pytest.fail(_UNMARKED.format(", ".join(dict.fromkeys(_in_threads))))
        return outcome

    def pytest_sessionfinish(self) -> None:
        """The end of a worker is no test."""
        _allowed[0] = True

    @staticmethod
    def _see(event: str, _: object) -> None:
        if event not in _STARTS or _allowed[0]:
            return
        if threading.current_thread() is threading.main_thread():
            pytest.fail(_UNMARKED.format(event))
        _in_threads.append(event)
        raise OSError(_UNMARKED.format(event))
