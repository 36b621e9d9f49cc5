"""The user's or project's disk quota is used up.

## What it means
Shared file systems limit bytes and files per user or project; the disk itself may be half empty, so `df`
shows nothing.
## What it does to a run
The write fails. A pointer to the latest checkpoint may stay at an older one; a job that is requeued then
repeats steps and finds the folder of its next checkpoint there already (FileExistsError), while other ranks
wait.
## What to do
Free quota, repair the pointer, and remove the half-written folder.
## How it is found
In a log: by the error of the operating system.
## References
https://man7.org/linux/man-pages/man3/errno.3.html
https://doc.lustre.org/lustre_manual.xhtml#configuringquotas
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CKP007", name="disk-quota-exceeded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"\[Errno 122\] "),
    Signature(r": Disk quota exceeded$"),
    Signature(r"SafetensorError: Error while serializing: [^\n]{0,40}code: 122,"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the disk quota of this user or project was exceeded while a file was written",
        "The file system counts bytes and files per user; the disk may have room. Whatever was being "
        "saved is incomplete: a `latest` pointer that could not be updated still names an older "
        "checkpoint, and a resumed job then meets the folder that already exists.",
        "See `quota -s` (Lustre: `lfs quota -h -u $USER PATH`), delete old checkpoints and caches, set "
        "`save_total_limit`, or move `HF_HOME` and `output_dir`. Then remove the half-written checkpoint "
        "or repair its `latest` file before resuming.",
    ),
    zh=Words(
        "写文件时超出了该用户或项目的磁盘配额",
        "文件系统按用户统计字节和文件数;磁盘本身可能还有空间。正在保存的内容不完整:未能更新的 `latest` 指"
        "针仍指向较旧的检查点,恢复的作业会遇到已存在的目录。",
        "查看 `quota -s`(Lustre:`lfs quota -h -u $USER PATH`),删除旧检查点和缓存,设置 `save_total_limit`,"
        "或移动 `HF_HOME` 和 `output_dir`。然后在恢复之前删除写了一半的检查点或修复其 `latest` 文件。",
    ),
)

LOG_COMMANDS = ("quota -s",)
