"""A loop on a GPU under `doctor.watch`, in turns with and without it; prints what each costs, as JSON.

watched.py scaler|bf16 [STEPS]: fp16 under a GradScaler, or bf16 without one. For each step: milliseconds by the GPU's
own clock, milliseconds until the host had handed the step out, and how often the host waited for the GPU
(`torch.cuda.set_sync_debug_mode`, which warns at each such wait).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings

import torch

import doctor
from doctor.monitors.guard.loop import LoopWatch

KIND, STEPS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
HALF = torch.float16 if KIND == "scaler" else torch.bfloat16

torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0)
model = torch.nn.TransformerEncoder(layer, 24, enable_nested_tensor=False).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
scaler = torch.amp.GradScaler("cuda", enabled=KIND == "scaler")
batch = torch.randn(16, 256, 1024, device="cuda")
inside = [0.0]


def clocked(name: str) -> None:
    original = getattr(LoopWatch, name)

    def timed(*args):
        began = time.perf_counter()
        try:
            return original(*args)
        finally:
            inside[0] += time.perf_counter() - began

    setattr(LoopWatch, name, timed)


for each in ("_refuse", "_behind", "_keep_call"):
    clocked(each)


def step() -> None:
    optimizer.zero_grad()
    with torch.autocast("cuda", HALF):
        loss = model(batch).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def measured(count: int) -> dict[str, float]:
    rows = []
    for _ in range(count):
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        inside[0], began = 0.0, time.perf_counter()
        torch.cuda.set_sync_debug_mode("warn")
        with warnings.catch_warnings(record=True) as waits:
            warnings.simplefilter("always")
            start.record()
            step()
            end.record()
        torch.cuda.set_sync_debug_mode("default")
        host = time.perf_counter() - began
        end.synchronize()
        rows.append((start.elapsed_time(end), 1000 * host, len(waits), 1e6 * inside[0]))
    kept = rows[2:]
    return {
        "gpu_ms": statistics.median(each[0] for each in kept), "host_ms": statistics.median(each[1] for each in kept),
        "waits": max(each[2] for each in kept), "inside_us": statistics.median(each[3] for each in kept),
    }  # fmt: skip


def put_on():
    objects = (scaler, model, optimizer) if KIND == "scaler" else (model, optimizer)
    return doctor.watch(*objects, save=lambda _: None)


measured(6)
found = {"with": [], "without": []}
for name in ("without", "with", "with", "without") * 2:
    watch = put_on() if name == "with" else None
    found[name].append(measured(STEPS))
    if watch is not None:
        watch.close()
print("RESULT", json.dumps(found))
