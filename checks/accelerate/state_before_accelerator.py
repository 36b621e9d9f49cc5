"""Accelerate 1.0 to 1.8 under DeepSpeed finds half of its state there before the first Accelerator is made.

## What it means
`TrainingArguments`, `PartialState()` and trackers start the processes' state. An `Accelerator()` that comes after them
takes this for a second one, asks the first for its DeepSpeed plugins, and there is no first.
## What it does to a run
The older trainers of TRL (PPO, RLOO), which make an Accelerator of their own, and scripts of one's own end with
"Please make sure to properly initialize your accelerator" when they start with DeepSpeed.
## What to do
Take a release of Accelerate that looks more closely, or make the Accelerator first.
## How it is found
In a log: by the exception, raised while an Accelerator is made, or where one of its helpers is used without any.
## References
https://github.com/huggingface/trl/issues/2555
https://github.com/huggingface/trl/issues/3453
https://github.com/huggingface/accelerate/issues/3428
https://github.com/huggingface/accelerate/blob/v1.8.0/src/accelerate/accelerator.py
https://github.com/huggingface/accelerate/blob/v1.9.0/src/accelerate/accelerator.py
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ACC025", name="state-before-accelerator", severity=ERROR, since="0.1")

_WORDS = r"ValueError: Please make sure to properly initialize your accelerator via `accelerator = Accelerator\(\)`"
_MADE = re.compile(r"accelerate[\\/]accelerator\.py:__init__$")

SIGNATURES = (
    Signature(_WORDS),
    Signature(r"RuntimeError: You must initialize the accelerate state by calling either `PartialState\(\)`"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Accelerate takes its first Accelerator for a second one, and finds no DeepSpeed plugin",
        "Accelerate 1.0 to 1.8 does so when something started its state before: `TrainingArguments` (PPOConfig, "
        "RLOOConfig ...), `PartialState()` or a tracker. The trainers of TRL that make an Accelerator of "
        "their own (PPO, RLOO of 2024 and 2025) run into it every time.",
        'Upgrade: `pip install -U "accelerate>=1.9"`, where TRL allows it; with older ones `pip install '
        '"accelerate==0.34.2"` runs. In a script of your own make `accelerator = Accelerator(...)` the first thing, '
        "before training arguments and trackers. Without DeepSpeed (DDP, one GPU) it does not happen.",
    ),
    zh=Words(
        "Accelerate 把第一个 Accelerator 当作第二个,并找不到 DeepSpeed 插件",
        "当某处已先启动其状态时,Accelerate 1.0 至 1.8 会如此:`TrainingArguments`(PPOConfig、RLOOConfig 等)、"
        "`PartialState()` 或 tracker。自行创建 Accelerator 的 TRL 训练器(2024 和 2025 年的 PPO、RLOO)每次都"
        "会遇到。",
        '升级:在 TRL 允许时 `pip install -U "accelerate>=1.9"`;较旧的环境用 `pip install "accelerate==0.34.2"` 可以运'
        "行。自己的脚本中最先创建 `accelerator = Accelerator(...)`,在训练参数和 tracker 之前。不使用 DeepSpeed 时"
        "(DDP、单卡)不会出现。",
    ),
)

NONE_MADE = Message(
    en=Words(
        "a part of Accelerate was used before any Accelerator was made",
        "`AcceleratorState()`, `get_logger(...)` and loaders of Accelerate read a state that `Accelerator()` or "
        "`PartialState()` makes; in this process nothing had made it, or it was reset.",
        "Make `accelerator = Accelerator()` the first thing in the script (for a logger alone `PartialState()` will "
        "do), in every process that gets there, workers included. `import` of a module that logs at its top comes "
        "before that, too: move such calls into functions.",
    ),
    zh=Words(
        "在创建 Accelerator 之前使用了 Accelerate 的某个部分",
        "`AcceleratorState()`、`get_logger(...)` 以及 Accelerate 的数据加载器读取由 `Accelerator()` 或 `PartialState("
        ")` 建立的状态;该进程中没有建立过,或已被重置。",
        "在脚本最先执行 `accelerator = Accelerator()`(仅用日志时 `PartialState()` 即可),每个执行到此处的进程(包括 "
        "worker)都需要。`import` 一个在顶层写日志的模块也发生在此之前:把这类调用移到函数中。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Tell the constructor itself from helpers that are used without one."""
    made = any(_MADE.search(frame) for frame in hits.first.frames)
    return found(
        PROBLEM,
        LOG_MESSAGE if made else NONE_MADE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if made else LIKELY,
    )
