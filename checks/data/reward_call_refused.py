"""A reward function was called with arguments that it does not take.

## What it means
Trainers call reward functions in their own way: TRL by keyword with the batch and every column of the
dataset, veRL with `data_source, solution_str, ground_truth, extra_info`, EasyR1 in batches or one by one. The
function was written for another way, or for a column that the dataset lacks.
## What it does to a run
The first reward call raises TypeError, after a whole batch was generated.
## What to do
Fit the signature to what the trainer passes, and take the rest as keywords.
## How it is found
In a log: by the TypeError of a function whose name says that it scores; less is shown than a traceback
through the trainer, so it is only likely.
## References
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
https://verl.readthedocs.io/en/latest/preparation/reward_function.html
https://github.com/hiyouga/EasyR1/issues/338
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT027", name="reward-call-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^TypeError: (?P<function>(?:[\w.]{1,80}\.)?\w{0,60}(?:[Rr]eward|compute_score|"
        r"score_fn)\w{0,40})\(\) missing \d{1,2} required (?:positional|keyword-only) arguments?: "
        r"(?P<names>'[^\n]{1,160}')",
        symptom_of=("DAT001", "DAT002"),
    ),
    Signature(
        r"^TypeError: (?P<function>(?:[\w.]{1,80}\.)?\w{0,60}(?:[Rr]eward|compute_score|"
        r"score_fn)\w{0,40})\(\) got an unexpected keyword argument '(?P<name>\w{1,60})'",
        symptom_of=("DAT001", "DAT002"),
    ),
    Signature(
        r"^TypeError: (?P<function>(?:[\w.]{1,80}\.)?\w{0,60}(?:[Rr]eward|compute_score|"
        r"score_fn)\w{0,40})\(\) takes (?:from \d{1,2} to )?(?P<takes>\d{1,2}) positional "
        r"arguments? but (?P<given>\d{1,2}) (?:was|were) given",
        symptom_of=("DAT001", "DAT002"),
    ),
)


MISSING = Message(
    en=Words(
        "reward function `{function}` wants {names}, which the trainer does not pass",
        "Trainers pass the columns of the dataset by name; this one is missing from the dataset "
        "(or was removed on the way), or the function was written for another trainer.",
        "Add the column {names} to the dataset (check spelling, `remove_unused_columns=False`, "
        "and what `map(remove_columns=...)` takes away), give the parameter a default, or rename "
        "it to a column that is there; take the rest as `**kwargs`.",
    ),
    zh=Words(
        "奖励函数 `{function}` 需要训练器没有传入的 {names}",
        "训练器按名称传入数据集的各列;数据集中缺少这一列(或在途中被移除),或该函数是为另一个训练器编写的。",
        "在数据集中加入列 {names}(检查拼写、`remove_unused_columns=False` 以及 "
        "`map(remove_columns=...)` 去掉的内容),给参数一个默认值,或改名为现有的列;其余用 "
        "`**kwargs` 接收。",
    ),
)

REFUSED = Message(
    en=Words(
        "reward function `{function}` does not accept `{name}`, which the trainer passes",
        "Trainers hand every column of the dataset and more to reward functions by keyword.",
        "Add `**kwargs` to its signature: `def {function}(prompts, completions, **kwargs):`.",
    ),
    zh=Words(
        "奖励函数 `{function}` 不接受训练器传入的 `{name}`",
        "训练器会把数据集的每一列以及更多内容按关键字传给奖励函数。",
        "在其签名中加入 `**kwargs`:`def {function}(prompts, completions, **kwargs):`。",
    ),
)

NUMBER = Message(
    en=Words(
        "reward function `{function}` takes {takes} positional arguments and was called with {given}",
        "The function was written for another way of calling: one answer or a whole batch, with "
        "or without the ground truth.",
        "Compare its signature with what the trainer's documentation says a reward function is "
        "given (TRL: `prompts, completions, **kwargs`; veRL: `data_source, solution_str, "
        "ground_truth, extra_info`; EasyR1: see `reward_type`), and with the call in the "
        "innermost frame.",
    ),
    zh=Words(
        "奖励函数 `{function}` 只接受 {takes} 个位置参数,却以 {given} 个参数调用",
        "该函数是为另一种调用方式编写的:单个回答或整批,带或不带标准答案。",
        "将其签名与训练器文档中奖励函数的参数对照(TRL:`prompts, completions, **kwargs`;veRL:"
        "`data_source, solution_str, ground_truth, extra_info`;EasyR1:见 `reward_type`),"
        "并对照最内层栈帧中的调用。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say what did not fit: a parameter, a keyword, or the number."""
    message = MISSING if hits.get("names") else REFUSED if hits.get("name") else NUMBER
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        function=(hits.get("function") or "").rpartition(".")[2], name=hits.get("name") or "",
        names=(hits.get("names") or "").replace("'", "`"), takes=hits.get("takes") or "", given=hits.get("given") or "",
    )  # fmt: skip
