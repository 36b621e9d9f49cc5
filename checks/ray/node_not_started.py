"""A driver runs on a machine that is no node of the cluster, or whose node did not come up.

## What it means
A driver needs a raylet on its own machine (or container). The head knows of none here: `ray start --address`
was not run in this container, the session folder is not shared, or the raylet did not register in time.
## What it does to a run
The driver waits for a minute and ends.
## What to do
Start a node where the driver runs, or submit a job.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/14349
https://github.com/ray-project/ray/issues/6902
https://github.com/secretflow/secretflow/issues/102
https://docs.ray.io/en/latest/cluster/running-applications/job-submission/index.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY017", name="ray-node-not-started", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Can't find a `node_ip_address\.json` file from (?P<session>\S{1,120}?)\.? for \d",
    ),
    Signature(
        r"Can't find a `node_ip_address\.json` file from (?P<session>\S{1,120}?)\. Have you started"
        r" Ray instance",
        kind="warning",
    ),
    Signature(
        r"(?:Exception: The current node (?:timed out|has not been updated within \d{1,5} seconds)"
        r"|TimeoutError: Timed out after \d{1,5} seconds while waiting for node to startup)",
        symptom_of=("LCH010",),
    ),
    Signature(
        r"(?:GCS cannot find the node with node ID |waiting for node to startup\. Did not find socket name "
        r")(?P<late>\S{3,200})",
        kind="sign",
    ),
    Signature(r"^RuntimeError: b?['\"]?GCS cannot find the node with node ID ", symptom_of=("LCH010",)),
    Signature(
        r"This node has an IP address of (?P<here>[\d.:a-f]{2,45}), (?:and|while) Ray expects this IP"
        r" address to be either",
        symptom_of=("RAY002",),
    ),
    Signature(
        r"RuntimeError: b?['\"]?GCS has started but no raylets have registered yet",
    ),
    Signature(r"^\s{0,12}(?P<ended>raylet|gcs_server) (?:died with exit code |\[exit code=)-?[1-9]\d{0,2}\b"),
)

LOG_MESSAGE = Message(
    en=Words(
        "this machine or container is no running node of the Ray cluster",
        "The address of the cluster answers, and no raylet of it runs here: `ray start` ran on the host "
        "or in another container (with its own /tmp/ray), was given an address that is not the one of "
        "this machine, or the node did not register in time on a loaded head.",
        "In the very container that runs the driver start a node first: `ray start --address=HEAD:6379 "
        "--node-ip-address=IP_OF_THIS_MACHINE`, and check `ray status`. Or submit from outside: `ray job "
        "submit --address http://HEAD:8265 -- python ...`. Share the network (`--network host`) and "
        "/tmp/ray between containers. For slow starts set `RAY_raylet_start_wait_time_s=120`. On one "
        "machine unset `RAY_ADDRESS`.",
    ),
    zh=Words(
        "本机或本容器不是 Ray 集群的运行节点",
        "集群地址有应答,但此处没有它的 raylet:`ray start` 在宿主机或另一个容器中运行(有自己的 /tmp/ray),"
        "给出的地址不是本机地址,或 head 负载过高导致节点未能及时注册。",
        "在运行 driver 的容器内先启动节点:`ray start --address=HEAD:6379 --node-ip-address=本机IP`,并用 "
        "`ray status` 检查。或从外部提交:`ray job submit --address http://HEAD:8265 -- python ...`。容器"
        "之间共享网络(`--network host`)与 /tmp/ray。启动较慢时设置 `RAY_raylet_start_wait_time_s=120`。单"
        "机请取消 `RAY_ADDRESS`。",
    ),
)

LOG_MESSAGE_LATE = Message(
    en=Words(
        "a Ray node did not come up in time on this machine",
        "`ray start` or `ray.init()` waits for the node's raylet to report, and gave up: the raylet ended at its "
        "start, or it was too slow. Many CPUs in sight of few that may be used, a slow disk under the environment or "
        "the session folder, a proxy in the environment, a port or session of an earlier Ray, and a busy head are the "
        "usual reasons.",
        "Read raylet.err and raylet.out in /tmp/ray/session_latest/logs of this machine first. Then `ray stop "
        "--force`, `unset http_proxy https_proxy`, start with the CPUs that may be used (`--num-cpus`, "
        "`ray.init(num_cpus=8)`) and a local disk (`--temp-dir=/tmp/ray-$USER`), and give more time: `export "
        "RAY_raylet_start_wait_time_s=120`.",
    ),
    zh=Words(
        "本机的 Ray 节点没有及时启动",
        "`ray start` 或 `ray.init()` 等待该节点的 raylet 报到,最终放弃:raylet 在启动时退出,或启动太慢。常见原因:看得到"
        "很多 CPU 而只允许用几个,环境或会话目录所在磁盘太慢,环境中有代理,旧 Ray 占用端口或会话,以及 head 过忙。",
        "先查看本机 /tmp/ray/session_latest/logs 中的 raylet.err 与 raylet.out。然后 `ray stop --force`,"
        "`unset http_proxy https_proxy`,按可用 CPU 启动(`--num-cpus`、`ray.init(num_cpus=8)`),使用本地磁盘"
        "(`--temp-dir=/tmp/ray-$USER`),并给更多时间:`export RAY_raylet_start_wait_time_s=120`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A node of another address or container, or one of this machine that was too slow."""
    elsewhere = hits.of(0) or hits.of(1) or hits.of(5)
    return found(
        PROBLEM,
        LOG_MESSAGE if elsewhere else LOG_MESSAGE_LATE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )
