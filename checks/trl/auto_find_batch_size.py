"""GRPO refuses `auto_find_batch_size`.

## What it means
The option halves the batch when memory runs out, and a halved batch no longer holds whole groups of
completions.
## What it does to a run
`GRPOConfig` of TRL 1.9.0 and newer raises a ValueError. Nothing is trained.
## What to do
Set `auto_find_batch_size=False` and choose a smaller `per_device_train_batch_size`.
## How it is found
The argument is set to true and the installed TRL is 1.9.0 or newer.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.9.0/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL020", name="auto-find-batch-size-refused", severity=ERROR, since="0.1", affects={"trl": ">=1.9"}
)

SIGNATURES = (Signature(r"ValueError: auto_find_batch_size is not supported by GRPO"),)

LOG_MESSAGE = Message(
    en=Words(
        "`auto_find_batch_size=True` is refused by `GRPOConfig` of TRL 1.9 and newer",
        "A batch that is halved when memory runs out no longer holds whole groups of `num_generations` completions.",
        "Set `auto_find_batch_size=False` and choose a smaller `per_device_train_batch_size` with more "
        "`gradient_accumulation_steps`.",
    ),
    zh=Words(
        "TRL 1.9 及以上的 `GRPOConfig` 拒绝 `auto_find_batch_size=True`",
        "显存不足时减半的批次不再由完整的 `num_generations` 条一组构成。",
        "设置 `auto_find_batch_size=False`,改用更小的 `per_device_train_batch_size` 和更多的 "
        "`gradient_accumulation_steps`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`auto_find_batch_size=True` is refused by `GRPOConfig` of TRL {version}",
        "A batch that shrinks when memory runs out would break the groups of completions, so TRL raises a ValueError.",
        "Take it out, and choose a smaller `per_device_train_batch_size` with more gradient accumulation instead.",
    ),
    zh=Words(
        "TRL {version} 的 `GRPOConfig` 拒绝 `auto_find_batch_size=True`",
        "显存不足时缩小批次会破坏生成结果的分组,因此 TRL 抛出 ValueError。",
        "删除它,改用更小的 `per_device_train_batch_size` 和更多的梯度累积。",
    ),
)


@check(PROBLEM)
def auto_find_batch_size(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit switch; it is off by default."""
    setting = training.get("auto_find_batch_size")
    if is_grpo(training) and setting is not None and truth(setting.value):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=("auto_find_batch_size=False",),
            version=installed(packages, "trl"),
        )
