"""What the guard costs: the same GRPO training with and without it, a plain loop, and synthetic steps through its core.

    python benchmarks/guard.py [--python .venv-real/bin/python] [--quads 20] [--steps 100000 1000000]

The training is the tiny model of `tests/real` on a CPU, whose steps last some tenths of a second: a real step lasts
seconds to minutes and the guard's part of it is accordingly smaller. All completions have the same length, so that all
steps do the same work. In ONE process the guard is put on and taken off every few steps, without, with, with, without:
each such four gives one ratio, from which a drift of the machine falls out; the interval tells what is left of its
noise. Times are the process's own CPU time, which other programs on the machine lengthen too (caches, two threads on a
core): the ratio to trust is that of the instructions that the process executed, counted by the processor where Linux
lets a user count his own (`perf_event_paranoid` 2 or less). Two processes, one with the guard and one without, differ
by five per cent and more on a busy machine, also where neither has it.
"""

from __future__ import annotations

import argparse
import json
import math
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

from doctor.monitors.guard.guard import Guard  # noqa: E402
from doctor.monitors.guard.options import Options  # noqa: E402
from doctor.readers.patient.carry import carry, rule_modules  # noqa: E402
from tests.rules.healthy_run import healthy_run  # noqa: E402

#: seconds that a small GRPO step takes on real hardware, for the share that is printed
TYPICAL_STEP_S = 10.0

#: steps between two switches; the first one behind a switch is not counted, and the last one is logged
BLOCK = 6

#: instructions of this process and of threads that it starts from now on, outside of the kernel; 0 where uncounted
COUNTER = """
import ctypes, os, struct
def counter():
    # perf_event_attr of linux/perf_event.h: hardware event 1; bits inherit, exclude_kernel, exclude_hv
    attributes = bytearray(120)
    struct.pack_into("<IIQ", attributes, 0, 0, 120, 1)
    struct.pack_into("<Q", attributes, 40, 1 << 1 | 1 << 5 | 1 << 6)
    raw = (ctypes.c_char * 120).from_buffer(attributes)
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    file = -1 if number is None else ctypes.CDLL(None).syscall(number, raw, 0, -1, -1, 0)
    return (lambda: struct.unpack("Q", os.read(file, 8))[0]) if file >= 0 else (lambda: 0)
instructions = counter()
"""

