"""`doctor monitor` on a real card, over loads whose truth is known, beside `nvidia-smi`."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.run.folder import RunDir, read_rows
from tests.gpu.conftest import PROGRAMS, PYTHON, missing

pytestmark = pytest.mark.process

SECONDS = 5
#: at the edges of a load a window of the driver belongs to two of them
EDGE_S = 1.2
SMI = ("nvidia-smi", "--query-gpu=utilization.gpu,memory.used,power.draw.instant,clocks.sm,temperature.gpu",
       "--format=csv,noheader,nounits", "-lms", "200", "-i", "0")  # fmt: skip

Rows = list[dict[str, str]]


class Seen:
    """One run: the loads, our rows, and nvidia-smi's."""

    def __init__(self, folder: Path) -> None:
        watching = subprocess.Popen(SMI, stdout=subprocess.PIPE, text=True)
        command = [sys.executable, "-m", "doctor", "monitor", "--during-run", "--gpus", "0", "--no-live",
                   "--interval", "100ms", "--", PYTHON, str(PROGRAMS / "loads.py"), str(SECONDS)]  # fmt: skip
        self.smi: list[tuple[float, list[float]]] = []
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert watching.stdout is not None
        while process.poll() is None:
            cells = watching.stdout.readline().split(",")
            self.smi.append((time.time(), [float(each) for each in cells]))
        watching.kill()
        watching.communicate()
        out, self.said = process.communicate()
        assert process.returncode == 0, self.said
        self.loads = {(told := json.loads(line))["name"]: told for line in out.splitlines()}
        (self.path,) = (folder / "doctor-runs").glob("2*")
        self.rows: Rows = list(read_rows(RunDir(self.path).gpu()))

    def _inside(self, name: str, at_s: float) -> bool:
        load = self.loads[name]
        return bool(load["begin_s"] + EDGE_S < at_s < load["end_s"] - 0.1)

    def values(self, name: str, column: str) -> list[float]:
        """Our figures in the middle of a load."""
        return [float(row[column]) for row in self.rows if row[column] and self._inside(name, int(row["t_ns"]) / 1e9)]

    def mean(self, name: str, column: str) -> float:
        """Their mean."""
        return statistics.fmean(self.values(name, column))

    def theirs(self, name: str, place: int) -> float:
        """The mean of nvidia-smi's."""
        return statistics.fmean(cells[place] for at_s, cells in self.smi if self._inside(name, at_s))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    if missing() is None:
        yield Seen(tmp_path_factory.mktemp("gpu"))


def has_truth(seen: Seen) -> bool:
    return any(row["sm_active_pct"] for row in seen.rows)


def test_the_share_of_active_sms_is_true(seen: Seen) -> None:
    if not has_truth(seen):
        pytest.skip("this card has no GPM counters (before Hopper)")
    for name in ("one SM", "sixteen SMs", "one SM, half of the time"):
        assert seen.mean(name, "sm_active_pct") == pytest.approx(100 * seen.loads[name]["sm"], rel=0.1, abs=0.1), name
    assert seen.mean("products", "sm_active_pct") > 85
    assert seen.mean("products", "tensor_active_pct") > 60
    assert seen.mean("idle", "sm_active_pct") < 0.1


def test_busy_says_that_one_sm_is_a_full_gpu(seen: Seen) -> None:
    assert seen.mean("one SM", "gpu_busy_pct") > 95
    assert seen.mean("idle", "gpu_busy_pct") < 1


@pytest.mark.parametrize("name", ["idle", "one SM", "sixteen SMs", "products"])
def test_it_agrees_with_nvidia_smi(seen: Seen, name: str) -> None:
    assert seen.mean(name, "gpu_busy_pct") == pytest.approx(seen.theirs(name, 0), abs=3)
    assert seen.mean(name, "memory_used_mib") == pytest.approx(seen.theirs(name, 1), abs=16)
    assert seen.mean(name, "power_w") == pytest.approx(seen.theirs(name, 2), rel=0.1)
    assert statistics.median(seen.values(name, "sm_clock_mhz")) == pytest.approx(seen.theirs(name, 3), rel=0.05)
    assert seen.mean(name, "temperature_c") == pytest.approx(seen.theirs(name, 4), abs=1.5)


def test_bandwidth(seen: Seen) -> None:
    if not has_truth(seen):
        pytest.skip("this card has no GPM counters (before Hopper)")
    assert seen.mean("copies", "dram_active_pct") > 70
    load = seen.loads["from host"]
    sent_mib_s = 1024 * load["count"] / (load["end_s"] - load["begin_s"])
    assert seen.mean("from host", "pcie_rx_mib_s") == pytest.approx(sent_mib_s, rel=0.2)


def test_energy_is_the_integral_of_power(seen: Seen) -> None:
    told = [(float(row["mono_s"]), float(row["energy_j"])) for row in seen.rows if row["energy_j"]]
    (first_s, first_j), (last_s, last_j) = told[0], told[-1]
    watts = [float(row["power_w"]) for row in seen.rows if row["power_w"] and first_s <= float(row["mono_s"]) <= last_s]
    assert statistics.fmean(watts) == pytest.approx((last_j - first_j) / (last_s - first_s), rel=0.1)


def test_the_process_on_the_card_is_the_command(seen: Seen) -> None:
    on_card = list(read_rows(RunDir(seen.path).gpu_processes()))
    assert on_card, "no process of the run was seen on the card"
    assert {row["role"] for row in on_card} == {"trainer"}
    assert max(float(row["memory_used_mib"]) for row in on_card) > 8000


def test_the_report_names_phases_and_truth(seen: Seen) -> None:
    command = [sys.executable, "-m", "doctor", "report", str(seen.path), "--format", "json"]
    told: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    phases = {each["name"].removeprefix("other: "): each for each in told["usage"]["phases"]}
    assert set(seen.loads) <= set(phases)
    if has_truth(seen):
        assert phases["products"]["activity_pct"] > 80
        assert phases["one SM"]["activity_pct"] < 2


def test_no_tick_is_missed(seen: Seen) -> None:
    ticks = [float(row["mono_s"]) for row in seen.rows if row["power_w"]]
    wanted = (ticks[-1] - ticks[0]) / 0.1 + 1
    assert len(ticks) > 0.98 * wanted
