"""`doctor rehearse --scale real` beside the run that it rehearses: does it see the peak of memory beforehand?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, needs_trl, program, relative, step

from doctor.monitors.rehearse import journal


def run(bench: Bench) -> None:
    """The rehearsal first, as a user does it; then the whole run with the same model, rows and lengths."""
    needs_trl()
    model, device = bench.folder / "model", bench.torch_device
    bench.call(program("whole_run.py", device, str(model), "make"), limit_s=100)
    command = program("whole_run.py", device, str(model), str(model / "prompts.jsonl"))
    state = bench.folder / "state"
    words = ("rehearse", "--scale", "real", "--offline", "--deadline", "200", "--format", "json")
    done = bench.doctor(*words, "--", *command, limit_s=230, XDG_STATE_HOME=str(state))
    told = json.loads(done.stdout)
    bench.measures["findings"] = [each["id"] for each in told["findings"] if each["severity"] != "info"]
    bench.measures["seconds"] = sum(each["seconds"] for each in told["rehearsal"]["passes"])
    rehearsed = peaks(state)
    real = bench.told(command, limit_s=200)
    bench.measures |= {"rehearsed_bytes": rehearsed, "run_bytes": real}
    what = "GPU 0" if bench.on_card else "host memory"
    bench.measures["error"] = relative(rehearsed[what], real[what])


def peaks(state: Path) -> dict[str, int]:
    """What the rehearsal noted of this process's memory: of what -> bytes.

    Raises:
        RuntimeError: it noted nothing.

    """
    for stage in sorted(state.glob("grpo-doctor/rehearsals/*/stage"), reverse=True):
        for each in journal.entries(stage):
            if each["kind"] == "memory":
                return {name: part["peak_bytes"] for name, part in each["parts"].items()}
    raise RuntimeError("the rehearsal noted no memory")


if __name__ == "__main__":
    step(run)
