"""Parameters of several types lie in one FSDP unit.

## What it means
FSDP version 1 flattens the parameters of a unit into one tensor, which has one type; version 2 keeps them apart and
still gathers the trained ones of a unit together. A bf16 base with fp32
LoRA weights, layers that a model keeps in fp32, or packed 4-bit weights break that.
## What it does to a run
Wrapping raises ValueError on every rank, after the model was loaded.
## What to do
Bring all parameters to one type.
## How it is found
In a log: by torch's exception, which names both types.
## References
https://pytorch.org/docs/stable/fsdp.html
https://huggingface.co/docs/peft/accelerate/fsdp
https://github.com/modelscope/twinkle/issues/182
https://github.com/huggingface/accelerate/pull/3985
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="FSD007", name="fsdp-mixed-dtypes-in-unit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Must flatten tensors with uniform dtype but got torch\.(?P<first>\w{1,16}) and"
        r" torch\.(?P<second>\w{1,16})",
    ),
    Signature(  # torch 2.0 and older
        r"ValueError: `FlatParameter` requires uniform dtype but got torch\.(?P<first>\w{1,16}) and"
        r" torch\.(?P<second>\w{1,16})",
    ),
    Signature(
        r"AssertionError: FSDP expects uniform (?:original parameter|reduce) dtype but got"
        r" \{(?:torch\.)?(?P<first>\w{1,16}), (?:torch\.)?(?P<second>\w{1,16})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "FSDP cannot flatten a unit with parameters of `{first}` and `{second}`",
        "All parameters of a wrapped layer become one flat tensor of one dtype. Usual sources: LoRA "
        "adapters in float32 on a bfloat16 base, norms kept in float32, or 4-bit weights stored as uint8.",
        "Cast everything to one dtype after the adapter is added: `model = model.to(torch.bfloat16)` (or "
        "load the base with `torch_dtype=torch.float32`); for QLoRA set "
        "`bnb_4bit_quant_storage=torch.bfloat16` to the dtype of the rest; or use FSDP2: `fsdp_version: "
        "2`.",
    ),
    zh=Words(
        "FSDP 无法展平同时含有 `{first}` 和 `{second}` 参数的单元",
        "被包装层的所有参数会变成一个单一 dtype 的扁平张量。常见来源:bfloat16 基座上的 float32 LoRA 适配"
        "器、保持为 float32 的归一化层,或以 uint8 存储的 4-bit 权重。",
        "加入适配器后统一 dtype:`model = model.to(torch.bfloat16)`(或以 `torch_dtype=torch.float32` 加载"
        "基座);QLoRA 则设置 `bnb_4bit_quant_storage=torch.bfloat16`,与其余参数一致;或使用 "
        "FSDP2:`fsdp_version: 2`。",
    ),
)

LOG_MESSAGE_2 = Message(
    en=Words(
        "FSDP2 cannot gather a unit with parameters of `{first}` and `{second}`",
        "All parameters that `fully_shard` puts into one group must have one original dtype. Usual sources: LoRA "
        "adapters, which PEFT makes in float32, on a bfloat16 base, or a router or norm that the model keeps in "
        "float32.",
        "Cast all to one dtype before `fully_shard`/`prepare`: `model = model.to(torch.bfloat16)`; for LoRA "
        "`get_peft_model(model, config, autocast_adapter_dtype=False)`; or give those modules a group of their own "
        "(call `fully_shard` on them first). Newer releases do so themselves: upgrade accelerate, verl or the "
        "trainer.",
    ),
    zh=Words(
        "FSDP2 无法聚合同时含有 `{first}` 和 `{second}` 参数的单元",
        "`fully_shard` 放入同一组的参数必须有相同的原始 dtype。常见来源:bfloat16 基座上由 PEFT 以 float32 建立的 "
        "LoRA 适配器,或模型保持为 float32 的 router、归一化层。",
        "在 `fully_shard`/`prepare` 之前统一 dtype:`model = model.to(torch.bfloat16)`;LoRA 用 "
        "`get_peft_model(model, config, autocast_adapter_dtype=False)`;或让这些模块自成一组(先对它们调用 "
        "`fully_shard`)。较新版本会自行处理:升级 accelerate、verl 或训练框架。",
    ),
)

_OF_VERSION_2 = 2  # position of the pattern


def explain(hits: Hits) -> Finding:
    """What helps depends on the version of FSDP."""
    message = LOG_MESSAGE_2 if hits.first.signature == _OF_VERSION_2 else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, first=hits.get("first"),
        second=hits.get("second"),
    )  # fmt: skip
