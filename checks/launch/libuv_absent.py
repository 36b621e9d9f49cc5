"""The launcher asks for libuv, which this build of torch does not have.

## What it means
Since torch 2.4 the store where ranks meet uses libuv by default. The wheels for Windows are built without it.
## What it does to a run
torchrun and `accelerate launch` end before a rank starts.
## What to do
Turn it off for the store; on Windows work in WSL 2 where NCCL is wanted.
## How it is found
In a log: by torch's own message.
## References
https://github.com/pytorch/pytorch/issues/139990
https://docs.pytorch.org/tutorials/intermediate/TCPStore_libuv_backend.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH032", name="libuv-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"use_libuv was requested but PyTorch was buil[dt] without libuv support",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_COMMANDS = ("set USE_LIBUV=0",)

LOG_MESSAGE = Message(
    en=Words(
        "the launcher wants libuv, and this build of torch has none",
        "Since torch 2.4 the store where ranks meet uses libuv unless it is told not to, and the wheels "
        "for Windows come without it. Nothing is wrong with the training script.",
        'Set `USE_LIBUV=0` (`set USE_LIBUV=0` in cmd, `$env:USE_LIBUV="0"` in PowerShell); where '
        "torchrun ignores it, pass `--rdzv-conf use_libuv=0`, or for one GPU start the script with plain "
        "`python`. Windows has gloo only, no NCCL: for several GPUs, vLLM or DeepSpeed use WSL 2 or "
        "Linux.",
    ),
    zh=Words(
        "启动器需要 libuv,而该 torch 构建不含 libuv",
        "自 torch 2.4 起,各 rank 汇合用的 store 默认使用 libuv,而 Windows 的 wheel 不带它。训练脚本本身没有问题。",
        '设置 `USE_LIBUV=0`(cmd 中 `set USE_LIBUV=0`,PowerShell 中 `$env:USE_LIBUV="0"`);若 torchrun 不理'
        "会它,请传 `--rdzv-conf use_libuv=0`,单卡则直接用 `python` 启动脚本。Windows 只有 gloo,没有 NCCL:"
        "多卡、vLLM 或 DeepSpeed 请用 WSL 2 或 Linux。",
    ),
)
