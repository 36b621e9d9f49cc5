"""The Trainer needs accelerate, which is missing or too old.

## What it means
Since 4.30 the Trainer runs on accelerate, which plain `pip install transformers` does not bring along.
## What it does to a run
`TrainingArguments` raises ImportError.
## What to do
Install or upgrade accelerate for the same interpreter, and restart a notebook.
## How it is found
In a log: by the exception of Transformers.
## References
https://huggingface.co/docs/transformers/installation
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/training_args.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF014", name="accelerate-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ImportError: Using the `Trainer` with `PyTorch` requires `accelerate>=(?P<minimum>[\d.]{1,12})`",
    ),
    Signature(
        r"ImportError: Using `low_cpu_mem_usage=True`,? (?:or )?a `device_map`[^\n]{0,60} requires"
        r" (?:Accelerate|`accelerate)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`accelerate` is missing or older than the Trainer needs",
        "The Trainer and `device_map` of Transformers are built on accelerate, which does not come with "
        "a plain `pip install transformers`.",
        "Install it with the interpreter that trains: `python -m pip install -U accelerate`; restart the "
        "kernel of a notebook afterwards.",
    ),
    zh=Words(
        "缺少 `accelerate`,或其版本低于 Trainer 的要求",
        "Transformers 的 Trainer 和 `device_map` 构建在 accelerate 之上,而普通的 `pip install "
        "transformers` 不会附带它。",
        "用训练所用的解释器安装:`python -m pip install -U accelerate`;之后重启笔记本内核。",
    ),
)

LOG_COMMANDS = ("python -m pip install -U accelerate",)
