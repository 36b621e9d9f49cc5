"""Which cards compute in bf16, and which models were saved in it: what several areas advise a precision by."""

from __future__ import annotations

from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.world import World

#: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#arithmetic-instructions
NATIVE_BF16 = (8, 0)


def bf16_native(gpus: Gpus | None, world: World | None) -> bool | None:
    """Tell whether the cards that the run sees compute in bf16 (compute capability 8.0); None where it is not known."""
    if gpus is None:
        return None
    visible = world.visible_gpus if world is not None else None
    seen = [each for each in gpus.gpus if visible is None or each.index in visible]
    if any(each.compute_capability is None for each in seen) or not seen:
        return None
    return all((each.compute_capability or NATIVE_BF16) >= NATIVE_BF16 for each in seen)


def saved_in_bf16(model: Model | None) -> bool:
    """Tell whether a model is known to be saved in bf16."""
    return model is not None and (model.torch_dtype or "").removeprefix("torch.") == "bfloat16"
