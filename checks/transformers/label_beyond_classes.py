"""A label is larger than the number of classes that the model's head has.

## What it means
Cross entropy takes labels from 0 to `num_labels` - 1. Labels that begin at 1, more classes in the data than
`num_labels` says, or token ids beyond the vocabulary lie outside.
## What it does to a run
On a CPU IndexError in the first batch that holds such a label; on a GPU a device-side assert, which says less.
## What to do
Set `num_labels` to the number of classes, and let the labels begin at 0.
## How it is found
In a log: by the IndexError of the loss.
## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF068", name="label-beyond-classes", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        r"^IndexError: Target (?P<label>-?\d{1,12}) is out of bounds",
        "",
        Message(
            en=Words(
                "label {label} lies outside of the classes that the model's head has",
                "Cross entropy takes labels from 0 to the number of classes less one (and -100 for what is left "
                "out): labels begin at 1, the head has too few classes, or ids of another vocabulary are used as "
                "labels.",
                'Count them: `set(dataset["label"])`; load with `num_labels=` that number, shift labels that begin '
                "at 1, and mark what does not count with -100. For a language model compare `len(tokenizer)` with "
                "`model.config.vocab_size`.",
            ),
            zh=Words(
                "标签 {label} 超出了模型输出头的类别范围",
                "交叉熵只接受 0 到类别数减一的标签(被忽略的用 -100):标签从 1 开始、输出头类别太少,或把另一个词表的 "
                "id 当作标签。",
                '统计一下:`set(dataset["label"])`;以该数量的 `num_labels=` 加载模型,从 1 开始的标签减 1,不计入的标为'
                " -100。语言模型则比较 `len(tokenizer)` 与 `model.config.vocab_size`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits)
