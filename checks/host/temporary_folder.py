"""The temporary folder cannot be written to, or is full.

## What it means
The folder that TMPDIR names, or /tmp, takes no files.
## What it does to a run
Ray keeps its sessions there and does not start. torch.compile, Triton and vLLM compile there, and end with `No space
left on device` or `Permission denied` when the first kernel is built.
## What to do
Free it, or set TMPDIR to a folder on a disk with room.
## How it is found
Rights and free space of the folder.
## References
https://docs.python.org/3/library/tempfile.html#tempfile.gettempdir
https://docs.ray.io/en/latest/ray-core/configure.html#logging-and-debugging
"""

from __future__ import annotations

from doctor.checks.host._helpers import MIB, size
from doctor.checks.ray._helpers import uses_ray
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving

PROBLEM = Problem(id="HST006", name="temporary-folder-unusable", severity=WARNING, since="0.1")
LITTLE_BYTES = 256 * MIB

READ_ONLY = Message(
    en=Words(
        "The temporary folder `{path}` cannot be written to",
        "Ray keeps its sessions there and does not start without it; compiled kernels and temporary files of the "
        "stack go there too.",
        "Give this user the right to write there, or set TMPDIR to a folder of its own.",
    ),
    zh=Words(
        "临时目录 `{path}` 不可写",
        "Ray 的会话放在那里,不可写就无法启动;编译出的内核与各组件的临时文件也写在那里。",
        "给当前用户写权限,或把 TMPDIR 设为自己的目录。",
    ),
)
FULL = Message(
    en=Words(
        "The temporary folder `{path}` has {free} left",
        "Compiled kernels, Ray's sessions and temporary files go there: the run ends with `No space left on device`.",
        "Free it, or set TMPDIR to a folder on a disk with room.",
    ),
    zh=Words(
        "临时目录 `{path}` 只剩 {free}",
        "编译出的内核、Ray 的会话与临时文件都写在那里,任务会以 `No space left on device` 结束。",
        "清理空间,或把 TMPDIR 设到有空间的磁盘上。",
    ),
)


@check(PROBLEM)
def temporary_folder(host: Host, launch: Launch | None, serving: Serving | None) -> Judgement:
    """Worse for Ray, which has no other place."""
    disk = host.disk("tmp")
    if disk is None or disk.error:
        return
    severity = ERROR if launch is not None and uses_ray(launch, serving) else WARNING
    evidence = (Evidence("statvfs", f"{disk.path}: {disk.free_bytes} bytes free, {disk.filesystem}"),)
    commands = ("export TMPDIR=$HOME/tmp; mkdir -p $TMPDIR",)
    if disk.writable is False:
        yield found(PROBLEM, READ_ONLY, path=disk.path, severity=severity, commands=commands, evidence=evidence)
    elif disk.free_bytes is not None and disk.free_bytes < LITTLE_BYTES:
        free = size(disk.free_bytes)
        yield found(PROBLEM, FULL, path=disk.path, free=free, severity=severity, commands=commands, evidence=evidence)
