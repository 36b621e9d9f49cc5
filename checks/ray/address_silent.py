"""RAY_ADDRESS names a cluster that does not answer.

## What it means
The variable makes every `ray.init` join the cluster at this address, and nothing accepts a connection there.
## What it does to a run
After retries the command ends with `Failed to connect to Ray cluster` or `Could not find any running Ray instance`.
It does not start a cluster of its own instead.
## What to do
Start the cluster, correct the address, or unset the variable to have a local one started.
## How it is found
A TCP connection to the address.
## References
https://docs.ray.io/en/latest/ray-core/api/doc/ray.init.html
https://docs.ray.io/en/latest/ray-core/starting-ray.html
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import runs_elsewhere
from doctor.checks.ray._helpers import joins_ray
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.script import Script
from doctor.facts.serving import Serving

PROBLEM = Problem(id="RAY002", name="ray-address-silent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        # a first try that failed is no silence: who then says that the node was not found has reached the head
        r"Failed to connect to GCS at address (?P<address>[\w.\-]{1,80}:\d{1,5})",
        symptom_of=("RAY017",),
    ),
    Signature(r"Failed to connect to GCS at address (?P<address>:\d{1,5}) ", kind="warning"),
    Signature(r"Failed to get cluster ID from GCS server: TimedOut", kind="warning"),
    Signature(r"ConnectionError: Could not find any running Ray instance"),
    Signature(r"ConnectionError: ray client connection timeout"),
    Signature(r"RuntimeError: Ray is not running, please start it by `ray start --head`"),
    Signature(r"\d{1,6} seconds elapsed: Still waiting for GCS to be ready\."),
    Signature(r"ConnectionError: Failed to connect to Ray at address: https?://(?P<address>[\w.\-]{1,80}:\d{1,5})"),
    Signature(r"Unable to connect to GCS (?:\(ray head\) )?at (?P<address>[\w.\-]{1,80}:\d{1,5})"),
    Signature(r"Failed to connect to GCS at address (?P<several>[\w.:\-]{3,60}(?: [\w.:\-]{3,60}){1,4}:\d{1,5})\b"),
    Signature(r"(?:^|-- )(?P<joined>Connected to Ray cluster|Started a local Ray instance)\.", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "no Ray cluster answers{at}",
        "The head of the cluster is not running, ended, or listens at another address, or a firewall "
        "keeps its port (6379) closed. A stale `RAY_ADDRESS` or /tmp/ray/ray_current_cluster of an "
        "earlier cluster has the same effect.",
        "Start it with `ray start --head --port=6379` and check with `ray status`; on the other nodes `ray start "
        "--address=HEAD:6379`. For a single machine unset `RAY_ADDRESS` and run `ray stop --force` (it ends all your "
        "Ray runs there), so that `ray.init()` starts its own. Otherwise look at gcs_server.out in the session folder.",
    ),
    zh=Words(
        "没有 Ray 集群应答{at_zh}",
        "集群的 head 没有运行、已退出、监听在其他地址,或防火墙关闭了端口(6379)。先前集群遗留的 "
        "`RAY_ADDRESS` 或 /tmp/ray/ray_current_cluster 也会如此。",
        "用 `ray start --head --port=6379` 启动并以 `ray status` 检查;其他节点 `ray start --address=HEAD:6379`。单机请"
        "取消 `RAY_ADDRESS` 并运行 `ray stop --force`(会结束你在那里的所有 Ray 任务),让 `ray.init()` 自行启动。否则查看"
        "会话目录中的 gcs_server.out。",
    ),
)

SEVERAL = Message(
    en=Words(
        "Ray was given several addresses at once as the head: `{several}`",
        "`hostname -i` (or `-I`) prints one address for each network of the node, with blanks between them, and the "
        "script put all of them in front of the port.",
        "Take the first one, or the one of the network that the nodes share: `head_ip=$(hostname -i | awk '{{print "
        "$1}}')`, then `--address=$head_ip:6379` on the other nodes and `--node-ip-address=$head_ip` on the head.",
    ),
    zh=Words(
        "给 Ray 的 head 地址是多个地址:`{several}`",
        "`hostname -i`(或 `-I`)会为节点的每个网络打印一个地址,以空格分隔,脚本把它们全部放在了端口之前。",
        "只取第一个,或节点共用网络的那一个:`head_ip=$(hostname -i | awk '{{print $1}}')`,然后其他节点用 "
        "`--address=$head_ip:6379`,head 用 `--node-ip-address=$head_ip`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`RAY_ADDRESS={address}` does not answer",
        "The command joins the cluster at this address and no other, and ends with `Failed to connect to Ray "
        "cluster` when it does not answer.",
        "Start the cluster or correct the address. Unset the variable to have a local cluster started.",
    ),
    zh=Words(
        "`RAY_ADDRESS={address}` 没有响应",
        "命令只会加入该地址的集群,没有响应时以 `Failed to connect to Ray cluster` 结束。",
        "启动集群或改正地址;要自动启动本地集群,请取消该变量。",
    ),
)


@check(PROBLEM)
def address_silent(
    launch: Launch, ray_cluster: RayCluster, serving: Serving | None, script: Script | None
) -> Judgement:
    """Judge addresses of clusters; that of a dashboard is for `ray job`."""
    address = ray_cluster.address
    if ray_cluster.address_from != "RAY_ADDRESS" or not address or address.startswith(("http:", "https:")):
        return
    if ray_cluster.answers is not False or not joins_ray(launch, serving, script) or runs_elsewhere(launch):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        address=address,
        commands=("ray status", "unset RAY_ADDRESS"),
        evidence=(Evidence("environment", f"RAY_ADDRESS={address}"),),
    )


def explain(hits: Hits) -> Finding | None:
    """With the address where told; one that answered at last, or was done without, was not silent."""
    said = [hit for hit in hits if not hit.groups.get("joined")]
    joined = [hit for hit in hits if hit.groups.get("joined")]
    if not said or any(hit.file == said[-1].file and hit.line > said[-1].line for hit in joined):
        return None
    if several := hits.get("several"):
        return found(PROBLEM, SEVERAL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, several=several)
    address = hits.get("address")
    at, at_zh = (f" at {address}", f"(地址 {address})") if address else ("", "")
    if address and address.startswith(":"):  # `--address=$HEAD:6379` with an empty variable
        at, at_zh = (
            f" at {address}, an address without a host (an unset variable?)",
            f"(地址 {address} 没有主机名,变量未设置?)",
        )
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        at=at,
        at_zh=at_zh,
    )
