"""Nothing is left of vLLM's share of the GPU for the KV cache.

## What it means
vLLM takes `gpu_memory_utilization` of the whole card for weights, activations of its largest batch and the
KV cache. The weights and a trial run are measured first; what remains becomes cache.
## What it does to a run
The engine ends after the weights were loaded and profiled.
## What to do
Give it a larger share, or less to hold.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/configuration/conserving_memory/
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/v1/core/kv_cache_planning.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL032", name="vllm-no-memory-for-cache", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"No available memory for the cache blocks"),)

LOG_MESSAGE = Message(
    en=Words(
        "nothing is left of vLLM's share of the GPU for the KV cache",
        "The weights and the activations of the profiling run already fill `gpu_memory_utilization` of "
        "the card. In colocate mode the memory of the training model counts as well when it lies there "
        "already.",
        "Raise `--gpu-memory-utilization` (`vllm_gpu_memory_utilization` in TRL, "
        "`rollout.gpu_memory_utilization` in veRL); or shrink what must fit: `--max-num-batched-tokens`, "
        "`--max-num-seqs`, `--max-model-len`, `--enforce-eager`, a quantized checkpoint, or more GPUs "
        "with `--tensor-parallel-size`. On a CPU build set VLLM_CPU_KVCACHE_SPACE.",
    ),
    zh=Words(
        "vLLM 的那一份显存已没有空间留给 KV cache",
        "权重和预热运行的激活已经占满整张卡的 `gpu_memory_utilization`。在 colocate 模式下,已在卡上的训练"
        "模型也计入其中。",
        "提高 `--gpu-memory-utilization`(TRL 中为 `vllm_gpu_memory_utilization`,veRL 中为 "
        "`rollout.gpu_memory_utilization`);或减少占用:`--max-num-batched-tokens`、`--max-num-seqs`、"
        "`--max-model-len`、`--enforce-eager`、量化的检查点,或用 `--tensor-parallel-size` 增加 GPU。CPU "
        "构建请设置 VLLM_CPU_KVCACHE_SPACE。",
    ),
)
