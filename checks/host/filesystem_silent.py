"""A folder that the run uses did not answer.

## What it means
A question about the folder (its free space) got no answer in time, as from a network file system whose server is
gone.
## What it does to a run
The first process that touches the folder hangs in a state that no signal ends; the others wait for it in a collective
until the time-out.
## What to do
Look after the mount, or use another folder.
## How it is found
`statvfs` on the folders that the run uses, each with a time-out.
## References
https://man7.org/linux/man-pages/man5/nfs.5.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.host import Host

PROBLEM = Problem(id="HST008", name="file-system-silent", severity=WARNING, since="0.1")

SILENT = Message(
    en=Words(
        "`{path}` {error}",
        "A network file system whose server is gone behaves like this: a process that touches it hangs and cannot be "
        "killed, and the other ranks wait for it. A slow one costs every rank this time at each file.",
        "Look after the mount, or use another folder.",
    ),
    zh=Words(
        "`{path}` 没有响应({error})",
        "服务器失联的网络文件系统就是这种表现:访问它的进程会挂住且无法被杀死,其他 rank 则一直等待。",
        "检查该挂载点,或改用其他目录。",
    ),
)
UNREADABLE = Message(
    en=Words(
        "`{path}` {error}",
        "The run wants to read or write there ({purpose}) and will not be able to.",
        "Look at the rights and links on the way to it.",
    ),
    zh=Words(
        "`{path}` 无法读取({error})",
        "任务要在那里读写({purpose}),但做不到。",
        "检查通向它的路径上的权限与链接。",
    ),
)


@check(PROBLEM)
def filesystem_silent(host: Host) -> Judgement:
    """One finding a folder."""
    for disk in host.disks:
        if disk.error:
            yield found(
                PROBLEM,
                SILENT if "answer" in disk.error else UNREADABLE,
                path=disk.path,
                error=disk.error,
                purpose=disk.purpose,
                confidence=LIKELY,
                commands=(f"findmnt -T {disk.path}",),
                evidence=(Evidence("statvfs", f"{disk.purpose}: {disk.path} ({disk.filesystem or 'unknown'})"),),
            )
