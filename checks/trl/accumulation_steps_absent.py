"""TRL divides the loss by `current_gradient_accumulation_steps`, which nobody has set.

## What it means
TRL 0.22 and newer read an attribute that `Trainer.train()` of Transformers sets before each step, from 4.55.0 on.
An older Transformers never sets it, and an evaluation before the first step (`eval_on_start=True`, or `evaluate()`
by hand) comes too early; TRL 0.28.0 and newer do not read it while they evaluate.
## What it does to a run
The first loss raises AttributeError.
## What to do
Upgrade Transformers, or TRL where it was an evaluation.
## How it is found
In a log: by the exception; the frames of its traceback tell whether the run was evaluating.
## References
https://github.com/huggingface/trl/issues/3983
https://github.com/huggingface/trl/issues/4010
https://github.com/huggingface/trl/pull/4852
https://github.com/huggingface/transformers/blob/v4.55.0/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL051", name="accumulation-steps-absent", severity=ERROR, since="0.1", affects={"trl": ">=0.22"})

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<trainer>\w{1,80})' object has no attribute 'current_gradient_accumulation_steps'"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{trainer}` reads `current_gradient_accumulation_steps`, which this Transformers does not set",
        "Transformers sets it from 4.55.0 on; TRL 0.22 and newer need it for the loss.",
        "Upgrade: `pip install -U 'transformers>=4.55'` (TRL 0.23 and newer ask for 4.56.1), then `pip check`. Does "
        "it die while it evaluates before the first step, take `eval_on_start` out or install TRL 0.28 or newer.",
    ),
    zh=Words(
        "`{trainer}` 读取 `current_gradient_accumulation_steps`,而当前 Transformers 没有设置它",
        "Transformers 从 4.55.0 起设置该属性;TRL 0.22 及以上计算损失时需要它。",
        "升级:`pip install -U 'transformers>=4.55'`(TRL 0.23 及以上要求 4.56.1),然后运行 `pip check`。"
        "若发生在第一步之前的评估中,请去掉 `eval_on_start`,或安装 TRL 0.28 及以上版本。",
    ),
)

EVALUATION = Message(
    en=Words(
        "`{trainer}` evaluates before `current_gradient_accumulation_steps` is set",
        "Transformers sets it when a training step begins; TRL before 0.28 divides the loss of an evaluation by it, "
        "too, so `eval_on_start=True` or `evaluate()` before `train()` ends the run.",
        "Set `eval_on_start=False` (evaluate after a step), or upgrade: `pip install -U 'trl>=0.28'`.",
    ),
    zh=Words(
        "`{trainer}` 在第一步之前评估,过早读取了 `current_gradient_accumulation_steps`",
        "Transformers 在训练步开始时才设置它;0.28 之前的 TRL 在评估时也用它除损失,因此 `eval_on_start=True` "
        "或在 `train()` 之前调用 `evaluate()` 会使运行终止。",
        "设置 `eval_on_start=False`(在训练步之后再评估),或升级:`pip install -U 'trl>=0.28'`。",
    ),
)

_EVALUATES = (":evaluate", ":_evaluate", ":prediction_step", ":evaluation_loop")


def explain(hits: Hits) -> Finding:
    """An evaluation comes too early; in training it is the age of Transformers."""
    frames = hits.first.frames
    evaluating = any(frame.endswith(_EVALUATES) for frame in frames)
    training = any(frame.endswith(":training_step") for frame in frames)
    return found(
        PROBLEM, EVALUATION if evaluating else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if evaluating or training else LIKELY, trainer=hits.get("trainer"),
        commands=("pip install -U 'trl>=0.28'",) if evaluating else ("pip install -U 'transformers>=4.55'",),
    )  # fmt: skip