#: the training, with a clock around all that is ours: the events of the callback, and what stands around methods of the
#: trainer and around its reward functions, but not those themselves. What the clock takes itself is taken off.
TRAINING = (
    COUNTER
    + """
import functools, json, sys, time
carried, model, programs, quads, block = *sys.argv[1:4], *map(int, sys.argv[4:6])
sys.path[:0] = [carried]
sys.path.append(programs)
import tiny
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from doctor import DoctorCallback
from doctor.monitors.guard import phase_marks, rewards, trainer_hooks
class Clock:
    running, began, spent = False, 0, 0
    def __init__(self, read):
        self.read, self.own = read, 0
        empty = []
        for _ in range(99):
            self.spent = 0
            self.start()
            self.stop()
            empty.append(self.spent)
        self.spent, self.own = 0, sorted(empty)[49]
    def start(self):
        self.running = True
        self.began = self.read()
    def stop(self):
        self.spent += self.read() - self.began - self.own
        self.running = False
seconds, counts = Clock(time.thread_time), Clock(instructions)
clock = seconds
def timed(function):
    @functools.wraps(function)
    def clocked(*args, **kwargs):
        if clock.running: return function(*args, **kwargs)
        clock.start()
        try: return function(*args, **kwargs)
        finally: clock.stop()
    return clocked
def paused(function):
    @functools.wraps(function)
    def unclocked(*args, **kwargs):
        clock.stop()
        try: return function(*args, **kwargs)
        finally: clock.start()
    return unclocked
for name in [each for each in vars(DoctorCallback) if each.startswith("on_") and not each.startswith("on_train")]:
    setattr(DoctorCallback, name, timed(getattr(DoctorCallback, name)))
for module in (trainer_hooks, phase_marks):
    module.wrap = lambda owner, name, around, wrap=module.wrap: wrap(
        owner, name, lambda original: timed(around(paused(original))))
rewards.Rewards._watched = lambda self, function, name, watched=rewards.Rewards._watched: timed(
    watched(self, paused(function), name))
class Switch(TrainerCallback):
    guard, began, hooks, count, blocks = None, None, 0, 0, []
    def on_step_begin(self, args, state, control, **_):
        now, count, place = time.process_time(), instructions(), state.global_step % block
        if self.began is not None and place != 1:  # a step of the block before, and not its first one
            self.blocks[-1].append([now - self.began, count - self.count, clock.spent - self.hooks, clock is seconds])
        if place == 0 and len(self.blocks) <= 4 * quads:
            self.switch((0, 1, 1, 0)[len(self.blocks) % 4], args, state, control)
            self.blocks.append([])
        self.began, self.count, self.hooks = time.process_time(), instructions(), clock.spent
    def switch(self, on, *event):
        global clock
        if on and self.guard is None:
            clock = counts if clock is seconds else seconds  # in turns, for to count takes long
            self.guard = DoctorCallback(trainer)
            trainer.callback_handler.callbacks.append(self.guard)
            self.guard.on_train_begin(*event)
        elif self.guard is not None and not on:
            self.guard.detach()
            trainer.callback_handler.callbacks.remove(self.guard)
            self.guard = None
config = GRPOConfig(output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=32,
    generation_kwargs={"min_new_tokens": 32}, max_steps=(4 * quads + 1) * block + 1, logging_steps=block,
    learning_rate=1e-4, report_to=[], use_cpu=True, bf16=False, save_strategy="no", seed=1, disable_tqdm=True)
switch = Switch()
trainer = GRPOTrainer(model=model, reward_funcs=tiny.variety, args=config, train_dataset=tiny.sums(),
    processing_class=tiny.tokenizer(), callbacks=[switch])
trainer.train()
print("RESULT", json.dumps(switch.blocks))
"""
)

#: a plain loop of 24 layers under `doctor.watch`, which looks at every gradient: nothing clips here
LOOP = """
import json, sys, time
sys.path[:0] = [sys.argv[1]]
import torch, doctor
from doctor.monitors.guard.loop import LoopWatch
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, dropout=0.0)
model = torch.nn.TransformerEncoder(layer, 24, enable_nested_tensor=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
spent = []
def timed(name):
    original = getattr(LoopWatch, name)
    def clocked(*args):
        began = time.thread_time()
        try: return original(*args)
        finally: spent[-1] += time.thread_time() - began
    setattr(LoopWatch, name, clocked)
for name in ("_refuse", "_behind", "_keep_call"): timed(name)
watch = doctor.watch(model, optimizer, save=print)
steps, batch = [], torch.randn(8, 64, 64)
for _ in range(int(sys.argv[2])):
    spent.append(0.0)
    began = time.process_time()
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()
    steps.append((time.process_time() - began, spent[-1]))
print("RESULT", json.dumps(steps[3:]))
"""

#: what clipping costs with the norms kept and without, in turns: CPU time and instructions of the call, and of the step
CLIPPING = (
    COUNTER
    + """
import json, sys, time
sys.path[:0] = [sys.argv[1]]
import torch
from doctor.monitors.guard.norms import Norms
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, dropout=0.0)
model = torch.nn.TransformerEncoder(layer, 24, enable_nested_tensor=False)
parameters, batch = list(model.parameters()), torch.randn(8, 64, 64)
blocks = []
for block in range(4 * int(sys.argv[2]) + 1):
    norms = Norms() if block % 4 in (2, 3) else None  # the first block warms up
    rows = []
    for _ in range(6):
        if norms is not None: norms.forget()
        model.zero_grad()
        begun, counted = time.process_time(), instructions()
        model(batch).pow(2).mean().backward()
        before, count = time.process_time(), instructions()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        ended, told = time.process_time(), instructions()
        rows.append([ended - begun, told - counted, ended - before, told - count])
    if norms is not None: norms.close()
    if block: blocks.append(rows[1:])
print("RESULT", json.dumps(blocks))
"""
)

