"""A reward function is asynchronous, and the installed TRL cannot await it.

## What it means
TRL awaits `async def` reward functions from 0.27.0 on. Before, it takes the coroutine for the result.
## What it does to a run
The first reward call raises "'coroutine' object is not iterable", after a whole batch was generated.
## What to do
Install TRL 0.27.0 or newer, or make the function an ordinary one.
## How it is found
The definition of the function in the script, and the installed TRL.
In a log: by an exception whose innermost frame is the trainer's, where it calls the reward functions.
## References
https://github.com/huggingface/trl/blob/v0.27.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
"""

from __future__ import annotations

from doctor.checks.data._logged import CALLS_REWARDS, by_trainer
from doctor.checks.trl._helpers import installed, is_grpo
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="DAT004", name="reward-async-unsupported", severity=ERROR, since="0.1", affects={"trl": ">=0.14,<0.27"}
)

SIGNATURES = (Signature(r"^TypeError: 'coroutine' object is not iterable", frame=CALLS_REWARDS),)

LOG_MESSAGE = Message(
    en=Words(
        "a reward function is `async`, and this TRL does not await it",
        "TRL took the coroutine for the list of rewards. Asynchronous reward functions are awaited from TRL 0.27.0 on.",
        'Upgrade with `pip install -U "trl>=0.27.0"`, or make it an ordinary function that runs its '
        "coroutine with `asyncio.run(...)`.",
    ),
    zh=Words(
        "奖励函数是 `async` 的,而这个 TRL 不会 await 它",
        "TRL 把协程当成了奖励列表。自 TRL 0.27.0 起才会 await 异步奖励函数。",
        '用 `pip install -U "trl>=0.27.0"` 升级,或改为普通函数并用 `asyncio.run(...)` 运行协程。',
    ),
)

LOG_COMMANDS = ("pip install -U 'trl>=0.27.0'",)

MESSAGE = Message(
    en=Words(
        "reward function `{name}` is async, which TRL {version} does not await",
        "TRL takes the coroutine for the rewards and raises \"'coroutine' object is not iterable\" after a "
        "whole batch was generated.",
        "Install TRL 0.27.0 or newer, or run the coroutine inside an ordinary function.",
    ),
    zh=Words(
        "奖励函数 `{name}` 是异步的,而 TRL {version} 不会 await 它",
        "TRL 把协程当作奖励,在生成完整批次之后抛出 'coroutine' object is not iterable。",
        "安装 TRL 0.27.0 及以上版本,或在普通函数中运行该协程。",
    ),
)


@check(PROBLEM)
def reward_async(training: Training, packages: Packages) -> Judgement:
    """Judge the definition; the engine has compared the version."""
    if not is_grpo(training):
        return
    for function in training.reward_functions:
        if function.is_async:
            place = function.place
            yield found(
                PROBLEM,
                MESSAGE,
                where=Where(file=place.file, line=place.line, column=place.column),
                evidence=(Evidence(place.file, f"async def {function.name}", place.line),),
                commands=('pip install "trl>=0.27"',),
                name=function.name,
                version=installed(packages, "trl"),
            )


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    raised = by_trainer(hits)
    if not raised:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence())
