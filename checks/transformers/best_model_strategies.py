"""`load_best_model_at_end` with saves and evaluations that do not coincide.

## What it means
To load the best model the trainer must have evaluated every checkpoint: both strategies must be the same,
and with "steps" the saving interval must be a multiple of the evaluation interval. `save_strategy="best"`
is exempt.
## What it does to a run
The configuration raises a ValueError. Nothing is trained.
## What to do
Set both strategies to the same value and make `save_steps` a multiple of `eval_steps`.
## How it is found
The rule of `TrainingArguments`, computed with the values of the run.
In a log: by the exception of Transformers.
## References
https://github.com/huggingface/transformers/blob/v4.57.3/src/transformers/training_args.py
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

from doctor.checks.trl._helpers import argument, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth, whole
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRF010",
    name="best-model-strategies-differ",
    severity=ERROR,
    since="0.1",
    affects={"transformers": ">=4.41"},
)

SIGNATURES = (
    Signature(
        r"ValueError: --load_best_model_at_end requires the save and eval(?:uation)? strategy to match",
    ),
    Signature(
        r"--load_best_model_at_end requires the saving steps to be a (?:round )?multiple of the"
        r" evaluation steps, but found (?P<save>[\d.]{1,12}), which is not a (?:round )?multiple of"
        r" (?P<eval>[\d.]{1,12}?)\.?(?:\s|$)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`load_best_model_at_end` with saves and evaluations that do not coincide",
        "The best checkpoint can only be told where every checkpoint was evaluated, so "
        "`TrainingArguments` refuses the combination.",
        "Set `save_strategy` and `eval_strategy` to the same value and make `save_steps` a multiple of "
        "`eval_steps`, or take `load_best_model_at_end` out.",
    ),
    zh=Words(
        "`load_best_model_at_end` 要求保存与评估同步,而两者不一致",
        "只有每个检查点都经过评估才能判断哪个最好,因此 `TrainingArguments` 拒绝该组合。",
        "把 `save_strategy` 和 `eval_strategy` 设为相同值,并使 `save_steps` 为 `eval_steps` 的倍数,或去掉"
        " `load_best_model_at_end`。",
    ),
)

STRATEGIES = Message(
    en=Words(
        "`load_best_model_at_end` with `eval_strategy={eval}` and `save_strategy={save}`",
        "Checkpoints would be saved that nobody evaluated, so `TrainingArguments` raises a ValueError.",
        "Set both strategies to the same value.",
    ),
    zh=Words(
        "`load_best_model_at_end` 与 `eval_strategy={eval}`、`save_strategy={save}` 同用",
        "会保存未经评估的检查点,因此 `TrainingArguments` 抛出 ValueError。",
        "把两个策略设为相同的值。",
    ),
)

STEPS = Message(
    en=Words(
        "`save_steps={save}` is no multiple of `eval_steps={eval}`, for the best model",
        "With `load_best_model_at_end` each checkpoint must have been evaluated, so `TrainingArguments` "
        "raises a ValueError.",
        "Make `save_steps` a multiple of `eval_steps`.",
    ),
    zh=Words(
        "`save_steps={save}` 不是 `eval_steps={eval}` 的倍数,无法选出最佳模型",
        "使用 `load_best_model_at_end` 时每个检查点都必须经过评估,因此 `TrainingArguments` 抛出 ValueError。",
        "使 `save_steps` 成为 `eval_steps` 的倍数。",
    ),
)

NAMES = ("eval_strategy", "save_strategy", "eval_steps", "save_steps")


@check(PROBLEM)
def best_model_strategies(training: Training, packages: Packages) -> Judgement:
    """Compute the rule with explicit values and defaults that never changed."""
    switch = training.get("load_best_model_at_end")
    if switch is None or not truth(switch.value) or training.get("evaluation_strategy"):
        return  # the old name of `eval_strategy` is another problem, and says what is meant here
    values = {name: argument(training, name, packages.version("trl")) for name in NAMES}
    if any(values[name] is None for name in ("eval_strategy", "save_strategy")):
        yield Skip("`eval_strategy` or `save_strategy` could not be read without running the script")
        return
    strategies = [str(value.value) for name in ("eval_strategy", "save_strategy") if (value := values[name])]
    settings = [training.get(name) for name in NAMES]
    if strategies[1] == "best":
        return
    if strategies[0] != strategies[1]:
        yield found(
            PROBLEM,
            STRATEGIES,
            where=place_of(switch, *settings),
            evidence=quoted(switch, *settings),
            commands=(f'save_strategy="{strategies[0]}"',) if strategies[0] != "no" else ('eval_strategy="steps"',),
            eval=strategies[0],
            save=strategies[1],
        )
        return
    every, saved = whole(training.value("eval_steps")), values["save_steps"]
    interval = whole(saved.value) if saved else None
    if strategies[0] == "steps" and every and interval and interval % every:
        yield found(
            PROBLEM,
            STEPS,
            where=place_of(training.get("save_steps"), training.get("eval_steps"), switch),
            evidence=quoted(switch, *settings),
            commands=(f"save_steps={max(1, round(interval / every)) * every}",),
            eval=every,
            save=interval,
        )
