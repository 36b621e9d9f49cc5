"""A process lost Ray's control store (GCS) on the head node.

## What it means
Every worker and raylet keeps a connection to the GCS server of the head. When it does not answer for a minute,
they end themselves.
## What it does to a run
The whole job ends, often with this as the only word of it.
## What to do
Find out why the head ended or was too busy to answer.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.ray.io/en/latest/ray-core/fault_tolerance/gcs.html
https://github.com/ray-project/ray/issues/34334
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY014", name="ray-gcs-lost", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Failed to connect to GCS within (?P<seconds>\d{1,5}) seconds",
        symptom_of=("MEM", "HST", "RAY002", "RAY006", "LCH"),
    ),
    Signature(
        r"GCS may have been killed",
        symptom_of=("MEM", "HST", "RAY002", "RAY006", "LCH"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Ray's head (GCS server) stopped answering{seconds}",
        "The GCS server on the head node was ended (`ray stop`, the end of the job, the out-of-memory "
        "killer), or it is so short of CPU, memory or network that it does not answer in time. Workers "
        "and raylets then end themselves.",
        "On the head look at gcs_server.out and gcs_server.err under /tmp/ray/session_latest/logs, at "
        "`dmesg -T | grep -i killed`, and at free memory and load. Keep heavy work off the head (`ray "
        "start --head --num-cpus=0` or less), check that its address and port (6379) stay reachable, "
        "start the cluster anew (`ray stop --force` on all nodes, then `ray start`), and do not run `ray "
        "stop` of another job on the same machine. `RAY_gcs_rpc_server_reconnect_timeout_s=300` bridges "
        "short outages.",
    ),
    zh=Words(
        "Ray 的 head(GCS server)不再响应{seconds_zh}",
        "head 节点上的 GCS server 被终止(`ray stop`、作业结束、OOM killer),或因缺少 CPU、内存、网络而无法"
        "及时响应。worker 与 raylet 随后自行退出。",
        "在 head 上查看 /tmp/ray/session_latest/logs 下的 gcs_server.out 与 gcs_server.err、`dmesg -T | "
        "grep -i killed`,以及空闲内存与负载。不要在 head 上运行重负载(`ray start --head --num-cpus=0` 或"
        "减少),确认其地址与端口(6379)始终可达,重新启动集群(所有节点 `ray stop --force`,再 `ray start`),不"
        "要在同一机器上为其他任务运行 `ray stop`。`RAY_gcs_rpc_server_reconnect_timeout_s=300` 可跨过短暂"
        "中断。",
    ),
)

LOG_CONFIDENCE = LIKELY


def explain(hits: Hits) -> Finding:
    """With the time that was waited, where told."""
    seconds = hits.get("seconds")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        seconds=f" for {seconds} s" if seconds else "",
        seconds_zh=f"({seconds} 秒)" if seconds else "",
    )
