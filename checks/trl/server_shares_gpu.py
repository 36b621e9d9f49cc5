"""The trainer and its vLLM server use the same GPU.

## What it means
In server mode TRL sends the weights through an NCCL group of the trainer and the workers of the server. NCCL
takes each GPU once.
## What it does to a run
The trainer ends when it connects to the server.
## What to do
Different GPUs, or vLLM inside of the trainer.
## How it is found
In a log, by the message that the program prints.
## References
https://huggingface.co/docs/trl/vllm_integration
https://github.com/huggingface/trl/issues/3487
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL047", name="server-shares-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: Attempting to use the same CUDA device for multiple distinct roles/ranks",
    ),
    Signature(
        r"RuntimeError: NCCL error: (?:invalid usage|unhandled cuda error)",
        frame=r"vllm_client\.py:init_communicator$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the trainer and its vLLM server use the same GPU",
        "Server mode sends weights by NCCL, which needs a GPU of its own for each member of the group: "
        "the server takes GPU 0 and following unless it is told otherwise, and so does the trainer.",
        "Separate them by `CUDA_VISIBLE_DEVICES`: `CUDA_VISIBLE_DEVICES=0 trl vllm-serve ...` and "
        "`CUDA_VISIBLE_DEVICES=1,2,3 accelerate launch --num_processes 3 ...`. With one GPU only, use "
        '`vllm_mode="colocate"` and a `vllm_gpu_memory_utilization` of about 0.3. If they differ '
        "already, compare the NCCL and vLLM versions of both environments.",
    ),
    zh=Words(
        "训练器与其 vLLM 服务器使用同一张 GPU",
        "server 模式通过 NCCL 发送权重,组内每个成员需要各自的 GPU:未另行指定时服务器从 GPU 0 开始占用,训练器也一样。",
        "用 `CUDA_VISIBLE_DEVICES` 分开:`CUDA_VISIBLE_DEVICES=0 trl vllm-serve ...` 与 "
        "`CUDA_VISIBLE_DEVICES=1,2,3 accelerate launch --num_processes 3 ...`。只有一张 GPU 时使用 "
        '`vllm_mode="colocate"` 且 `vllm_gpu_memory_utilization` 约 0.3。若两者已不同,请比较两个环境的 '
        "NCCL 与 vLLM 版本。",
    ),
)

LOG_CONFIDENCE = LIKELY
