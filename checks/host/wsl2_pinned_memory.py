"""Windows' Linux limits pinned memory, and the run offloads to the host.

## What it means
Under WSL 2 only little of the host's memory can be pinned for the GPU, and DeepSpeed's offload pins its buffers.
## What it does to a run
CUDA reports `out of memory` although the GPU has plenty: what ran out is pinned memory of the host.
## What to do
Set `pin_memory` to false in the offload sections, or give WSL more memory in `.wslconfig`.
## How it is found
Release of the kernel, and offload to the CPU with pinned memory in DeepSpeed's configuration. In a log: by the words
of vLLM's newer model runner, which does not start without pinned memory.
## References
https://docs.nvidia.com/cuda/wsl-user-guide/index.html#known-limitations-for-linux-cuda-applications
https://github.com/vllm-project/vllm/issues/188
https://github.com/vllm-project/vllm/issues/54652
https://github.com/vllm-project/vllm/blob/main/vllm/v1/worker/gpu/buffer_utils.py
"""

from __future__ import annotations

from dataclasses import replace

from doctor.checks.hub._helpers import place, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.host import Host

PROBLEM = Problem(id="HST011", name="wsl2-pinned-memory", severity=WARNING, since="0.1")
SECTIONS = ("offload_optimizer", "offload_param")

MESSAGE = Message(
    en=Words(
        "`{key}` is on under WSL 2, which limits pinned memory",
        "When the host's pinned memory runs out, CUDA reports `out of memory` although the GPU has room.",
        "Set it to false, or give WSL more memory in `.wslconfig` on Windows.",
    ),
    zh=Words(
        "WSL 2 限制锁页内存,而 `{key}` 已开启",
        "主机锁页内存用尽时,CUDA 会报 `out of memory`,尽管显存还有空间。",
        "设为 false,或在 Windows 的 `.wslconfig` 中给 WSL 更多内存。",
    ),
)

SIGNATURES = (Signature(r"RuntimeError: UVA is not available", frame=r"vllm/"),)
LOG_MESSAGE = Message(
    en=Words(
        "vLLM's model runner wants pinned memory for its buffers, and vLLM keeps it off here",
        "Newer vLLM starts with a second generation of its model runner (V2), whose buffers the GPU reads straight "
        "from the host (UVA). Under WSL 2 vLLM switches pinned memory off unless told otherwise, so the engine does "
        "not start. Model, memory and settings have no part in it.",
        "`export VLLM_USE_V2_MODEL_RUNNER=0` takes the first generation. Or, with a recent WSL (`wsl --update`), let "
        "it pin memory: `export VLLM_WSL2_ENABLE_PIN_MEMORY=1`. In a container pass them with `-e`. vLLM on Linux "
        "itself needs neither.",
    ),
    zh=Words(
        "vLLM 的 model runner 需要锁页内存作缓冲区,而 vLLM 在此处将其关闭",
        "较新的 vLLM 默认使用第二代 model runner(V2),GPU 直接从主机内存读取其缓冲区(UVA)。在 WSL 2 下 vLLM 默认关闭锁"
        "页内存,因此引擎无法启动。与模型、显存和其他设置无关。",
        "`export VLLM_USE_V2_MODEL_RUNNER=0` 改用第一代。或在较新的 WSL(`wsl --update`)上允许锁页内存:`export "
        "VLLM_WSL2_ENABLE_PIN_MEMORY=1`。在容器中用 `-e` 传入。直接运行在 Linux 上的 vLLM 两者都不需要。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The engine ends, where the check only warns; outside of WSL it is another platform's lack."""
    told = found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    return replace(told, severity=ERROR)


@check(PROBLEM)
def wsl2_pinned_memory(host: Host, deepspeed_config: DeepspeedConfig) -> Judgement:
    """Judge the offload sections that say it; absent is false."""
    if host.wsl != 2:
        return
    for section in SECTIONS:
        key = f"zero_optimization.{section}.pin_memory"
        setting = deepspeed_config.settings.get(key)
        if setting is not None and setting.value is True:
            yield found(PROBLEM, MESSAGE, key=key, confidence=LIKELY, where=place(setting), evidence=(quoted(setting),))
