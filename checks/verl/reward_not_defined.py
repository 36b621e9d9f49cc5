"""veRL has no reward function for the data source of a row.

## What it means
The column `data_source` of the dataset chooses one of veRL's reward functions by name (`openai/gsm8k`,
`lighteval/MATH` ...). Another name, a local path or an empty cell matches none, and no function of your own is named.
## What it does to a run
`NotImplementedError` at the first validation or the first scored rollout.
## What to do
Write the name that veRL knows into the column, or name a reward function of your own.
## How it is found
In a log: by the error of `default_compute_score`.
## References
https://github.com/verl-project/verl/issues/3450
https://github.com/verl-project/verl/pull/6156
https://verl.readthedocs.io/en/latest/preparation/reward_function.html
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL024", name="reward-not-defined", severity=ERROR, since="0.1")

_CHOICE = r"reward_score[\\/]__init__\.py:"

SIGNATURES = (
    Signature(
        r"""NotImplementedError: Reward function is not implemented for data_source=(?:np\.str_\()?['"]?"""
        r"""(?P<source>[^'"\n)]{0,200})""",
    ),
    # releases up to 0.2 raise it without a word
    Signature(r"^NotImplementedError\s*$", keywords=("NotImplementedError",), frame=_CHOICE),
)

LOG_MESSAGE = Message(
    en=Words(
        "veRL has no reward function for {source}",
        "The column `data_source` of the dataset picks one of veRL's built-in reward functions by its "
        "exact name. This value is none of them, and no function of your own is configured.",
        "Own data: `custom_reward_function.path=/path/reward.py "
        "custom_reward_function.name=compute_score` (`reward.custom_reward_function.*` in releases of "
        "2026), with `def compute_score(data_source, solution_str, ground_truth, extra_info=None)`. A "
        "known dataset: write its name into the column, not the path where it lies, and make the parquet "
        "files again (GSM8K: `openai/gsm8k`; MATH: `lighteval/MATH` or "
        "`DigitalLearningGmbH/MATH-lighteval`). Look into the validation file too.",
    ),
    zh=Words(
        "veRL 没有对应 {source_zh} 的奖励函数",
        "数据集的 `data_source` 列按确切名称选择 veRL 内置的奖励函数。该取值不在其中,也没有配置自己的函数。",
        "自有数据:`custom_reward_function.path=/path/reward.py "
        "custom_reward_function.name=compute_score`(2026 年的版本为 `reward.custom_reward_function.*`),并"
        "定义 `def compute_score(data_source, solution_str, ground_truth, extra_info=None)`。已知数据集:"
        "在该列写它的名称而不是所在路径,并重新生成 parquet(GSM8K 为 `openai/gsm8k`;MATH 为 "
        "`lighteval/MATH` 或 `DigitalLearningGmbH/MATH-lighteval`)。验证集文件也要检查。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Old releases do not say which data source it is: there the choice itself must have raised."""
    named = hits.get("source")
    told = named is not None or any("data_source=" in each.text for each in hits)
    if not told and not re.search(_CHOICE, hits.first.frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        source=f'`data_source` "{named or ""}"' if told else "a `data_source` in the data",
        source_zh=f"`data_source` “{named or ''}”" if told else "数据中的某个 `data_source`",
    )  # fmt: skip
