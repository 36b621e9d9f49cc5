"""fp16 mixed precision is asked for on a device that cannot do it.

## What it means
Gradient scaling of fp16 needs a GPU; the process sees none (a CPU build of torch, hidden devices, a login
node) or the device has no support.
## What it does to a run
`Accelerator` raises ValueError before the model is prepared.
## What to do
Find out why no GPU is visible, or train in `no` or `bf16` on the CPU.
## How it is found
In a log: by accelerate's exception.
## References
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py
https://huggingface.co/docs/accelerate/usage_guides/mixed_precision
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="ACC014", name="fp16-without-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: fp16 mixed precision requires a (?:GPU|device in) [^\n]{0,160}\(not"
        r" '(?P<device>\w{1,20})'\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "fp16 mixed precision was asked for, and the device is `{device}`",
        "fp16 training scales gradients on the GPU; the process saw no usable one, or runs on `{device}` on purpose.",
        'If there should be a GPU, look at `nvidia-smi` and `python -c "import torch; '
        'print(torch.cuda.is_available())"`; else take `fp16=True` (`mixed_precision: fp16`) out, or use '
        "`bf16`.",
    ),
    zh=Words(
        "要求 fp16 混合精度,而设备是 `{device}`",
        "fp16 训练在 GPU 上缩放梯度;该进程看不到可用的 GPU,或有意在 `{device}` 上运行。",
        '如果应有 GPU,检查 `nvidia-smi` 和 `python -c "import torch; print(torch.cuda.is_available())"`;'
        "否则去掉 `fp16=True`(`mixed_precision: fp16`),或改用 `bf16`。",
    ),
)
