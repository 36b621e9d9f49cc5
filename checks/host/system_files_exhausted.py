"""The whole machine is out of file handles.

## What it means
The kernel keeps one limit for all processes together (fs.file-max). Processes that leak descriptors, or thousands of
workers and sockets, reach it.
## What it does to a run
Opening a file or a socket fails for everybody on the machine, with Errno 23.
## What to do
Raise the limit and find who holds the files.
## How it is found
In a log: by the kernel's line, or by the system's error ENFILE.
## References
https://docs.kernel.org/admin-guide/sysctl/fs.html
https://man7.org/linux/man-pages/man3/errno.3.html
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="HST023", name="system-files-exhausted", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"VFS: file-max limit (?P<limit>\d{1,20}) reached"),
    Signature(r"\[Errno 23\] Too many open files in system"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the machine is out of file handles: the kernel's limit for all processes is reached",
        "`fs.file-max` bounds the open files and sockets of all processes together, other than `ulimit -n`, "
        "which bounds one. A leak in one process (data-loader workers, sockets that are never closed) uses it "
        "up for everybody.",
        "Find who holds them: `cat /proc/sys/fs/file-nr`, `sudo lsof -n | awk '{{print $1, $2}}' | sort | uniq "
        "-c | sort -rn | head`. End or mend that process; as root raise the limit: `sysctl -w "
        "fs.file-max=10000000` (and in /etc/sysctl.d). In a container this is set on the host.",
    ),
    zh=Words(
        "整台机器的文件句柄已耗尽:达到内核对所有进程的总上限",
        "`fs.file-max` 限制所有进程打开的文件与套接字总数,与只限制单个进程的 `ulimit -n` 不同。某个进程泄漏(数"
        "据加载进程、从不关闭的套接字)会使所有进程受影响。",
        "找出占用者:`cat /proc/sys/fs/file-nr`,`sudo lsof -n | awk '{{print $1, $2}}' | sort | uniq -c | sort "
        "-rn | head`。结束或修复该进程;以 root 提高上限:`sysctl -w fs.file-max=10000000`(并写入 /etc/sysctl.d)"
        "。容器中需在宿主机上设置。",
    ),
)
