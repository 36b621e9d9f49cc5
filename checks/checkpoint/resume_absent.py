"""There is no checkpoint to resume from.

## What it means
`resume_from_checkpoint=True` takes the last `checkpoint-N` of the output folder; a path takes that folder,
which must hold weights.
## What it does to a run
`train` raises ValueError after the model was loaded.
## What to do
Name an existing folder, or start without resuming the first time.
## How it is found
In a log: by the exception of the Trainer.
## References
https://huggingface.co/docs/transformers/trainer#checkpoints
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP004", name="resume-checkpoint-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Can't find a valid checkpoint at (?P<path>[^\s]{1,300})"),
    Signature(r"ValueError: No valid checkpoint found in output directory \((?P<folder>[^)\n]{1,300})\)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "no checkpoint to resume from at `{path}`",
        "The folder does not exist on this machine, or holds no weights that the Trainer can load (a "
        "save that was cut off, a ZeRO or FSDP folder under another name).",
        "List what is there: `ls {path}`, and give the newest complete `checkpoint-N`, as an absolute "
        "path; on several nodes it must be visible on each.",
    ),
    zh=Words(
        "`{path}` 处没有可用于恢复的检查点",
        "该目录在本机不存在,或没有 Trainer 能加载的权重(保存被中断,或名称不同的 ZeRO、FSDP 目录)。",
        "列出内容:`ls {path}`,并以绝对路径给出最新的完整 `checkpoint-N`;多机时每个节点都必须能看到它。",
    ),
)

LOG_MESSAGE_FOLDER = Message(
    en=Words(
        "`resume_from_checkpoint=True`, and `{path}` holds no `checkpoint-N`",
        'Nothing was saved there yet: the first start, another `output_dir`, or `save_strategy="no"`.',
        "Pass `resume_from_checkpoint` only where one exists: `resume = get_last_checkpoint(output_dir)` "
        "(`from transformers.trainer_utils import get_last_checkpoint`), or check `output_dir`.",
    ),
    zh=Words(
        "设置了 `resume_from_checkpoint=True`,但 `{path}` 中没有 `checkpoint-N`",
        '那里还没有保存过任何东西:首次启动、`output_dir` 不同,或 `save_strategy="no"`。',
        "仅在检查点存在时传入 `resume_from_checkpoint`:`resume = get_last_checkpoint(output_dir)`(`from "
        "transformers.trainer_utils import get_last_checkpoint`),或检查 `output_dir`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Tell a named checkpoint from the search for the last one; the end of the path is enough to know it by."""
    path, folder = hits.get("path"), hits.get("folder")
    return found(
        PROBLEM,
        LOG_MESSAGE if path else LOG_MESSAGE_FOLDER,
        where=hits.where(),
        evidence=hits.evidence(),
        path="/".join((path or folder or "").split("/")[-2:]),
    )
