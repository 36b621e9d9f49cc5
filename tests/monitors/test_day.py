"""A day of eight GPUs at 100 ms: seven million rows are reported in less than a gigabyte of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.monitors.sampler import columns

TICKS = 864_000
BEGIN_NS = 1_795_000_000_000_000_000
#: runs a command, and tells the KiB that it took at its highest: from a small process, see `tests.peaks`
_MEASURED = """
import subprocess, sys
from tests.peaks import with_children_kib
code = subprocess.run(sys.argv[1:]).returncode
print(with_children_kib(), file=sys.stderr)
sys.exit(code)
"""


def _row(**figures: str) -> str:
    return ",".join(figures.get(name, "") for name in columns.GPU)


def _write(path: Path) -> None:
    """Work for 50 s of every 100 s, told once a second; states at every tick."""
    holes = {"time": "2026-11-22T01:10:00.546152+00:00", "t_ns": "{t}", "mono_s": "{m}", "host": "n1"}
    states = {
        "memory_used_mib": "30000",
        "power_w": "310.5",
        "sm_clock_mhz": "1980",
        "throttle_reasons": "sw_power_cap",
    }
    means = {
        "sm_active_pct": "{a}",
        "sm_window_s": "1",
        "sm_source": "gpm",
        "gpu_busy_pct": "90",
        "temperature_c": "60",
    }
    who = [{"gpu": str(gpu), "uuid": f"GPU-d0c70000-0000-4000-8000-00000000000{gpu}"} for gpu in range(8)]
    plain = "\n".join(_row(**holes, **each, **states) for each in who) + "\n"
    second = "\n".join(_row(**holes, **each, **states, **means) for each in who) + "\n"
    with path.open("w") as file:
        file.write("# schema doctor-gpu/1\n" + ",".join(columns.GPU) + "\n")
        for tick in range(TICKS):
            active = 0 if (tick - 1) // 500 % 2 else 70
            form = plain if tick % 10 else second
            file.write(form.format(t=BEGIN_NS + tick * 100_000_000, m=tick / 10, a=active))


@pytest.mark.slow
def test_a_day_of_eight_gpus(tmp_path: Path) -> None:
    _write(tmp_path / "gpu.csv")
    command = [sys.executable, "-c", _MEASURED, sys.executable, "-m", "doctor", "report", str(tmp_path / "gpu.csv")]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, timeout=280, check=False)
    (tmp_path / "gpu.csv").unlink()
    assert done.returncode == 0, done.stderr
    usage = json.loads(done.stdout)["usage"]
    assert usage["gpu_hours"] == pytest.approx(192, rel=0.01)
    assert [gpu["sm_active_pct"] for gpu in usage["gpus"]] == pytest.approx([35] * 8, abs=0.1)
    assert int(done.stderr.splitlines()[-1]) < 1 << 20
