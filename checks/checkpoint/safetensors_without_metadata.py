"""A safetensors file does not say which framework wrote it, and Transformers of that time insists.

## What it means
`save_pretrained` writes `{"format": "pt"}` into the header of each file. Files written by other means
(`safetensors.torch.save_file` without `metadata`, some FSDP saves, merge tools) lack it. Transformers up to 4.45
reads it without looking whether it is there.
## What it does to a run
`from_pretrained` raises "'NoneType' object has no attribute 'get'"; the weights are fine.
## What to do
Upgrade Transformers, or write the file again with the header.
## How it is found
In a log: by the exception in the function of Transformers that opens the file.
## References
https://github.com/huggingface/transformers/issues/33400
https://github.com/huggingface/transformers/blob/v4.45.2/src/transformers/modeling_utils.py
https://github.com/huggingface/transformers/blob/v4.53.0/src/transformers/modeling_utils.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(
    id="CKP019", name="safetensors-without-metadata", severity=ERROR, since="0.1", affects={"transformers": "<4.53"}
)

SIGNATURES = (
    Signature(
        r"^AttributeError: 'NoneType' object has no attribute '(?P<asked>get)'",
        frame=r"transformers[\\/]modeling_utils\.py:(?:load_state_dict|from_pretrained)$",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "a safetensors file of the checkpoint has no header that names its framework",
        "Transformers `{asked}`s the entry `format` of the header without looking whether there is a header. Files "
        "that were not written by `save_pretrained` (a plain `save_file`, some FSDP saves of accelerate 0.34, merge "
        "tools) have none. The weights are fine.",
        "Upgrade: `pip install -U 'transformers>=4.53'`. Or write the file again: `python -c \"import os; from "
        "safetensors.torch import load_file, save_file; f='model.safetensors'; save_file(load_file(f), f + '.new', "
        "metadata={{'format': 'pt'}}); os.replace(f + '.new', f)\"`, and save with `save_pretrained` from now on.",
    ),
    zh=Words(
        "检查点的一个 safetensors 文件没有标明框架的头信息",
        "Transformers 直接读取(`{asked}`)头信息中的 `format`,而不检查头信息是否存在。不是由 `save_pretrained` 写出的"
        "文件(直接 `save_file`、accelerate 0.34 的某些 FSDP 保存、合并工具)没有它。权重没有问题。",
        "升级:`pip install -U 'transformers>=4.53'`。或重写该文件:`python -c \"import os; from safetensors.torch "
        "import load_file, save_file; f='model.safetensors'; save_file(load_file(f), f + '.new', metadata={{'format': "
        "'pt'}}); os.replace(f + '.new', f)\"`,以后用 `save_pretrained` 保存。",
    ),
)
