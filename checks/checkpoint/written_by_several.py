"""Several processes made, renamed or cleared one checkpoint folder.

## What it means
Each rank (or node, or another run with the same output folder) handles the folder of the step; on a shared file
system they get into each other's way. Transformers 4.36 to 4.38, and git before 4.49, wrote into `tmp-checkpoint-N` and
renamed it in several processes.
## What it does to a run
OSError while saving; the checkpoint may be incomplete.
## What to do
Update Transformers, and give every run a folder of its own.
## How it is found
In a log: by the failing rename or removal of a checkpoint folder.
## References
https://github.com/huggingface/transformers/issues/27925
https://github.com/huggingface/transformers/pull/28009
https://github.com/huggingface/transformers/pull/28364
https://github.com/huggingface/transformers/pull/36094
https://docs.python.org/3/library/os.html#os.rename
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="CKP023", name="written-by-several", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"(?:FileNotFoundError|OSError|FileExistsError|PermissionError): \[(?:Errno|WinError) \d{1,4}\] "
            r"[^\n':]{4,80}: '(?P<from>[^'\n]{1,200}[\\/]tmp-checkpoint-\d{1,9})' -> "
            r"'(?P<to>[^'\n]{1,200}checkpoint-\d{1,9})'"
        ),
        Message(
            en=Words(
                "`tmp-checkpoint-*` could not be renamed to `{to}`",
                "Transformers 4.36 to 4.38, and the development state before 4.49, let several processes rename "
                "the folder of one step: another one was first, or the target is there from an earlier run.",
                "`pip install -U 'transformers>=4.49'` (a release, not the state of git); until then "
                "`save_on_each_node=False` with a shared folder. Remove the half-written `tmp-checkpoint-*`, and "
                "give each run its own `output_dir`.",
            ),
            zh=Words(
                "`tmp-checkpoint-*` 无法重命名为 `{to}`",
                "Transformers 4.36 到 4.38,以及 4.49 之前的开发版,会让多个进程重命名同一步的文件夹:另一个进程已先"
                "完成,或目标来自之前的运行。",
                "`pip install -U 'transformers>=4.49'`(正式版,而非 git 版本);在此之前共享文件夹时使用 "
                "`save_on_each_node=False`。删除写了一半的 `tmp-checkpoint-*`,并让每次运行使用自己的 `output_dir`"
                "。",
            ),
        ),
    ),
    (
        r"(?:FileNotFoundError|OSError): \[Errno (?:2|39)\] [^\n']{4,80}: '(?P<path>[^'\n]{1,300})'$",
        Message(
            en=Words(
                "an old checkpoint could not be cleared: somebody else was at it",
                "`save_total_limit` makes each writing process remove the oldest folder; here another rank, node "
                "or run removed files of it at the same time, or a network file system still held them.",
                "Give each run its own `output_dir`, let one node write (`save_on_each_node=False`), update "
                "Transformers, or drop `save_total_limit` and clear by hand.",
            ),
            zh=Words(
                "无法清除旧检查点:有其他进程同时在处理",
                "`save_total_limit` 使每个写入进程删除最旧的文件夹;此处另一个 rank、节点或运行同时在删除其文件,或"
                "网络文件系统仍占用它们。",
                "让每次运行使用自己的 `output_dir`,只让一个节点写(`save_on_each_node=False`),升级 Transformers,或"
                "去掉 `save_total_limit` 手动清理。",
            ),
        ),
    ),
    (
        r"^json\.decoder\.JSONDecodeError: Expecting value: line 1 column 1 \(char 0\)$",
        Message(
            en=Words(
                "`trainer_state.json` of the checkpoint is empty",
                "The save was cut off (killed, disk or quota full), or another process was writing it: "
                "everything else in that folder may be incomplete, too.",
                'Resume from the checkpoint before: `resume_from_checkpoint=".../checkpoint-N"`; look at sizes '
                "(`ls -la checkpoint-*`) and at space and quota (`df -h`, `quota -s`), and remove the broken "
                "one, which the automatic choice would take again.",
            ),
            zh=Words(
                "检查点的 `trainer_state.json` 为空",
                "保存被中断(被杀、磁盘或配额已满),或另一个进程正在写:该文件夹中的其他文件也可能不完整。",
                '从前一个检查点恢复:`resume_from_checkpoint=".../checkpoint-N"`;检查文件大小(`ls -la '
                "checkpoint-*`)及空间和配额(`df -h`、`quota -s`),并删除损坏的检查点,否则自动选择会再次选中它。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0], frame=r"transformers[\\/]trainer(?:_utils)?\.py:_?rotate_checkpoints$"),
    Signature(CASES[2][0], frame=r"transformers[\\/]trainer_callback\.py:load_from_json$"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
