"""Windows' Linux limits pinned memory, and the run offloads to the host.

## What it means
Under WSL 2 only little of the host's memory can be pinned for the GPU, and DeepSpeed's offload pins its buffers.
## What it does to a run
CUDA reports `out of memory` although the GPU has plenty: what ran out is pinned memory of the host.
## What to do
Set `pin_memory` to false in the offload sections, or give WSL more memory in `.wslconfig`.
## How it is found
Release of the kernel, and offload to the CPU with pinned memory in DeepSpeed's configuration.
## References
https://docs.nvidia.com/cuda/wsl-user-guide/index.html#known-limitations-for-linux-cuda-applications
https://github.com/vllm-project/vllm/issues/188
"""

from __future__ import annotations

from doctor.checks.hub._helpers import place, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words, found
from doctor.core.problem import WARNING, Problem
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
