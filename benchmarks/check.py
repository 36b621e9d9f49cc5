"""Times `doctor --help` and `doctor check` beside the tools that people run today, in one run, and prints ratios.

    python benchmarks/check.py [--python PY] [--rounds 7]

Peers are taken from the environment of --python (default: this one), whichever are installed: torch's collect_env,
`trl env`, `accelerate env`, `transformers env`, `ds_report`. Wall time is the best of the rounds (the machine may be
noisy), memory the largest resident set of the process and its children.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BUDGETS = {
    "doctor --help": (0.10, None),
    "doctor check": (0.25, 60),
    "doctor check -- COMMAND": (0.40, 60),
}

SCRIPT = """
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

def reward(completions, **kwargs):
    return [float(len(completion)) for completion in completions]

config = GRPOConfig(output_dir="out", per_device_train_batch_size=8, num_generations=8, learning_rate=1e-6)
trainer = GRPOTrainer(model="Qwen/Qwen2.5-0.5B-Instruct", reward_funcs=reward, args=config,
                      train_dataset=load_dataset("json", data_files="data.jsonl", split="train"))
trainer.train()
"""
ACCELERATE = """compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: zero3.json
  zero3_init_flag: true
num_machines: 1
num_processes: 1
machine_rank: 0
"""
DEEPSPEED = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}'


@dataclass
class Timed:
    """One command: its best wall time, its processor time and its memory."""

    name: str
    argv: Sequence[str]
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    memory_mib: float = 0.0
    failed: str = ""


def run_once(timed: Timed, folder: Path) -> None:
    """Run a command once; what it prints is thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    wrapped = [sys.executable, "-c", _MEASURE, *timed.argv]
    done = subprocess.run(wrapped, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = done.stderr.decode(errors="replace").splitlines()
    measured = lines[-1].split() if lines and lines[-1].startswith("measured ") else []
    if not measured or int(measured[1]) not in (0, 1):
        timed.failed = (lines[-2] if len(lines) > 1 else "did not run")[:90]
        return
    timed.wall_s.append(float(measured[2]))
    timed.cpu_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    timed.memory_mib = max(timed.memory_mib, int(measured[3]) / 1024)
    assert wall >= timed.wall_s[-1]


#: runs in a small process of its own, so that the largest resident set is the command's and not that of an earlier one
_MEASURE = """
import resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
wall = time.perf_counter() - started
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stderr.write("\\nmeasured %d %f %d\\n" % (code, wall, usage.ru_maxrss))
"""


def commands(python: str) -> list[Timed]:
    """The doctor first, then every peer that is installed beside `python`."""
    doctor = [sys.executable, "-m", "doctor"]
    launch = ["accelerate", "launch", "--config_file", "zero3.yaml", "train_grpo.py", "--learning_rate", "1e-5"]
    out = [
        Timed("doctor --help", [*doctor, "--help"]),
        Timed("doctor check", [*doctor, "check", "--python", python]),
        Timed("doctor check -- COMMAND", [*doctor, "check", "--python", python, "--", *launch]),
    ]
    folder = Path(python).parent
    peers = [
        ("trl --help", "trl", ["--help"]),
        ("trl env", "trl", ["env"]),
        ("accelerate env", "accelerate", ["env"]),
        ("transformers env", "transformers", ["env"]),
        ("ds_report", "ds_report", []),
    ]
    for name, program, arguments in peers:
        path = folder / program if (folder / program).exists() else shutil.which(program)
        if path:
            out.append(Timed(name, [str(path), *arguments]))
    has_torch = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    if has_torch:
        out.append(Timed("torch collect_env", [python, "-m", "torch.utils.collect_env"]))
    return out


def prepare(folder: Path) -> None:
    """A launch command's files, healthy ones."""
    (folder / "train_grpo.py").write_text(SCRIPT)
    (folder / "zero3.yaml").write_text(ACCELERATE)
    (folder / "zero3.json").write_text(DEEPSPEED)
    (folder / "data.jsonl").write_text('{"prompt": "1 + 1 ="}\n' * 500)


def show(results: list[Timed]) -> None:
    """A table: best wall time, memory, how many times the doctor's, and the budget where there is one."""
    base = next(each for each in results if each.name == "doctor check")
    print(f"{'command':26} {'best s':>8} {'median s':>9} {'CPU s':>7} {'MiB':>6} {'x doctor check':>15}  budget")
    for each in results:
        if each.failed or not each.wall_s:
            print(f"{each.name:26} did not run: {each.failed}")
            continue
        best, median = min(each.wall_s), sorted(each.wall_s)[len(each.wall_s) // 2]
        limit_s, limit_mib = BUDGETS.get(each.name, (None, None))
        within = "" if limit_s is None else ("within" if best <= limit_s else "OVER") + f" {limit_s} s"
        within += (
            ""
            if limit_mib is None
            else (", within" if each.memory_mib <= limit_mib else ", OVER") + f" {limit_mib} MiB"
        )
        ratio = best / min(base.wall_s)
        cpu = min(each.cpu_s)
        print(f"{each.name:26} {best:8.3f} {median:9.3f} {cpu:7.2f} {each.memory_mib:6.0f} {ratio:15.1f}  {within}")


def main() -> None:
    """Time everything, one round after the other, so that noise falls on all alike."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="interpreter whose environment is examined")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # set in containers; it makes every start compile everything anew
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        results = commands(str(Path(chosen.python).absolute()))  # the commands run in another folder
        for number in range(chosen.rounds + 1):
            for each in results:
                if not each.failed:
                    run_once(each, folder)
                    if number == 0 and each.wall_s:  # the first round only warms the caches
                        each.wall_s.clear()
                        each.cpu_s.clear()
        show(results)


if __name__ == "__main__":
    main()
