"""A reward function waits for a keyword that TRL never passes.

## What it means
TRL passes whole batches under plural names, `prompts` and `completions`; a column called `prompt` or
`completion` is not handed on.
## What it does to a run
The first reward call raises a TypeError about a missing argument, after a whole batch was generated; where
the parameter has a default, the function works on that default instead of the data.
## What to do
Use `prompts` and `completions`.
## How it is found
The parameters of the function in the script.
In a log: by an exception whose innermost frame is the trainer's, where it calls the reward functions.
## References
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.data._logged import CALLS_REWARDS, by_trainer
from doctor.checks.trl._helpers import is_grpo
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.training import Training

PROBLEM = Problem(
    id="DAT002", name="reward-parameter-not-passed", severity=WARNING, since="0.1", affects={"trl": ">=0.14"}
)

SIGNATURES = (
    Signature(
        r"^TypeError: (?P<function>[\w.<>]{1,80})\(\) missing \d{1,2} required positional arguments?:"
        r" (?P<names>'[^\n]{1,160}')",
        frame=CALLS_REWARDS,
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "reward function `{function}` wants {names}, which TRL does not pass",
        "TRL passes `prompts`, `completions`, `completion_ids` and the columns of the dataset by "
        "keyword, nothing else: a parameter of another name needs a column of that name.",
        "Rename the parameter to a column of the dataset (`prompts` and `completions` are plural), or "
        "add that column, and take the rest as `**kwargs`.",
    ),
    zh=Words(
        "奖励函数 `{function}` 需要 TRL 不会传入的 {names}",
        "TRL 只按关键字传入 `prompts`、`completions`、`completion_ids` 和数据集的各列;其他名称的参数需要有同名的列。",
        "把参数改名为数据集中的列(`prompts` 和 `completions` 是复数),或添加该列,其余用 `**kwargs` 接收。",
    ),
)

MESSAGE = Message(
    en=Words(
        "reward function `{name}` wants `{parameter}`, which TRL never passes",
        "The call raises a TypeError about a missing argument, after a whole batch was generated, or works "
        "on the parameter's default.",
        "Take `{plural}` instead: a list with one entry per completion.",
    ),
    zh=Words(
        "奖励函数 `{name}` 需要 `{parameter}`,而 TRL 从不传入它",
        "在生成完整批次之后,调用会因缺少参数而抛出 TypeError,或者使用该参数的默认值。",
        "改用 `{plural}`:它是每条生成对应一项的列表。",
    ),
)


@check(PROBLEM)
def reward_parameter_not_passed(training: Training) -> Judgement:
    """Judge the two names; whether they have a default is not seen, so it is only likely."""
    if not is_grpo(training):
        return
    for function in training.reward_functions:
        for parameter in ("prompt", "completion"):
            if parameter not in function.parameters:
                continue
            place = function.place
            yield found(
                PROBLEM,
                MESSAGE,
                where=Where(file=place.file, line=place.line, column=place.column),
                evidence=(Evidence(place.file, f"{function.name}({', '.join(function.parameters)})", place.line),),
                confidence=LIKELY,
                name=function.name,
                parameter=parameter,
                plural=f"{parameter}s",
            )


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    raised = by_trainer(hits)
    if not raised:
        return None
    groups = raised[0].groups
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        severity=ERROR,
        function=groups["function"].rpartition(".")[2],
        names=groups["names"].replace("'", "`"),
    )
