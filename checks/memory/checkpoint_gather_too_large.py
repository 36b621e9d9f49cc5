"""The GPU memory ran out while a checkpoint was written.

## What it means
A whole state dict is gathered on one rank, on its GPU, beside everything that lies there already.
## What it does to a run
Training works until the first save.
## What to do
Save shards, or gather to the host.
## How it is found
The exception of torch's allocator, and the phase that its traceback tells.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from __future__ import annotations

from doctor.checks.memory._oom import OUT_OF_MEMORY, finding, told
from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM015", name="checkpoint-gather-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory while saving a checkpoint: {asked} more wanted{of}{free}",
        "Saving gathered the sharded weights as whole tensors on this GPU, beside the training's own memory.",
        "Save shards instead (`fsdp_state_dict_type: SHARDED_STATE_DICT`, ZeRO-3 "
        "`stage3_gather_16bit_weights_on_model_save: false` and `zero_to_fp32.py` afterwards) or "
        "gather to the CPU (`offload_to_cpu=True`).",
    ),
    zh=Words(
        "保存检查点时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "保存时在该 GPU 上把分片权重聚合成完整张量,而训练自身的显存仍在。",
        "改为保存分片(`fsdp_state_dict_type: SHARDED_STATE_DICT`;ZeRO-3 设 "
        "`stage3_gather_16bit_weights_on_model_save: false`,之后运行 `zero_to_fp32.py`),或聚合到 "
        "CPU(`offload_to_cpu=True`)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "save") else None
