"""veRL's validation collected fewer values of a metric than there are samples.

## What it means
A reward function may return a dictionary, whose entries veRL collects as further metrics. Each of them must come for
every sample: a function that returns a number for one data source and a dictionary for another, or leaves a key out
where an answer could not be read, makes the lists unequal.
## What it does to a run
The validation ends with an AssertionError, often before the first step (`trainer.val_before_train`).
## What to do
Return the same keys for every sample.
## How it is found
In a log: by the assertion, with the metric and both lengths.
## References
https://github.com/verl-project/verl/issues/1031
https://github.com/verl-project/verl/blob/main/verl/trainer/ppo/ray_trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL036", name="validation-lists-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: (?P<metric>[\w./@-]{1,80}): len\(lst\)=(?P<got>\d{1,9}), "
        r"len\(sample_scores\)=(?P<samples>\d{1,9})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the reward function gave `{metric}` for {got} of {samples} validation samples",
        "veRL makes a metric of every entry of the dictionary that a reward function returns, and asserts that each "
        "came for every sample. Here some samples have it and others do not: one data source is scored by a function "
        "that returns a number, another by one that returns a dictionary, or a branch leaves the key out.",
        "Return a dictionary with the same keys on every path (`score` and, for instance, `acc`, `pred`), also where "
        'an answer cannot be read or an exception is caught: `return {{"score": 0.0, "{metric}": ...}}`. Look at the '
        "`data_source` of the validation files and which function scores it; `trainer.val_before_train=False` only "
        "puts it off.",
    ),
    zh=Words(
        "奖励函数只为 {samples} 个验证样本中的 {got} 个给出了 `{metric}`",
        "veRL 把奖励函数返回的字典的每个键当作一个指标,并断言每个样本都有。此处有的样本有、有的没有:一个数据源的函数返"
        "回数字,另一个返回字典,或某个分支漏掉了该键。",
        "在每条路径上都返回键相同的字典(`score`,以及例如 `acc`、`pred`),无法解析答案或捕获异常时也一样:"
        '`return {{"score": 0.0, "{metric}": ...}}`。查看验证文件的 `data_source` 以及由哪个函数打分;'
        "`trainer.val_before_train=False` 只是推迟问题。",
    ),
)
