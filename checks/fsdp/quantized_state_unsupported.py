"""A quantized tensor of torchao meets an operation that it has no rule for.

## What it means
torchao's 8-bit and 4-bit optimizers and weights are tensors of an own class. FSDP1's saving, gathering and some
optimizers use operations that this class does not implement.
## What it does to a run
NotImplementedError, for optimizers at the first checkpoint.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://github.com/pytorch/ao/tree/main/torchao/optim
https://github.com/axolotl-ai-cloud/axolotl/issues/2744
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="FSD019", name="quantized-state-unsupported", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"NotImplementedError: (?P<kind>OptimState\w{1,20}) dispatch: attempting to run unimplemented "
            r"operator/function: func=<OpOverload\(op='(?P<op>[\w.:]{1,60})'"
        ),
        Message(
            en=Words(
                "the state of torchao's optimizer ({kind}) cannot be gathered here (`{op}`)",
                "FSDP1 collects a full optimizer state with operations that torchao's 8-bit and 4-bit state "
                "lacks; training itself runs.",
                "FSDP2 (`fsdp_version: 2`) with `fsdp_state_dict_type: SHARDED_STATE_DICT`; or save weights only "
                "(`save_only_model=True`); or an optimizer with plain state (`adamw_torch_fused`, `adamw_8bit` "
                "of bitsandbytes under DDP). `pip install -U torchao` may know the operation.",
            ),
            zh=Words(
                "torchao 优化器的状态({kind})在此无法收集(`{op}`)",
                "FSDP1 收集完整优化器状态时使用了 torchao 的 8 位与 4 位状态没有实现的运算;训练本身可以进行。",
                "使用 FSDP2(`fsdp_version: 2`)与 `fsdp_state_dict_type: SHARDED_STATE_DICT`;或只保存权重"
                "(`save_only_model=True`);或使用普通状态的优化器(`adamw_torch_fused`,DDP 下可用 bitsandbytes 的 "
                "`adamw_8bit`)。`pip install -U torchao` 也许已支持该运算。",
            ),
        ),
    ),
    (
        (
            r"NotImplementedError: (?P<kind>(?!OptimState)[A-Z]\w{1,40}Tensor\w{0,20}) dispatch: attempting "
            r"to run unimplemented operator/function: func=<OpOverload\(op='(?P<op>[\w.:]{1,60})'"
        ),
        Message(
            en=Words(
                "weights quantized by torchao ({kind}) do not take `{op}`",
                "Such weights are for the forward pass of linear layers. Resizing embeddings, merging LoRA, "
                "sharding or training them in full uses operations that this class lacks.",
                "`pip install -U torchao`; leave these layers out of the quantization "
                "(`modules_to_not_convert`), merge LoRA into the bf16 model, and for training of quantized "
                "models take bitsandbytes (QLoRA) or torchao's QAT.",
            ),
            zh=Words(
                "torchao 量化的权重({kind})不支持 `{op}`",
                "这种权重用于线性层的前向。调整嵌入大小、合并 LoRA、分片或全量训练会用到它没有实现的运算。",
                "`pip install -U torchao`;把这些层排除在量化之外(`modules_to_not_convert`),把 LoRA 合并到 bf16 模"
                "型,训练量化模型请用 bitsandbytes(QLoRA)或 torchao 的 QAT。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
