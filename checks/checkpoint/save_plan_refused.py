"""A sharded checkpoint is not written, for its pieces do not make whole tensors.

## What it means
torch's distributed checkpoint gathers from all ranks which piece of which tensor each will write, and checks that the
pieces of a tensor cover it once. megatron-core checks the form of each piece as well.
## What it does to a run
The save ends with an error on the coordinating rank, and the run with it; nothing whole was written.
## What to do
Save in another form, or take releases whose sharding and saving belong together.
## How it is found
In a log: by the error of the planner, with its warning that names the tensor.
## References
https://github.com/pytorch/pytorch/blob/v2.7.0/torch/distributed/checkpoint/default_planner.py
https://github.com/pytorch/pytorch/issues/126595
https://github.com/axolotl-ai-cloud/axolotl/issues/2548
https://github.com/NVIDIA/Megatron-LM/issues/5174
https://github.com/areal-project/AReaL/pull/1468
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP027", name="save-plan-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Failed to validate global plan"),
    Signature(
        r"\bkey:(?P<key>[\w.\-/]{1,200}) (?:invalid fill tensor-volume|has (?:overlapping|out of bounds) chunks?)",
        keywords=("invalid fill tensor-volume", "overlapping chunk", "out of bounds chunk"),
        kind="sign",
    ),
    Signature(r"CheckpointingException: ShardedTensor\.flattened_range is (?P<flattened>not supported)"),
)

PLAN = Message(
    en=Words(
        "the distributed checkpoint was not written: its pieces do not cover {what} once",
        "Ranks announced pieces that leave a part of the tensor out, or that overlap. The state is sharded in a way "
        "that the saver does not see: an optimizer whose states are no DTensors like their parameters (8-bit, fused or "
        "own ones), parallelism of several kinds in an order that this torch does not know, or tensors that a release "
        "pads or ties.",
        "`pip install -U torch accelerate` and the framework together; or save whole instead of sharded: "
        "`fsdp_state_dict_type: FULL_STATE_DICT`. Try `optim=adamw_torch` instead of an 8-bit or own optimizer, "
        "or save the model alone (`save_only_model: true`) to keep the work done so far.",
    ),
    zh=Words(
        "分布式检查点没有写出:各分片没有恰好覆盖 {what_zh}",
        "各 rank 声明的分片遗漏了张量的一部分或相互重叠。状态的切分方式是保存程序看不到的:优化器状态不是与参数一样的 "
        "DTensor(8 位、fused 或自写优化器),多种并行以该版本 torch 不认识的顺序组合,或某版本对张量做了填充或共享。",
        "一起升级 `pip install -U torch accelerate` 与框架;或保存完整状态而不是分片:`fsdp_state_dict_type: "
        "FULL_STATE_DICT`。尝试用 `optim=adamw_torch` 代替 8 位或自写优化器,或只保存模型(`save_only_model: true`)以保留"
        "已有成果。",
    ),
)
FLATTENED = Message(
    en=Words(
        "megatron-core no longer saves the optimizer in the form that the framework asks for",
        "Flattened ranges of the distributed optimizer (`fully_sharded_model_space`, the older default) were removed "
        "when distributed checkpoints were rewritten in 0.14; the framework above still asks for them.",
        "Upgrade the framework to a release for this megatron-core, which asks for `dp_reshardable` or "
        "`fully_reshardable` instead, or install the megatron-core that it names (`pip install "
        '"megatron-core==VERSION"`). Without the optimizer saving works too, and resuming then begins with a fresh '
        "one.",
    ),
    zh=Words(
        "megatron-core 不再以框架所要求的形式保存优化器",
        "分布式优化器的 flattened range(`fully_sharded_model_space`,较旧的默认值)在 0.14 重写分布式检查点时已移除,"
        "而上层框架仍要求它。",
        "把框架升级到支持该 megatron-core 的版本(改用 `dp_reshardable` 或 `fully_reshardable`),或安装框架指定的 "
        'megatron-core(`pip install "megatron-core==VERSION"`)。不保存优化器也可以,但恢复时优化器从头开始。',
    ),
)

MESSAGES = (PLAN, FLATTENED)


def explain(hits: Hits) -> Finding:
    """With the tensor that the planner's warning names."""
    key = hits.get("key")
    flattened = hits.get("flattened")
    return found(
        PROBLEM, FLATTENED if flattened else PLAN, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if flattened else LIKELY, what=f"`{key}`" if key else "a tensor",
        what_zh=f"`{key}`" if key else "某个张量",
    )  # fmt: skip
