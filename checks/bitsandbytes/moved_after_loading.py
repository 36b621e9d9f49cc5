"""A quantized model is moved or cast after it was loaded.

## What it means
Weights packed to 4 or 8 bit cannot be cast, and older releases cannot move them: `.to(...)`, `.cuda()`,
`.half()` in the script or in a library raise.
## What it does to a run
The call raises ValueError before training.
## What to do
Take the call out; choose the device with `device_map` when loading.
## How it is found
In a log: by the exception of Transformers.
## References
https://huggingface.co/docs/transformers/quantization/bitsandbytes
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/modeling_utils.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="BNB005", name="quantized-model-moved", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: `?\.to`? is not supported for `?(?:4-bit|8-bit)`? (?:or `?8-bit`?"
        r" )?(?:bitsandbytes )?models",
    ),
    Signature(
        r"ValueError: (?:You cannot cast a bitsandbytes model|Calling `(?:cuda|half|float)\(\)` is"
        r" not supported for `[48]-bit`)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a 4-bit or 8-bit model was moved or cast after loading",
        "Packed weights keep the device and type that they were loaded with; a `.to(...)`, `.cuda()` or "
        "`.half()` afterwards is refused.",
        "Remove that call from the script (see the traceback) and load onto the right device: "
        '`device_map={{"": torch.cuda.current_device()}}`. If a library makes the call, upgrade: `pip '
        "install -U transformers accelerate trl peft bitsandbytes`.",
    ),
    zh=Words(
        "4-bit 或 8-bit 模型在加载后被移动或转换类型",
        "打包的权重保持加载时的设备和类型;之后的 `.to(...)`、`.cuda()` 或 `.half()` 会被拒绝。",
        '从脚本中删除该调用(见 traceback),并直接加载到正确的设备:`device_map={{"": '
        "torch.cuda.current_device()}}`。若是某个库发出的调用,升级:`pip install -U transformers "
        "accelerate trl peft bitsandbytes`。",
    ),
)