#: work of plain Python and of torch with the thread that answers `doctor hang` and without it, a process each
LISTENING = (
    COUNTER
    + """
import json, os, sys, threading, time
sys.path[:0] = [sys.argv[1]]
import torch
torch.set_num_threads(1)
from doctor.monitors.capsule import siblings
if sys.argv[2] == "1": siblings.listen(lambda to: None)
thread = next((each for each in threading.enumerate() if each.name == "doctor-capsule-siblings"), None)
def own():
    if thread is None: return 0.0, 0
    status = open(f"/proc/self/task/{thread.native_id}/status").read()
    switches = sum(int(line.split()[1]) for line in status.splitlines() if "ctxt_switches" in line)
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident)), switches
def work(steps):
    held, at = torch.ones(64, 64), 0
    for _ in range(steps):
        held = held @ held / 64
        at = sum(number * number for number in range(200))
work(2000)
time.sleep(0.1)
cpu, switches = own()
begun, counted = time.process_time(), instructions()
work(20000)
spent, count = time.process_time() - begun, instructions() - counted
after, more = own()
print("RESULT", json.dumps([spent, count, after - cpu, more - switches]))
"""
)


def result(argv: list[str], folder: Path) -> Any:
    """What a program prints behind RESULT; ends the benchmark where it prints nothing."""
    (folder / "run").mkdir(parents=True, exist_ok=True)
    env = {
        **os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
        "DOCTOR_RUN_DIR": str(folder / "run"), "DS_ACCELERATOR": "cpu",
    }  # fmt: skip
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    line = next((each for each in done.stdout.splitlines() if each.startswith("RESULT ")), None)
    if line is None:
        sys.exit(f"the training failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(line[len("RESULT ") :])


def compare(python: Path, quads: int) -> None:
    """Print what a step of GRPO costs with the guard and without, and one of a plain loop."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        carried = carry(["doctor.run.phases", "doctor.monitors.guard", *rule_modules()], folder / "carried")
        model = folder / "model"
        save = ROOT / "tests" / "real" / "programs" / "save_model.py"
        subprocess.run([str(python), str(save), str(model)], cwd=folder, capture_output=True, check=True)
        programs = str(ROOT / "tests" / "real" / "programs")
        argv = [str(python), "-c", TRAINING, str(carried), str(model), programs, str(quads), str(BLOCK)]
        tell_training(result(argv, folder))
        steps = result([str(python), "-c", LOOP, str(carried), "40"], folder)
        step_s, hooks_s = (statistics.median(each) for each in zip(*steps, strict=True))
        print(
            f"plain loop of 24 layers: step {1e3 * step_s:.1f} ms (CPU, median), inside our hooks "
            f"{1e6 * hooks_s:.0f} us, {100 * hooks_s / step_s:.2f} %"
        )


def compare_parts(python: Path, quads: int) -> None:
    """Print what keeping the norms costs a clipping, and what the thread costs that answers `doctor hang`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        carried = carry(["doctor.monitors.guard.norms", "doctor.monitors.capsule.siblings"], folder / "carried")
        blocks = result([str(python), "-c", CLIPPING, str(carried), str(quads)], folder)
        print("norms kept while clipping 288 tensors:")
        for column, what in enumerate(("step, CPU time", "step, instructions", "clipping, CPU time",
                                       "clipping, instructions")):  # fmt: skip
            if any(step[column] for block in blocks for step in block):
                tell_ratio(blocks, column, what)
        for column, unit in ((2, 1e-6), (3, 1e3)):
            bare, kept = (
                statistics.median(step[column] for at, block in enumerate(blocks) if at % 4 in places for step in block)
                for places in ((0, 3), (1, 2))
            )
            print(f"  clipping without {bare / unit:.0f}, with {kept / unit:.0f} {'us' if column == 2 else 'thousand'}")
        alone = [result([str(python), "-c", LISTENING, str(carried), on], folder) for on in "0110"]
    own = alone[1:3]
    print(
        f"the thread that answers `doctor hang`, nobody asking: {1e6 * max(each[2] for each in own):.0f} us of CPU "
        f"time and {max(each[3] for each in own)} switches to it in {min(each[0] for each in own):.1f} s of work"
    )
    if alone[0][1]:
        print(f"  instructions with/without {sum(each[1] for each in own) / (alone[0][1] + alone[3][1]):.4f}")


#: of each step: CPU time, instructions, and what of the one or the other is spent inside the hooks: is it the time?
Blocks = list[list[tuple[float, float, float, bool]]]


def tell_training(blocks: Blocks) -> None:
    """Print the ratios of each four blocks (without, with, with, without), and what is spent inside the hooks."""
    bare_s = statistics.median(cpu for at, block in enumerate(blocks) if at % 4 in (0, 3) for cpu, *_ in block)
    print(f"GRPO: step {1e3 * bare_s:.1f} ms (CPU, median)")
    tell_ratio(blocks, 0, "CPU time")
    if blocks[0][0][1]:
        tell_ratio(blocks, 1, "instructions")
    guarded = [block for at, block in enumerate(blocks) if at % 4 in (1, 2)]
    tell_hooks("nothing to log", [step for block in guarded for step in block[:-1]], bare_s)
    second = [block for at, block in enumerate(blocks) if at % 4 == 2]  # in the first one each metric is met anew
    tell_hooks("twenty metrics to log", [block[-1] for block in second if block], bare_s)


def tell_hooks(name: str, steps: list[tuple[float, float, float, bool]], bare_s: float) -> None:
    """Print what such steps spend inside the hooks."""
    times = [inside for *_, inside, timed in steps if timed]
    counts = [inside for *_, inside, timed in steps if not timed]
    inside_s = statistics.median(times)
    print(
        f"  inside our hooks, a step with {name}: {1e6 * inside_s:.0f} us ({100 * inside_s / bare_s:.2f} %), worst "
        f"{1e6 * max(times):.0f} us, {statistics.median(counts) / 1000:.0f} thousand instructions; "
        f"{100 * inside_s / TYPICAL_STEP_S:.4f} % of a step of {TYPICAL_STEP_S:g} s"
    )


def tell_ratio(blocks: Blocks, column: int, name: str) -> None:
    """Print the median ratio of one figure with the guard to the same without, and its interval."""
    medians = [statistics.median(step[column] for step in block) for block in blocks if block]
    fours = [medians[at : at + 4] for at in range(0, len(medians) - 3, 4)]
    ratios = sorted((two + three) / (one + four) for one, two, three, four in fours)
    low, high = interval(ratios)
    print(
        f"  {name} guarded/bare {statistics.median(ratios):.4f}, 95 % interval {low:.4f} to {high:.4f} "
        f"({len(ratios)} times without, with, with, without)"
    )


def interval(ordered: list[float]) -> tuple[float, float]:
    """Of the median, at 95 %: by the binomial distribution of how many lie below it, whatever theirs is."""
    count, left = len(ordered), 0
    below = 0.5**count
    while below <= 0.025 and left < count // 2:
        left += 1
        below += math.comb(count, left) * 0.5**count
    left = max(left - 1, 0)
    return ordered[left], ordered[count - 1 - left]


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
    parser.add_argument(
        "--quads", type=int, default=20, help="times without, with, with, without, at least 2; 0: no training"
    )
    parser.add_argument("--parts", action="store_true", help="norms and listening thread alone; any Python with torch")
    parser.add_argument("--steps", type=int, nargs="*", default=[100_000], help="synthetic steps")
    asked: Any = parser.parse_args()
    if asked.parts:
        compare_parts(asked.python.absolute(), asked.quads)
        return
    for steps in asked.steps:
        synthetic(steps)
    if asked.quads:
        compare(asked.python.absolute(), asked.quads)


if __name__ == "__main__":
    main()
