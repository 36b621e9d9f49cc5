"""Direct access between two GPUs was refused.

## What it means
NCCL or vLLM's custom all-reduce expected peer-to-peer access, which driver, virtual machine or IOMMU do not give.
## What it does to a run
The first collective fails.
## What to do
Turn peer-to-peer off.
## How it is found
The CUDA error about peer access.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NCC017", name="peer-access-refused", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"peer access is not supported between these two devices"),)

LOG_MESSAGE = Message(
    en=Words(
        "peer-to-peer access between two GPUs is not supported here",
        "Driver, virtual machine or IOMMU settings do not let the GPUs read each other's memory, "
        "although the topology looks as if they could.",
        "Set `NCCL_P2P_DISABLE=1`; for vLLM add `disable_custom_all_reduce=True` "
        "(`--disable-custom-all-reduce`). Check with `nvidia-smi topo -p2p r`; on bare metal turn "
        "ACS and IOMMU off.",
    ),
    zh=Words(
        "此处不支持两张 GPU 之间的 peer-to-peer 访问",
        "驱动、虚拟机或 IOMMU 设置不允许 GPU 互相读取显存,尽管拓扑看似可以。",
        "设置 `NCCL_P2P_DISABLE=1`;vLLM 加上 `disable_custom_all_reduce=True`(`--disable-custom-all-reduce`)。用 "
        "`nvidia-smi topo -p2p r` 检查;裸机上关闭 ACS 与 IOMMU。",
    ),
)
