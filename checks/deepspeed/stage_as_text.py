"""The ZeRO stage is written as text.

## What it means
The JSON holds `"stage": "3"` with quotes. DeepSpeed converts it to a number; Transformers, TRL and accelerate
compare the text with 3 and take the run for one that is not ZeRO-3.
## What it does to a run
Every rank loads the whole model instead of its part, weights are saved and sent to vLLM without being gathered, so
they are empty tensors, and what depends on the stage is left out.
## What to do
Take the quotes off.
## How it is found
Type of `zero_optimization.stage` in the JSON.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/deepspeed.py
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import setting_of, unread
from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.reading import place_of, whole
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.training import Training

PROBLEM = Problem(id="DSP010", name="deepspeed-stage-as-text", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        '`zero_optimization.stage` is the text "{stage}", not a number',
        "DeepSpeed runs stage {stage}, while accelerate and Transformers compare the text with numbers and do not see "
        "it: under stage 3 weights are then loaded whole and saved or sent to vLLM without being gathered.",
        "Take the quotes off.",
    ),
    zh=Words(
        '`zero_optimization.stage` 是文本 "{stage}",不是数字',
        "DeepSpeed 按 stage {stage} 运行,而 accelerate 和 Transformers 用它和数字比较,认不出来:在 stage 3 下,权重会被"
        "整份加载,并且未经聚合就保存或发给 vLLM。",
        "去掉引号。",
    ),
)


@check(PROBLEM)
def stage_as_text(deepspeed: DeepspeedConfig | None, training: Training | None) -> Judgement:
    """Below stage 3 nothing is lost but what depends on the comparison."""
    if deepspeed is None:
        yield from unread(training)
        return
    setting = setting_of(deepspeed, "zero_optimization.stage")
    if setting is None or not isinstance(setting.value, str) or whole(setting.value) is None:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        stage=setting.value,
        where=place_of(setting),
        severity=ERROR if whole(setting.value) == 3 else WARNING,
        commands=(f'"stage": {setting.value}',),
        evidence=(proof(setting),),
    )
