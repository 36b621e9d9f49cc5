"""Rehearses the programs of this folder in the interpreter that has the real stack."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rehearse.cases import Case

PROGRAMS = Path(__file__).parent / "programs"
_LIMIT_S = 290
#: the doctor of this checkout, whichever one is installed; by no variable, for the command would inherit it
_DOCTOR = (
    sys.executable, "-c",
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module('doctor', run_name='__main__')",
    str(Path(__file__).parents[2]),
)  # fmt: skip


@dataclass(frozen=True)
class Rehearsal:
    """What `doctor rehearse` said.

    Args:
        report: its JSON.
        code: its exit code.
        seconds: it took.
        said: on standard error.
        touched: files beside it that are other ones now.
        alone: its script holds no other case; otherwise what only the check read in it may be another's.

    """

    report: dict[str, Any]
    code: int
    seconds: float
    said: str
    touched: tuple[str, ...]
    alone: bool = False

    @property
    def ids(self) -> list[str]:
        """Findings that are more than notes."""
        told = (each for each in self.report["findings"] if each["severity"] != "info")
        return [each["id"] for each in told if self.alone or each.get("detectors") != ["check"]]

    @property
    def broken(self) -> list[str]:
        """Phases that broke or were not finished."""
        return [each["name"] for each in self.report["rehearsal"]["phases"] if each["mark"] in ("broke", "open")]

    @property
    def reached(self) -> set[str]:
        """Phases that went well."""
        return {each["name"] for each in self.report["rehearsal"]["phases"] if each["mark"] == "ok"}

    def catches(self, case: Case) -> bool:
        """Whether the mistake of a case was told."""
        if case.finding:
            return case.finding in self.ids
        return self.code == 1 and bool(self.ids)


def make_stage(python: Path, folder: Path, environment: Mapping[str, str], beside: str = "") -> None:
    """Models and data of the programs, as the releases in a folder beside the interpreter write them."""
    variables = {**environment, **_releases(python, beside)}
    subprocess.run(
        [str(python), str(PROGRAMS / "stage.py"), str(folder)], env=variables, check=True, capture_output=True,
        timeout=200, cwd=folder,
    )  # fmt: skip


def _releases(python: Path, beside: str) -> dict[str, str]:
    return {"PYTHONPATH": str(python.parent.parent / beside)} if beside else {}


def rehearse(case: Case, python: Path, stage: Path, folder: Path, environment: Mapping[str, str]) -> Rehearsal:
    """Run `doctor rehearse` over a case, and compare the trees around it."""
    words = [each.format(stage=stage, programs=PROGRAMS) for each in case.words]
    if words[0] == "torchrun":
        words = [str(python.parent / "torchrun"), "--nproc-per-node", "2", "--standalone", *words[1:]]
    else:
        words = [str(python), *words]
    variables = {
        **environment, "STAGE": str(stage), "XDG_STATE_HOME": str(folder / "state"), **case.variables,
        **_releases(python, case.beside),
    }  # fmt: skip
    work = folder / "work"
    work.mkdir()
    (work / "final").mkdir()
    (work / "final" / "config.json").write_text("mine")
    before = {**tree(work), **tree(stage)}
    began = time.monotonic()
    done = subprocess.run(
        [*_DOCTOR, "rehearse", "--format", "json", *case.options, "--", *words],
        cwd=work, env=variables, capture_output=True, text=True, timeout=_LIMIT_S, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    after = {**tree(work), **tree(stage)}
    touched = tuple(sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))
    assert done.stdout, done.stderr
    report, seconds = json.loads(done.stdout), time.monotonic() - began
    return Rehearsal(report, done.returncode, seconds, done.stderr, touched, case.alone)


def tree(folder: Path) -> dict[str, str]:
    """File -> what it holds and when it was changed."""
    found = {}
    for each in sorted(folder.rglob("*")):
        if each.is_file():
            content = hashlib.sha256(each.read_bytes()).hexdigest()
            found[str(each)] = f"{content} {os.stat(each).st_mtime_ns}"  # noqa: PTH116
    return found
