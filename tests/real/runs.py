"""Starts the programs of this folder in the interpreter that has the real stack, and asks the doctor about the output.

The interpreter is named by DOCTOR_REAL_PYTHON, else it is `.venv-real/bin/python` beside the tests made by
tools/make_real_stack.sh. Where there is none the tests are skipped with that reason; in CI they fail.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.commands import run_doctor
from tests.homes import with_cache

PROGRAMS = Path(__file__).parent / "programs"
BESIDE = Path(__file__).parents[2] / ".venv-real" / "bin" / "python"
#: vLLM 0.8.5.post1 in a folder of its own, for TRL would take it for its generation engine
VLLM = "vllm-0.8.5"


def interpreter() -> Path:
    """The interpreter with TRL and DeepSpeed, or the end of the test."""
    named = os.environ.get("DOCTOR_REAL_PYTHON")
    python = Path(named) if named else BESIDE
    if not python.is_file():
        lacking(f"no interpreter with the real stack at {python} (tools/make_real_stack.sh makes .venv-real)")
    return python


def lacking(reason: str) -> NoReturn:
    """Skip the test; fail it where an interpreter was asked for by name, as `.ci/run` does."""
    if "DOCTOR_REAL_PYTHON" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)


def vllm_folder(python: Path) -> Path:
    """The folder with vLLM 0.8.5.post1, or the end of the test."""
    folder = python.parent.parent / VLLM
    if not folder.is_dir():
        lacking(f"no vLLM 0.8.5.post1 in {folder} (tools/make_real_stack.sh installs it)")
    return folder


@dataclass(frozen=True)
class Ran:
    """A program that has ended: its exit code (None: stopped by the time limit), its output, its folder."""

    code: int | None
    log: Path
    folder: Path

    @property
    def text(self) -> str:
        """What it printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class Answer:
    """The JSON report of `doctor postmortem`, and the exit code of the command."""

    report: dict[str, Any]
    code: int

    @property
    def verdict(self) -> str:
        return str(self.report["verdict"])

    @property
    def first(self) -> dict[str, Any]:
        """The first finding."""
        assert self.report["findings"], "nothing was found"
        found: dict[str, Any] = self.report["findings"][0]
        return found

    @property
    def words(self) -> str:
        """Headline, explanation and remedy of the first finding."""
        remedy = self.first["remedy"]
        return "\n".join((self.first["headline"], self.first["explanation"], remedy["text"], *remedy["commands"]))

    @property
    def ids(self) -> list[str]:
        return [each["id"] for each in self.report["findings"]]


def environment(python: Path, home: Path) -> dict[str, str]:
    """What a program gets: no hub, one thread, a home of its own, compiled extensions kept beside the interpreter."""
    return {
        "PATH": f"{python.parent}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(with_cache(home)), "HF_HOME": str(home / "hf"), "LANG": "C.UTF-8", "TMPDIR": str(home),
        "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": "",
        "TORCH_EXTENSIONS_DIR": str(python.parent.parent / "torch_extensions"), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def run(argv: list[str], folder: Path, env: Mapping[str, str], *, limit_s: float = 200) -> Ran:
    """Run a command to its end with standard output and error in `run.log`; its whole process group ends with it.

    The limit ends what hangs, before pytest does: two ranks that import the stack took 94 s at a load of 8.
    """
    log = folder / "run.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            argv, cwd=folder, env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            code: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_group(process.pid)
            process.wait()
    return Ran(code, log, folder)


def end_group(group: int) -> None:
    """Kill what is left of a process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def diagnose(*paths: Path) -> Answer:
    """What `doctor postmortem` says, asked as a user asks."""
    done = run_doctor("postmortem", "--format", "json", "--lang", "en", *map(str, paths), cwd=Path.cwd())
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert not report["crashed"], report["crashed"]
    return Answer(report, done.returncode)
