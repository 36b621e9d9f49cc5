"""What the steps share: the device, programs and the doctor as child processes, and the result that is left."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tools" / "gpu_truth" / "programs"
GPU_PROGRAMS = ROOT / "tests" / "gpu" / "programs"
SCHEMA = "doctor-gpu-truth/1"
#: the interpreter that trains; the doctor may live in another one
TRAINS = os.environ.get("DOCTOR_TRAIN_PYTHON", sys.executable)

sys.path.insert(0, str(ROOT))


class Impossible(Exception):  # noqa: N818 - an answer, not an error
    """What this machine cannot show; the message says why."""


@dataclass
class Bench:
    """One step at work.

    `measures`: name -> number, text or list, as the table of claims names them; `missing`: name -> why not here.
    """

    device: str
    folder: Path
    measures: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def on_card(self) -> bool:
        """Whether a real GPU is at work."""
        return self.device == "cuda"

    @property
    def torch_device(self) -> str:
        """Where tensors go."""
        return "cuda" if self.on_card else "cpu"

    def environment(self, **more: str) -> dict[str, str]:
        """Of child processes: this machine's, with the stand-in for NVML where that is asked for."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DOCTOR_RUN")}
        path = ":".join(filter(None, (str(ROOT), kept.get("PYTHONPATH", ""))))
        kept |= {"PYTHONPATH": path, "DOCTOR_LANG": "en", "COLUMNS": "100", "DOCTOR_TRUTH_DEVICE": self.torch_device}
        if self.on_card:
            return {**kept, **more}
        from tests.nvml import build_standin, scenario_env

        scenario = more.pop("scenario", "h100x8")
        library = build_standin(self.folder.parent)
        kept["OMP_NUM_THREADS"] = "1"  # small models on a busy machine: several threads wait for each other
        return {**kept, **scenario_env(library, scenario), "PYTHONPATH": path, **more}

    def doctor(self, *words: str, limit_s: float = 120, **more: str) -> subprocess.CompletedProcess[str]:
        """The doctor's command line in this step's folder."""
        return self.call([sys.executable, "-m", "doctor", *words], limit_s=limit_s, **more)

    def call(self, command: list[str], *, limit_s: float = 120, **more: str) -> subprocess.CompletedProcess[str]:
        """A command in this step's folder; its output is kept there too.

        Raises:
            subprocess.TimeoutExpired: it took longer than `limit_s`.

        """
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(**more), capture_output=True, text=True, timeout=limit_s,
            check=False,
        )  # fmt: skip
        with (self.folder / "calls.txt").open("a") as kept:
            kept.write(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}\nexit code {done.returncode}\n\n")
        return done

    def told(self, command: list[str], *, limit_s: float = 120, **more: str) -> Any:
        """The JSON that a program prints behind RESULT.

        Raises:
            RuntimeError: it printed none; the message is its last line.

        """
        done = self.call(command, limit_s=limit_s, **more)
        lines = [each.partition("RESULT ")[2] for each in done.stdout.splitlines() if each.startswith("RESULT ")]
        if not lines:
            last = (done.stderr.strip() or done.stdout.strip() or "nothing was printed").splitlines()[-1]
            raise RuntimeError(f"{Path(command[1]).name}: {last}")
        return json.loads(lines[-1])

    def without(self, why: str, *names: str) -> None:
        """Say that some measures cannot be had here."""
        self.missing |= dict.fromkeys(names, why)


def program(name: str, *words: str) -> list[str]:
    """The command that runs a program of this tool, or one of the tests on a GPU."""
    path = PROGRAMS / name if (PROGRAMS / name).exists() else GPU_PROGRAMS / name
    return [TRAINS, str(path), *words]


def step(run: Callable[[Bench], None]) -> None:
    """Carry out a step as its own program: measure, and leave `result.json`."""
    parser = argparse.ArgumentParser(description=run.__doc__)
    parser.add_argument("--device", choices=("cuda", "stand-in"), default="cuda")
    parser.add_argument("--folder", type=Path, required=True)
    chosen = parser.parse_args()
    bench = Bench(chosen.device, chosen.folder.resolve())
    bench.folder.mkdir(parents=True, exist_ok=True)
    status, why, began = "measured", "", time.time()
    try:
        needs_card(bench)
        run(bench)
    except Impossible as answer:
        status, why = "impossible", str(answer)
    except Exception as error:  # noqa: BLE001 - what was measured before is kept
        traceback.print_exc()
        status, why = "failed", f"{type(error).__name__}: {error}"[:300]
    result = {
        "schema": SCHEMA, "step": Path(sys.argv[0]).stem, "status": status, "why": why, "device_kind": bench.device,
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)), "seconds": round(time.time() - began, 1),
        "measures": bench.measures, "missing": bench.missing,
    }  # fmt: skip
    (bench.folder / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if status != "failed" else 1)


def no_card() -> str | None:
    """Why there is no card to measure on; None where there is one."""
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    return None if torch.cuda.is_available() else "torch sees no GPU"


def needs_card(bench: Bench) -> None:
    """Raises Impossible where a card is asked for and none is there."""
    if bench.on_card and (absent := no_card()):
        raise Impossible(absent)


def needs_trl() -> None:
    """Raises Impossible where the interpreter that trains has no TRL."""
    if subprocess.run([TRAINS, "-c", "import trl"], capture_output=True, timeout=120, check=False).returncode:
        raise Impossible("TRL is not installed: tools/gpu_truth/pack.sh packs it")


def relative(measured: float, wanted: float) -> float:
    """Departure from what is wanted, as a share of it."""
    return measured / wanted - 1


def mean(values: Iterable[float]) -> float | None:
    """None of nothing."""
    values = list(values)
    return statistics.fmean(values) if values else None
