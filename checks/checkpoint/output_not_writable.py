"""The output folder cannot be written to.

## What it means
This user may not write where `output_dir` lies, or where it would be made.
## What it does to a run
`PermissionError` when the folder is made, or at the first save, hours into the run, where it exists already.
## What to do
Choose another `output_dir`, or have its owner or mode changed.
## How it is found
Access rights of the folder or of its nearest existing parent, for the user who runs the doctor.
In a log: by the error of the operating system.
## References
https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.host import Host
from doctor.facts.training import Training

PROBLEM = Problem(id="CKP002", name="output-not-writable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"PermissionError: \[Errno 13\] [^:'\n]{2,60}:"
        r" '(?P<path>[^'\n]{0,300}(?:checkpoint|output|runs|results|wandb|out/)[^'\n]{0,200})'",
    ),
    Signature(r"OSError: \[Errno 30\] [^:'\n]{2,60}: '(?P<path>[^'\n]{1,300})'"),
    Signature(
        r"^NotADirectoryError: \[Errno 20\] [^:'\n]{2,60}: '(?P<path>[^'\n]{1,300})'",
        frame=r":makedirs$|[\\/]transformers[\\/]trainer\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "this user may not write to `{path}`",
        "The folder belongs to another user (a container that ran as root, another account), or its file "
        "system is mounted read-only.",
        "Look with `ls -ld` at it and the folders above, choose an `output_dir` that you may write to, "
        "have it given to you (`chown`), or mount the volume writable in the container.",
    ),
    zh=Words(
        "当前用户无权写入 `{path}`",
        "该目录属于其他用户(以 root 运行的容器、另一个账号),或其文件系统以只读方式挂载。",
        "用 `ls -ld` 查看它及其上级目录,选择可写的 `output_dir`,让管理员移交权限(`chown`),或在容器中以可"
        "写方式挂载该卷。",
    ),
)

A_FILE = Message(
    en=Words(
        "`{path}` cannot be made a folder: a part of the path is a file",
        "Folders are made one below the other, and one of the names is taken by a file (an earlier run's output, a "
        "volume that mounts a file, a link that points to one).",
        "See which: `namei -l {path}`. Move the file away, or choose another `output_dir`.",
    ),
    zh=Words(
        "无法创建文件夹 `{path}`:路径中的某一部分是文件",
        "文件夹逐级创建,而其中一个名称已被文件占用(先前运行的输出、挂载成文件的卷、指向文件的链接)。",
        "查看是哪一个:`namei -l {path}`。移走该文件,或换一个 `output_dir`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "This user may not write to `{path}`, the output folder",
        "The run ends with `PermissionError` when it makes the folder or saves its first checkpoint.",
        "Choose another `output_dir`, or have its rights changed.",
    ),
    zh=Words(
        "当前用户无权写入输出目录 `{path}`",
        "运行会在创建该目录或保存第一个检查点时以 `PermissionError` 退出。",
        "换一个 `output_dir`,或修改它的权限。",
    ),
)


@check(PROBLEM)
def output_not_writable(host: Host, training: Training) -> Judgement:
    """What was not reported is no finding; the disk is asked for only where a folder is known."""
    disk = host.disk("output_dir")
    if disk is None or disk.writable is not False:
        return
    setting = training.get("output_dir")
    commands = (f"ls -ld {disk.path}",)
    yield found(PROBLEM, MESSAGE, path=disk.path, where=place_of(setting), commands=commands, evidence=proofs(setting))


def explain(hits: Hits) -> Finding:
    """Whether rights or a file in the way refused it."""
    message = A_FILE if hits.first.signature == len(SIGNATURES) - 1 else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, path=hits.get("path")
    )
