"""Rows lack a field that the DPO, KTO or reward trainer reads.

## What it means
DPO and reward training read `prompt`, `chosen` and `rejected`; KTO `prompt`, `completion` and `label`. The trainer
makes fields of ids from them, which its collator expects.
## What it does to a run
KeyError when the data is prepared or at the first batch.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://huggingface.co/docs/trl/dataset_formats
https://github.com/huggingface/trl/blob/v0.19.1/trl/trainer/reward_trainer.py
https://github.com/modelscope/ms-swift/issues/2380
"""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DAT048", name="preference-column-missing", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"^KeyError: '(?P<column>chosen|rejected|completion|label|completions|labels)'$",
        Message(
            en=Words(
                "rows of the dataset have no `{column}`, which this trainer reads",
                "The columns carry other names, the file is of the form of another trainer (instructions, pairs, "
                "KTO's labels), or rows were made by a `map` that left it out.",
                '`print(dataset.column_names)`, then `dataset.rename_column("YOURS", "{column}")` or make it '
                "with `map`. DPO and reward: `prompt`, `chosen`, `rejected`; KTO: `prompt`, `completion`, "
                "`label` (True or False).",
            ),
            zh=Words(
                "数据集的行没有该训练器读取的 `{column}`",
                "列名不同,文件是另一种训练器的格式(指令、成对、KTO 标签),或生成这些行的 `map` 漏掉了它。",
                '先 `print(dataset.column_names)`,再 `dataset.rename_column("YOURS", "{column}")` 或用 `map` 生成'
                "。DPO 与奖励模型:`prompt`、`chosen`、`rejected`;KTO:`prompt`、`completion`、`label`(True 或 "
                "False)。",
            ),
        ),
    ),
    (
        (
            r"^KeyError: "
            r"'(?P<column>(?:input_ids_(?:chosen|rejected)|(?:chosen|rejected|prompt|completion)_(?:input_ids|ids|attention_mask|labels)))'$"
        ),
        Message(
            en=Words(
                "batches have no `{column}`, which TRL's own preparation makes",
                "The dataset was tokenized by own code into other names, a `data_collator` of another trainer "
                "was passed, or a subclass skips the preparation; TRL renamed these fields between releases "
                "(`input_ids_chosen`, `chosen_input_ids`).",
                "Hand the trainer the raw columns (`prompt`, `chosen`, `rejected`) and no `data_collator`; or "
                "name the fields as the installed release does (its `DataCollatorForPreference`).",
            ),
            zh=Words(
                "批次中没有由 TRL 自己的预处理生成的 `{column}`",
                "数据集由自己的代码分词成别的字段名,传入了另一种训练器的 `data_collator`,或子类跳过了预处理;TRL "
                "在不同版本中更改过这些字段名(`input_ids_chosen`、`chosen_input_ids`)。",
                "把原始列(`prompt`、`chosen`、`rejected`)交给训练器且不传 `data_collator`;或按所装版本命名字段(见"
                "其 `DataCollatorForPreference`)。",
            ),
        ),
    ),
)

#: where a training framework stands between the user and TRL, the fields are its own and TRL's, not the user's
FRAMEWORK = Message(
    en=Words(
        "{framework}'s batches have no `{column}`, which the TRL beside it reads: of different times",
        "{framework} derives from TRL's trainers and makes the batches itself. TRL renames these fields between "
        "releases (0.12 renamed those of DPO), so the two fit only within the range that {framework} names.",
        "Install them together: upgrade {framework} with its requirements, or go back to the TRL and Transformers of "
        'its time (ms-swift 2.x and LLaMA-Factory of 2024: `pip install "trl<0.12" "transformers<4.46"`). `pip check` '
        "tells what disagrees.",
    ),
    zh=Words(
        "{framework} 的批次中没有旁边的 TRL 所读取的 `{column}`:两者版本不属于同一时期",
        "{framework} 派生自 TRL 的训练器并自行生成批次。TRL 在不同版本中更改这些字段名(0.12 更改了 DPO 的字段),因此两"
        "者只在 {framework} 给出的范围内匹配。",
        "一起安装:连同依赖升级 {framework},或退回其同期的 TRL 与 Transformers(ms-swift 2.x 与 2024 年的 LLaMA-Factory:"
        '`pip install "trl<0.12" "transformers<4.46"`)。`pip check` 会显示不一致之处。',
    ),
)
MESSAGES = (*(message for _, message in CASES), FRAMEWORK)

_FRAMEWORKS = (
    (re.compile(r"(?:^|[\\/])swift[\\/]"), "ms-swift"),
    (re.compile(r"(?:^|[\\/])(?:llamafactory|llmtuner)[\\/]"), "LLaMA-Factory"),
)

SIGNATURES = (
    Signature(
        CASES[0][0],
        frame=r"trl[\\/](?:data_utils|(?:trainer|experimental)[\\/]\S{1,60})\.py:|Unsloth\w+Trainer\.py:",
        symptom_of=("TRL057",),
    ),
    Signature(
        CASES[1][0],
        frame=r"trl[\\/](?:data_utils|(?:trainer|experimental)[\\/]\S{1,60})\.py:|Unsloth\w+Trainer\.py:",
        symptom_of=("TRL057",),
    ),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for; a framework in between makes the fields itself."""
    frames = hits.first.frames
    framework = next((name for part, name in _FRAMEWORKS if any(map(part.search, frames))), None)
    if framework and hits.first.signature == 1:
        return found(
            PROBLEM, FRAMEWORK, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, framework=framework,
            column=hits.get("column"),
        )  # fmt: skip
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
