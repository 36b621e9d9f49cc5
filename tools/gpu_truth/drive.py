"""Runs the steps, most valuable first, each in a process group under its own limit, and packs what they left.

A step that was measured, or that said why it cannot be measured here, is not done again (`--again` does it); one that
failed or ran out of time is. Each leaves `RESULTS/<step>/result.json` and whatever else it wrote there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

#: step -> seconds that it may take; in order of value
STEPS = {
    "machine": 60, "sampler": 360, "guard": 420, "witness": 590, "capsule": 300, "memory": 590,
    "rehearsal": 560, "deep": 240, "postmortem": 300, "provoked": 300,
}  # fmt: skip
DONE = ("measured", "impossible")
#: of a file that a step leaves, where the archive is to stay small
_MOST_BYTES = 4 << 20


def main() -> int:
    """Exit code 1 where a step failed or ran out of time."""
    chosen = arguments()
    results: Path = chosen.results
    results.mkdir(parents=True, exist_ok=True)
    device = "stand-in" if chosen.stand_in else "cuda"
    begun = time.monotonic()
    states = {}
    try:
        for step in chosen.only or STEPS:
            known = state_of(results / step)
            again = chosen.again or known["status"] not in DONE or known.get("device_kind") != device
            if again and chosen.seconds and time.monotonic() - begun + STEPS[step] > chosen.seconds:
                known = {"status": "not begun", "why": f"it may take {STEPS[step]} s"}
            elif again:
                known = carried_out(step, device, results / step)
            states[step] = known
            seconds, why = known.get("seconds", 0), known.get("why", "")
            print(f"{step:12} {known['status']:10} {seconds:6.1f} s  {why}", flush=True)
    finally:
        print("archive:", archive(results))
    return int(any(each["status"] not in (*DONE, "not begun") for each in states.values()))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=Path("gpu-truth"), help="folder for the results")
    parser.add_argument("--only", nargs="+", choices=STEPS, metavar="STEP", help=f"of {', '.join(STEPS)}")
    parser.add_argument("--again", action="store_true", help="also what was measured already")
    parser.add_argument("--seconds", type=float, help="begin no step that may end later than this")
    parser.add_argument("--stand-in", action="store_true", help="NVML's stand-in and the CPU instead of a card")
    return parser.parse_args()


def state_of(folder: Path) -> dict[str, Any]:
    """What a step left; status "none" where that is nothing that can be read."""
    try:
        found = json.loads((folder / "result.json").read_text())
    except (OSError, ValueError):
        return {"status": "none"}
    return found if isinstance(found, dict) and "status" in found else {"status": "none"}


def carried_out(step: str, device: str, folder: Path) -> dict[str, Any]:
    """Run one step; its own result, or that it failed or ran out of time."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").unlink(missing_ok=True)
    command = [sys.executable, str(HERE / "steps" / f"{step}.py"), "--device", device, "--folder", str(folder)]
    began = time.monotonic()
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(STEPS[step])
            ended = "failed"
        except subprocess.TimeoutExpired:
            ended = "timed-out"
        finally:
            end(process)
    found = state_of(folder)
    if found["status"] == "none":
        last = (folder / "output.txt").read_text(errors="replace").strip().splitlines()[-1:]
        found = {"schema": "doctor-gpu-truth/1", "step": step, "status": ended, "device_kind": device,
                 "why": last[0][:300] if last else f"exit code {process.returncode}"}  # fmt: skip
    found["seconds"] = round(time.monotonic() - began, 1)
    (folder / "result.json").write_text(json.dumps(found, indent=1) + "\n")
    return found


def end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of a step outlives it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def archive(results: Path) -> Path:
    """Everything that is small enough, in one file beside the folder."""
    path = results.parent / f"{results.name}.tar.gz"
    making = path.with_suffix(".making")
    with tarfile.open(making, "w:gz") as packed:
        for each in sorted(results.rglob("*")):
            if each.is_file() and not each.is_symlink() and each.stat().st_size <= _MOST_BYTES:
                packed.add(each, arcname=str(Path(results.name) / each.relative_to(results)))
    making.replace(path)
    return path


if __name__ == "__main__":
    sys.exit(main())
