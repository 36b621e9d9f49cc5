"""A file grew beyond the size that its file system or a limit of the process allows.

## What it means
The kernel answers EFBIG when a file would exceed what the file system can hold in one file (FAT32: 4 GiB; AFS and some
mounts: less) or the limit that `ulimit -f` sets. There may be plenty of free space.
## What it does to a run
The save of a checkpoint or of a dataset's cache ends with `File too large`; programs other than Python are ended by
SIGXFSZ (exit code 153 or -25).
## What to do
Write to another file system, lift the limit, or split the file into shards.
## How it is found
In a log: by the words of EFBIG and SIGXFSZ.
## References
https://man7.org/linux/man-pages/man2/write.2.html
https://man7.org/linux/man-pages/man2/setrlimit.2.html
https://docs.python.org/3/library/signal.html#signal.SIGXFSZ
https://github.com/voxel51/fiftyone/issues/5409
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="HST031", name="file-size-limited", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"\[Errno 27\] (?:File too large|文件过大)"),
    Signature(r"code: 27, kind: FileTooLarge|File too large \(os error 27\)"),
    Signature(
        r"^(?:[^\n]{1,200}: line \d{1,6}: {1,6}\d{1,9} File size limit exceeded|File size limit exceeded *"
        r"(?:\(core dumped\)|$))"
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "a file became larger than its file system or the limit of the process allows",
        "The disk need not be full: the file system takes no file of that size (FAT32, AFS, some "
        "network and cloud mounts), or `ulimit -f` limits what this shell, job or container may write. What was being "
        "written is not whole.",
        "`ulimit -f` has to say `unlimited` (Slurm copies it from the login shell: `sbatch --propagate=NONE`; else "
        "`/etc/security/limits.conf`, fsize). `df -T PATH` tells the file system: write to another one (`output_dir`, "
        '`HF_HOME`, `TMPDIR`), or in smaller pieces: `save_pretrained(..., max_shard_size="2GB")`, sharded instead of '
        "full state dicts.",
    ),
    zh=Words(
        "文件大小超过了文件系统或进程限制所允许的上限",
        "磁盘不一定已满:该文件系统不接受这么大的单个文件(FAT32、AFS、部分网络盘与云盘挂载),或 `ulimit -f` 限制了该 "
        "shell、作业或容器可写的大小。正在写的文件不完整。",
        "`ulimit -f` 应为 `unlimited`(Slurm 会从登录 shell 继承:`sbatch --propagate=NONE`;否则修改 "
        "`/etc/security/limits.conf` 的 fsize)。`df -T PATH` 可看文件系统:写到另一个上(`output_dir`、`HF_HOME`、"
        '`TMPDIR`),或分成小块:`save_pretrained(..., max_shard_size="2GB")`,用分片而不是完整的 state dict。',
    ),
)
