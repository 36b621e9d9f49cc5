"""Weights that are packed already are quantized again.

## What it means
bitsandbytes quantizes 16- and 32-bit weights. It gets packed ones (uint8, int8) where a checkpoint that is quantized
already is loaded as if it were not, or where a packed layer loses its state on the way: CPU offload, sequential
offload of diffusers, a second `.to(device)`, a module built without weights.
## What it does to a run
Loading, or the first move to the GPU, raises.
## What to do
Quantize once, and keep packed layers on their device.
## How it is found
In a log: by the type that bitsandbytes was given.
## References
https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.45.3/bitsandbytes/functional.py
https://github.com/huggingface/optimum-benchmark/issues/175
https://github.com/huggingface/diffusers/issues/10800
https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1525
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="BNB006", name="quantized-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Blockwise (?:4bit )?quantization only supports 16/32-bit floats, but got "
        r"(?P<dtype>torch\.(?:uint8|int8|float8_\w{1,20}))"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "bitsandbytes was given weights of `{dtype}` to quantize: they are packed already",
        "It quantizes float16, bfloat16 and float32. Either the checkpoint is a quantized one "
        "(`-bnb-4bit`, GPTQ, FP8) and is quantized once more, or a packed layer was moved (`device_map` "
        "with CPU offload, sequential offload, `.to(...)`) and taken for a new one.",
        "With a checkpoint that is quantized already pass no `quantization_config`/`load_in_4bit`, or load "
        'the 16-bit original and quantize that. Keep the whole model on one GPU (`device_map={{"": '
        "torch.cuda.current_device()}}`) instead of offloading packed layers, take `.to(...)` out, and "
        "upgrade: `pip install -U bitsandbytes transformers accelerate`.",
    ),
    zh=Words(
        "交给 bitsandbytes 量化的权重是 `{dtype}`:它们已经被打包",
        "它只量化 float16、bfloat16 和 float32。要么检查点本身已量化(`-bnb-4bit`、GPTQ、FP8)又被再量化一次,"
        "要么已打包的层被移动(带 CPU offload 的 `device_map`、顺序 offload、`.to(...)`)而被当作新的层。",
        "对已量化的检查点不要再传 `quantization_config`/`load_in_4bit`,或加载 16 位原版再量化。让整个模型留"
        '在一张 GPU 上(`device_map={{"": torch.cuda.current_device()}}`),不要 offload 已打包的层,去掉'
        " `.to(...)`,并升级:`pip install -U bitsandbytes transformers accelerate`。",
    ),
)

LOG_CONFIDENCE = LIKELY
