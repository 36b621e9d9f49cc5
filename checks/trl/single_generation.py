"""GRPO with fewer than two generations per prompt.

## What it means
GRPO's advantage is the difference of a completion's reward from its group's mean, divided by the group's
standard deviation. A group of one has no difference and its standard deviation is NaN.
## What it does to a run
TRL from 0.15 raises a ValueError. TRL 0.14 trains with NaN advantages and ruins the model in its first
step.
## What to do
Set `num_generations` to 2 or more; TRL's own default is 8.
## How it is found
`num_generations` as script, YAML or command line set it.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
https://github.com/huggingface/trl/blob/v0.14.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import certainty, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.core.signature import Signature
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL008", name="grpo-single-generation", severity=ERROR, since="0.1", affects={"trl": ">=0.14"})

SIGNATURES = (
    Signature(
        r"ValueError: (?:GRPO|RLOO) requires at least 2 generations per prompt to calculate the advantages\."
        r" You provided (?P<generations>-?\d{1,6})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`num_generations={generations}`: at least 2 completions per prompt are needed",
        "Advantages are made from the mean and the standard deviation of a group; a group of one has no deviation, "
        "so TRL refuses it.",
        "Set `num_generations` to 2 or more, usually 8, and choose a batch size that is a multiple of it.",
    ),
    zh=Words(
        "`num_generations={generations}`:每个 prompt 至少需要 2 条生成",
        "优势值由一组的均值和标准差得到;只有一条的组没有标准差,因此 TRL 拒绝。",
        "把 `num_generations` 设为 2 或更大,通常为 8,并选择其倍数作为批大小。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`num_generations={generations}`: GRPO needs at least 2 completions per prompt",
        "With one completion there is nothing to compare it with: TRL raises a ValueError, and 0.14 trains on NaN "
        "advantages instead.",
        "Set `num_generations` to 2 or more.",
    ),
    zh=Words(
        "`num_generations={generations}`:GRPO 每个 prompt 至少需要 2 条生成",
        "只有一条生成时没有可比较的对象:TRL 会抛出 ValueError,而 0.14 会用 NaN 优势值继续训练。",
        "把 `num_generations` 设为 2 或更大。",
    ),
)


@check(PROBLEM)
def single_generation(training: Training) -> Judgement:
    """Judge an explicit value; the default is 8 in every release."""
    setting = training.get("num_generations")
    if not is_grpo(training) or setting is None:
        return
    if not setting.known:
        yield Skip("`num_generations` could not be read without running the script")
        return
    generations = whole(setting.value)
    if generations is not None and generations < 2:
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=certainty(training),
            where=place_of(setting),
            commands=("num_generations=8",),
            evidence=quoted(setting),
            generations=generations,
        )
