"""A sampling value is outside of what generation takes.

## What it means
`temperature`, `top_p`, `top_k` and their kin have ranges that Transformers checks when it generates. 0 is the usual
slip: a temperature of 0 means greedy decoding elsewhere and is refused here.
## What it does to a run
ValueError at the first generation of the rollout.
## What to do
Write a value inside the range.
## How it is found
In a log: by the exceptions of the logits processors and of the generation configuration.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/generation/logits_process.py
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/generation/configuration_utils.py
"""

from __future__ import annotations

from typing import Any

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF055", name="generation-value-refused", severity=ERROR, since="0.1")

_RANGE = Message(
    en=Words(
        "`{name}={value}` is no value that generation takes",
        "Transformers checks it when it generates: `{name}` is {range}.",
        "Set `{name}` in the training configuration (or in the model's `generation_config.json`, from where it may "
        "come) to such a value, or leave it out.",
    ),
    zh=Words(
        "`{name}={value}` 不是生成所接受的值",
        "Transformers 在生成时检查:`{name}` 的取值范围为 {range}。",
        "在训练配置(或其来源,模型的 `generation_config.json`)中把 `{name}` 设为范围内的值,或去掉。",
    ),
)
_TEMPERATURE = Message(
    en=Words(
        "`temperature={value}` cannot be sampled with",
        "Transformers divides by it; greedy decoding is asked for with `do_sample=False`. GRPO needs completions that "
        "differ, so greedy rollouts would teach nothing.",
        "Set `temperature` above 0 (1.0 is TRL's default). For evaluation without sampling: `do_sample=False` and no "
        "`temperature`.",
    ),
    zh=Words(
        "无法用 `temperature={value}` 采样",
        "Transformers 要除以它;贪心解码应使用 `do_sample=False`。GRPO 需要彼此不同的生成,贪心采样学不到东西。",
        "把 `temperature` 设为大于 0(TRL 默认 1.0)。评估时不采样:`do_sample=False` 且不设 `temperature`。",
    ),
)
_RANGES = {
    "top_p": "above 0 and at most 1", "top_k": "a whole number above 0", "min_p": "between 0 and 1",
    "typical_p": "between 0 and 1", "epsilon_cutoff": "between 0 and 1", "eta_cutoff": "between 0 and 1",
    "penalty": "above 0 (it is `repetition_penalty`)",
}  # fmt: skip

SIGNATURES = (
    Signature(r"ValueError: `(?P<name>temperature)` \(=(?P<value>[^)\s]{1,20})\) has to be a strictly positive float"),
    Signature(
        r"ValueError: `(?P<name>top_p|top_k|min_p|typical_p|epsilon_cutoff|eta_cutoff|penalty)` has to be a"
        r" [^\n]{4,60}?,"
        r" but is (?P<value>[^\s]{1,20})"
    ),
)


def explain(hits: Hits) -> Finding | None:
    """A temperature of 0 has a remedy of its own."""
    values: dict[str, Any] = dict(hits.first.groups)
    name = values["name"]
    message = _TEMPERATURE if name == "temperature" else _RANGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), range=_RANGES.get(name, "a positive number"),
        **values,
    )  # fmt: skip
