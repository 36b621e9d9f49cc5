"""`max_grad_norm` stands among the optimizer's parameters of the DeepSpeed configuration.

## What it means
DeepSpeed clips by `gradient_clipping` at the top of the file and refuses the other name inside `optimizer.params`.
## What it does to a run
`ValueError: 'max_grad_norm' is not supported as an optimizer parameter` when the optimizer is made.
## What to do
Move the number to `gradient_clipping`.
## How it is found
The key in the JSON.
In a log: by DeepSpeed's exception.
## References
https://www.deepspeed.ai/docs/config-json/#gradient-clipping
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/engine.py
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import setting_of, unread
from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.training import Training

PROBLEM = Problem(id="DSP014", name="deepspeed-max-grad-norm-of-optimizer", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: 'max_grad_norm' is not supported as an optimizer parameter"),)

LOG_MESSAGE = Message(
    en=Words(
        "`max_grad_norm` stands in `optimizer.params` of the DeepSpeed configuration",
        "DeepSpeed clips by a setting of its own and refuses the name among the optimizer's parameters.",
        'Remove it there and write `"gradient_clipping": 1.0` (or `"auto"`) at the top of the DeepSpeed JSON.',
    ),
    zh=Words(
        "DeepSpeed 配置的 `optimizer.params` 中有 `max_grad_norm`",
        "DeepSpeed 用自己的设置裁剪梯度,拒绝在优化器参数中出现该名称。",
        '从那里删除,并在 DeepSpeed JSON 顶层写 `"gradient_clipping": 1.0`(或 `"auto"`)。',
    ),
)

MESSAGE = Message(
    en=Words(
        "`optimizer.params.max_grad_norm` is {value}, and DeepSpeed takes no such parameter",
        "The run ends with `'max_grad_norm' is not supported as an optimizer parameter` when the optimizer is made.",
        "Write `gradient_clipping` at the top of the file instead.",
    ),
    zh=Words(
        "`optimizer.params.max_grad_norm` 为 {value},而 DeepSpeed 不接受该参数",
        "创建优化器时会以 `'max_grad_norm' is not supported as an optimizer parameter` 退出。",
        "改在文件顶层写 `gradient_clipping`。",
    ),
)


@check(PROBLEM)
def max_grad_norm_of_optimizer(deepspeed: DeepspeedConfig | None, training: Training | None) -> Judgement:
    """One key."""
    if deepspeed is None:
        yield from unread(training)
        return
    setting = setting_of(deepspeed, "optimizer.params.max_grad_norm")
    if setting is not None and setting_of(deepspeed, "optimizer.type") is not None:
        yield found(
            PROBLEM,
            MESSAGE,
            value=setting.value,
            where=place_of(setting),
            commands=(f'"gradient_clipping": {setting.value}',),
            evidence=(proof(setting),),
        )
