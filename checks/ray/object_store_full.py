"""Ray's object store is full.

## What it means
Batches that tasks and actors pass to each other lie in shared memory of each node (30 % of the RAM by default,
within /dev/shm), or spill to disk. An object larger than the store, references that are kept, or a full spill
disk leave no room.
## What it does to a run
The task that stores its result fails, and what waits for it.
## What to do
A larger store, smaller objects, or fewer references.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.ray.io/en/latest/ray-core/objects/object-spilling.html
https://github.com/ray-project/ray/issues/22176
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY013", name="ray-object-store-full", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Failed to put object \w{1,80} in object store because it is full\. Object size is"
        r" (?P<size>\d{1,16}) bytes",
    ),
    Signature(
        r"ray\.exceptions\.ObjectStoreFullError",
    ),
    Signature(
        r"ray\.exceptions\.OutOfDiskError",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Ray's object store has no room{size}",
        "Results between actors (rollout batches, log-probabilities, images) lie in shared memory of the "
        "node: 30 % of its RAM unless told otherwise, and no more than /dev/shm. The store is full of "
        "objects that are still referenced, the object alone is larger than it, or spilling to disk "
        "failed because the disk is full.",
        "Raise it where Ray starts: `ray start --object-store-memory=BYTES` "
        "(`ray.init(object_store_memory=...)`), with /dev/shm at least as large (`docker run "
        "--shm-size`). Send less at once: a smaller batch, shorter responses, no multimodal pixels by "
        "value; drop references (`del`) to finished batches (`ray memory` shows them). For spilling give "
        "a disk with room: `--temp-dir` or RAY_object_spilling_config.",
    ),
    zh=Words(
        "Ray 的对象存储空间不足{size_zh}",
        "actor 之间传递的结果(rollout 批次、对数概率、图像)存放在节点的共享内存中:默认为内存的 30%,且不超"
        "过 /dev/shm。存储被仍有引用的对象占满、单个对象比存储还大,或磁盘已满导致溢写失败。",
        "在启动 Ray 时增大:`ray start --object-store-memory=字节数`(`ray.init(object_store_memory=...)`),"
        "且 /dev/shm 不小于它(`docker run --shm-size`)。减少一次传递的数据:更小的批次、更短的回复、不按值"
        "传递图像像素;释放(`del`)已完成批次的引用(用 `ray memory` 查看)。溢写请提供有空间的磁盘"
        ":`--temp-dir` 或 RAY_object_spilling_config。",
    ),
)


DISK = Message(
    en=Words(
        "the disk to which Ray spills objects is full",
        "When the object store in shared memory is full, Ray writes objects to its temporary folder (`/tmp/ray` "
        "unless told otherwise), and refuses once that disk is more than 95 % full. It may be full of something else: "
        "checkpoints, caches, sessions of earlier runs.",
        "`df -h /tmp` on the node that is named, and `du -sh /tmp/ray/*`: remove sessions of runs that ended. Give "
        "Ray a disk with room (`ray start --temp-dir=/data/ray`, or RAY_object_spilling_config), or send and keep "
        "less at once (`ray memory` shows what is held), so that it spills less.",
    ),
    zh=Words(
        "Ray 溢写对象所用的磁盘已满",
        "共享内存中的对象存储满后,Ray 把对象写到临时目录(默认 `/tmp/ray`);该磁盘使用超过 95 % 时拒绝写入。占满它的也可"
        "能是别的东西:检查点、缓存、以前运行的 session。",
        "在所指节点执行 `df -h /tmp` 与 `du -sh /tmp/ray/*`,删除已结束运行的 session。给 Ray 一块有空间的磁盘(`ray "
        "start --temp-dir=/data/ray` 或 RAY_object_spilling_config),或减少一次传递和保留的数据(`ray memory` 显示占用者"
        ")以减少溢写。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With the size of the object where told; a full disk is another matter than a full store."""
    if hits.of(2) and not (hits.of(0) or hits.of(1)):
        return found(PROBLEM, DISK, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
    size = next((f"{value / 2**30:.1f} GiB" for value in hits.ints("size") if value >= 2**20), "")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        size=f" for an object of {size}" if size else "",
        size_zh=f":对象大小 {size}" if size else "",
    )
