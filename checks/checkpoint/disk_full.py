"""The disk of the output folder is full.

## What it means
Less than a gibibyte, or no inode, is free where `output_dir` lies.
## What it does to a run
Logs, tokenizer files and adapters cannot be written: `No space left on device`. With inodes gone this happens though
`df` shows free space.
## What to do
Free space or inodes, or choose another `output_dir`.
## How it is found
Free bytes and inodes of the file system that holds the folder, for this user.
In a log: by the error of the operating system, of torch's writer or of safetensors.
## References
https://man7.org/linux/man-pages/man3/statvfs.3.html
"""

from __future__ import annotations

import re

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.host import Host
from doctor.facts.training import Training

PROBLEM = Problem(id="CKP003", name="disk-full", severity=ERROR, since="0.1")

SIGNATURES = (
    # the limit on watched files has the same number
    Signature(r"\[Errno 28\] (?!inotify)"),
    Signature(
        r"(?:PytorchStreamWriter failed writing file|inline_container\.cc:\d{1,5}\] \. unexpected pos)",
    ),
    Signature(
        r"SafetensorError: Error while serializing: I/?[oO] ?[Ee]rror[^\n]{0,40}(?:code: 28|No space"
        r" left)",
    ),
    Signature(r"No space left on device \(os error 28\)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a disk was full while a file was written",
        "The write that failed and everything after it is lost; a checkpoint that was being saved is "
        "incomplete and must not be resumed from. It can also be the temporary folder or the cache that "
        "is full, and `df -i` shows where files rather than bytes ran out.",
        "Look with `df -h . /tmp ~/.cache` (and `df -i`), delete old checkpoints or caches (`hf cache` "
        "commands), set `save_total_limit=2` and `save_only_model=True`, or move `output_dir`, `HF_HOME` "
        "and `TMPDIR` to a larger disk.",
    ),
    zh=Words(
        "写文件时磁盘已满",
        "失败的写入及其后的内容都丢失;正在保存的检查点不完整,不能用来恢复。满的也可能是临时目录或缓存"
        ",`df -i` 可显示耗尽的是文件数而不是字节。",
        "用 `df -h . /tmp ~/.cache`(以及 `df -i`)查看,删除旧检查点或缓存(`hf cache` 命令),设置 "
        "`save_total_limit=2` 和 `save_only_model=True`,或把 `output_dir`、`HF_HOME` 和 `TMPDIR` 移到更大"
        "的磁盘。",
    ),
)

LOG_MESSAGE_BROKEN_OFF = Message(
    en=Words(
        "a file that torch was saving could not be written to its end",
        "torch says no more than that. Most often the disk or the quota of the user is full; a network file system "
        "that was out of reach for a moment looks the same. The file is incomplete: do not resume from it.",
        "Look with `df -h . /tmp` and `df -i .`, and with `quota -s` (Lustre: `lfs quota -h -u $USER PATH`). Delete "
        "old checkpoints, set `save_total_limit=2` and `save_only_model=True`, or move `output_dir`. If there is room "
        "enough, look for the storage in `dmesg -T`, and resume from the last complete checkpoint.",
    ),
    zh=Words(
        "torch 正在保存的文件没有写完",
        "torch 只说了这些。最常见的是磁盘或用户配额已满;网络文件系统短暂中断也是同样的表现。该文件不完整,"
        "不能用来恢复。",
        "用 `df -h . /tmp` 与 `df -i .` 查看,并查看 `quota -s`(Lustre:`lfs quota -h -u $USER 路径`)。删除旧检查点,"
        "设置 `save_total_limit=2` 和 `save_only_model=True`,或更换 `output_dir`。若空间足够,请在 `dmesg -T` "
        "中查看存储,并从最近一个完整的检查点恢复。",
    ),
)
#: pieces of shared memory lie in /dev/shm
_SHARED = re.compile(r"multiprocessing[\\/](?:synchronize|shared_memory|heap)\.py:")
LOG_COMMAND = "df -h . /tmp ~/.cache"

LEAST_BYTES = 1024**3  # an adapter with its optimizer and a tokenizer is of this order

BYTES = Message(
    en=Words(
        "{free} MiB are free at {path}, where the run writes",
        "Even logs and an adapter do not fit: the first save ends with `No space left on device`.",
        "Free space, or choose another `output_dir`.",
    ),
    zh=Words(
        "运行要写入的 {path} 只剩 {free} MiB",
        "连日志和 adapter 都放不下:第一次保存就会 `No space left on device`。",
        "清理空间,或换一个 `output_dir`。",
    ),
)
INODES = Message(
    en=Words(
        "No inode is free at {path}, where the run writes",
        "No file can be made there, though the disk has free space: the first save ends with `No space "
        "left on device`.",
        "Delete files (many small ones, not large ones), or choose another `output_dir`.",
    ),
    zh=Words(
        "运行要写入的 {path} 已没有空闲 inode",
        "磁盘虽有空间却无法新建文件:第一次保存就会 `No space left on device`。",
        "删除文件(数量多的小文件,而不是大文件),或换一个 `output_dir`。",
    ),
)


@check(PROBLEM, requires=("CKP001",))
def disk_full(host: Host, training: Training) -> Judgement:
    """Inodes are None where the file system has no limit."""
    disk = host.disk("output_dir")
    if disk is None:
        return
    setting = training.get("output_dir")
    place, proof = place_of(setting), proofs(setting)
    if disk.free_inodes == 0:
        yield found(PROBLEM, INODES, path=disk.path, where=place, commands=(f"df -i {disk.path}",), evidence=proof)
    elif disk.free_bytes is not None and disk.free_bytes < LEAST_BYTES:
        free = disk.free_bytes // 1024**2
        commands = (f"df -h {disk.path}",)
        yield found(PROBLEM, BYTES, free=free, path=disk.path, where=place, commands=commands, evidence=proof)


def explain(hits: Hits) -> Finding | None:
    """Only the system's own number proves that the disk was full; shared memory that is full is HST001."""
    if all(any(_SHARED.search(frame) for frame in hit.frames) for hit in hits):
        return None
    proven = bool(hits.of(0) or hits.of(2) or hits.of(3))
    return found(
        PROBLEM,
        LOG_MESSAGE if proven else LOG_MESSAGE_BROKEN_OFF,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if proven else LIKELY,
        commands=(LOG_COMMAND,),
    )
