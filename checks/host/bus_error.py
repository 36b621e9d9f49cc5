"""A process ended with a bus error (SIGBUS).

## What it means
The process touched memory that is mapped to a file, and the file does not deliver: it is shorter than it was when it
was mapped (an incomplete or rewritten download), its disk or network file system failed, or it lies in /dev/shm and
that is full.
## What it does to a run
The process dies at once, without an exception.
## What to do
While weights load: check and fetch the files again. Otherwise make /dev/shm larger.
## How it is found
In a log: by the words of Python's fault handler; its frames tell what was being read.
## References
https://github.com/sgl-project/sglang/issues/6083
https://docs.python.org/3/library/faulthandler.html
https://man7.org/linux/man-pages/man2/mmap.2.html
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HST017", name="bus-error", severity=ERROR, since="0.1")

_LOADS = re.compile(r"safetensors|weight_loader|load_weights|load_model|load_state_dict|from_pretrained|model_loader")

SIGNATURES = (
    Signature(
        r"^Fatal Python error: Bus error",
    ),
)

LOG_MESSAGE_FILE = Message(
    en=Words(
        "a process died of a bus error while it read weights",
        "The files of weights are mapped into memory. A bus error says that a part of one could not be "
        "delivered: the file is shorter than its header tells (an incomplete download, rewritten by "
        "another process), the disk or network file system failed, or a copy in /dev/shm ran out of room.",
        "Compare the sizes of the `*.safetensors` with those on the hub and fetch the short ones again "
        "(`hf download MODEL --force-download`); let nobody write them meanwhile. Copy the model from "
        "the network disk to a local one. See `dmesg -T` for I/O errors, and `df -h /dev/shm` in the "
        "container (`--shm-size=16g`, `--ipc=host`).",
    ),
    zh=Words(
        "进程在读取权重时因 bus error 退出",
        "权重文件被映射到内存。bus error 表示其中一部分无法取得:文件比其头部声明的短(下载不完整,或被另一"
        "进程改写),磁盘或网络文件系统故障,或 /dev/shm 中的副本空间不足。",
        "将 `*.safetensors` 的大小与 hub 上的比较,重新下载不足的文件(`hf download MODEL "
        "--force-download`),期间不要有别的进程写它们。把模型从网络盘复制到本地盘。用 `dmesg -T` 查看 I/O "
        "错误,并在容器中查看 `df -h /dev/shm`(`--shm-size=16g`、`--ipc=host`)。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a process died of a bus error (SIGBUS)",
        "It touched mapped memory behind which nothing could be delivered. Most often /dev/shm of the "
        "container is full (NCCL, data-loader workers and Ray share tensors there); else a mapped file "
        "was cut short, or its disk or network file system failed.",
        "`df -h /dev/shm` while it runs; start the container with `--shm-size=16g` or `--ipc=host` "
        "(Kubernetes: an emptyDir of medium Memory at /dev/shm). If there is room, look at `dmesg -T` "
        "for I/O errors and check the files that are mapped: weights, arrow files of data sets.",
    ),
    zh=Words(
        "进程因 bus error(SIGBUS)退出",
        "它访问了无法取得内容的映射内存。最常见的是容器的 /dev/shm 已满(NCCL、数据加载进程与 Ray 在那里共"
        "享张量);否则是被映射的文件变短,或其磁盘、网络文件系统故障。",
        "运行时查看 `df -h /dev/shm`;以 `--shm-size=16g` 或 `--ipc=host` 启动容器(Kubernetes:在 /dev/shm "
        "挂载 medium 为 Memory 的 emptyDir)。若空间足够,用 `dmesg -T` 查看 I/O 错误,并检查被映射的文件:权"
        "重、数据集的 arrow 文件。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Frames that load weights point at their files; else shared memory is the usual reason."""
    loads = any(_LOADS.search(frame) for hit in hits for frame in hit.frames)
    return found(
        PROBLEM,
        LOG_MESSAGE_FILE if loads else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        commands=("df -h /dev/shm",),
    )
