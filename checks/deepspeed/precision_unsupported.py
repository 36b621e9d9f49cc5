"""DeepSpeed refuses a precision that the device does not have.

## What it means
`fp16` or `bf16` is switched on in the configuration and the accelerator that DeepSpeed found denies it: bf16
on cards before Ampere, fp16 on cards before Volta or a CPU, or the CPU was found instead of the GPU.
## What it does to a run
`deepspeed.initialize` raises ValueError, after the model was loaded.
## What to do
Use the other precision, or make the GPU visible.
## How it is found
In a log: by DeepSpeed's exception.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.18.6/deepspeed/runtime/engine.py
https://github.com/deepspeedai/DeepSpeed/blob/v0.18.6/accelerator/cuda_accelerator.py
https://www.deepspeed.ai/docs/config-json/#bfloat16-training-options
https://www.deepspeed.ai/tutorials/accelerator-abstraction-interface/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP032", name="deepspeed-precision-unsupported", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Type (?P<type>fp16|bf16) is not supported(?: on your device|\.$)",
        symptom_of=("TOR001", "TOR008", "CUD"),
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "`{type}` is switched on in the DeepSpeed configuration and the device does not support it",
        "bf16 needs an Ampere or newer GPU and fp16 a Volta or newer one; fp16 is missing on most "
        "CPUs. Where such a GPU was meant, DeepSpeed did not find it and took the CPU.",
        "Switch to the other precision in the DeepSpeed JSON and in the trainer (`fp16`/`bf16` "
        "with `enabled`, `--fp16`/`--bf16`), or train in float32; if the machine has a GPU, "
        'check `nvidia-smi`, `CUDA_VISIBLE_DEVICES` and `python -c "import torch; '
        'print(torch.cuda.is_available())"`.',
    ),
    zh=Words(
        "DeepSpeed 配置启用了 `{type}`,而设备不支持",
        "bf16 需要 Ampere 或更新的 GPU,fp16 需要 Volta 或更新的 GPU;多数 CPU 没有 fp16。若本应使用这样的 "
        "GPU,则 DeepSpeed 没有找到它而使用了 CPU。",
        "在 DeepSpeed JSON 和训练器中改用另一种精度(`fp16`/`bf16` 的 `enabled`、`--fp16`/"
        "`--bf16`),或用 float32 训练;若机器有 GPU,检查 `nvidia-smi`、`CUDA_VISIBLE_DEVICES` 以及 "
        '`python -c "import torch; print(torch.cuda.is_available())"`。',
    ),
)
