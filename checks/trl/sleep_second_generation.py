"""Sleep mode gives the second generation of a step the wrong weights.

## What it means
TRL 0.25 to 0.27 put vLLM to sleep at level 2, which throws its weights away, and push the trained weights
only when the global step has changed. A second generation in the same step (an evaluation, or several
generation batches per optimizer step) finds none: 0.25 samples from uninitialised memory, 0.26 and 0.27
from the checkpoint on disk.
## What it does to a run
Evaluation results, or part of the training samples, come from the wrong model. Nothing fails.
## What to do
Install TRL 1.10.0 or newer, or switch sleep mode off.
## How it is found
Sleep mode is on in colocate mode, and evaluation is on or `steps_per_generation` is smaller than
`gradient_accumulation_steps`.
## References
https://github.com/huggingface/trl/pull/4571
https://github.com/huggingface/trl/pull/5313
https://github.com/huggingface/trl/blob/v0.25.1/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo, quoted, vllm_mode, whole_argument
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of, truth
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL018",
    name="sleep-mode-second-generation",
    severity=WARNING,
    since="0.1",
    affects={"trl": ">=0.25,<0.28"},
)

MESSAGE = Message(
    en=Words(
        "sleep mode of TRL {version} loses the trained weights within a step",
        "A second generation in the same step, as this run makes, samples from the wrong weights: TRL "
        "{version} pushes the trained ones only when the step has changed. Nothing fails.",
        "Install TRL 1.10.0 or newer, or switch sleep mode off.",
    ),
    zh=Words(
        "TRL {version} 的 sleep mode 会在同一步内丢失训练后的权重",
        "本次运行会在同一步内进行第二次生成,它会使用错误的权重:TRL {version} 只在步数变化时才推送训练后的权"
        "重。不会报错。",
        "安装 TRL 1.10.0 及以上版本,或关闭 sleep mode。",
    ),
)


@check(PROBLEM)
def sleep_second_generation(training: Training, packages: Packages) -> Judgement:
    """Judge only runs that generate twice in a step."""
    version = installed(packages, "trl")
    setting = training.get("vllm_enable_sleep_mode")
    if not is_grpo(training) or setting is None or not truth(setting.value):
        return
    if vllm_mode(training, version) != "colocate":
        return
    strategy = training.get("eval_strategy")
    evaluates = strategy is not None and strategy.known and strategy.value not in (None, "no")
    steps = whole_argument(training, "steps_per_generation", version)
    accumulation = whole_argument(training, "gradient_accumulation_steps", version)
    several = steps is not None and accumulation is not None and steps < accumulation
    if not evaluates and not several:
        return
    second = strategy if evaluates else training.get("steps_per_generation")
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting, second),
        commands=('pip install "trl>=1.10"', "vllm_enable_sleep_mode=False"),
        confidence=LIKELY,
        version=version,
    )
