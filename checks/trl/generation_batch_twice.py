"""`generation_batch_size` and `steps_per_generation` are both set.

## What it means
The two say the same in different units: the generation batch is processes x per-device batch x steps per
generation.
## What it does to a run
`GRPOConfig` raises a ValueError ("can not be both configured at the same time"). Nothing is trained.
## What to do
Keep one of them.
## How it is found
Both arguments are set to a value, in script, YAML or command line.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import certainty, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL009",
    name="generation-batch-size-and-steps",
    severity=ERROR,
    since="0.1",
    affects={"trl": ">=0.18"},
)

SIGNATURES = (Signature(r"ValueError: 'generation_batch_size' and 'steps_per_generation' can not be both configured"),)

LOG_MESSAGE = Message(
    en=Words(
        "`generation_batch_size` and `steps_per_generation` are both set",
        "`GRPOConfig` refuses the two together, whether or not they agree: each of them decides the other.",
        "Keep one of the two and take the other out.",
    ),
    zh=Words(
        "同时设置了 `generation_batch_size` 和 `steps_per_generation`",
        "无论两者是否一致,`GRPOConfig` 都拒绝同时设置:其中一个就决定了另一个。",
        "保留其中一个,删除另一个。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`generation_batch_size={size}` and `steps_per_generation={steps}` are both set",
        "`GRPOConfig` refuses the two together with a ValueError, whether or not they agree.",
        "Keep one of the two and take the other out.",
    ),
    zh=Words(
        "同时设置了 `generation_batch_size={size}` 和 `steps_per_generation={steps}`",
        "无论两者是否一致,`GRPOConfig` 都会以 ValueError 拒绝同时设置。",
        "保留其中一个,删除另一个。",
    ),
)


@check(PROBLEM)
def generation_batch_twice(training: Training) -> Judgement:
    """Judge explicit values other than None."""
    size, steps = training.get("generation_batch_size"), training.get("steps_per_generation")
    if not is_grpo(training) or size is None or steps is None:
        return
    if not size.known or not steps.known:
        yield Skip("`generation_batch_size` or `steps_per_generation` could not be read without running the script")
        return
    if size.value is not None and steps.value is not None:
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=certainty(training),
            where=place_of(steps, size),
            evidence=quoted(size, steps),
            size=size.value,
            steps=steps.value,
        )
