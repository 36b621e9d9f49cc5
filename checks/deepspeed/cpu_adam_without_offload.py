"""DeepSpeedCPUAdam met parameters that are not on the CPU.

## What it means
The CPU optimizer updates parameters and states that ZeRO-Offload keeps in host memory. Without the offload of
the optimizer, or with part of the tensors elsewhere, it is handed tensors of another device.
## What it does to a run
The first optimizer step raises.
## What to do
Offload the optimizer, or use the GPU's Adam.
## How it is found
In a log: by the exception at the CPU optimizer's step.
## References
https://www.deepspeed.ai/docs/config-json/#optimizer-offloading
https://github.com/chfyfr/PixelPonder/issues/2
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP031", name="cpu-adam-on-other-devices", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^RuntimeError: tensor does not have a device", frame=r"deepspeed[\\/]ops[\\/]adam[\\/]cpu_adam\.py:"),
    Signature(r"AssertionError: CPUAdam param is on (?P<device>[\w:]{1,20}) and must be 'cpu'"),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "DeepSpeedCPUAdam was handed a tensor that does not lie in host memory",
        "The CPU optimizer works only where ZeRO-Offload keeps parameters and states on the CPU; "
        "here a parameter or a state is elsewhere (or nowhere, after a move by other code).",
        'Set `"offload_optimizer": {{"device": "cpu", "pin_memory": true}}` in the '
        "`zero_optimization` section, or use `AdamW` on the GPU (`DeepSpeedCPUAdam` only with "
        "offload); do not move model or optimizer with `.to()` after `prepare`, and upgrade "
        "DeepSpeed.",
    ),
    zh=Words(
        "DeepSpeedCPUAdam 收到了不在主机内存中的张量",
        "CPU 优化器只在 ZeRO-Offload 把参数和状态保存在 CPU 上时工作;"
        "此处某个参数或状态在别处(或被其他代码移动后已不存在)。",
        '在 `zero_optimization` 中设置 `"offload_optimizer": {{"device": "cpu", "pin_memory": '
        "true}}`,或在 GPU 上用 `AdamW`(只有卸载时才用 `DeepSpeedCPUAdam`);`prepare` 之后不要用 "
        "`.to()` 移动模型或优化器,并升级 DeepSpeed。",
    ),
)
