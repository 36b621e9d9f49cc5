"""A number of the optimizer came as text, mostly the learning rate out of a YAML file.

## What it means
YAML 1.1, which PyYAML reads, takes `1e-5` for a string: a number with an exponent needs a point, `1.0e-5`. Values of
command lines and environment variables are text as well until somebody converts them.
## What it does to a run
The optimizer compares the text with a number and raises TypeError before the first step.
## What to do
Write `1.0e-5`, or convert: `float(cfg["learning_rate"])`.
## How it is found
In a log: by that TypeError in the constructor of an optimizer or scheduler.
## References
https://github.com/yaml/pyyaml/issues/173
https://yaml.org/type/float.html
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/optim/adam.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF067", name="learning-rate-is-text", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        (
            r"^TypeError: '(?:<=|<|>|>=)' not supported between instances of '(?:float|int|str)' and '"
            r"(?:str|int|float)'"
        ),
        (
            r"[\\/](?:torch[\\/]optim[\\/]\w+|bitsandbytes[\\/]optim[\\/]\w+|transformers[\\/]optimiza"
            r"tion)\.py:(?:__init__|get_\w+)$"
        ),
        Message(
            en=Words(
                "the learning rate (or another number of the optimizer) is text",
                "PyYAML reads `1e-5` as a string, for YAML 1.1 wants a point in a number with an exponent; command "
                "lines and environment variables are text, too.",
                "Write `learning_rate: 1.0e-5` (or `0.00001`) in the YAML file, or convert it: "
                '`float(config["learning_rate"])`; the same for `weight_decay`, `adam_epsilon`, `warmup_ratio`.',
            ),
            zh=Words(
                "学习率(或优化器的其他数值)是文本",
                "PyYAML 把 `1e-5` 读成字符串,因为 YAML 1.1 要求带指数的数写小数点;命令行和环境变量得到的也是文本。",
                '在 YAML 文件中写 `learning_rate: 1.0e-5`(或 `0.00001`),或进行转换:`float(config["learning_rate"])`;'
                "`weight_decay`、`adam_epsilon`、`warmup_ratio` 同理。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits)
