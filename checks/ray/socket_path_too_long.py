"""The temporary folder lies so deep that the sockets of Ray, vLLM or LMCache cannot be named.

## What it means
Ray puts Unix sockets into the session folder below its temporary folder. The kernel allows 107 bytes for such a
path, and Ray's own part takes some 70 of them. Schedulers that set TMPDIR to a folder of the job are the usual reason.
## What it does to a run
`ray.init()` or `ray start` refuses to start.
## What to do
Give Ray a short temporary folder on a local disk.
## How it is found
In a log: by the words of Ray or of ZeroMQ, which name the path.
## References
https://github.com/verl-project/verl/issues/1120
https://github.com/ray-project/ray/issues/7724
https://github.com/LMCache/LMCache/issues/3529
https://man7.org/linux/man-pages/man7/unix.7.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY020", name="ray-socket-path-too-long", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AF_UNIX path length cannot exceed (?P<limit>\d{2,3}) bytes: '?(?P<folder>/[^'\s]{1,400}?)/se"
        r"ssion_\d{4}-",
    ),
    Signature(
        r"AF_UNIX path length cannot exceed (?P<limit>\d{2,3}) bytes: '?(?P<folder>/[^'\s]{1,400})/soc"
        r"kets/",
    ),
    Signature(r"ipc path \"(?P<path>/[^\"\n]{1,400})\" is longer than (?P<limit>\d{2,3}) characters"),
)

LOG_COMMANDS = ("export RAY_TMPDIR=/tmp/ray-$USER",)

LOG_MESSAGE = Message(
    en=Words(
        "Ray's folder `{folder}` is too deep for its sockets: {limit} bytes are the limit",
        "The path of a Unix socket may have {limit} bytes, and Ray needs about 70 of them below its "
        "temporary folder. TMPDIR, RAY_TMPDIR or `--temp-dir` points to a long path here, as schedulers "
        "set it for each job.",
        "Give Ray a short folder on a local disk, on every node: `export RAY_TMPDIR=/tmp/ray-$USER` "
        "before `ray.init()`, or `ray start --temp-dir=/tmp/ray-$USER`. Remove it at the end of the job.",
    ),
    zh=Words(
        "Ray 的目录 `{folder}` 太深,套接字路径超过 {limit} 字节的上限",
        "Unix 套接字的路径最多 {limit} 字节,而 Ray 在其临时目录之下还需约 70 字节。此处 TMPDIR、"
        "RAY_TMPDIR 或 `--temp-dir` 指向很长的路径,调度系统常按作业这样设置。",
        "在每个节点上给 Ray 一个本地磁盘上的短目录:在 `ray.init()` 之前 `export "
        "RAY_TMPDIR=/tmp/ray-$USER`,或 `ray start --temp-dir=/tmp/ray-$USER`。作业结束时删除它。",
    ),
)

ZMQ = Message(
    en=Words(
        "the path of a ZeroMQ socket is too long: {length} characters, and {limit} are allowed",
        "Engine processes (vLLM, SGLang, LMCache) talk over Unix sockets in the temporary folder, and the kernel "
        "allows {limit} characters for the whole path. TMPDIR points to a long path here, as schedulers set it for "
        "each job.",
        "Give them a short folder on a local disk before the start: `export TMPDIR=/tmp/$USER; mkdir -p $TMPDIR` (vLLM "
        "alone: `export VLLM_RPC_BASE_PATH=/tmp`). Newer releases of LMCache shorten the name by themselves.",
    ),
    zh=Words(
        "ZeroMQ 套接字的路径过长:{length} 个字符,上限为 {limit}",
        "引擎进程(vLLM、SGLang、LMCache)通过临时目录中的 Unix 套接字通信,内核限制整个路径最多 {limit} 个字符。此处 "
        "TMPDIR 指向很长的路径,调度系统常按作业这样设置。",
        "启动前给它们一个本地磁盘上的短目录:`export TMPDIR=/tmp/$USER; mkdir -p $TMPDIR`(仅 vLLM:`export "
        "VLLM_RPC_BASE_PATH=/tmp`)。较新的 LMCache 会自行缩短名称。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Sockets of Ray, or of engines that speak ZeroMQ."""
    path = hits.get("path")
    return found(
        PROBLEM,
        ZMQ if path else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        commands=("export TMPDIR=/tmp/$USER",) if path else LOG_COMMANDS,
        folder=hits.get("folder") or "",
        limit=hits.get("limit"),
        length=len(path or ""),
    )
