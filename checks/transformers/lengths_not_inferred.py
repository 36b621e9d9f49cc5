"""Batches are to be grouped by length, and the rows hold no ids to measure.

## What it means
`group_by_length` (`train_sampling_strategy="group_by_length"` since Transformers 5) reads the length of the first
field of ids of each row. Rows of DPO, of images or of text not tokenized yet have none under that name.
## What it does to a run
ValueError when the sampler is made.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.group_by_length
https://github.com/huggingface/trl/issues/1267
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF060", name="lengths-not-inferred", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"ValueError: Can only automatically infer lengths for datasets whose items are dictionaries with "
            r"an '(?P<key>\w{1,40})' key"
        ),
        Message(
            en=Words(
                "`group_by_length` is on, and rows of the dataset have no `{key}` to measure",
                "The trainer's rows carry their ids under other names (DPO's `prompt_input_ids`, "
                "`chosen_input_ids`) or are tokenized later.",
                "`group_by_length=False` (`--group_by_length false`; since Transformers 5 "
                '`train_sampling_strategy="random"`), or add a column with the lengths and name it: '
                '`length_column_name="length"`.',
            ),
            zh=Words(
                "`group_by_length` 已开启,而数据集的行没有可测量的 `{key}`",
                "训练器的行以其他名称保存 ids(DPO 的 `prompt_input_ids`、`chosen_input_ids`),或稍后才分词。",
                "`group_by_length=False`(`--group_by_length false`;Transformers 5 起为 "
                '`train_sampling_strategy="random"`),或添加长度列并指定:`length_column_name="length"`。',
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
