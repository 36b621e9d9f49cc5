"""A run folder with the start-up hook laid down, and programs that are run in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.inject.lay import lay
from doctor.run.folder import RunDir


@dataclass(frozen=True)
class Ended:
    """A program that has ended, and the capsules that it left."""

    code: int
    out: str
    error: str
    capsules: list[dict[str, Any]]
    stacks: list[str]

    @property
    def only(self) -> dict[str, Any]:
        """The one capsule that there is."""
        assert len(self.capsules) == 1, [each["process"] for each in self.capsules]
        return self.capsules[0]


Run = Callable[..., Ended]


def values_of(frame: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Expression -> facts, of the statement and of its conditions."""
    inside = [pair for each in frame.get("conditions", ()) for pair in each["values"]]
    return dict((*frame.get("values", ()), *inside))


def first_frame(capsule: dict[str, Any], failure: int = 0, link: int = -1) -> dict[str, Any]:
    """The innermost frame of one link of a failure."""
    found: dict[str, Any] = capsule["failures"][failure]["chain"][link]["frames"][0]
    return found


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    """An empty run folder."""
    folder = tmp_path / "run"
    folder.mkdir()
    return RunDir(folder)


@pytest.fixture
def hooked(run_dir: RunDir, tmp_path: Path) -> Run:
    """Runs a program under the start-up hook; gives its end and its capsules."""
    variables = lay(run_dir, {})

    def run(text: str, *words: str, python: str = sys.executable, hook: bool = True, **more: str) -> Ended:
        program = tmp_path / "program.py"
        program.write_text(text, encoding="utf-8")
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", **more}
        environment |= {**variables, "DOCTOR_RUN_DIR": str(run_dir.path)} if hook else {}
        done = subprocess.run(
            [python, str(program), *words], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        folder = run_dir.path / "capsules"
        capsules = [json.loads(each.read_text(encoding="utf-8")) for each in sorted(folder.glob("*.json"))]
        stacks = [text for each in sorted(folder.glob("*.stack")) if (text := each.read_text(encoding="utf-8"))]
        assert not list((run_dir.path / "patient").glob("failed-*"))
        return Ended(done.returncode, done.stdout, done.stderr, capsules, stacks)

    return run
