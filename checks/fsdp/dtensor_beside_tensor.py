"""A sharded weight of FSDP 2 meets a plain tensor, because the module ran outside of its own forward pass.

## What it means
FSDP 2 keeps weights as DTensors and gathers them in hooks of `forward`. What calls a part of the model past these
hooks (`generate`, `model.lm_head(...)`, a loss that multiplies with `lm_head.weight`, an embedding read by hand), or
adds modules after the wrapping, puts a DTensor and a plain tensor into one operator. Tensor parallel plans
likewise.
## What it does to a run
RuntimeError in the first operator that sees both, often while TRL generates without vLLM, or with LoRA.
## What to do
Keep generation out of the wrapped model, register the method, or use FSDP 1.
## How it is found
In a log: by torch's refusal; frames of the traceback tell whether it happened while text was generated.
## References
https://docs.pytorch.org/docs/main/distributed.tensor.html
https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
https://github.com/huggingface/trl/issues/4550
https://github.com/huggingface/transformers/pull/42436
https://github.com/huggingface/trl/pull/6065
https://github.com/huggingface/peft/issues/2344
https://github.com/NVIDIA-NeMo/RL/issues/1051
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="FSD012", name="dtensor-beside-tensor", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"(?P<operator>[\w.]{1,60}):? got mixed torch\.Tensor and DTensor, need to convert all torch\.Tensor"),
)

GENERATION = Message(
    en=Words(
        "`{operator}` got a sharded weight and a plain tensor while text was generated",
        "FSDP 2 gathers weights in the hooks of `forward`; `generate` goes past them, so sharded weights (DTensor) "
        "meet plain tensors. With LoRA it always shows.",
        "Generate with vLLM (`use_vllm=True`), or upgrade to Transformers 5, which registers `generate` with FSDP 2 "
        "(`register_fsdp_forward_method(model, 'generate')` does it by hand), or train with FSDP 1 "
        "(`fsdp_version: 1`).",
    ),
    zh=Words(
        "生成文本时,`{operator}` 同时得到分片权重和普通张量",
        "FSDP 2 在 `forward` 的钩子中收集权重;`generate` 绕过了它们,于是分片权重(DTensor)与普通张量相遇。使用 LoRA "
        "时必现。",
        "用 vLLM 生成(`use_vllm=True`),或升级到 Transformers 5,它会向 FSDP 2 注册 `generate`"
        "(手动:`register_fsdp_forward_method(model, 'generate')`),或改用 FSDP 1(`fsdp_version: 1`)。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{operator}` got a sharded weight (DTensor) and a plain tensor",
        "Part of the model ran past the hooks in which FSDP 2 gathers its weights: a submodule called by hand, a loss "
        "that reads `lm_head.weight`, a LoRA layer or checkpoint loaded after the wrapping.",
        "Call the wrapped model's `forward` only, or register the method: `register_fsdp_forward_method(model, "
        "'name')`; add adapters and load checkpoints before wrapping; take fused losses out "
        "(`use_liger_kernel=False`, TRL `loss_type='nll'`); or use FSDP 1 (`fsdp_version: 1`). Upgrading TRL, PEFT "
        "and Accelerate together mends known cases.",
    ),
    zh=Words(
        "`{operator}` 同时得到分片权重(DTensor)和普通张量",
        "模型的一部分绕过了 FSDP 2 收集权重的钩子:手动调用子模块,损失直接读取 `lm_head.weight`,"
        "或在包装之后才加载 LoRA 层或检查点。",
        "只调用包装后模型的 `forward`,或注册该方法:`register_fsdp_forward_method(model, 'name')`;在包装之前加入适配器并"
        "加载检查点;去掉融合损失(`use_liger_kernel=False`,TRL 的 `loss_type='nll'`);或使用 FSDP 1(`fsdp_version: 1`)。"
        "一起升级 TRL、PEFT 和 Accelerate 可修复已知情形。",
    ),
)

PARALLEL = Message(
    en=Words(
        "`{operator}` got a sharded tensor (DTensor) and a plain one in a model split by a plan",
        "NeMo-RL's DTensor worker splits the layers by a plan for tensor and sequence parallelism. For this model the "
        "plan leaves some input of the operator plain (a mask, positions, states that another kernel made), mostly "
        "because the plan is a generic one or the operator is a kernel that knows no DTensors (FlashAttention).",
        "Upgrade NeMo-RL, or take the Megatron worker (`policy.megatron_cfg.enabled=true`). Otherwise "
        "`policy.dtensor_cfg.tensor_parallel_size=1` with more nodes or context parallelism, "
        "`sequence_parallel=false`, another `attn_implementation`, or a plan for this model in "
        "`policy.dtensor_cfg.custom_parallel_plan`.",
    ),
    zh=Words(
        "按计划切分的模型中,`{operator}` 同时得到分片张量(DTensor)和普通张量",
        "NeMo-RL 的 DTensor worker 按张量并行与序列并行的计划切分各层。对该模型,计划使算子的某个输入仍是普通张量"
        "(掩码、位置、另一个内核产生的状态),多半因为用的是通用计划,或该算子是不认识 DTensor 的内核(FlashAttention)。",
        "升级 NeMo-RL,或改用 Megatron worker(`policy.megatron_cfg.enabled=true`)。否则设 "
        "`policy.dtensor_cfg.tensor_parallel_size=1` 并增加节点或用上下文并行,`sequence_parallel=false`,换一种 "
        "`attn_implementation`,或用 `policy.dtensor_cfg.custom_parallel_plan` 为该模型给出计划。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Generation goes past the hooks by its nature, NeMo-RL splits by plans; anything else has several causes."""
    frames = hits.first.frames
    if "DTensorPolicyWorker" in (hits.first.process or "") or any("nemo_rl" in frame for frame in frames):
        message = PARALLEL
    else:
        generating = any(frame.endswith((":generate", ":_generate", ":_sample")) for frame in frames)
        message = GENERATION if generating else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        operator=hits.get("operator"),
    )  # fmt: skip
