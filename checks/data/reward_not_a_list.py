"""A reward function does not return a list of rewards.

## What it means
TRL wants one number per completion. A single number, a text or nothing at all cannot be iterated into
rewards; TRL 0.14 and 0.15 give a single number to every completion.
## What it does to a run
The first reward call raises ("object is not iterable", "too many dimensions 'str'") after a whole batch was
generated. In TRL 0.14 and 0.15 all advantages become zero instead, and nothing is learned.
## What to do
Return a list with one number (or None) per completion.
## How it is found
The return statements of the function in the script, where their kind is certain.
In a log: by an exception whose innermost frame is the trainer's, where it calls the reward functions.
## References
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.data._logged import CALLS_REWARDS, by_trainer
from doctor.checks.trl._helpers import is_grpo
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.training import Training

PROBLEM = Problem(id="DAT003", name="reward-not-a-list", severity=ERROR, since="0.1", affects={"trl": ">=0.14"})

SIGNATURES = (
    Signature(
        r"^TypeError: '(?P<kind>float|int|bool|NoneType)' object is not iterable",
        frame=CALLS_REWARDS,
        symptom_of=("TRL049",),
    ),
    Signature(r"^ValueError: too many dimensions '(?P<kind>\w{1,20})'", frame=CALLS_REWARDS),
    Signature(r"^TypeError: must be real number, not (?P<kind>\w{1,20})", frame=CALLS_REWARDS),
    Signature(r"^ValueError: expected sequence of length \d{1,9} at dim 1", frame=CALLS_REWARDS),
    Signature(
        r"^(?:ValueError|TypeError|RuntimeError): only one element tensors can be converted to Python"
        r" scalars",
        frame=CALLS_REWARDS,
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a reward function returned {what}, not a list of numbers",
        "TRL wants one number (or None) for each completion and reads the result after a whole batch was generated.",
        "Return a flat list of floats with one entry per completion, for example `return "
        "[float(score(each)) for each in completions]`.",
    ),
    zh=Words(
        "奖励函数返回的是{what},而不是数字列表",
        "TRL 要求每条生成对应一个数字(或 None),并在整批生成之后读取结果。",
        "返回扁平的浮点数列表,每条生成一项,例如 `return [float(score(each)) for each in completions]`。",
    ),
)

NONES = Message(
    en=Words(
        "a reward function returned `None` for a completion, which this trainer cannot read",
        "TRL from 0.16 on, and newer ms-swift, leave a completion with `None` out of that function's rewards, as rows "
        "of another task need it; older ones make a tensor of the list and fail. A function that forgets a `return` "
        "on one of its ways returns `None`, too.",
        "Give every completion a number (0.0 where the function does not apply), and look for ways without `return`; "
        "or upgrade: `pip install -U trl` (with ms-swift `pip install -U ms-swift`).",
    ),
    zh=Words(
        "奖励函数对某条生成返回了 `None`,而该训练器无法读取",
        "TRL 自 0.16 起以及较新的 ms-swift 会把 `None` 的生成排除在该函数的奖励之外(其他任务的样本需要如此);旧版本直"
        "接把列表转成张量而失败。函数的某个分支漏写 `return` 时也会返回 `None`。",
        "给每条生成一个数字(不适用时为 0.0),并检查没有 `return` 的分支;或升级:`pip install -U trl`(ms-swift:"
        "`pip install -U ms-swift`)。",
    ),
)

ALWAYS = Message(
    en=Words(
        "reward function `{name}` returns {kind}, not a list of rewards",
        "TRL wants one number per completion and raises at the first reward call, after a whole batch was "
        "generated (0.14 and 0.15 learn nothing instead).",
        "Return a list with one number for each of `completions`.",
    ),
    zh=Words(
        "奖励函数 `{name}` 返回 {kind},而不是奖励列表",
        "TRL 要求每条生成对应一个数,会在生成完整批次之后的第一次奖励调用时抛出异常(0.14 和 0.15 则学不到任何东西)。",
        "返回一个列表,为 `completions` 中的每一条给出一个数。",
    ),
)

SOMETIMES = Message(
    en=Words(
        "reward function `{name}` returns {kind} on one of its ways out",
        "When that way is taken, TRL raises in the middle of the run: it wants one number per completion.",
        "Return a list with one number for each of `completions` on every way out.",
    ),
    zh=Words(
        "奖励函数 `{name}` 在某条返回路径上返回 {kind}",
        "走到该路径时,TRL 会在训练途中抛出异常:它要求每条生成对应一个数。",
        "在所有返回路径上都返回列表,为 `completions` 中的每一条给出一个数。",
    ),
)

#: kind of return -> how it is shown, the same in every language
KINDS = {"scalar": "`scalar`", "none": "`None`", "str": "`str`"}


@check(PROBLEM)
def reward_not_a_list(training: Training) -> Judgement:
    """Judge the kinds of return that the source proves."""
    if not is_grpo(training):
        return
    for function in training.reward_functions:
        wrong = [KINDS[each] for each in function.returns if each in KINDS]
        if not wrong:
            continue
        always = len(wrong) == len(function.returns)
        place = function.return_places[0] if always and function.return_places else function.place
        yield found(
            PROBLEM,
            ALWAYS if always else SOMETIMES,
            where=Where(file=place.file, line=place.line, column=place.column),
            evidence=(Evidence(place.file, f"{function.name}: returns {', '.join(function.returns)}", place.line),),
            severity=ERROR if always else WARNING,
            confidence=CONFIRMED if always else LIKELY,
            name=function.name,
            kind=wrong[0],
        )


#: number of the signature -> what was returned
_WHAT = ("a single `{}`", "a list of `{}`", "a list of `{}`", "a list of lists", "a list of tensors")

#: place of "must be real number" in SIGNATURES
_OF_NONE = 2


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    raised = by_trainer(hits)
    if not raised:
        return None
    what = _WHAT[raised[0].signature].format(raised[0].groups.get("kind", "?"))
    if raised[0].signature == _OF_NONE and raised[0].groups.get("kind") == "NoneType":
        return found(PROBLEM, NONES, where=hits.where(), evidence=hits.evidence())
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), what=what)
