"""The clocks of the nodes differ by more than a second.

## What it means
A node's clock is ahead of the others or behind: NTP does not run there, or cannot reach its server.
## What it does to a run
torchrun's rendezvous compares the heartbeats of other nodes with its own clock: a node that seems to be silent for
three heartbeats of five seconds is removed as dead, so that with 15 seconds of difference nodes throw each other out.
Below that, logs and measurements of the nodes cannot be laid side by side, and tokens of clouds and hubs may be
refused.
## What to do
Start the time service (`timedatectl set-ntp true`, chrony) on the nodes that depart.
## How it is found
Each clock was measured against the asking machine, or against the shared folder's; the bound of that measurement
counts for the node. The middle of all clocks is taken for right.
## References
https://github.com/pytorch/pytorch/blob/v2.8.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
https://man7.org/linux/man-pages/man1/timedatectl.1.html
"""

from __future__ import annotations

from doctor.cluster.hosts import folded
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.stats import median_of_sorted
from doctor.facts.cluster import Cluster
from doctor.facts.launch import Launch

PROBLEM = Problem(id="HST014", name="clocks-differ-between-nodes", severity=WARNING, since="0.1")
LEAST_S = 1.0
DEAD_S = 15.0  # keep_alive_interval 5 s, keep_alive_max_attempt 3 in dynamic_rendezvous.py
_DYNAMIC = frozenset({"c10d", "etcd-v2"})  # rendezvous back ends that are built on it

MESSAGE = Message(
    en=Words(
        "Clock off the others by up to {most} s: {hosts}",
        "Logs and measurements of the nodes cannot be laid side by side, and tokens may be refused. From 15 s on "
        "torchrun's rendezvous takes nodes for dead whose heartbeats seem old, and removes them.",
        "Start the time service on these nodes: `timedatectl set-ntp true`, or chrony.",
    ),
    zh=Words(
        "时钟与其他节点最多相差 {most} 秒:{hosts}",
        "各节点的日志与测量无法对齐,令牌也可能被拒绝。相差 15 秒以上时,torchrun 的汇合会把心跳显得陈旧的节点"
        "当作已死而移除。",
        "在这些节点上启动时间同步:`timedatectl set-ntp true` 或 chrony。",
    ),
)
PAIR = Message(
    en=Words(
        "The clocks of {hosts} are {most} s apart",
        "Logs and measurements of the two cannot be laid side by side, and tokens may be refused. From 15 s on "
        "torchrun's rendezvous takes a node for dead whose heartbeats seem old, and removes it.",
        "Start the time service on both: `timedatectl set-ntp true`, or chrony.",
    ),
    zh=Words(
        "{hosts} 的时钟相差 {most} 秒",
        "两个节点的日志与测量无法对齐,令牌也可能被拒绝。相差 15 秒以上时,torchrun 的汇合会把心跳显得陈旧的节点"
        "当作已死而移除。",
        "在两个节点上启动时间同步:`timedatectl set-ntp true` 或 chrony。",
    ),
)


@check(PROBLEM)
def clocks_differ_between_nodes(cluster: Cluster, launch: Launch | None) -> Judgement:
    """A clock departs when even the bound of its measurement leaves it more than a second from the middle."""
    clocks = [(node, node.clock_offset_s) for node in cluster.heard if node.clock_offset_s is not None]
    if len(clocks) < 2:
        return
    middle = median_of_sorted(sorted(offset for _, offset in clocks))
    least = LEAST_S if len(clocks) > 2 else LEAST_S / 2  # each of two is half of their difference off the middle
    wrong = [
        (node.name, offset - middle)
        for node, offset in clocks
        if abs(offset - middle) - (node.clock_error_s or 0.0) > least
    ]
    if not wrong:
        return
    hosts = tuple(name for name, _ in wrong)
    pair = len(clocks) == 2
    most = max((offset for _, offset in wrong), key=abs) if not pair else abs(clocks[0][1] - clocks[1][1])
    backend = launch.option("rdzv_backend") if launch is not None else None
    dynamic = backend is not None and backend.value in _DYNAMIC
    yield found(
        PROBLEM,
        PAIR if pair else MESSAGE,
        severity=ERROR if dynamic and abs(most) >= DEAD_S else WARNING,
        where=Where(host=hosts[0]),
        nodes=hosts,
        commands=("timedatectl status", "timedatectl set-ntp true"),
        evidence=tuple(Evidence(name, f"{offset:+.1f} s against the middle") for name, offset in wrong[:8]),
        most=f"{most:.1f}" if pair else f"{most:+.1f}",
        hosts=folded(hosts, 3),
    )
