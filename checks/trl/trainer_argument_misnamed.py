"""A trainer is called with a keyword that stands for another one of its own.

## What it means
The trainers of TRL and Transformers name their arguments alike, but tutorials, older examples and habit do not: a
single reward function is still `reward_funcs`, the data are `train_dataset`, the configuration is `args`.
## What it does to a run
TypeError when the trainer is made.
## What to do
Write the name that the trainer has, or put the setting into its configuration.
## How it is found
In a log: by the trainer and the keyword in the exception.
## References
https://github.com/huggingface/trl/pull/4020
https://huggingface.co/docs/trl/grpo_trainer
https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL070", name="trainer-argument-misnamed", severity=ERROR, since="0.1")

#: keyword used: the trainer's own
_MEANT = {
    "reward_function": "reward_funcs", "reward_functions": "reward_funcs", "reward_func": "reward_funcs",
    "reward_fn": "reward_funcs", "reward_fns": "reward_funcs", "rewards": "reward_funcs", "reward": "reward_funcs",
    "dataset": "train_dataset", "training_dataset": "train_dataset", "train_data": "train_dataset",
    "training_args": "args", "training_arguments": "args", "config": "args", "arguments": "args",
    "lora_config": "peft_config", "lora": "peft_config", "peft": "peft_config",
    "reference_model": "ref_model", "model_ref": "ref_model", "collator": "data_collator", "collate_fn":
    "data_collator",
    "eval_data": "eval_dataset", "evaluation_dataset": "eval_dataset", "validation_dataset": "eval_dataset",
    "callback": "callbacks", "compute_metric": "compute_metrics", "optimizer": "optimizers",
    "formatting_function": "formatting_func", "formatting_prompts_func": "formatting_func",
}  # fmt: skip
_NAMES = "|".join(sorted(_MEANT, key=len, reverse=True))

# the PPOTrainer before TRL 0.12 did have `config`, `dataset` and `optimizer`
SIGNATURES = (
    Signature(
        rf"^TypeError: (?!PPOTrainer\.__init__\(\) got an unexpected keyword argument '(?:config|dataset|optimizer)')"
        rf"(?P<owner>\w{{0,40}}Trainer)\.__init__\(\) got an unexpected keyword argument "
        rf"'(?P<name>{_NAMES})'"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{owner}` has no argument `{name}`: its own name is `{meant}`",
        "The trainer refuses a keyword that it does not know. In no release was this its name.",
        "Write `{meant}=` in place of `{name}=`{how}. What else the trainer takes stands in "
        '`python -c "import trl; help(trl.{owner}.__init__)"`; settings such as lengths, batch sizes and `beta` belong '
        "into its configuration (`args=...Config(...)`).",
    ),
    zh=Words(
        "`{owner}` 没有参数 `{name}`,它的名称是 `{meant}`",
        "训练器拒绝它不认识的关键字。任何版本中都没有这个名称。",
        "把 `{name}=` 改为 `{meant}=`{how_zh}。训练器接受的其他参数见 "
        '`python -c "import trl; help(trl.{owner}.__init__)"`;长度、批大小、`beta` 等设置应放入其配置'
        "(`args=...Config(...)`)。",
    ),
)

#: what the right argument wants
_HOW = {
    "reward_funcs": (" (a function or a list of functions)", "(一个函数或函数列表)"),
    "optimizers": (" (a pair: optimizer and scheduler)", "(一对:优化器与调度器)"),
    "callbacks": (" (a list)", "(列表)"),
}


def explain(hits: Hits) -> Finding:
    """Name the trainer's own argument."""
    owner, name = hits.first.groups["owner"], hits.first.groups["name"]
    meant = _MEANT[name]
    how, how_zh = _HOW.get(meant, ("", ""))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, owner=owner, name=name,
        meant=meant, how=how, how_zh=how_zh,
    )  # fmt: skip
