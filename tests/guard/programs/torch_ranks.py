"""Plain PyTorch loops of several ranks under `doctor.watch`: torch_ranks.py WRAPPER:BAD...

WRAPPER is `ddp`, `scaler` (DDP, fp16 and a GradScaler) or `fsdp` (torch's fully_shard); BAD is `never`, or
`nan@STEP/RANK`, for a NaN loss on one rank. Prints one line of JSON for each case and rank.
"""

import json
import sys

import torch
from torch import distributed
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import doctor

STEPS = 24


def model_of(wrapper):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 2))
    if wrapper == "fsdp":
        for layer in (model[0], model[2]):
            fully_shard(layer)
        return fully_shard(model)
    return DistributedDataParallel(model)


def run(case):
    wrapper, _, bad = case.partition(":")
    _, _, place = bad.partition("@")
    at, _, rank = place.partition("/")
    model = model_of(wrapper)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8) if wrapper == "scaler" else None
    objects = [each for each in (scaler, model, optimizer) if each is not None]
    saved = []
    watch = doctor.watch(*objects, save=saved.append)
    torch.manual_seed(distributed.get_rank())
    step, stopped = 0, None
    try:
        for step in range(1, STEPS + 1):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16, enabled=scaler is not None):
                loss = (model(torch.randn(4, 8)) - 1).float().pow(2).mean()
            if at and step == int(at) and distributed.get_rank() == int(rank):
                loss = loss * float("nan")
            if scaler is None:
                loss.backward()
                optimizer.step()
            else:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
    except Exception as error:
        stopped = f"{type(error).__name__}: {error}"
    weights = [each.to_local() if hasattr(each, "to_local") else each for each in model.parameters()]
    watch.close()
    return {
        "case": case, "rank": distributed.get_rank(), "step": step, "stopped": stopped, "saved": saved,
        "finite": all(bool(each.isfinite().all()) for each in weights), "missing": watch.missing,
        "found": [[each.problem.id, each.where.step, each.words("en").headline] for each in watch.guard.findings],
    }  # fmt: skip


distributed.init_process_group("gloo")
for argument in sys.argv[1:]:
    sys.stdout.write(json.dumps(run(argument)) + "\n")
    sys.stdout.flush()
    distributed.barrier()
distributed.destroy_process_group()
