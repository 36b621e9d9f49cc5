"""Models of which each rank holds a part: fully_shard, FullyShardedDataParallel, and weights spread by DTensor.

Runs inside the patient: Python 3.9, its own torch. Told by names and attributes, so that nothing is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

#: classes of torch.distributed.fsdp: its first and its second one
SHARDED = ("FullyShardedDataParallel", "FSDPModule")

#: classes whose forward begins with a collective, and whose ranks all make each step
GATHERING = ("DistributedDataParallel", *SHARDED)


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


def gathers(module: Any) -> bool:
    """Whether entering this module is a collective: it is sharded, its buffers are sent round, or ZeRO-3 gathers it.

    https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/zero/parameter_offload.py
    """
    if is_any(module, GATHERING) or hasattr(module, "_external_params") or getattr(module, "_z3_leaf", False):
        return True
    return any(hasattr(each, "ds_id") for each in module._parameters.values())  # noqa: SLF001 - its own alone


def let_go(model: Any) -> None:
    """Let go of whole weights that a forward without a backward has left on this rank.

    FSDP keeps some for the backward that it expects, and would take them for current after the next optimizer step. A
    forward that was broken off leaves it in the midst of one, and it would save no checkpoint then.
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py (reshard)
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/fsdp/_runtime_utils.py (_post_forward_reshard)
    """
    for module in model.modules():
        with suppress(Exception):  # one that cannot is as after an evaluation of the user's own
            if is_any(module, SHARDED[1:]):
                _let_go_of_second(module)
            elif is_any(module, SHARDED[:1]):
                _let_go_of_first(module)


def _let_go_of_first(module: Any) -> None:
    """FullyShardedDataParallel; nothing public lets go."""
    module.training_state = type(module.training_state).IDLE
    handle = module._handle  # noqa: SLF001
    if handle is not None:
        handle._training_state = type(handle._training_state).IDLE  # noqa: SLF001
        handle.reshard(True)
        handle.post_reshard()
        handle._prefetched = False  # noqa: SLF001


def _let_go_of_second(module: Any) -> None:
    """A module of fully_shard; one that stands in a forward keeps its weights."""
    state = module._get_fsdp_state()  # noqa: SLF001
    groups = getattr(state, "_fsdp_param_groups", None) or [getattr(state, "_fsdp_param_group", None)]
    state._training_state = type(state._training_state).IDLE  # noqa: SLF001
    state._state_ctx.iter_forward_root = None  # noqa: SLF001
    getattr(state, "_modules_to_run_forward", set()).clear()
    for group in groups:
        if group is not None:
            group._training_state = type(group._training_state).IDLE  # noqa: SLF001
            group.wait_for_unshard()  # of one that is on its way; the others have none
    module.reshard()
