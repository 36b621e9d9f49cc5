"""A file on a network file system could not be read or written, for reasons of the storage.

## What it means
NFS, Lustre, GPFS, Ceph and FUSE mounts fail in ways that a local disk does not: a file that was replaced or removed on
another machine leaves a stale handle, a server that is gone a broken connection, a damaged disk an input/output error.
## What it does to a run
Whatever touched the file ends: a checkpoint, the cache of a data set, the log.
## What to do
Look at the mount and its server; keep temporary files and caches on a local disk; resume from the last checkpoint.
## How it is found
In a log: by the number of the system's error, without a path by where it was raised, and by what the shell's tools say.
## References
https://github.com/huggingface/transformers/issues/9732
https://github.com/pytorch/pytorch/issues/45826
https://github.com/pytorch/pytorch/issues/143471
https://man7.org/linux/man-pages/man3/errno.3.html
https://github.com/GoogleCloudPlatform/gcsfuse/pull/2465
https://github.com/aliyun/ossfs/issues/40
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HST016", name="network-filesystem-failed", severity=ERROR, since="0.1")

#: errors that a local file system in order does not give, by the system's own number
NUMBERS = {"116": "stale", "5": "input", "107": "gone", "108": "gone", "121": "gone", "70": "gone", "112": "gone"}

#: where a traceback ends when text was being printed, not a file of the run read or written
_PRINTING = re.compile(
    r"(?:^|/)(?:tqdm/\S{1,60}|logging/__init__\.py|loguru/\S{1,60}|wandb/sdk/lib/redirect\.py|rich/\S{1,"
    r"60}|colorama/\S{1,60}"
    r"|click/\S{1,60}):\w{1,60}$|:(?:status_printer|fp_write|write_through|print)$"
)

#: where a file is read, written, or asked for; a socket is elsewhere
_FILES = (
    r"(?:torch/(?:serialization|distributed/checkpoint/\w{1,40})|safetensors/\w{1,40}|pathlib|genericpath|posixpath"
    r"|numpy/lib/\w{1,40}|pyarrow/\w{1,40}|json/__init__)\.py:\w{1,60}$"
    r"|shutil\.py:(?:copyfile|copy2?|copytree|rmtree|move|_fastcopy_sendfile|disk_usage)$"
)

SIGNATURES = (
    Signature(
        r"\[Errno (?P<number>116|121)\] (?:Stale file handle|Stale NFS file handle|Remote I/O error)"
        r"(?:: '(?P<path>[^'\n]{1,300})')?",
    ),
    Signature(
        r"\[Errno 16\] Device or resource busy: '(?P<path>[^'\n]{0,300}\.nfs[0-9a-f]{8,40})'",
        kind="warning",
    ),
    Signature(
        r"read\(\): fd \d{1,6} failed with (?P<stale>Stale file handle)",
    ),
    # without a path 107, 108 and 112 are a socket's
    Signature(
        r"\[Errno (?P<number>107|108|70|112|5)\] (?:Input/output error|Transport endpoint is not "
        r"connected|Cannot send "
        r"after transport endpoint shutdown|Communication error on send|Host is down): '(?P<path>[^'\n]{1,300})'",
    ),
    # a read or write names no path; the frame says that it was a file's
    Signature(
        r"^(?:OSError|(?:\w{1,30}\.)?SafetensorError): (?:\[Errno (?P<number>107|108)\] )?(?:Transport endpoint is not "
        r"connected|Cannot send after transport endpoint shutdown)(?P<rust> \(os error 10[78]\))?$",
        frame=_FILES,
    ),
    # what the shell's tools say; bash names the path before the words
    Signature(
        r"(?:(?:cannot|failed to) (?:access|stat|open|create|remove|read|write)\b[^\n'‘]{0,40}['‘]"
        r"(?P<path>[^\n'’]{1,300})['’](?: for (?:reading|writing))?|\bcd: (?P<folder>/[^\n:]{1,300}))"
        r": Transport endpoint is not (?P<shell>connected)",
    ),
    # without a path also what printing to a terminal that is gone says
    Signature(
        r"\[Errno (?P<number>5)\] Input/output error$",
    ),
)

STALE = Message(
    en=Words(
        "a file{at} was replaced or removed on another machine while it was open here (stale handle)",
        "The server of a network file system no longer knows the file. Another rank or job rewrote or "
        "deleted it (a cache, an old checkpoint that is rotated away, a file that every rank writes), or "
        "the export was mounted anew.",
        "Let one rank write and delete (`save_on_each_node=False` on shared storage), give each job its "
        "own output and cache folder, and keep `TMPDIR`, `TRITON_CACHE_DIR`, `TORCHINDUCTOR_CACHE_DIR` "
        "and the cache of data sets on a local disk. If every access fails, mount it again (`umount -l`, "
        "`mount`). Resume from the last complete checkpoint.",
    ),
    zh=Words(
        "文件{at_zh}在本机打开期间被另一台机器替换或删除(stale handle)",
        "网络文件系统的服务器已不认识该文件:另一个 rank 或作业重写或删除了它(缓存、被轮换掉的旧检查点、每"
        "个 rank 都写的文件),或导出被重新挂载。",
        "只让一个 rank 写入和删除(共享存储上 `save_on_each_node=False`),每个作业使用各自的输出与缓存目录,"
        "并把 `TMPDIR`、`TRITON_CACHE_DIR`、`TORCHINDUCTOR_CACHE_DIR` 与数据集缓存放在本地磁盘。若所有访"
        "问都失败,请重新挂载(`umount -l`、`mount`)。从最近一个完整的检查点恢复。",
    ),
)

INPUT = Message(
    en=Words(
        "the storage gave an input/output error{at}",
        "The kernel could not read or write the device behind this path: a failing disk, a network or "
        "FUSE mount whose server has trouble, or a quota that the server reports like this. The file "
        "that was written is not complete.",
        "`df -hT` on the path tells the kind of file system, `dmesg -T` on this node whether a disk "
        "(`I/O error, dev ...`) or the network file system complains. Copy what is still readable, "
        "choose another disk or node for output and cache, and resume from the last complete checkpoint.",
    ),
    zh=Words(
        "存储返回输入/输出错误{at_zh}",
        "内核无法读写该路径背后的设备:磁盘故障,网络或 FUSE 挂载的服务器异常,或服务器以此报告配额。正在写的文件不完整。",
        "对该路径执行 `df -hT` 可知文件系统类型,在该节点执行 `dmesg -T` 看是磁盘(`I/O error, dev ...`)还"
        "是网络文件系统报错。先复制仍可读的内容,为输出和缓存换一块盘或节点,并从最近一个完整的检查点恢复。",
    ),
)

TERMINAL = Message(
    en=Words(
        "the terminal that the program printed to is gone",
        "It was started in an ssh session or a browser's terminal that was closed: every print, log line or progress "
        "bar then fails with an input/output error, and that ends the run. The storage is in order.",
        "Start it apart from the terminal, with its output in a file: `nohup bash train.sh > train.log 2>&1 < "
        "/dev/null &`, inside `tmux`, or as a batch job. Resume from the last complete checkpoint.",
    ),
    zh=Words(
        "程序输出所在的终端已不存在",
        "程序在 ssh 会话或网页终端中启动,而该会话已关闭:此后每次 print、日志或进度条输出都会得到输入/输出错误,"
        "运行因此结束。存储没有问题。",
        "让程序脱离终端运行并把输出写入文件:`nohup bash train.sh > train.log 2>&1 < /dev/null &`,或在 `tmux` 中,"
        "或作为批处理作业。从最近一个完整的检查点恢复。",
    ),
)

EITHER = Message(
    en=Words(
        "an input/output error, of a file or of the terminal it printed to",
        "The line names no path. A print or log line fails like this once the terminal it was started from is closed; "
        "a read or write of a file does on a failing disk or a network mount whose server has trouble.",
        "The last frames of the traceback tell which: for print, logging or tqdm start it with `nohup ... > train.log "
        "2>&1 &` or in `tmux`; for a file look at `df -hT` and `dmesg -T` on this node. Resume from the last complete "
        "checkpoint.",
    ),
    zh=Words(
        "输入/输出错误,来自文件或程序输出所在的终端",
        "该行没有给出路径。启动程序的终端关闭后,print 或日志输出会这样失败;磁盘故障或网络挂载的服务器异常时,"
        "文件读写也会这样失败。",
        "回溯的最后几帧可以区分:若是 print、logging 或 tqdm,请用 `nohup ... > train.log 2>&1 &` 或在 `tmux` "
        "中启动;若是文件,请在该节点查看 `df -hT` 与 `dmesg -T`。从最近一个完整的检查点恢复。",
    ),
)

BUSY = Message(
    en=Words(
        "a temporary folder lies on NFS: a file{at} was still open when it was to be removed",
        "NFS keeps a removed file under a name like `.nfs0000` as long as a process has it open, and a folder with one "
        "cannot be removed. Python says so when a data loader or a child process ends; the data are not hurt, and "
        "where the training ended early the reason is another one.",
        "Put temporary files on a local disk: `export TMPDIR=/tmp/$USER` (`/dev/shm` for small ones), in the batch "
        "script and on every node. If the run ended here, look above for an earlier error.",
    ),
    zh=Words(
        "临时目录位于 NFS:要删除的文件{at_zh}仍被打开",
        "只要还有进程打开着,NFS 就把已删除的文件保留为 `.nfs0000` 之类的名称,含有它的目录无法删除。数据加载进程或子进程"
        "结束时 Python 会这样报告;数据没有受损,若训练提前结束,原因另有其他。",
        "把临时文件放在本地磁盘:在批处理脚本和每个节点上 `export TMPDIR=/tmp/$USER`(小文件可用 `/dev/shm`)。"
        "若运行在此结束,请在上方查找更早的错误。",
    ),
)

GONE = Message(
    en=Words(
        "the connection to a network file system was lost{at}",
        "The mount is still there, and the server or the FUSE process behind it is not. Everything that "
        "touches a path below it fails until it is mounted again.",
        "`mount | grep -E 'nfs|lustre|fuse|ceph'` and `df -hT` show the mount; tell the administrators "
        "of the storage, or mount it again (`umount -l PATH`, then `mount PATH`; restart the FUSE "
        "client: s3fs, goofys, juicefs, ossfs). Resume from the last complete checkpoint.",
    ),
    zh=Words(
        "与网络文件系统的连接中断{at_zh}",
        "挂载点还在,但其背后的服务器或 FUSE 进程已不在。重新挂载之前,访问其下任何路径都会失败。",
        "用 `mount | grep -E 'nfs|lustre|fuse|ceph'` 与 `df -hT` 查看挂载;联系存储管理员,或重新挂载"
        "(`umount -l 路径`,再 `mount 路径`;重启 FUSE 客户端:s3fs、goofys、juicefs、ossfs)。从最近一个完整"
        "的检查点恢复。",
    ),
)


WORDS = {"stale": STALE, "input": INPUT, "gone": GONE}


def explain(hits: Hits) -> Finding:
    """A stale handle, a device that fails, a connection that is gone; without a path perhaps only a terminal."""
    gone = hits.get("shell") or hits.get("rust")
    kind = "stale" if hits.get("stale") else "gone" if gone else NUMBERS.get(hits.get("number") or "", "busy")
    path = hits.get("path") or hits.get("folder")
    message = WORDS.get(kind, BUSY)
    unsure = len(hits.of(6)) == len(hits.kept)
    if unsure:
        printing = any(_PRINTING.search(frame) for hit in hits for frame in hit.frames[-2:])
        message = TERMINAL if printing else EITHER
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        severity=WARNING if kind == "busy" else ERROR,
        confidence=LIKELY if kind == "busy" or unsure or (kind == "gone" and not path) else CONFIRMED,
        at=f" at `{path}`" if path else "",
        at_zh=f"(`{path}`)" if path else "",
        commands=("df -hT .", "dmesg -T | tail -50"),
    )
