"""A model is loaded with `device_map` under ZeRO-3.

## What it means
ZeRO-3 partitions the weights while they are loaded and cannot leave their place to `device_map` or
`low_cpu_mem_usage=True`.
## What it does to a run
`from_pretrained` raises ValueError on every rank.
## What to do
Take both out of the call, or use ZeRO-2.
## How it is found
In a log: by the exception of Transformers.
## References
https://huggingface.co/docs/transformers/deepspeed
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/modeling_utils.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP023", name="device-map-under-zero3", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: DeepSpeed Zero-3 is not compatible with (?P<what>[^\n]{1,80})"),)

LOG_MESSAGE = Message(
    en=Words(
        "the model is loaded with `device_map` (or `low_cpu_mem_usage=True`) under ZeRO-3",
        "ZeRO-3 places the pieces of each weight by itself while the model is loaded.",
        "Remove `device_map` and `low_cpu_mem_usage` from `from_pretrained` (in TRL from "
        "`model_init_kwargs`; `quantization_config` sets a `device_map` as well), or use ZeRO stage 2 "
        "for QLoRA.",
    ),
    zh=Words(
        "在 ZeRO-3 下用 `device_map`(或 `low_cpu_mem_usage=True`)加载模型",
        "ZeRO-3 在加载模型时自行放置每个权重的分片。",
        "从 `from_pretrained` 中去掉 `device_map` 和 `low_cpu_mem_usage`(TRL 中从 `model_init_kwargs` 去"
        "掉;`quantization_config` 也会设置 `device_map`),或对 QLoRA 使用 ZeRO stage 2。",
    ),
)
