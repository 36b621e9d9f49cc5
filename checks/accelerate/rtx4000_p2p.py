"""RTX 40 GPUs with an old driver, started without `accelerate launch`.

## What it means
Drivers before 550.40.07 claim peer-to-peer transfers between RTX 40 GPUs that do not work, so accelerate
refuses several of them unless NCCL is told not to use P2P and InfiniBand.
## What it does to a run
`Accelerator` raises NotImplementedError before anything is loaded.
## What to do
Start with `accelerate launch`, which sets both variables, or export them; a newer driver needs neither.
## How it is found
In a log: by accelerate's exception.
## References
https://github.com/huggingface/accelerate/pull/2195
https://github.com/huggingface/accelerate/pull/2558
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="ACC012", name="rtx4000-without-p2p", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"NotImplementedError: Using RTX 4000 series doesn't support faster communication broadband"),)

LOG_MESSAGE = Message(
    en=Words(
        "several RTX 40 GPUs, and P2P was not switched off for NCCL",
        "Drivers older than 550.40.07 offer peer-to-peer transfers that these GPUs do not have; accelerate before "
        "0.29 asks for the switches whatever the driver is. "
        "`accelerate launch` switches them off; plain `python` or `torchrun` does not.",
        "Export `NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1` before the command, or start with `accelerate "
        "launch`, or update the NVIDIA driver to 550.40.07 or newer and accelerate to 0.29 or newer.",
    ),
    zh=Words(
        "多张 RTX 40 GPU,且未为 NCCL 关闭 P2P",
        "早于 550.40.07 的驱动提供了这些 GPU 并不具备的点对点传输;accelerate 0.29 之前不论驱动版本都要求关闭。"
        "`accelerate launch` 会关闭它;普通 `python` 或 `torchrun` 不会。",
        "在命令前导出 `NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1`,或用 `accelerate launch` 启动,或将 NVIDIA 驱"
        "动更新到 550.40.07 及以上并将 accelerate 更新到 0.29 及以上。",
    ),
)

LOG_COMMANDS = ("export NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1",)
