"""Whether the ranks of this run share out sequences or layers, so that no forward can be made by one of them alone.

Libraries keep such groups in a variable of a module, and copies of these modules keep its name: DeepSpeed's Ulysses
(https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/sequence_parallel/parallel_state_sp.py), veRL's
and what was taken from it (https://github.com/verl-project/verl/blob/main/verl/utils/ulysses.py), Megatron's
(https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/parallel_state.py).

Runs inside the patient: Python 3.9, the standard library; imports nothing of the patient's.
"""

from __future__ import annotations

import sys
from typing import Any

#: variables of modules that hold a process group
_GROUPS = (
    "_SEQUENCE_PARALLEL_GROUP", "_ULYSSES_SEQUENCE_PARALLEL_GROUP", "_CONTEXT_PARALLEL_GROUP",
    "_TENSOR_MODEL_PARALLEL_GROUP",
)  # fmt: skip

#: where an engine that lies in this process keeps its own
_ENGINES = ("vllm", "sglang")

#: DeepSpeed's other way to say it, `deepspeed.initialize(mesh_param=...)`, with the name of the dimension
_MESH, _DIMENSION = "deepspeed.utils.groups", "sequence_parallel"


def ranks_compute_together() -> bool:
    """Whether a group of more than one rank is in use that takes a sequence, or a layer, in parts."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _ENGINES:
            continue
        held = getattr(module, "__dict__", None) or {}
        if any(_size(held.get(each)) > 1 for each in _GROUPS):
            return True
    mesh = getattr(sys.modules.get(_MESH), "mesh_device", None)
    return mesh is not None and _of_mesh(mesh) > 1


def _size(group: Any) -> int:
    """Ranks of a process group; 1 where it is none."""
    size = getattr(group, "size", None)
    try:
        told = size() if callable(size) else 1
    except Exception:  # noqa: BLE001 - a group that was destroyed, or an object of another kind
        return 1
    return told if isinstance(told, int) else 1


def _of_mesh(mesh: Any) -> int:
    names = getattr(mesh, "mesh_dim_names", None) or ()
    return int(mesh.size(names.index(_DIMENSION))) if _DIMENSION in names else 1
