"""A `generation_batch_size` that does not fit is cut down silently.

## What it means
TRL 0.18.0 to 0.19.0 test the generation batch with `a % b * c` where `a % (b * c)` was meant, so a size
that is a multiple of the per-device batch but not of the global batch passes. The steps per generation are
then rounded down.
## What it does to a run
Each optimizer step sees fewer completions than configured, with no message; where the size is smaller than
the global batch the steps become zero. TRL 0.19.1 and newer refuse such a size.
## What to do
Make `generation_batch_size` a multiple of processes x per-device batch size, or install TRL 0.19.1 or newer
and follow its message.
## How it is found
The rule is computed as those releases compute it and as it was meant.
## References
https://github.com/huggingface/trl/pull/3658
https://github.com/huggingface/trl/blob/v0.18.2/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from doctor.checks.trl._batch import factor_for, train_batch
from doctor.checks.trl._helpers import certainty, installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="TRL010",
    name="generation-batch-floored",
    severity=ERROR,
    since="0.1",
    affects={"trl": ">=0.18,<0.19.1"},
)

MESSAGE = Message(
    en=Words(
        "`generation_batch_size={given}` is no multiple of the global batch {step}, unnoticed",
        "This is a bug of TRL {version}: its test lets the size pass and rounds the steps per generation "
        "down to {steps}, so a step trains on fewer completions than configured.",
        "Make the size a multiple of {step}, or install TRL 0.19.1 or newer.",
    ),
    zh=Words(
        "`generation_batch_size={given}` 不是全局批大小 {step} 的倍数,且未被发现",
        "这是 TRL {version} 的缺陷:其检查会放行该值并把每次生成的步数向下取整为 {steps},因此每步训练的生成数少于配置。",
        "把该值设为 {step} 的倍数,或安装 TRL 0.19.1 及以上版本。",
    ),
)


@check(PROBLEM)
def generation_batch_floored(training: Training, world: World, packages: Packages) -> Judgement:
    """Judge an explicit size only; the computed one always fits."""
    setting = training.get("generation_batch_size")
    if not is_grpo(training) or setting is None or (setting.known and setting.value is None):
        return
    version = installed(packages, "trl")
    batch = train_batch(training, world, version)
    if isinstance(batch, str):
        yield Skip(batch)
        return
    step = batch.processes * batch.per_device
    if batch.given is None or step < 1 or batch.given % step == 0 or batch.given % batch.per_device:
        return
    size = factor_for(max(1, round(batch.given / step)), step, batch.generations or 1)
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=certainty(training),
        where=place_of(setting),
        evidence=quoted(setting),
        commands=(f"generation_batch_size={(size or 1) * step}",),
        given=batch.given,
        step=step,
        steps=batch.given // step,
        version=version,
    )
