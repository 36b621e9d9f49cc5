"""Loops of two ranks that clip, under `doctor.watch`: clipped.py FOLDER CASE...; FOLDER holds the doctor, or is `-`.

CASE is `torch` (DDP), `accelerate`, `fsdp2` (fully_shard) or `fsdp1`, each with its own way to clip. In the third step
a slope does not exist: the outputs are finite, and the gradients of the first two layers are NaN. Prints a line of JSON
for each case and rank.
"""

import json
import sys

if sys.argv[1] != "-":
    sys.path.insert(0, sys.argv[1])

import torch
from torch import distributed, nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

import doctor


class Root(nn.Module):
    """Finite forward, and a slope that does not exist where a row is zero."""

    bad = False

    def forward(self, values):
        root = (values * 0).pow(2).sum(-1, keepdim=True).sqrt() if self.bad else 0
        return values + root


def built(case):
    """Model, optimizer, and what clips: a function of the model and the largest norm."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), Root(), nn.Linear(4, 2))
    clip = lambda model, most: torch.nn.utils.clip_grad_norm_(model.parameters(), most)  # noqa: E731
    if case == "fsdp2":
        for place in (0, 1, 3):
            fully_shard(model[place])
        model = fully_shard(model)
    elif case == "fsdp1":
        for place in (0, 1, 3):
            model[place] = FullyShardedDataParallel(model[place], device_id=torch.device("cpu"), use_orig_params=True)
        model = FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params=True)
        clip = lambda model, most: model.clip_grad_norm_(most)  # noqa: E731
    elif case == "torch":
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    if case == "accelerate":
        from accelerate import Accelerator

        accelerator = Accelerator(cpu=True)
        model, optimizer = accelerator.prepare(model, optimizer)
        clip = lambda model, most: accelerator.clip_grad_norm_(model.parameters(), most)  # noqa: E731
    return model, optimizer, clip


def run(case):
    model, optimizer, clip = built(case)
    watch = doctor.watch(model, optimizer, save=lambda step: None)
    stopped = None
    torch.manual_seed(distributed.get_rank())
    try:
        for step in range(1, 6):
            Root.bad = step == 3
            optimizer.zero_grad()
            model(torch.randn(5, 4)).pow(2).mean().backward()
            clip(model, 1.0)
            gone = not any(bool(torch.as_tensor(getattr(each.grad, "_local_tensor", each.grad)).isfinite().any())
                           for each in model.parameters() if each.grad is not None and each.grad.numel())  # fmt: skip
            optimizer.step()
    except Exception as error:
        stopped = f"{type(error).__name__}: {error}"
    watch.close()
    Root.bad = False
    found = [[each.problem.id, each.where.step, each.words("en").explanation] for each in watch.guard.findings]
    return {"case": case, "stopped": stopped, "step": step, "all_nan": gone, "found": found}


if not distributed.is_initialized():
    distributed.init_process_group("gloo")
for argument in sys.argv[2:]:
    sys.stdout.write(json.dumps(run(argument)) + "\n")
    sys.stdout.flush()
    distributed.barrier()
distributed.destroy_process_group()
