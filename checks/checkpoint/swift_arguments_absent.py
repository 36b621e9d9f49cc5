"""ms-swift does not find the arguments of the training beside a checkpoint.

## What it means
`swift sft` and `swift rlhf` write `args.json` into each checkpoint; inference, export and resuming read model type,
template and tuner from it. A folder that another tool wrote, or that was merged, copied or tidied up, has none.
## What it does to a run
AssertionError before the model is loaded.
## What to do
Bring the file along, or give its settings by hand.
## How it is found
In a log: by ms-swift's assertion, which names the path.
## References
https://github.com/modelscope/ms-swift/issues/7955
https://swift.readthedocs.io/en/latest/Instruction/Command-line-parameters.html
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP033", name="swift-arguments-absent", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"^AssertionError: args_path: (?P<file>[^\n]{1,300}[\\/]args\.json)$"),)

LOG_MESSAGE = Message(
    en=Words(
        "ms-swift finds no `args.json` in the checkpoint `{folder}`",
        "It takes model type, template and tuner from that file. The folder was not written by `swift sft` or `swift "
        "rlhf` (Python code of your own, another trainer), it was copied or merged without the file, or the path is "
        "another one than meant.",
        "`ls {folder}`: give the `checkpoint-N` that swift wrote, or copy `args.json` there from the folder above it "
        "(`output/vN-DATE/args.json`). Without the file: `--load_args false` with `--model`, `--model_type` and "
        "`--template`; in Python pass these to the engine instead of calling `BaseArguments.from_pretrained`.",
    ),
    zh=Words(
        "ms-swift 在检查点 `{folder}` 中找不到 `args.json`",
        "它从该文件读取模型类型、模板和 tuner。该目录不是由 `swift sft` 或 `swift rlhf` 写出(自己的 Python 代码、其他"
        "训练器),复制或合并时没有带上该文件,或路径不对。",
        "`ls {folder}`:使用 swift 写出的 `checkpoint-N`,或从其上级目录(`output/vN-DATE/args.json`)把 `args.json` 复制"
        "过去。没有该文件时:`--load_args false` 并给出 `--model`、`--model_type`、`--template`;在 Python 中直接把它们"
        "传给引擎,而不调用 `BaseArguments.from_pretrained`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The end of the path is enough to know it by."""
    parts = re.split(r"[\\/]", hits.get("file") or "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        folder="/".join(parts[-3:-1]),
    )  # fmt: skip
