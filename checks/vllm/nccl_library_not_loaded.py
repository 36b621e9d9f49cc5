"""vLLM cannot load the NCCL library.

## What it means
vLLM opens libnccl itself, from `VLLM_NCCL_SO_PATH` where that is set, else `libnccl.so.2` of the system or of
torch. A path of another machine, an unbuilt or foreign library ends it.
## What it does to a run
The engine ends when it makes its groups, or when the trainer connects.
## What to do
Unset the variable, or let it name a library that loads.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/huggingface/trl/issues/3925
https://pypi.org/project/nvidia-nccl-cu13/
https://github.com/vllm-project/vllm/blob/main/vllm/distributed/device_communicators/pynccl_wrapper.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL069", name="nccl-library-not-loaded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Failed to load NCCL library from (?P<path>\S{1,240}?)\.? It is expected if you are not"
        r" running on",
    ),
)

#: where no GPU is wanted the engine goes on without it, as the message says itself
LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "vLLM cannot load the NCCL library `{path}`",
        "The file does not exist here, is of another platform, or needs libraries that are absent. "
        "`VLLM_NCCL_SO_PATH` (or LD_LIBRARY_PATH) names it where the name is a path.",
        "Unset `VLLM_NCCL_SO_PATH`, so that the NCCL of torch is used (`pip install nvidia-nccl-cu12`, "
        "`nvidia-nccl-cu13` beside a torch for CUDA 13), "
        "or set it to a file for which `ldd` shows no `not found`. Trainer and server must use the same "
        "NCCL.",
    ),
    zh=Words(
        "vLLM 无法加载 NCCL 库 `{path}`",
        "该文件在此不存在、属于其他平台,或依赖的库缺失。若名称是路径,则由 `VLLM_NCCL_SO_PATH`(或 "
        "LD_LIBRARY_PATH)指定。",
        "取消 `VLLM_NCCL_SO_PATH`,使用 torch 的 NCCL(`pip install nvidia-nccl-cu12`,CUDA 13 的 torch 用 "
        "`nvidia-nccl-cu13`),或将其设为 `ldd` 不显示 `not found` 的文件。训练器与服务器须使用同一 NCCL。",
    ),
)
