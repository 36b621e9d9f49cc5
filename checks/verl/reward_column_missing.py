"""A row of the data lacks a column that veRL reads.

## What it means
veRL takes `data_source`, `prompt`, `reward_model` (a dictionary with `ground_truth`) and `extra_info` from each
row of the parquet file. The data sets of the Hub do not have them; the scripts under examples/data_preprocess
write them.
## What it does to a run
KeyError: in the data loader, or at the first reward after the first rollout.
## What to do
Convert the data, or name the columns that it has.
## How it is found
In a log, by the message that the program prints.
## References
https://verl.readthedocs.io/en/latest/preparation/prepare_data.html
https://github.com/verl-project/verl/issues/758
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL020", name="reward-column-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^KeyError: '(?P<column>\w{1,60})'$",
        frame=r"(?:reward_(?:manager|loop|score)\w{0,20}[\\/.][^\n]{0,80}|rl_dataset\.py|rm_dataset\.py|sft_dataset\.py|verl[\\/]utils[\\/]dataset\w{0,20}[^\n]{0,60}):",
    ),
    Signature(r"^KeyError: '(?P<raw>raw_prompt|raw_chat)'$", frame=r"[\\/]verl[\\/]"),
)

LOG_MESSAGE_RAW = Message(
    en=Words(
        "a part of veRL needs the prompts as messages, and the data loader does not keep them (`{raw}`)",
        "Reward models with another chat template, multi-turn rollouts and agent loops read the conversation itself. "
        "The data loader of older releases hands over tokens alone unless it is told otherwise.",
        "Set `data.return_raw_chat=True`. The prompt column must hold a list of messages "
        '(`[{{"role": "user", "content": ...}}]`), for train and validation files.',
    ),
    zh=Words(
        "veRL 的某部分需要消息形式的提示,而数据加载器没有保留(`{raw}`)",
        "使用另一 chat template 的奖励模型、多轮 rollout 与 agent loop 会读取对话本身。"
        "旧版本的数据加载器默认只交出 token。",
        "设置 `data.return_raw_chat=True`。训练与验证文件的 prompt 列必须是消息列表"
        '(`[{{"role": "user", "content": ...}}]`)。',
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "rows of the data have no `{column}`, which veRL reads",
        "Each row needs the columns `data_source`, `prompt` (a list of messages), `reward_model` "
        '(`{{"style": "rule", "ground_truth": ...}}`) and best `extra_info`. This parquet file lacks '
        "`{column}`: it is a raw data set that was not converted, or `data.prompt_key` or "
        "`data.reward_fn_key` names another column. Where the file has it, the agent loop or a plugin "
        "dropped it on the way, which older releases do.",
        'Look at one row: `python -c "import pandas as p; '
        "print(p.read_parquet('train.parquet').iloc[0])\"`. Write the columns with a script as in "
        "examples/data_preprocess (gsm8k.py), for train and validation files, or set `data.prompt_key` "
        "and `data.reward_fn_key` to the columns that are there. If the column is there, upgrade veRL.",
    ),
    zh=Words(
        "数据行中没有 veRL 读取的 `{column}`",
        '每行需要 `data_source`、`prompt`(消息列表)、`reward_model`(`{{"style": "rule", "ground_truth": '
        "...}}`)列,最好还有 `extra_info`。该 parquet 文件缺少 `{column}`:它是未转换的原始数据集,或 "
        "`data.prompt_key`、`data.reward_fn_key` 指向了其他列。若文件中有此列,则是 agent loop 或插件在途"
        "中丢失了它,旧版本会如此。",
        "查看一行:`python -c \"import pandas as p; print(p.read_parquet('train.parquet').iloc[0])\"`。用 "
        "examples/data_preprocess(gsm8k.py)那样的脚本为训练与验证文件写入这些列,或把 `data.prompt_key`、"
        "`data.reward_fn_key` 设为实际的列名。若该列存在,请升级 veRL。",
    ),
)

LOG_CONFIDENCE = LIKELY


def explain(hits: Hits) -> Finding:
    """With the column."""
    raw = hits.get("raw")
    return found(
        PROBLEM,
        LOG_MESSAGE_RAW if raw else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        column=hits.get("column"),
        raw=raw,
    )
