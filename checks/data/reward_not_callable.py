"""Something in `reward_funcs` cannot be called.

## What it means
`reward_funcs` takes functions, models or names of models. A function that was called (`accuracy()` instead
of `accuracy`), a number or a tuple from a stray comma is none.
## What it does to a run
The trainer raises when it is built, or at the first reward.
## What to do
Pass the function itself.
## How it is found
In a log: by the exception in the trainer's frame.
## References
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.data._logged import CALLS_REWARDS
from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT023", name="reward-not-callable", severity=ERROR, since="0.1", affects={"trl": ">=0.14"})

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<kind>\w{1,40})' object has no attribute '(?:__call__|__name__)'",
        frame=r"(?i)trl/trainer/(?:grpo\w*_trainer|utils)\.py:",
    ),
    Signature(r"^TypeError: '(?P<kind>\w{1,40})' object is not callable", frame=CALLS_REWARDS),
)

LOG_MESSAGE = Message(
    en=Words(
        "`reward_funcs` holds a `{kind}`, which cannot be called as a reward function",
        "TRL wants functions, reward models or their names there. Most often the function was called "
        "when it was passed, so its result stands in its place; an object of a class needs `__call__` "
        "(and, before TRL 0.20 or so, a `__name__`).",
        "Pass the function itself, `reward_funcs=[accuracy_reward]` without parentheses; wrap an object "
        "or a partial: `def reward(prompts, completions, **kwargs): return scorer(completions)`.",
    ),
    zh=Words(
        "`reward_funcs` 中有一个 `{kind}`,不能作为奖励函数调用",
        "TRL 要求这里是函数、奖励模型或其名称。最常见的是传入时就调用了函数,于是其结果占据了该位置;类的对"
        "象需要 `__call__`(较旧的 TRL 还需要 `__name__`)。",
        "传入函数本身:`reward_funcs=[accuracy_reward]`,不带括号;对象或 partial 则包装一层:`def "
        "reward(prompts, completions, **kwargs): return scorer(completions)`。",
    ),
)

LOG_CONFIDENCE = LIKELY
