"""Plain PyTorch loops of several ranks under `doctor.watch`: torch_ranks.py WRAPPER:BAD...

WRAPPER is `ddp`, `scaler` (DDP, fp16 and a GradScaler), `fsdp` (torch's fully_shard) or `fsdp1`
(FullyShardedDataParallel). BAD is `never`, or something at STEP/RANK on one rank alone: `nan` (the loss), `activation`
(one element in layer 2), `skipped` (the same, and the policy drops the step and goes on; `byhand` makes all ranks leave
that step out; `raises` and `slow` are as `skipped`, and the forward that is run again fails on that rank between two
layers, or lasts longer than the search may). `fails` is a NaN loss on all ranks while the guard of one fails in its
search, `absent` the same while one rank does not come to agree. Prints one line of JSON for each case and rank.
"""

import json
import sys
import time

import torch
from torch import distributed
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
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
    if wrapper == "fsdp1":
        for place in (0, 2):
            model[place] = FullyShardedDataParallel(model[place], device_id=torch.device("cpu"), use_orig_params=True)
        return FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params=True)
    return DistributedDataParallel(model)


def layer(model, place):
    """A layer below whatever wraps it."""
    inner = getattr(model, "module", model)[place]
    return getattr(inner, "module", inner)


class Spoilt:
    """What goes wrong at one step of one rank."""

    def __init__(self, bad, model):
        self.kind, _, place = bad.partition("@")
        at, _, rank = place.partition("/")
        self.at, self.step = int(at or 0), 0
        self.here = int(rank or -1) == distributed.get_rank()
        if self.kind in {"activation", "skipped", "raises", "slow"}:
            layer(model, 2).register_forward_hook(self.spoil)
        if self.kind in {"raises", "slow"}:
            layer(model, 0).register_forward_hook(self.hold_up)

    @property
    def now(self):
        return self.step == self.at

    def spoil(self, _module, _args, output):
        return output + torch.tensor([[0.0, float("nan")]]) if self.now and self.here else None

    def hold_up(self, _module, _args, _output):
        if self.here and not torch.is_grad_enabled():
            if self.kind == "raises":
                raise RuntimeError("it works once only")
            time.sleep(3.0)

    def loss(self, loss):
        bad = self.now and (self.kind in {"fails", "absent"} or (self.kind == "nan" and self.here))
        return loss * float("nan") if bad else loss

    def guard(self, watch):
        """Let the guard of this rank fail, or stay away from the others, when they search together."""
        group, whole = watch.guard.group, watch.guard.group.gathered

        def gathered(*args):
            if self.now and self.here and self.kind == "fails":
                raise RuntimeError("a bug of the guard")
            if self.now and self.here and self.kind == "absent":
                group.complete = False
                group.left = True
                return None
            return whole(args[0], 3.0) if self.now and self.kind == "absent" else whole(*args)

        group.gathered = gathered


def run(case):
    wrapper, _, bad = case.partition(":")
    model = model_of(wrapper)
    spoilt = Spoilt(bad, model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8) if wrapper == "scaler" else None
    objects = [each for each in (scaler, model, optimizer) if each is not None]
    saved = []
    policy = {"NUM006": "skip-step"} if spoilt.kind in {"skipped", "raises", "slow"} else None
    watch = doctor.watch(*objects, save=saved.append, policy=policy, locate_s=2.0 if spoilt.kind == "slow" else 30.0)
    spoilt.guard(watch)
    torch.manual_seed(distributed.get_rank())
    stopped, began = None, time.monotonic()
    try:
        for spoilt.step in range(1, STEPS + 1):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16, enabled=scaler is not None):
                loss = spoilt.loss((model(torch.randn(4, 8)) - 1).float().pow(2).mean())
            if scaler is None:
                loss.backward()
                if not (spoilt.now and spoilt.kind == "byhand"):
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
        "case": case, "rank": distributed.get_rank(), "step": spoilt.step, "stopped": stopped, "saved": saved,
        "finite": all(bool(each.isfinite().all()) for each in weights), "missing": watch.missing,
        "sum": float(sum(each.detach().double().abs().sum() for each in weights)),
        "loss": float(loss.detach()), "seconds": time.monotonic() - began,
        "found": [[each.problem.id, each.where.step, each.words("en").headline] for each in watch.guard.findings],
    }  # fmt: skip


distributed.init_process_group("gloo")
for argument in sys.argv[1:]:
    sys.stdout.write(json.dumps(run(argument)) + "\n")
    sys.stdout.flush()
    distributed.barrier()
distributed.destroy_process_group()
