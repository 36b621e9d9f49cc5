"""The disk that Ray spills objects to is nearly full.

## What it means
When a node's object store is full, Ray moves objects to its session folder on disk. Once that file system is more than
95 % full (`RAY_local_fs_capacity_threshold`), Ray spills nothing there any more.
## What it does to a run
Nothing as long as the object store has room. When it has none, the next result that needs it fails with
`OutOfDiskError`, on this node alone. Of a large disk 5 % may be hundreds of gigabytes: Ray refuses all the same.
## What to do
Make room, or start Ray with another folder. A higher threshold is right where much space is left in bytes.
## How it is found
Over a cluster: by the free space of the folder of each node's running Ray session.
In a log, by the raylet's own message. It is no cause by itself.
## References
https://docs.ray.io/en/latest/ray-core/objects/object-spilling.html
https://github.com/ray-project/ray/pull/25370
https://github.com/InternLM/lmdeploy/issues/3457
"""

from __future__ import annotations

from doctor.cluster.hosts import folded
from doctor.cluster.readings import size
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import INFO, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.cluster import Cluster, Node
from doctor.facts.node import UsedPath

PROBLEM = Problem(id="RAY019", name="spill-folder-nearly-full", severity=WARNING, since="0.1")

#: local_fs_capacity_threshold in src/ray/common/ray_config_def.h
SHARE = 0.95
VARIABLE = "RAY_local_fs_capacity_threshold"

SIGNATURES = (
    Signature(
        r"file_system_monitor\.cc:\d{1,5}: \S{1,300} is over (?P<percent>[\d.]{1,8})% full, available space:",
        kind="warning",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the disk that Ray spills to is over {percent} % full",
        "Ray moves nothing more to that disk. As long as the object store has room this does no harm; without room the "
        "next large result fails with `OutOfDiskError`.",
        "Make room on it, start Ray on another disk (`ray start --temp-dir=DIR`), or, where much is left in bytes, "
        "raise the threshold: `export RAY_local_fs_capacity_threshold=0.99` before `ray start`.",
    ),
    zh=Words(
        "Ray 用于溢写的磁盘已使用超过 {percent} %",
        "Ray 不会再向该磁盘溢写。只要对象存储还有空间就没有影响;一旦没有,下一个较大的结果会以 `OutOfDiskError` 失败。",
        "腾出空间,让 Ray 使用别的磁盘(`ray start --temp-dir=目录`);若剩余字节数其实很多,则在 `ray start` 之前提高阈值:"
        "`export RAY_local_fs_capacity_threshold=0.99`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "Ray's folder on {hosts} lies on a disk that is {percent} % full",
        "Ray spills nothing to a disk that is more than 95 % full. When the object store of such a node has no room, "
        "the next result there fails with `OutOfDiskError`.",
        "Make room there, start Ray on another disk (`ray start --temp-dir=DIR`), or, where much is left in bytes, "
        "raise the threshold before `ray start`.",
    ),
    zh=Words(
        "{hosts} 上 Ray 的目录所在磁盘已使用 {percent} %",
        "磁盘使用超过 95 % 时 Ray 不再溢写。这样的节点一旦对象存储没有空间,下一个结果就会以 `OutOfDiskError` 失败。",
        "在那里腾出空间,让 Ray 使用别的磁盘(`ray start --temp-dir=目录`);若剩余字节数其实很多,则在 `ray start` "
        "之前提高阈值。",
    ),
)


@check(PROBLEM)
def spill_folder_nearly_full(cluster: Cluster) -> Judgement:
    """One finding for all nodes whose session folder is over the threshold that Ray has there."""
    full = {node.name: folder for node in cluster.heard if (folder := _session(node)) and _used(folder) > _limit(node)}
    if not full:
        return
    hosts = tuple(sorted(full, key=lambda name: -_used(full[name])))
    yield found(
        PROBLEM,
        MESSAGE,
        hosts=folded(hosts, 3),
        percent=f"{100 * _used(full[hosts[0]]):.0f}",
        confidence=CONFIRMED,
        where=Where(host=hosts[0]),
        nodes=hosts,
        commands=(f"export {VARIABLE}=0.99",),
        evidence=tuple(
            Evidence(name, f"{full[name].path}: {size(full[name].free_bytes or 0)} free") for name in hosts[:8]
        ),
    )


def explain(hits: Hits) -> Finding:
    """A note with the raylet's own figure: by itself it ends nothing."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        severity=INFO,
        confidence=CONFIRMED,
        percent=hits.get("percent"),
    )


def _session(node: Node) -> UsedPath | None:
    """The session folder of the node's Ray, where its disk told its size."""
    own = node.value("node")
    paths: tuple[UsedPath, ...] = own.paths if own is not None else ()
    return next((each for each in paths if each.purpose == "ray session" and each.total_bytes), None)


def _used(folder: UsedPath) -> float:
    return 1 - (folder.free_bytes or 0) / (folder.total_bytes or 1)


def _limit(node: Node) -> float:
    """The threshold that the node's raylet was started with; Ray's own where the variable is not set or no number."""
    environment = node.value("environment")
    try:
        return float((environment.get(VARIABLE) if environment else None) or SHARE)
    except ValueError:
        return SHARE
