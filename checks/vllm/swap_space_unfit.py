"""The CPU swap space of vLLM does not fit.

## What it means
Engine V0 reserves `swap_space` GiB of host memory per GPU (default 4) to move the KV cache of preempted
sequences there. More than 70 % of the RAM is refused; too little ends a run in which groups of sequences (n >
1, beam search) are preempted.
## What it does to a run
The engine does not start, or ends in the middle of generation.
## What to do
Fit `swap_space` to the RAM, or avoid preemption; engine V1 recomputes and has no swap, though the setting was checked
until 0.18 took it away.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/v0.9.1/configuration/optimization.html
https://github.com/vllm-project/vllm/issues/18571
https://github.com/vllm-project/vllm/pull/36216
https://github.com/unslothai/unsloth-zoo/issues/1210
https://github.com/vllm-project/vllm/issues/787
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL055", name="swap-space-unfit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Too large swap space\. (?P<asked>[\d.]{1,10}) GiB out of the"
        r" (?P<total>[\d.]{1,10}) GiB total CPU memory",
    ),
    Signature(
        r"Aborted due to the lack of CPU swap space",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM refuses to reserve {asked} GiB of {total} GiB host memory as swap space",
        "Every GPU of the engine reserves `swap_space` GiB of host memory (default 4) for preempted "
        "sequences, and more than 70 % of the RAM is refused. In a container its memory limit counts.",
        "Up to vLLM 0.17: set a smaller `swap_space` (`--swap-space 1` or 0; `LLM(swap_space=1)`), or give "
        "the machine or container more RAM. Engine V1 does not use it, so 0 costs nothing there. vLLM 0.18 "
        "took the setting away: after an upgrade leave it out, or the command is refused.",
    ),
    zh=Words(
        "vLLM 拒绝把 {total} GiB 主机内存中的 {asked} GiB 用作 swap space",
        "引擎的每张 GPU 会保留 `swap_space` GiB 主机内存(默认 4)给被抢占的序列;超过内存 70% 即被拒绝。容"
        "器中以其内存限制为准。",
        "vLLM 0.17 及以下:把 `swap_space` 设小(`--swap-space 1` 或 0;`LLM(swap_space=1)`),或为机器、容器增加内存。"
        "V1 引擎并不使用它,设为 0 没有代价。vLLM 0.18 已删除该设置:升级后请去掉它,否则命令会被拒绝。",
    ),
)

LOG_MESSAGE_LACK = Message(
    en=Words(
        "vLLM ran out of CPU swap space for preempted sequences",
        "The KV cache was full, and groups of several samples for one prompt (`n` > 1, beam search) "
        "cannot be recomputed by engine V0, only swapped to host memory; `swap_space` was used up.",
        "Avoid the preemption: raise `gpu_memory_utilization`, lower `max_num_seqs` (veRL: "
        "`rollout.max_num_seqs`), shorten responses, or use more GPUs per engine. Or raise `swap_space` "
        "(GiB per GPU, within RAM; vLLM 0.18 has it no more). vLLM 0.8 and newer with engine V1 recomputes instead: "
        "upgrade, or send prompts n times with n=1.",
    ),
    zh=Words(
        "vLLM 用尽了被抢占序列所需的 CPU swap space",
        "KV cache 已满;同一 prompt 的多个样本(`n` > 1、beam search)在 V0 引擎中不能重算,只能换出到主机内"
        "存,而 `swap_space` 已用完。",
        "避免抢占:提高 `gpu_memory_utilization`,降低 `max_num_seqs`(veRL:`rollout.max_num_seqs`),缩短回复"
        ",或每个引擎使用更多 GPU。或在内存允许范围内提高 `swap_space`(每 GPU 的 GiB;vLLM 0.18 起已无)。vLLM 0.8 "
        "及以上的 V1 引擎改为重算:请升级,或以 n=1 重复发送 prompt。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Refused at the start, or used up."""
    refused = hits.get("asked") is not None
    return found(
        PROBLEM,
        LOG_MESSAGE if refused else LOG_MESSAGE_LACK,
        where=hits.where(),
        evidence=hits.evidence(),
        asked=hits.get("asked"),
        total=hits.get("total"),
    )
