"""Two groups of GPUs that take turns, where nothing tells what ran on them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest


def write(path: Path, patterns: list[str], period_s: float = 5.0) -> Path:
    """An nvidia-smi CSV; `patterns` gives a GPU's busy (1) and idle (0) minutes."""
    begin = datetime(2025, 5, 10, 12)  # noqa: DTZ001
    lines = ["timestamp, index, name, utilization.gpu [%]"]
    for number in range(int(len(patterns[0]) * 60 / period_s)):
        at = begin + timedelta(seconds=number * period_s)
        for gpu, pattern in enumerate(patterns):
            busy = 90 if pattern[int(number * period_s / 60)] == "1" else 0
            lines.append(f"{at:%Y/%m/%d %H:%M:%S}.000, {gpu}, NVIDIA A100, {busy} %")
    path.write_text("\n".join(lines) + "\n")
    return path


def findings_of(path: Path) -> dict[str, str]:
    """Headlines of the report by id."""
    from doctor.monitors.usage.foreign_csv import read
    from doctor.monitors.usage.report import diagnose

    diagnosis, _ = diagnose(read(path), run_dir=None, language="en")
    return {each.problem.id: each.words().headline for each in diagnosis.outcome.findings}


def test_nvidia_smi_csv_of_a_trainer_and_its_server(tmp_path: Path) -> None:
    path = write(tmp_path / "idx4.csv", ["1010101010101010"] * 3 + ["0101010101010101"])
    told = findings_of(path)
    assert "3 GPUs idle 50 % of the time, the other 1 idle 50 %" in told["PRF010"]


@pytest.mark.parametrize(
    "patterns",
    [
        ["1010101010101010"] * 4,  # all together: colocated
        ["1111111111111111"] * 4,  # nobody waits
        ["1010101010101010", "1010101010101010", "0101010101010101", "1100110011001100"],  # one fits neither
        ["1111111100000000", "0000000011111111"],  # one after the other, and no turns
        ["1010101010101010"],  # one card
    ],
)
def test_other_runs_are_silent(tmp_path: Path, patterns: list[str]) -> None:
    assert "PRF010" not in findings_of(write(tmp_path / "gpu.csv", patterns))
