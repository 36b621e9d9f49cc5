"""A file system has room but cannot take more files.

## What it means
Its inodes, one for each file, are used up, as happens with millions of small files of data sets and caches.
## What it does to a run
`No space left on device` while `df -h` shows free space: a checkpoint or a cache entry cannot be created.
## What to do
Delete folders with many small files, or write to another file system.
## How it is found
Free inodes of the file systems that the run writes to, for kinds that have a fixed number.
## References
https://man7.org/linux/man-pages/man3/statvfs.3.html
https://www.kernel.org/doc/html/latest/filesystems/tmpfs.html
"""

from __future__ import annotations

from doctor.checks.host._helpers import size
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.host import Host

PROBLEM = Problem(id="HST007", name="inodes-exhausted", severity=ERROR, since="0.1")
FEW = 1000
FIXED = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs", "overlay"})  # others make inodes as they need them

MESSAGE = Message(
    en=Words(
        "`{path}` can take {inodes} more files, though {free} are free",
        "Creating a file there ends with `No space left on device` while `df -h` shows room: the inodes are used up.",
        "Delete folders with many small files, or write elsewhere.",
    ),
    zh=Words(
        "`{path}` 还有 {free} 空间,却只能再创建 {inodes} 个文件",
        "在那里创建文件会报 `No space left on device`,而 `df -h` 显示仍有空间:inode 已用尽。",
        "删除含大量小文件的目录,或写到别处。",
    ),
)


@check(PROBLEM)
def inodes_exhausted(host: Host) -> Judgement:
    """One finding a file system, not one a purpose."""
    seen: set[tuple[int | None, int | None]] = set()
    for disk in host.disks:
        state = (disk.free_inodes, disk.free_bytes)
        if disk.free_inodes is None or disk.free_inodes >= FEW or disk.filesystem not in FIXED or state in seen:
            continue
        seen.add(state)
        yield found(
            PROBLEM,
            MESSAGE,
            path=disk.path,
            inodes=disk.free_inodes,
            free=size(disk.free_bytes or 0),
            severity=ERROR if disk.free_inodes == 0 else WARNING,
            commands=(f"df -i {disk.path}",),
            evidence=(Evidence("statvfs", f"{disk.path}: {disk.free_inodes} inodes free, {disk.filesystem}"),),
        )
