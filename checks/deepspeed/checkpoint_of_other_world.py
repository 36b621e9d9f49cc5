"""A ZeRO checkpoint is resumed with another number of processes.

## What it means
ZeRO saves one piece of the optimizer state per process; the pieces only fit the same number of processes.
## What it does to a run
Resuming raises ZeRORuntimeException on every rank.
## What to do
Resume with the same number of processes, or through a universal checkpoint.
## How it is found
In a log: by DeepSpeed's exception, which names both numbers.
## References
https://www.deepspeed.ai/tutorials/universal-checkpointing/
https://github.com/deepspeedai/DeepSpeed/blob/v0.16.7/deepspeed/runtime/engine.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP024", name="deepspeed-checkpoint-of-other-world", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The checkpoint being loaded used a DP world size of (?P<saved>\d{1,6}) but the current"
        r" world size is (?P<now>\d{1,6})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the ZeRO checkpoint is of world size {saved}, and {now} processes want to resume it",
        "The optimizer state lies in {saved} pieces, one for each process of the run that saved it, and "
        "DeepSpeed does not cut them anew.",
        "Resume with {saved} processes (GPUs), or convert the checkpoint with `ds_to_universal.py` and "
        'set `"checkpoint": {{"load_universal": true}}`; to start with the weights alone, run '
        "`zero_to_fp32.py` and load the result as the model.",
    ),
    zh=Words(
        "该 ZeRO 检查点由 {saved} 个进程保存,而现在要用 {now} 个进程恢复",
        "优化器状态分成 {saved} 份,对应保存时的每个进程,DeepSpeed 不会重新切分。",
        '用 {saved} 个进程(GPU)恢复;或用 `ds_to_universal.py` 转换检查点并设置 `"checkpoint": '
        '{{"load_universal": true}}`;若只需权重,运行 `zero_to_fp32.py` 并把结果作为模型加载。',
    ),
)
