"""Accelerate and Transformers disagree on the optimizer's `train` method.

## What it means
Accelerate 0.34 and newer hand `optimizer.train()` on; Transformers between 4.42 and 4.45 call it for every
optimizer, and torch's AdamW has none.
## What it does to a run
The first training step raises AttributeError.
## What to do
Upgrade Transformers.
## How it is found
In a log: by the attribute that the optimizer lacks.
## References
https://github.com/huggingface/transformers/pull/33365
https://github.com/hiyouga/LlamaFactory/issues/5647
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF027", name="optimizer-without-train-mode", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: '(?P<optimizer>\w{1,60})' object has no attribute '(?P<mode>train|eval)'",
        frame=r"accelerate/optimizer\.py:|accelerate[\\/]optimizer\.py:|transformers[\\/]trainer\.py:",
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "the optimizer `{optimizer}` is asked for `{mode}()`, which it does not have",
        "Releases of Transformers and Accelerate that do not belong together: the one calls "
        "`optimizer.{mode}()` (meant for schedule-free optimizers) through a wrapper of the "
        "other.",
        "Upgrade both: `pip install -U transformers accelerate` (Transformers 4.46 or newer), or "
        'pin `pip install "accelerate<0.34"`.',
    ),
    zh=Words(
        "优化器 `{optimizer}` 被要求执行它没有的 `{mode}()`",
        "Transformers 与 Accelerate 的版本不匹配:其中一个通过另一个的包装调用 "
        "`optimizer.{mode}()`(用于 schedule-free 优化器)。",
        "一起升级:`pip install -U transformers accelerate`(Transformers 4.46 或更新),或固定 `pip "
        'install "accelerate<0.34"`。',
    ),
)
