"""LoRA weights are merged into a base whose weights ZeRO-3 has partitioned.

## What it means
`merge_and_unload` and `merge_adapter` add the adapter's product to each base weight. Under ZeRO-3 (also where a
DeepSpeed configuration is merely active while the model is loaded) every rank holds an empty placeholder of the base
weight, and of the adapter's.
## What it does to a run
RuntimeError about a tensor of size 0 in PEFT's `merge`.
## What to do
Merge without ZeRO-3, or gather around the merge.
## How it is found
In a log: by the size 0 with PEFT's merge in the traceback.
## References
https://github.com/huggingface/peft/issues/297
https://github.com/hiyouga/LlamaFactory/issues/2081
https://github.com/huggingface/alignment-handbook/issues/57
https://deepspeed.readthedocs.io/en/latest/zero3.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PFT011", name="merged-while-partitioned", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: The size of tensor a \(0\) must match the size of tensor b \((?P<wanted>\d{1,9})\)",
        frame=r"peft[\\/]\S{0,80}:(?:merge|merge_adapter|merge_and_unload|_unload_and_optionally_merge|get_delta_weight)$",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "LoRA is merged into a base weight of size 0 (ZeRO-3), where {wanted} were expected",
        "DeepSpeed partitioned the model when it was loaded, so this rank holds placeholders. That happens as soon "
        "as a ZeRO-3 configuration is active (`TrainingArguments(deepspeed=...)`, accelerate with `zero3_init_flag: "
        "true`).",
        "Merge in a program of its own without DeepSpeed (`PeftModel.from_pretrained(base, "
        "adapter).merge_and_unload()` on the CPU, then `save_pretrained`), and start the training from the merged "
        "model. Inside of a run: `with deepspeed.zero.GatheredParameters(list(model.parameters())): "
        "model.merge_adapter()`, or ZeRO-2.",
    ),
    zh=Words(
        "LoRA 被合并到大小为 0 的基座权重(ZeRO-3),而期望的是 {wanted}",
        "DeepSpeed 在加载模型时就切分了它,因此该 rank 只持有占位符。只要 ZeRO-3 配置处于生效状态就会这样"
        "(`TrainingArguments(deepspeed=...)`,accelerate 的 `zero3_init_flag: true`)。",
        "在不带 DeepSpeed 的单独程序中合并(在 CPU 上 `PeftModel.from_pretrained(base, adapter).merge_and_unload()`,再 "
        "`save_pretrained`),然后从合并后的模型开始训练。在运行中:"
        "`with deepspeed.zero.GatheredParameters(list(model.parameters())): model.merge_adapter()`,或使用 ZeRO-2。",
    ),
)
