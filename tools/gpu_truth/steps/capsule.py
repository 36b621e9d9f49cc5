"""Crash capsules after the device itself has failed: the file is there, it is small and quick, and nothing hangs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, program, step

#: what a card can die of; on a CPU, exceptions at the same places
ON_CARD = ("token-outside", "illegal-access", "out-of-memory")
ON_CPU = ("token-outside", "out-of-memory")
LIMIT_S = 80


def run(bench: Bench) -> None:
    """Each case under `doctor run`; what the kernel's log says of it."""
    found = {case: died(bench, case) for case in (ON_CARD if bench.on_card else ON_CPU)}
    bench.measures |= {
        "cases": found,
        "capsules_written": [case for case, each in found.items() if each["capsule"]],
        "hung": [case for case, each in found.items() if each["hung"]],
        "seconds_most": max(each["seconds"] for each in found.values()),
        "largest_bytes": max(each["bytes"] for each in found.values()),
    }
    if bench.on_card:
        bench.measures["xids_in_kernel_log"] = xids()
    else:
        bench.without("no kernel log tells of a stand-in", "xids_in_kernel_log")


def died(bench: Bench, case: str) -> dict[str, Any]:
    """One death under `doctor run`: what it left, and the seconds that the capsule itself took."""
    place = Bench(bench.device, bench.folder / case)
    place.folder.mkdir(exist_ok=True)
    command, hung = program("device_error.py", bench.torch_device, case), False
    try:
        place.doctor("run", "--no-check", "--no-monitor", "--", *command, limit_s=LIMIT_S)
    except subprocess.TimeoutExpired:
        hung = True
    files = sorted(place.folder.glob("doctor-runs/2*/capsules/*.json"))
    told = json.loads(files[0].read_text()) if files else {}
    return {
        "capsule": bool(files), "bytes": sum(each.stat().st_size for each in files), "hung": hung,
        "seconds": told.get("seconds", 0.0), "trouble": told.get("trouble", []),
    }  # fmt: skip


def xids() -> list[str]:
    """Lines of the kernel's log about Xids, as this user may read it."""
    done = subprocess.run(["dmesg"], capture_output=True, text=True, timeout=20, check=False)
    return [line for line in done.stdout.splitlines() if "Xid" in line][-20:]


if __name__ == "__main__":
    step(run)
