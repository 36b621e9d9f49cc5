"""Memory stays flat in the size of a dump."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

_CODE = """
import sys
from doctor.logs.artifacts import read
from tests.peaks import own_kib
assert read(sys.argv[1:]).summary
print(own_kib())
"""


def peak_kib(path: Path) -> int:
    out = subprocess.run([sys.executable, "-c", _CODE, str(path)], capture_output=True, text=True, check=True)
    return int(out.stdout)


def test_ten_times_the_rows_cost_no_more(tmp_path: Path) -> None:
    row = '{"input": "question %d", "output": "' + "because of that " * 60 + '%d", "score": %d, "step": %d}\n'
    peaks = []
    for steps in (10, 100):
        path = tmp_path / f"{steps}" / "rollouts.jsonl"
        path.parent.mkdir()
        with path.open("w") as file:
            for step in range(steps):
                file.writelines(row % (n // 8, n, n % 3 == 0, step) for n in range(256))
        peaks.append(peak_kib(path))
    assert peaks[1] - peaks[0] < 8_000, f"{peaks} KiB for 2.5 and 25 MB"
