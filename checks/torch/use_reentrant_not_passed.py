"""Gradient checkpointing is called without saying which kind.

## What it means
`torch.utils.checkpoint.checkpoint` wants `use_reentrant` given. Most releases only warn; under torch.compile, and in
releases that made it an error, it raises. Model code from the Hub often lacks it.
## What it does to a run
The first forward in training raises.
## What to do
Pass the argument where the model calls it.
## How it is found
In a log: by torch's words.
## References
https://docs.pytorch.org/docs/stable/checkpoint.html
https://github.com/open-mmlab/mmengine/issues/1539
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR042", name="use-reentrant-not-passed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ValueError|RuntimeError): torch\.utils\.checkpoint: (?:please pass in use_reentrant|the use_reentrant "
        r"parameter)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "gradient checkpointing was called without `use_reentrant`, which this torch refuses",
        "The model's own code (often `modeling_*.py` from the Hub) calls `checkpoint` without it. torch "
        "warned for years and raises where it traces the model (torch.compile) and in newer releases.",
        "Pass it from the training arguments: `gradient_checkpointing=True, "
        'gradient_checkpointing_kwargs={{"use_reentrant": False}}`, which reaches models of Transformers. '
        "In code that calls `torch.utils.checkpoint.checkpoint(...)` itself add `use_reentrant=False`, or "
        "take a newer revision of the model's code. Without torch.compile (`torch_compile=False`, "
        "`TORCHDYNAMO_DISABLE=1`) older torch only warns.",
    ),
    zh=Words(
        "调用梯度检查点时没有给出 `use_reentrant`,此 torch 拒绝",
        "模型自己的代码(常为 Hub 上的 `modeling_*.py`)调用 `checkpoint` 时没有传入。torch 多年来只是警告,而"
        "在追踪模型(torch.compile)时以及较新版本中会报错。",
        '在训练参数中传入:`gradient_checkpointing=True, gradient_checkpointing_kwargs={{"use_reentrant": '
        "False}}`,对 Transformers 的模型有效。自行调用 `torch.utils.checkpoint.checkpoint(...)` 的代码中加"
        "上 `use_reentrant=False`,或使用模型代码的更新版本。不用 torch.compile(`torch_compile=False`、"
        "`TORCHDYNAMO_DISABLE=1`)时,旧版 torch 只会警告。",
    ),
)
