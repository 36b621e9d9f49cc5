"""The file system does not lock files.

## What it means
The caches of the Hub, of data sets, of Triton and of vLLM are guarded with locks on files (`flock`). Some mounts do
not know them: Lustre without the option flock, NFS without its lock service, some FUSE and object-store mounts.
## What it does to a run
The first library that takes a lock ends the run, before anything is downloaded or read.
## What to do
Put the caches on a file system that locks: a local disk.
## How it is found
In a log: by the numbers of the error where a lock was to be taken (37, 38, 524, 95), or filelock's own message.
## References
https://man7.org/linux/man-pages/man2/flock.2.html
https://github.com/huggingface/datasets/issues/2618
https://github.com/huggingface/huggingface_hub/issues/2399
https://github.com/tox-dev/filelock/blob/3.16.1/src/filelock/_unix.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="HST026", name="file-lock-refused", severity=ERROR, since="0.1")

MOUNT = Message(
    en=Words(
        "the file system that a cache lies on gives no lock on a file",
        "Libraries lock a file of their cache before they write. This mount refuses: NFS whose lock service "
        "(`lockd`) is gone or full, Lustre mounted without `flock`, or a FUSE or object-store mount that has none.",
        "Move the caches to a disk of the node that locks: `export HF_HOME=/local/hf "
        "HF_DATASETS_CACHE=/local/hf/datasets TRITON_CACHE_DIR=/local/triton VLLM_CACHE_ROOT=/local/vllm` "
        "(MODELSCOPE_CACHE for ModelScope), and copy finished models over afterwards. Or have the mount "
        "corrected: `-o flock` for Lustre, `nfslock`/`rpc.statd` for NFS. `flock -n /path/.test true` shows "
        "whether a folder locks.",
    ),
    zh=Words(
        "缓存所在的文件系统无法给文件加锁",
        "各库写缓存前会先锁定文件,而该挂载点拒绝:NFS 的锁服务(`lockd`)缺失或已满,Lustre 挂载时没有 `flock`,或不支"
        "持锁的 FUSE、对象存储挂载。",
        "把缓存移到本节点支持锁的磁盘:`export HF_HOME=/local/hf HF_DATASETS_CACHE=/local/hf/datasets "
        "TRITON_CACHE_DIR=/local/triton VLLM_CACHE_ROOT=/local/vllm`(ModelScope 用 MODELSCOPE_CACHE),下载完成后再"
        "复制模型。或修正挂载:Lustre 用 `-o flock`,NFS 启用 `nfslock`/`rpc.statd`。`flock -n /路径/.test true` 可"
        "检验目录能否加锁。",
    ),
)
HELD = Message(
    en=Words(
        "the lock `{path}` is held by another process for too long",
        "Another process downloads or builds the same thing, or died and left its lock behind: on network file "
        "systems the lock of a machine that is gone stays.",
        "Look who holds it: `fuser -v {path}` or `lsof {path}` on every node that shares the folder. If nobody "
        "does, delete the file. Let one process download beforehand (`hf download REPO`), and give each node a "
        "cache of its own where the folder is shared.",
    ),
    zh=Words(
        "锁 `{path}` 被另一个进程占用过久",
        "另一个进程正在下载或构建同一内容,或已退出而留下锁:在网络文件系统上,已消失的机器的锁会保留。",
        "查看占用者:在共享该目录的每个节点执行 `fuser -v {path}` 或 `lsof {path}`。若无人占用,删除该文件。先用一个"
        "进程下载(`hf download REPO`),共享目录时让每个节点使用各自的缓存。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"\[Errno 37\] (?!Operation already)[^\n:']{3,60}"),
        MOUNT,
        CONFIRMED,
    ),
    (
        Signature(
            r"\[Errno (?:38|95|524|9)\] [^\n:']{3,60}",
            frame="filelock/\\S{1,40}:|portalocker|:(?:flock|lockf|lock|_acquire)$",
        ),
        MOUNT,
        LIKELY,
    ),
    (
        Signature(r"NotImplementedError: FileSystem does not appear to support flock"),
        MOUNT,
        CONFIRMED,
    ),
    (
        Signature(r"The file lock '(?P<path>[^'\n]{1,300})' could not be acquired"),
        HELD,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
