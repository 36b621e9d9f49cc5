"""ZeRO-Offload meets an optimizer that was not made for the CPU.

## What it means
With `offload_optimizer` the step runs on the CPU, for which DeepSpeed wants its own `DeepSpeedCPUAdam`; an
optimizer of torch that the script or the Trainer made is refused as too slow.
## What it does to a run
The engine raises ZeRORuntimeException before the first step.
## What to do
Let DeepSpeed make the optimizer, or allow the slow one.
## How it is found
In a log: by DeepSpeed's exception.
## References
https://www.deepspeed.ai/docs/config-json/#optimizer-parameters
https://github.com/deepspeedai/DeepSpeed/blob/v0.16.7/deepspeed/runtime/engine.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP025", name="deepspeed-offload-with-own-optimizer", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ZeRORuntimeException: You are using ZeRO-Offload with a client provided optimizer \(<class"
        r" '(?P<optimizer>[\w.]{1,120})'>\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "optimizer offload is on, and the optimizer is `{optimizer}` instead of DeepSpeedCPUAdam",
        "The step runs on the CPU, where an optimizer that was made for GPUs is slow, so DeepSpeed refuses it.",
        'Put `"optimizer": {{"type": "AdamW", "params": {{"lr": "auto", ...}}}}` into the DeepSpeed JSON '
        'so that it makes its own, or set `"zero_force_ds_cpu_optimizer": false` to accept the slow one, '
        "or take `offload_optimizer` out.",
    ),
    zh=Words(
        "开启了优化器卸载,而优化器是 `{optimizer}`,不是 DeepSpeedCPUAdam",
        "该步在 CPU 上运行,为 GPU 设计的优化器在那里很慢,因此 DeepSpeed 拒绝。",
        '在 DeepSpeed JSON 中加入 `"optimizer": {{"type": "AdamW", "params": {{"lr": "auto", ...}}}}`,由'
        '它自行创建;或设置 `"zero_force_ds_cpu_optimizer": false` 接受较慢的优化器;或去掉 '
        "`offload_optimizer`。",
    ),
)
