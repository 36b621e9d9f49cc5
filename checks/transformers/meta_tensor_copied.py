"""Weights on the meta device were to be moved.

## What it means
A model whose weights were never loaded (made under `init_empty_weights`, `low_cpu_mem_usage`, ZeRO-3's or
FSDP's delayed loading), or that `device_map` offloaded, has tensors without data; `.to(device)` cannot copy
them.
## What it does to a run
Loading or the first use raises NotImplementedError.
## What to do
Load the weights where they are used, and do not call `.to()` on a model with a `device_map`.
## How it is found
In a log: by torch's exception.
## References
https://docs.pytorch.org/docs/stable/meta.html
https://huggingface.co/docs/accelerate/usage_guides/big_modeling
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF029", name="meta-tensor-copied", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"NotImplementedError: Cannot copy out of meta tensor; no data!"),
    Signature(r"RuntimeError: Tensor on device (?:cuda(?::\d{1,3})?|cpu) is not on the expected device meta!"),
    Signature(r"RuntimeError: You can't move a model that has some modules offloaded to cpu or disk"),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "a model with weights on the `meta` device was moved or used",
        "Some weights have no data: they were never loaded (keys missing in the checkpoint, "
        "delayed loading of ZeRO-3 or FSDP, `init_empty_weights`), or `device_map` offloaded "
        "them because the GPU was too small.",
        "Remove `.to(...)`/`.cuda()` after loading with `device_map`; load with "
        "`low_cpu_mem_usage=False` and without `device_map` for training; read the warning about "
        "newly initialized or missing weights above; for a model that does not fit use ZeRO-3 or "
        "FSDP instead of offloading.",
    ),
    zh=Words(
        "带有 `meta` 设备权重的模型被移动或使用",
        "部分权重没有数据:从未加载(检查点缺少键、ZeRO-3 或 FSDP 的延迟加载、"
        "`init_empty_weights`),或因 GPU 太小被 `device_map` 卸载。",
        "用 `device_map` 加载后去掉 `.to(...)`/`.cuda()`;训练时用 `low_cpu_mem_usage=False` "
        "且不带 `device_map` 加载;查看上方关于缺失或新初始化权重的警告;放不下的模型用 ZeRO-3 或 "
        "FSDP,而非卸载。",
    ),
)
