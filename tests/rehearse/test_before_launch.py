"""`doctor run --rehearse` launches what held in its rehearsal and nothing else; the last few rehearsals are kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor.rehearse.session import _forget

#: a loop of torch's own that says that it ran to its end
_LOOP = """
import pathlib, sys
import torch
weight = torch.nn.Parameter(torch.ones(8))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(20):
    (weight * weight).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 0 and sys.argv[1] == "breaks":
        raise ValueError("no such column: answer")
pathlib.Path("ended").write_text(f"{step + 1} steps")
"""


@pytest.mark.process
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("case", "code", "launched"), [("well", 0, True), ("breaks", 1, False)])
def test_only_what_held_is_launched(case: str, code: int, launched: bool, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "loop.py").write_text(_LOOP)
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "run", "--rehearse", "--no-check", "--no-monitor", "--", sys.executable,
         "loop.py", case],
        cwd=tmp_path, env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}, capture_output=True, text=True,
        timeout=240, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code, done.stderr[-3000:]
    assert (tmp_path / "ended").exists() is launched
    assert not launched or (tmp_path / "ended").read_text() == "20 steps"
    assert bool(list(tmp_path.glob("doctor-runs/2*/run.json"))) is launched


def test_the_last_rehearsals_are_kept_and_none_that_may_still_run(tmp_path: Path) -> None:
    for number in range(8):
        folder = tmp_path / f"2026010{number}"
        folder.mkdir()
        if number != 1:
            long_ago = time.time() - 7200
            os.utime(folder, (long_ago, long_ago))
    _forget(tmp_path)
    assert sorted(each.name[-1] for each in tmp_path.iterdir()) == ["1", "4", "5", "6", "7"]
