"""A reward function does not take all that TRL passes to it.

## What it means
TRL calls each reward function with keywords only: `prompts`, `completions`, every other column of the
dataset, and more with each release: `completion_ids` from 0.18, `trainer_state` from 0.20, `log_extra` and
`log_metric` from 1.0. A function without `**kwargs` must name them all.
## What it does to a run
The first reward call raises a TypeError, after the model was loaded and a whole batch was generated.
## What to do
Add `**kwargs` to the function's parameters.
## How it is found
The definition of the function in the script, against the keywords of the installed release and, where it is
a local file, the columns of the dataset.
In a log: by an exception whose innermost frame is the trainer's, where it calls the reward functions.
## References
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
https://github.com/huggingface/trl/issues/4939
https://github.com/huggingface/trl/pull/3272
https://github.com/huggingface/trl/pull/3669
"""

from __future__ import annotations

from doctor.checks.data._logged import CALLS_REWARDS, by_trainer
from doctor.checks.trl._helpers import installed, is_grpo, listing
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.dataset import Dataset
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="DAT001", name="reward-function-keywords", severity=ERROR, since="0.1", affects={"trl": ">=0.14"})

SIGNATURES = (
    Signature(
        r"^TypeError: (?P<function>[\w.<>]{1,80})\(\) got an unexpected keyword argument"
        r" '(?P<name>\w{1,60})'",
        frame=CALLS_REWARDS,
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "reward function `{function}` does not accept `{name}`, which TRL passes",
        "TRL passes every column of the dataset and extras such as `completion_ids` and `trainer_state` "
        "to each reward function by keyword. The call failed after a whole batch was generated.",
        "Add `**kwargs` to the signature of `{function}`: `def {function}(prompts, completions, **kwargs):`.",
    ),
    zh=Words(
        "奖励函数 `{function}` 不接受 TRL 传入的 `{name}`",
        "TRL 会按关键字把数据集的每一列以及 `completion_ids`、`trainer_state` 等额外参数传给每个奖励函数"
        "。整批生成之后调用才失败。",
        "在 `{function}` 的签名中加入 `**kwargs`:`def {function}(prompts, completions, **kwargs):`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "reward function `{name}` takes no {missing}, and has no `**kwargs`",
        "TRL {version} passes it by keyword and the call raises a TypeError, after a whole batch was generated.",
        "Add `**kwargs` to the parameters of `{name}`.",
    ),
    zh=Words(
        "奖励函数 `{name}` 不接受 {missing},也没有 `**kwargs`",
        "TRL {version} 会以关键字传入,因此在生成完整批次之后,调用会抛出 TypeError。",
        "在 `{name}` 的参数中加上 `**kwargs`。",
    ),
)

#: keyword -> releases that pass it, read in `_calculate_rewards` of each release
#: https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
PASSED = (
    ("prompts", ">=0.14"),
    ("completions", ">=0.14"),
    ("completion_ids", ">=0.18"),
    ("trainer_state", ">=0.20"),
    ("log_extra", ">=1.0"),
    ("log_metric", ">=1.0"),
)

#: columns of the dataset that are not handed on
NEVER_PASSED = {"prompt", "completion", "completion_ids"}


def _passed(packages: Packages) -> list[str]:
    """List the keywords that the installed release passes to every reward function."""
    return [name for name, specifier in PASSED if packages.matches("trl", specifier)]


@check(PROBLEM)
def reward_keywords(training: Training, packages: Packages, dataset: Dataset | None) -> Judgement:
    """Judge each function whose definition is seen."""
    if not is_grpo(training):
        return
    columns = dataset.columns if dataset is not None and not training.dataset_processed else ()
    passed = [*_passed(packages), *(each for each in columns if each not in NEVER_PASSED)]
    for function in training.reward_functions:
        missing = [each for each in dict.fromkeys(passed) if each not in function.parameters]
        if function.has_var_keyword or not missing:
            continue
        place = function.place
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=place.file, line=place.line, column=place.column),
            evidence=(Evidence(place.file, f"{function.name}({', '.join(function.parameters)})", place.line),),
            commands=(f"def {function.name}({', '.join((*function.parameters, '**kwargs'))}):",),
            name=function.name,
            missing=listing(missing[:3]),
            version=installed(packages, "trl"),
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
        function=groups["function"].rpartition(".")[2],
        name=groups["name"],
    )
