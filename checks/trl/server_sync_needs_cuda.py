"""The trainer runs on the CPU and is to push weights to a vLLM server.

## What it means
From TRL 1.11 on weights go to the server over NCCL, which needs a CUDA device on the trainer's side too.
## What it does to a run
The trainer raises NotImplementedError when it connects.
## What to do
Train on a GPU, or do without server mode.
## How it is found
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_client.py
https://huggingface.co/docs/trl/vllm_integration
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL041", name="server-sync-needs-cuda", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"NotImplementedError: Weight synchronization runs on vLLM's NCCL weight-transfer engine,"
        r" which needs a CUDA device, got '(?P<device>[\w:]{1,20})'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the trainer's device is `{device}`, and the vLLM server takes weights over NCCL only",
        "Server mode synchronizes the policy's weights from GPU to GPU; the training process sees no "
        "CUDA device, or was told to use the CPU.",
        "Give the trainer a GPU of its own beside the server's (`CUDA_VISIBLE_DEVICES`, no "
        "`use_cpu=True`, a CUDA build of torch), or train without the server: `use_vllm=False`.",
    ),
    zh=Words(
        "训练器的设备是 `{device}`,而 vLLM 服务器只通过 NCCL 接收权重",
        "server 模式在 GPU 之间同步策略权重;训练进程看不到 CUDA 设备,或被要求使用 CPU。",
        "为训练器分配一张与服务器不同的 GPU(`CUDA_VISIBLE_DEVICES`、不设 `use_cpu=True`、CUDA 版 torch),"
        "或不用服务器训练:`use_vllm=False`。",
    ),
)
