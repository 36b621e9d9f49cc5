"""One large step beside the optimizer's own, for an engine that does not follow cannot be told at a rate of 1e-6.

Between two such policies the same tokens differ by less than an engine differs from itself. So the trained weights are
moved far, once, between the first and the second step; the trainer then pushes them in its own way, and the witness
compares what trainer and engine say of the same tokens. It judges here as it does in a live run.
"""

from __future__ import annotations

import random
from typing import Any

from doctor.monitors.guard.shards import sharded
from doctor.monitors.rehearse import journal, moved
from doctor.monitors.rehearse.settings import settings

#: share of a tensor's spread by which its values are moved, and the step where it has none (the zeros of an adapter)
_SHARE, _ALONE = 0.5, 0.05
_SEED = 11
#: where trainers of TRL keep an engine
_ENGINES = ("vllm_generation", "vllm_client", "llm")


def has_engine(trainer: Any) -> bool:
    """Whether rollouts come from another program's copy of the weights."""
    return any(getattr(trainer, each, None) is not None for each in _ENGINES)


@journal.shielded
def enlarge(trainer: Any, model: Any, made: int) -> None:
    """Move the trained weights far, where a run has an engine and has just made its first step; alike on all ranks.

    Args:
        trainer: that trains.
        model: as its callbacks are given it; None: the trainer's own.
        made: steps of this pass.

    """
    if made != 1 or settings().null or settings().resume or not settings().tiny or not has_engine(trainer):
        return
    model = trainer.model if model is None else model
    named = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
    if sharded(model) or any(hasattr(each, "ds_id") for _, each in named):
        journal.left_out("weight_update", "in_parts")
        return
    moved.so_far(trainer, model)
    for name, each in named:
        _move(name, each)
    moved.remember(trainer, model)
    journal.write("enlarged", tensors=len(named))


def _move(name: str, parameter: Any) -> None:
    """Add noise to one tensor, the same wherever the name is the same."""
    import torch

    if not parameter.is_floating_point() or not parameter.numel():
        return
    source = torch.Generator().manual_seed(random.Random(f"{_SEED}{name}").getrandbits(32))  # noqa: S311 - no secret
    with torch.no_grad():
        spread = float(parameter.float().std()) if parameter.numel() > 1 else 0.0
        noise = torch.randn(parameter.shape, generator=source) * (_SHARE * spread or _ALONE)
        parameter.add_(noise.to(parameter.device, parameter.dtype))
