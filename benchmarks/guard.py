"""What the guard costs: the same GRPO training with and without it, and synthetic steps through its core.

    python benchmarks/guard.py [--python .venv-real/bin/python] [--pairs 5] [--steps 100000 1000000]

The training is the tiny model of `tests/real` on a CPU, whose steps last a few tenths of a second: a real step lasts
seconds to minutes and the guard's part of it is accordingly smaller. The runs alternate, each in a fresh process. Times
inside the hooks are the process's own CPU time, so that a busy machine does not spoil them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.core.carry import carry, rule_modules  # noqa: E402
from doctor.monitors.guard.guard import Guard  # noqa: E402
from doctor.monitors.guard.options import Options  # noqa: E402
from tests.rules.healthy_run import healthy_run  # noqa: E402

#: seconds that a small GRPO step takes on real hardware, for the share that is printed
TYPICAL_STEP_S = 10.0

#: the training, with a clock around every hook of the guard
TRAINING = """
import functools, json, sys, time
carried, model, programs, steps = sys.argv[1:5]
if carried != "none": sys.path.insert(0, carried)
sys.path.append(programs)
import tiny
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer
spent, inside = [0.0], [0]
def timed(function):
    @functools.wraps(function)
    def clocked(*args, **kwargs):
        if inside[0]: return function(*args, **kwargs)
        inside[0] = 1
        began = time.thread_time()
        try: return function(*args, **kwargs)
        finally:
            inside[0] = 0
            spent[0] += time.thread_time() - began
    return clocked
marks = []
class Clock(TrainerCallback):
    def on_step_begin(self, *_, **__): marks.append((time.perf_counter(), time.process_time(), spent[0]))
    on_train_end = on_step_begin
config = GRPOConfig(output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=32,
    max_steps=int(steps), logging_steps=5, learning_rate=1e-4, report_to=[], use_cpu=True, bf16=False,
    save_strategy="no", seed=1, disable_tqdm=True)
trainer = GRPOTrainer(model=model, reward_funcs=tiny.variety, args=config, train_dataset=tiny.sums(),
    processing_class=tiny.tokenizer(), callbacks=[Clock()])
if carried != "none":
    from doctor import DoctorCallback
    from doctor.monitors.guard import trainer_hooks
    for name in [each for each in vars(DoctorCallback) if each.startswith("on_step") or each in (
            "on_pre_optimizer_step", "on_optimizer_step", "on_log")]:
        setattr(DoctorCallback, name, timed(getattr(DoctorCallback, name)))
    for name in ("_copied", "_saw_loss"):
        setattr(trainer_hooks.TrainerHooks, name, timed(getattr(trainer_hooks.TrainerHooks, name)))
    trainer.add_callback(DoctorCallback())
trainer.train()
marks = marks[3:]  # the first steps warm caches up
each = [tuple(b - a for a, b in zip(*pair)) for pair in zip(marks, marks[1:])]
print("RESULT", json.dumps(each))
"""


def train(python: Path, carried: str, model: Path, folder: Path, steps: int) -> list[tuple[float, float, float]]:
    """(wall, CPU, CPU inside the hooks) of each step, in seconds."""
    (folder / "run").mkdir(parents=True, exist_ok=True)
    env = {
        **os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
        "DOCTOR_RUN_DIR": str(folder / "run"), "DS_ACCELERATOR": "cpu",
    }  # fmt: skip
    argv = [str(python), "-c", TRAINING, carried, str(model), str(ROOT / "tests" / "real" / "programs"), str(steps)]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    line = next((each for each in done.stdout.splitlines() if each.startswith("RESULT ")), None)
    if line is None:
        sys.exit(f"the training failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [tuple(each) for each in json.loads(line[len("RESULT ") :])]


def compare(python: Path, pairs: int, steps: int) -> None:
    """Print what a step costs with the guard and without, in runs that alternate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        carried = carry(["doctor.core.marks", "doctor.monitors.guard", *rule_modules()], folder / "carried")
        model = folder / "model"
        save = ROOT / "tests" / "real" / "programs" / "save_model.py"
        subprocess.run([str(python), str(save), str(model)], cwd=folder, capture_output=True, check=True)
        ratios, inside = [], []
        for number in range(pairs):
            order = ("none", str(carried)) if number % 2 else (str(carried), "none")
            took = {each: train(python, each, model, folder / f"{number}-{each == 'none'}", steps) for each in order}
            bare = statistics.median(cpu for _, cpu, _ in took["none"])
            watched = statistics.median(cpu for _, cpu, _ in took[str(carried)])
            hooks = [hook for *_, hook in took[str(carried)]]
            ratios.append(watched / bare)
            inside.append(statistics.median(hooks))
            print(
                f"pair {number + 1}: step {1e3 * bare:.1f} ms bare, {1e3 * watched:.1f} ms guarded (CPU, median); "
                f"inside our hooks {1e6 * statistics.median(hooks):.0f} us a step, worst {1e6 * max(hooks):.0f} us"
            )
    ratio, hooks_s = statistics.median(ratios), statistics.median(inside)
    print(
        f"ratio guarded/bare, median of {pairs} pairs: {ratio:.4f}; inside the hooks {1e6 * hooks_s:.0f} us a step, "
        f"{100 * hooks_s / TYPICAL_STEP_S:.4f} % of a step of {TYPICAL_STEP_S:g} s"
    )


def synthetic(steps: int) -> None:
    """Print time and memory of so many healthy steps through `Guard.observe`, each with some 20 metrics."""
    guard = Guard(Options(), rank=0)
    clock, at = 0.0, max(1, steps // 4)
    print(f"{steps} synthetic steps:", end="", flush=True)
    for step, points in groupby(healthy_run(1, steps), key=lambda each: each.step):
        row = {each.name: each.value for each in points}
        began = time.process_time()
        guard.observe(step or 0, row)
        clock += time.process_time() - began
        if step and step % at == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"  {step}: {1e6 * clock / at:.0f} us each, {peak:.0f} MiB", end="", flush=True)
            clock = 0.0
    guard.close()
    print(f"  alarms: {len(guard.findings)}")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, default=ROOT / ".venv-real" / "bin" / "python", help="has TRL")
    parser.add_argument("--pairs", type=int, default=5, help="trainings with and without the guard; 0: none")
    parser.add_argument("--train-steps", type=int, default=40)
    parser.add_argument("--steps", type=int, nargs="*", default=[100_000], help="synthetic steps")
    asked: Any = parser.parse_args()
    for steps in asked.steps:
        synthetic(steps)
    if asked.pairs:
        compare(asked.python.absolute(), asked.pairs, asked.train_steps)


if __name__ == "__main__":
    main()
