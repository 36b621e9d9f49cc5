"""A loop on a GPU in which a gradient is spoiled at step 5, under `doctor.watch`: spoiled.py nan|inf|overflow.

Prints what the weights look like behind it. `overflow`: a GradScaler whose scale cannot be kept.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["DOCTOR_RUN_DIR"] = str(Path("run").absolute())

import torch

import doctor
from doctor.monitors.guard.shield import GuardStop

CASE = sys.argv[1]
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda", init_scale=2.0**16, enabled=CASE == "overflow")
watch = doctor.watch(*([scaler] if CASE == "overflow" else []), model, optimizer, save=lambda _: None)


def train() -> int:
    """Steps that were made when the guard ended the loop."""
    for number in range(1, 31):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16 if CASE == "overflow" else torch.bfloat16):
            out = model(torch.randn(32, 256, device="cuda"))
        out = out.float() * (1e30 if CASE == "overflow" and number >= 5 else 1)
        loss = out.pow(2).mean()
        try:
            scaler.scale(loss).backward()
            if number == 5 and CASE in ("nan", "inf"):
                model[3].weight.grad[1, 2] = float(CASE)
            scaler.step(optimizer)
            scaler.update()
        except GuardStop:
            return number
    return 30


done = train()
watch.close()
finite = all(bool(each.isfinite().all()) for each in model.parameters())
print("RESULT", json.dumps({"finite": finite, "steps": done}))
