"""Accelerate and Transformers disagree on the optimizer's `train` method.

## What it means
Transformers from 4.45 on calls `train()` where the optimizer has it, and Accelerate's wrapper always has. Before 0.34
the wrapper hands the call on without a look whether the optimizer within has it too; torch's AdamW has none.
## What it does to a run
The first training step raises AttributeError.
## What to do
Upgrade Accelerate.
## How it is found
In a log: by the attribute that the optimizer lacks.
## References
https://github.com/huggingface/transformers/issues/33620
https://github.com/huggingface/transformers/blob/v4.45.0/src/transformers/trainer.py
https://github.com/huggingface/accelerate/blob/v0.33.0/src/accelerate/optimizer.py
https://github.com/huggingface/accelerate/blob/v0.34.0/src/accelerate/optimizer.py
https://github.com/hiyouga/LlamaFactory/issues/5647
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF027", name="optimizer-without-train-mode", severity=ERROR, since="0.1")

#: Accelerate's wrapper, or the Trainer's own call where the optimizer is not wrapped
_ASKS = r"accelerate[\\/]optimizer\.py:|transformers[\\/]trainer\.py:"

SIGNATURES = (
    Signature(r"AttributeError: '(?P<optimizer>\w{1,60})' object has no attribute '(?P<mode>train|eval)'", frame=_ASKS),
)


LOG_MESSAGE = Message(
    en=Words(
        "the optimizer `{optimizer}` is asked for `{mode}()`, which it does not have",
        "Transformers 4.45 and newer call `optimizer.{mode}()` (meant for schedule-free optimizers), "
        "and the wrapper of Accelerate before 0.34 hands the call on to every optimizer.",
        'Upgrade Accelerate: `pip install -U "accelerate>=0.34"`, and restart the process.',
    ),
    zh=Words(
        "优化器 `{optimizer}` 被要求执行它没有的 `{mode}()`",
        "Transformers 4.45 及以上会调用 `optimizer.{mode}()`(用于 schedule-free 优化器),而 0.34 之前的 "
        "Accelerate 的包装会把该调用转给任何优化器。",
        '升级 Accelerate:`pip install -U "accelerate>=0.34"`,并重启进程。',
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the call itself raised: models, judges and reward functions below the Trainer have modes, too."""
    first = hits.first
    of_trainer = "trainer.py:" in first.frames[-1]
    if not re.search(_ASKS, first.frames[-1]) or (of_trainer and first.code and "optimizer" not in first.code):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), optimizer=first.groups["optimizer"],
        mode=first.groups["mode"],
    )  # fmt: skip
