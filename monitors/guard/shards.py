"""Models of which each rank holds a part: fully_shard, FullyShardedDataParallel, and weights spread by DTensor.

Runs inside the patient: Python 3.9, its own torch. Told by names and attributes, so that nothing is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

#: classes of torch.distributed.fsdp: its first and its second one
SHARDED = ("FullyShardedDataParallel", "FSDPModule")


def is_any(module: Any, names: Sequence[str]) -> bool:
    """Whether an object is of one of these classes, or derived from one."""
    return any(each.__name__ in names for each in type(module).__mro__)


def sharded(model: Any) -> bool:
    """Whether a rank holds a part of the gradients alone, so that what it sees in them the others may not see."""
    if model is None:
        return False
    return any(is_any(each, SHARDED) for each in model.modules()) or any(
        hasattr(each, "full_tensor") for each in model.parameters()
    )


def let_go(model: Any) -> None:
    """Let go of whole weights that a forward without a backward has left on this rank.

    FSDP keeps some for the backward that it expects, and would take them for current after the next optimizer step:
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py (reshard)
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/fsdp/_runtime_utils.py (_post_forward_reshard)
    """
    for module in model.modules():
        with suppress(Exception):  # one that cannot is as after an evaluation of the user's own
            if is_any(module, SHARDED[1:]):
                module.reshard()
            elif is_any(module, SHARDED[:1]) and module._handle is not None:  # noqa: SLF001 - nothing public lets go
                module._handle.reshard(True)  # noqa: SLF001
                module._handle.post_reshard()  # noqa: SLF001
                module._handle._prefetched = False  # noqa: SLF001
