"""Steps of a transformer on the GPU, in turns alone and with the sampler beside them: step_beside.py ROUNDS.

Prints the median milliseconds of a step of both, by the host's clock after a synchronisation.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import torch

ROUNDS, SECONDS = int(sys.argv[1]), 6
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0)
model = torch.nn.TransformerEncoder(layer, 8, enable_nested_tensor=False).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
batch = torch.randn(32, 512, 1024, device="cuda")


def step() -> None:
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(batch).float().pow(2).mean()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()


def measured() -> list[float]:
    spent, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.perf_counter()
        step()
        spent.append(1000 * (time.perf_counter() - began))
    return spent


def sampler(folder: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "doctor", "monitor", "--pid", str(os.getpid()), "--no-live"]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=folder, start_new_session=True)


for _ in range(10):
    step()
found: dict[str, list[float]] = {"alone": [], "beside": []}
for name in ("alone", "beside", "beside", "alone") * ROUNDS:
    with tempfile.TemporaryDirectory() as folder:
        beside = sampler(folder) if name == "beside" else None
        if beside is not None:
            time.sleep(2)  # it has started
        found[name] += measured()
        if beside is not None:
            os.killpg(beside.pid, signal.SIGINT)
            beside.wait(30)
print("RESULT", json.dumps({name: statistics.median(times) for name, times in found.items()}))
