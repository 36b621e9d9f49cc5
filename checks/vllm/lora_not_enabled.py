"""An adapter is sent to a vLLM that was started without LoRA.

## What it means
vLLM takes adapters only when it was started for them.
## What it does to a run
Every request with an adapter is refused.
## What to do
Start it with `--enable-lora`.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/features/lora/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL040", name="lora-not-enabled", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Got lora_request (?:LoRARequest)?[^\n]{1,400} but LoRA is not enabled!"),
    Signature(r"RuntimeError: LoRA is not enabled\.", frame=r"vllm/"),
)

LOG_MESSAGE = Message(
    en=Words(
        "an adapter was sent to a vLLM that was started without LoRA",
        "Room and kernels for adapters are set up when the engine starts; this one was started without.",
        "Start it with `--enable-lora --max-lora-rank RANK` (`LLM(..., enable_lora=True)`), or merge the "
        "adapter into the model and send no adapter.",
    ),
    zh=Words(
        "向没有启用 LoRA 的 vLLM 发送了适配器",
        "适配器所需的空间和内核在引擎启动时准备;此引擎启动时没有启用。",
        "用 `--enable-lora --max-lora-rank RANK` 启动(`LLM(..., enable_lora=True)`);或把适配器合并到模型"
        "中,不再发送适配器。",
    ),
)

LOG_COMMANDS = ("--enable-lora",)
