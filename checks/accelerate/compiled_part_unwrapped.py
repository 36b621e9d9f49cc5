"""Accelerate cannot unwrap a model of which only parts are compiled.

## What it means
`unwrap_model` takes every model that holds a compiled part for one whose regions Accelerate compiled itself, and looks
for the original that it would have kept.
## What it does to a run
The Trainer raises KeyError before the first step, or when it saves.
## What to do
Upgrade Accelerate, or compile the whole model.
## How it is found
In a log: by the key, inside `extract_model_from_parallel`.
## References
https://github.com/huggingface/accelerate/issues/3879
https://github.com/huggingface/accelerate/issues/3683
https://github.com/huggingface/accelerate/blob/v1.12.0/src/accelerate/utils/other.py
https://github.com/huggingface/accelerate/blob/v1.13.0/src/accelerate/utils/other.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(
    id="ACC018", name="compiled-part-unwrapped", severity=ERROR, since="0.1", affects={"accelerate": "<1.13"}
)

SIGNATURES = (
    Signature(
        r"^KeyError: '(?P<key>_orig_mod)'", frame=r"accelerate[\\/]utils[\\/]other\.py:extract_model_from_parallel"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Accelerate takes a model with a compiled part for one that it compiled itself",
        "A submodule went through `torch.compile` (an attention, a flex mask, a quantizer), the model "
        "itself did not. `unwrap_model` up to Accelerate 1.12 then looks for an entry `{key}` that only "
        "its own regional compilation writes.",
        'Upgrade: `pip install -U "accelerate>=1.13"`. Or compile the whole model (`torch_compile=True`) or nothing.',
    ),
    zh=Words(
        "Accelerate 把只有一部分被编译的模型当作由它自己编译的",
        "某个子模块经过了 `torch.compile`(注意力、flex mask、量化器),而模型本身没有。Accelerate 1.12 及之前"
        "的 `unwrap_model` 会查找只有它自己的区域编译才会写入的 `{key}`。",
        '升级:`pip install -U "accelerate>=1.13"`。或编译整个模型(`torch_compile=True`),或完全不编译。',
    ),
)
