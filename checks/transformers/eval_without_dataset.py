"""An evaluation strategy is set and the trainer gets no evaluation data.

## What it means
`eval_strategy` other than "no" makes the trainer evaluate, for which it needs `eval_dataset`.
## What it does to a run
From Transformers 4.46 the trainer raises a ValueError when it is built, after the model was loaded.
## What to do
Pass `eval_dataset`, or set `eval_strategy="no"`.
## How it is found
The argument as set, and the keywords of the trainer's call in the script.
In a log: by the exception of Transformers.
## References
https://github.com/huggingface/transformers/blob/v4.46.0/src/transformers/trainer.py#L418
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRF009", name="eval-without-dataset", severity=ERROR, since="0.1", affects={"transformers": ">=4.46"}
)

SIGNATURES = (
    Signature(
        r"ValueError: You have set `args\.eval_strategy` to (?P<strategy>[\w.]{1,40}) but you didn't"
        r" pass an `eval_dataset`",
    ),
    Signature(r"ValueError: Trainer: evaluation requires an eval_dataset"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the trainer is to evaluate, and got no `eval_dataset`",
        "An evaluation strategy is set, or `evaluate()` was called, and there is nothing to evaluate on.",
        "Pass `eval_dataset=...` to the trainer (`dataset.train_test_split(test_size=0.05)` makes one), "
        'or set `eval_strategy="no"`.',
    ),
    zh=Words(
        "训练器要进行评估,但没有得到 `eval_dataset`",
        "设置了评估策略或调用了 `evaluate()`,却没有可评估的数据。",
        "向训练器传入 `eval_dataset=...`(`dataset.train_test_split(test_size=0.05)` 可切分出一个),或设置 "
        '`eval_strategy="no"`。',
    ),
)

MESSAGE = Message(
    en=Words(
        '`eval_strategy="{strategy}"`, and `{trainer}` gets no `eval_dataset`',
        "The trainer raises a ValueError when it is built, after the model was loaded.",
        "Pass an `eval_dataset` to the trainer, or switch evaluation off.",
    ),
    zh=Words(
        '`eval_strategy="{strategy}"`,但 `{trainer}` 没有得到 `eval_dataset`',
        "模型加载之后,训练器在构建时抛出 ValueError。",
        "向训练器传入 `eval_dataset`,或关闭评估。",
    ),
)


@check(PROBLEM)
def eval_without_dataset(training: Training) -> Judgement:
    """Judge a call whose keywords are all seen."""
    strategy = training.get("eval_strategy")
    if strategy is None or not strategy.known or strategy.value in (None, "no", False):
        return
    if training.trainer_place is None or not training.trainer_arguments or not training.complete:
        return
    given = training.trainer_arguments.get("eval_dataset")
    if given is None or (given.known and given.value is None):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(strategy, otherwise=training.trainer_place),
            evidence=quoted(strategy, given),
            commands=('eval_strategy="no"',),
            confidence=CONFIRMED if given is not None else LIKELY,
            strategy=strategy.value,
            trainer=training.trainer or "Trainer",
        )
