"""What a node's host memory must hold: offloaded states, the weights while they are loaded, and the processes.

- Every rank loads the model into host memory before it goes to its GPU, in the precision that was asked for; with FSDP
  and `fsdp_cpu_ram_efficient_loading` one rank does (https://huggingface.co/docs/accelerate/usage_guides/fsdp), with
  ZeRO-3 weights are cut as they are made, and the files are read by each rank all the same
  (https://huggingface.co/docs/transformers/deepspeed).
- Offloaded states are pinned, and buffers for their way to the GPU stand beside them: DeepSpeed's own estimate adds
  half (https://deepspeed.readthedocs.io/en/latest/memory.html, `additional_buffer_factor`).
- Releases of vLLM with a swap space take 4 GiB a GPU (https://docs.vllm.ai/en/v0.8.5/serving/engine_args.html,
  `--swap-space`).
- Python, CUDA, NCCL and the workers of a data loader: assumed.
"""

from __future__ import annotations

from doctor.sizing.setup import GIB, WIDTH, Setup
from doctor.sizing.states import States

#: DeepSpeed's `additional_buffer_factor`
BUFFERS = 1.5
SWAP_BYTES = 4 * GIB
#: of a training process with its workers: at least, as expected, at most; assumed
PROCESS_BYTES = (1 * GIB, 3 * GIB, 6 * GIB)


def host_of(setup: Setup, states: States) -> tuple[float, float, float]:
    """Bytes on one node: at least, as expected, at most. Loading and training come one after the other."""
    ranks = setup.ranks_on_node
    engines = (
        (ranks if setup.rollout.engine == "colocate" else setup.rollout.gpus) if setup.rollout.engine != "none" else 0
    )
    low, likely, high = (each * (ranks + engines) for each in PROCESS_BYTES)
    load_low, load_likely, load_high = _loading(setup)
    return (
        low + max(load_low, states.host * 0.85),
        likely + max(load_likely, states.host),
        high + max(load_high, states.host * 1.15 * BUFFERS) + engines * SWAP_BYTES,
    )


def _loading(setup: Setup) -> tuple[float, float, float]:
    """The weights on their way from the files to the GPUs; safetensors that are mapped need not all be resident."""
    copy = setup.shape.parameters * WIDTH[setup.weights] * (1 + setup.reference)
    if setup.bits is not None:  # cut and packed tensor by tensor
        return 0.0, 0.1 * copy * setup.ranks_on_node, copy * setup.ranks_on_node
    if setup.strategy.startswith("fsdp"):
        return 0.0, copy, copy * setup.ranks_on_node
    if setup.stage == 3:
        return 0.0, copy, copy * setup.ranks_on_node
    return 0.0, copy * setup.ranks_on_node, copy * setup.ranks_on_node * 1.1
