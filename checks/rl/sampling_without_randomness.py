"""Every completion of a group will be the same.

## What it means
With `temperature=0` or `top_k=1` decoding is greedy: all completions of a prompt are equal, their rewards
are equal, and GRPO's advantage, the difference from the group's mean, is zero.
## What it does to a run
Nothing is learned: `frac_reward_zero_std` is 1 and the loss 0. With temperature 0 the trainer also divides
the logits by it, and generation without vLLM refuses it with a ValueError.
## What to do
Use a temperature near 1 (TRL's default) and leave `top_k` alone.
## How it is found
`temperature` and `top_k` as set, in script, YAML or command line.
## References
https://huggingface.co/docs/trl/grpo_trainer
https://docs.vllm.ai/en/latest/api/vllm/sampling_params/
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

from doctor.checks.trl._helpers import is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import number, place_of
from doctor.facts.training import Training

PROBLEM = Problem(
    id="RLX003", name="sampling-without-randomness", severity=ERROR, since="0.1", affects={"trl": ">=0.14"}
)

MESSAGE = Message(
    en=Words(
        "`{name}={value}` makes all completions of a prompt the same",
        "Equal completions have equal rewards, so every advantage is zero and nothing is learned; a "
        "temperature of 0 also makes the trainer divide by zero.",
        "Sample with randomness.",
    ),
    zh=Words(
        "`{name}={value}` 会使同一 prompt 的所有生成完全相同",
        "相同的生成得到相同的奖励,因此所有优势值为零,学不到任何东西;temperature 为 0 还会使训练器除以零。",
        "采用带随机性的采样。",
    ),
)


@check(PROBLEM)
def sampling_without_randomness(training: Training) -> Judgement:
    """Judge explicit values; no default is greedy."""
    if not is_grpo(training):
        return
    for name, greedy, better in (("temperature", 0, "1.0"), ("top_k", 1, "50")):
        setting = training.get(name)
        value = number(setting.value) if setting is not None and setting.known else None
        if setting is not None and value == greedy:
            yield found(
                PROBLEM,
                MESSAGE,
                where=place_of(setting),
                evidence=quoted(setting),
                commands=(f"{name}={better}",),
                name=name,
                value=f"{value:g}",
            )
