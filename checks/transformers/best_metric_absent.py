"""The metric that decides on the best model is not among those that the evaluation gives.

## What it means
`metric_for_best_model` is `loss` by default, and the evaluation only gives a loss where the batches have
labels. A `PeftModel` hides the parameters of the base model, so the Trainer finds no label names and
evaluates without; with several evaluation sets the metric carries the name of the set.
## What it does to a run
The first evaluation raises KeyError, after the steps before it were trained.
## What to do
Set `label_names=["labels"]`, or name one of the metrics that the message lists.
## How it is found
In a log: by the exception, which lists the metrics.
## References
https://github.com/huggingface/transformers/issues/33420
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF013", name="best-metric-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The `metric_for_best_model` training argument is set to '(?P<metric>[\w/.\-]{1,80})', which"
        r" is not found in the evaluation metrics",
    ),
    Signature(r"^KeyError: '(?P<metric>eval_[\w/.\-]{1,80})'$", frame=r"transformers/trainer\.py:"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the evaluation gives no `{metric}`, by which the best model is to be chosen",
        "`eval_loss` is missing where the evaluation found no labels: a PeftModel hides the signature of "
        "the base model's `forward`, so the Trainer does not see that `labels` is one. Another metric is "
        "missing where `compute_metrics` does not return it, or where several evaluation sets put their "
        "names in front of it.",
        'For `eval_loss` set `label_names=["labels"]` in the training arguments (and `task_type` in '
        "`LoraConfig`); for another metric use a name that the evaluation prints, or take "
        "`load_best_model_at_end` out.",
    ),
    zh=Words(
        "评估结果中没有用来选择最佳模型的 `{metric}`",
        "评估没有找到标签时就没有 `eval_loss`:PeftModel 隐藏了基座模型 `forward` 的签名,Trainer 看不到 "
        "`labels`。其他指标缺失则是 `compute_metrics` 没有返回它,或多个评估集在其前面加了名称。",
        '对于 `eval_loss`,在训练参数中设置 `label_names=["labels"]`(并在 `LoraConfig` 中设置 '
        "`task_type`);对于其他指标,使用评估打印出的名称,或去掉 `load_best_model_at_end`。",
    ),
)

LOG_CONFIDENCE = LIKELY
