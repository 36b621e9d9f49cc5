"""The rank of the LoRA adapter is above what the server was started for.

## What it means
vLLM reserves room for adapters of at most `max_lora_rank`, 16 by default.
## What it does to a run
The adapter is refused; the request or the weight transfer fails.
## What to do
Start the server with a rank that is large enough.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/features/lora/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL039", name="lora-rank-above-limit", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"LoRA rank (?P<rank>\d{1,5}) is greater than max_lora_rank (?P<most>\d{1,5})"),)

LOG_MESSAGE = Message(
    en=Words(
        "the adapter has rank {rank}, and vLLM was started for {most} at most",
        "vLLM reserves room for adapters when it starts; `max_lora_rank` is 16 where nothing is said. "
        "With `rank_pattern` the largest of the ranks counts.",
        "Start it with `--max-lora-rank {rank}` (8, 16, 32, 64, 128, 256 ...: round up), in veRL "
        "`actor_rollout_ref.model.lora_rank` gives it; or train with a smaller `r`.",
    ),
    zh=Words(
        "适配器的 rank 为 {rank},而 vLLM 启动时最多支持 {most}",
        "vLLM 在启动时为适配器预留空间;未设置时 `max_lora_rank` 为 16。使用 `rank_pattern` 时以最大的 rank 为准。",
        "用 `--max-lora-rank {rank}`(8、16、32、64、128、256 ……向上取整)启动;veRL 中由 "
        "`actor_rollout_ref.model.lora_rank` 决定;或用更小的 `r` 训练。",
    ),
)

LOG_COMMANDS = ("--max-lora-rank {rank}",)
