"""What the real runs share: the interpreter, the saved tiny model, and a process with the imports done."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .runs import PROGRAMS, Ran, end_group, environment, interpreter, run


@pytest.fixture(scope="session")
def python() -> Path:
    """The interpreter with the real stack."""
    return interpreter()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all test workers of this session see."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "real"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def model(python: Path, shared: Path) -> Path:
    """The tiny model, saved once."""
    folder = shared / "tiny-model"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            home = shared / "home"
            home.mkdir()
            made = run([str(python), str(PROGRAMS / "save_model.py"), str(folder)], home, environment(python, home))
            assert made.code == 0, made.text
    return folder


class Nursery:
    """A process of `programs/nursery.py`: runs programs one after another without their imports."""

    def __init__(self, python: Path, home: Path) -> None:
        self._errors = (home / "nursery.log").open("wb")
        self._process = subprocess.Popen(
            [str(python), str(PROGRAMS / "nursery.py")], cwd=home, env=environment(python, home),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, bufsize=1,
            start_new_session=True,
        )  # fmt: skip

    def run(self, argv: list[str], folder: Path, *, limit_s: float = 200) -> Ran:
        """Run `python argv` in a folder; `code` is None when the limit ended it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        log = folder / "run.log"
        log.touch()
        program = {"argv": argv, "cwd": str(folder), "env": {"HOME": str(folder)}, "log": str(log)}
        self._process.stdin.write(json.dumps(program) + "\n")
        child = int(self._process.stdout.readline())
        late = threading.Event()
        timer = threading.Timer(limit_s, lambda: (late.set(), end_group(child)))
        timer.start()
        code = int(self._process.stdout.readline())
        timer.cancel()
        return Ran(None if late.is_set() else code, log, folder)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        end_group(self._process.pid)
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()


@pytest.fixture(scope="session")
def nursery(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """One nursery a test worker."""
    made = Nursery(python, tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture
def grpo(nursery: Nursery, model: Path, tmp_path: Path) -> Callable[[str], Ran]:
    """A function that runs a case of `programs/grpo.py` to its end."""

    def run_case(case: str) -> Ran:
        ran = nursery.run([str(PROGRAMS / "grpo.py"), str(model), case], tmp_path)
        assert ran.code is not None, f"the time limit ended it:\n{ran.text[-3000:]}"
        return ran

    return run_case
