"""The GPU memory ran out while a checkpoint was written.

## What it means
A whole state dict is gathered on one rank, on its GPU, beside everything that lies there already.
## What it does to a run
Training works until the first save.
## What to do
Save shards, or gather to the host.
## How it is found
The exception of torch's allocator, and the phase that its traceback tells; or FSDP's warning that a weight could not
be copied out.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/distributed/fsdp/_state_dict_utils.py
https://github.com/lm-sys/FastChat/issues/256
https://github.com/lm-sys/FastChat/issues/1242
https://github.com/GanjinZero/RRHF/issues/30
"""

from __future__ import annotations

from doctor.checks.memory._oom import OUT_OF_MEMORY, finding, told
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM015", name="checkpoint-gather-too-large", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(OUT_OF_MEMORY),
    Signature(
        r"UserWarning: Failed to clone\(\) tensor with name (?P<weight>[\w.]{1,200}?)(?: on rank \d{1,5})?\. This may "
        r"mean[^\n]{1,600}? Error: (?:CUDA|HIP) out of memory",
        kind="warning",
    ),
)

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


#: FSDP 1 warns only, and the file is written with entries that point into freed memory
CLONE = Message(
    en=Words(
        "FSDP could not copy `{weight}` for the checkpoint: out of memory; the file may be broken",
        "The whole state dict is gathered on every GPU, and where a copy does not fit FSDP only warns: the entry then "
        "points into memory that is used again, so the saved weights can be garbage even where the run ends well.",
        "Do not use that checkpoint. Gather on the host and on rank 0 alone: `with FSDP.state_dict_type(model, "
        "StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):` around "
        "`model.state_dict()`; with Accelerate and Trainer `fsdp_state_dict_type: SHARDED_STATE_DICT` (join with "
        "`accelerate merge-weights`), or a newer release, which gathers so by itself.",
    ),
    zh=Words(
        "FSDP 无法为检查点复制 `{weight}`:显存不足;文件可能已损坏",
        "完整的状态字典在每张 GPU 上聚合,放不下副本时 FSDP 只给出警告:该条目指向会被重新使用的显存,因此即使运行正常结"
        "束,保存的权重也可能是错误的。",
        "不要使用该检查点。只在 rank 0 上聚合到主机:在 `model.state_dict()` 外使用 `with FSDP.state_dict_type(model, "
        "StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):`;使用 Accelerate "
        "与 Trainer 时设 `fsdp_state_dict_type: SHARDED_STATE_DICT`(用 `accelerate merge-weights` 合并),或升级,新版本"
        "会自行这样聚合。",
    ),
)

MESSAGES = (LOG_MESSAGE, CLONE)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames, or FSDP's own words, tell this phase."""
    if not hits.of(0):
        weight = (hits.get("weight") or "").removeprefix("_fsdp_wrapped_module.").removeprefix("_fpw_module.")
        return found(
            PROBLEM, CLONE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            weight=".".join(weight.split(".")[-4:]),
        )  # fmt: skip
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "save") else None
