"""HST030 against tracebacks that this interpreter really prints: whether `exist_ok=True` stands in the line decides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

pytestmark = pytest.mark.process

PREPARED = prepared_once()
FORBIDS = (
    "os.makedirs({there!r})",
    "os.makedirs({there!r}, 0o755)",
    "os.makedirs({there!r}, exist_ok=False)",
    "os.mkdir({there!r})",
    "pathlib.Path({there!r}).mkdir()",
    "pathlib.Path({there!r}).mkdir(parents=True)",
)
ALLOWS = (
    "os.makedirs({there!r}, exist_ok=True)",
    "os.makedirs({there!r}, 0o755, exist_ok = True)",
    "os.makedirs({there!r}, 0o755, True)",
    "pathlib.Path({there!r}).mkdir(parents=True, exist_ok=True)",
    "pathlib.Path({there!r}).mkdir(exist_ok=True)",
    "pathlib.Path({there!r}).mkdir(0o755, True, True)",
)


def _remedy(tmp_path: Path, line: str, there: Path) -> str:
    script = tmp_path / "train.py"
    script.write_text(
        f"import os, pathlib\nFLAGS = {{'exist_ok': True}}\n\n"
        f"def main():\n    {line.format(there=str(there))}\n\nmain()\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=30, check=False)
    assert "FileExistsError" in ended.stderr
    log = tmp_path / "run.log"
    log.write_text(ended.stderr)
    (finding,) = [
        each
        for each in examine([str(log)], prepared=PREPARED).diagnosis.outcome.findings
        if each.problem.id == "HST030"
    ]
    return finding.words("en").remedy


@pytest.mark.parametrize("line", FORBIDS)
def test_it_is_advised_where_it_is_absent(tmp_path: Path, line: str) -> None:
    there = tmp_path / "out"
    there.mkdir()
    assert "exist_ok=True" in _remedy(tmp_path, line, there)


@pytest.mark.parametrize("line", ALLOWS)
def test_it_is_not_advised_where_it_stands(tmp_path: Path, line: str) -> None:
    there = tmp_path / "out"
    there.touch()
    remedy = _remedy(tmp_path, line, there)
    assert "exist_ok" not in remedy
    assert "Rename the file" in remedy


@pytest.mark.parametrize(
    "line", ["os.makedirs({there!r}, **FLAGS)", "os.makedirs({there!r}, exist_ok=FLAGS['exist_ok'])"]
)
def test_where_the_line_does_not_tell_both_are_named(tmp_path: Path, line: str) -> None:
    there = tmp_path / "out"
    there.touch()
    assert "If it is a file or a broken link" in _remedy(tmp_path, line, there)
