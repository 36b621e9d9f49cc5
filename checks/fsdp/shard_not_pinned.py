"""FSDP offloads to the CPU, and the driver refuses to pin the host memory.

## What it means
Offloaded shards are kept in page-locked memory. Containers, WSL and a low limit of locked memory refuse it, and so
does a host without room.
## What it does to a run
RuntimeError at the first forward pass, on one or all ranks.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.CPUOffload
https://github.com/axolotl-ai-cloud/axolotl/issues/2409
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="FSD018", name="shard-not-pinned", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"^(?:RuntimeError|torch\.AcceleratorError): CUDA error: (?P<error>invalid argument|OS call "
            r"failed or operation not supported on this OS|operation not supported|out of memory)$"
        ),
        Message(
            en=Words(
                "FSDP could not pin an offloaded shard in host memory (CUDA: {error})",
                "`fsdp_offload_params` keeps shards page-locked. The driver refused: the limit of locked memory "
                "(`ulimit -l`), a container or WSL without it, too little host memory for all ranks of the node, "
                "or an old driver.",
                "`fsdp_offload_params: false` where the GPUs have room (QLoRA often does); else `docker run "
                "--ulimit memlock=-1 --shm-size=16g`, more host memory, a newer driver; FSDP2 (`fsdp_version: "
                "2`) with `CPUOffloadPolicy(pin_memory=False)`.",
            ),
            zh=Words(
                "FSDP 无法把卸载的分片锁定在主机内存中(CUDA:{error})",
                "`fsdp_offload_params` 使用锁页内存。驱动拒绝了:锁定内存限制(`ulimit -l`)、容器或 WSL 不支持、主"
                "机内存不足以供节点上全部进程使用,或驱动过旧。",
                "显存足够时用 `fsdp_offload_params: false`(QLoRA 通常足够);否则 `docker run --ulimit memlock=-1 "
                "--shm-size=16g`、增加主机内存、更新驱动;或 FSDP2(`fsdp_version: 2`)并用 "
                "`CPUOffloadPolicy(pin_memory=False)`。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], frame=r"torch[\\/]distributed[\\/]fsdp[\\/]_flat_param\.py:init_flat_param_attributes$"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
