"""Nodes that were asked gave no facts about themselves.

## What it means
A node of the cluster did not answer in time, was lost while it was asked, left no file in the folder, or answered
that it could not look. Nothing is known of it: it is not judged, and it counts neither as equal nor as well.
## What it does to a run
A node that cannot run a small task or write a small file in time will hardly start its ranks: the launch waits for it
until the rendezvous times out. One that was lost takes the run with it.
## What to do
Look at the node itself: is it up, can it be logged in to, is its disk full or its shared folder gone? Leave it out of
the run, or ask again with a longer deadline.
## How it is found
What became of the question to each node: state and reason that gathering noted.
## References
https://docs.ray.io/en/latest/ray-core/fault_tolerance/nodes.html
https://slurm.schedmd.com/sinfo.html
"""

from __future__ import annotations

from doctor.cluster.hosts import folded
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.cluster import Cluster, Node

PROBLEM = Problem(id="LCH026", name="nodes-not-heard", severity=WARNING, since="0.1")

DIED = Message(
    en=Words(
        "Lost: {count} of {asked} nodes: {hosts}",
        "They were known to the cluster and are gone, or went while they were asked. Ranks that are placed on them do "
        "not start, and a run that waits for them stands still.",
        "Look whether the machine is up; start its daemon again, or leave it out of the run.",
    ),
    zh=Words(
        "{asked} 个节点中有 {count} 个已丢失:{hosts}",
        "集群知道这些节点,但它们已经不在,或在询问过程中消失。放在上面的 rank 不会启动,等待它们的训练会停住。",
        "查看机器是否在运行;重新启动其守护进程,或让它不参加训练。",
    ),
)
SILENT = Message(
    en=Words(
        "No answer in time from {count} of {asked} nodes: {hosts}",
        "Nothing is known of them. A node that cannot run a small task in time is overloaded, hangs on a dead mount or "
        "is cut off, and ranks on it start late or never.",
        "Log in to the node and look at its load and its mounts; leave it out of the run, or ask again.",
    ),
    zh=Words(
        "{asked} 个节点中有 {count} 个未在时限内应答:{hosts}",
        "对它们一无所知。连小任务都不能及时执行的节点,往往过载、卡在失效的挂载上,或已断网;"
        "其上的 rank 会很晚才启动或启动不了。",
        "登录该节点查看负载与挂载;让它不参加训练,或再次询问。",
    ),
)
MISSING = Message(
    en=Words(
        "No facts from {count} of {asked} expected nodes: {hosts}",
        "Nothing is known of them: the command did not run there, has not finished yet, or could not write into the "
        "shared folder. They are not judged.",
        "Run the collecting command there too, and see that the folder is the same one on all nodes.",
    ),
    zh=Words(
        "应有的 {asked} 个节点中有 {count} 个没有留下信息:{hosts}",
        "对它们一无所知:命令没有在那里运行、尚未结束,或无法写入共享目录。因此没有判断它们。",
        "也在那些节点上运行收集命令,并确认所有节点使用的是同一个目录。",
    ),
)
FAILED = Message(
    en=Words(
        "{count} of {asked} nodes could not look at themselves: {hosts}",
        "Nothing is known of them, so they are not judged. The evidence says what they answered.",
        "Mend what the node answered, and ask again.",
    ),
    zh=Words(
        "{asked} 个节点中有 {count} 个无法检查自身:{hosts}",
        "对它们一无所知,因此没有判断它们。依据中列出了它们的回答。",
        "解决节点回答的问题后再次询问。",
    ),
)
_STATES = {
    "died": (DIED, ERROR, CONFIRMED),
    "silent": (SILENT, WARNING, LIKELY),
    "missing": (MISSING, WARNING, CONFIRMED),
    "failed": (FAILED, WARNING, CONFIRMED),
}
_REASONS = 6


@check(PROBLEM)
def nodes_not_heard(cluster: Cluster) -> Judgement:
    """One finding for each state, with what was noted of the nodes in it."""
    for state, (message, severity, confidence) in _STATES.items():
        nodes = [node for node in cluster.nodes if node.state == state]
        if nodes:
            hosts = tuple(node.name for node in nodes)
            yield found(
                PROBLEM,
                message,
                severity=severity,
                confidence=confidence,
                where=Where(host=hosts[0]),
                nodes=hosts,
                evidence=_reasons(nodes),
                count=len(nodes),
                asked=len(cluster.nodes),
                hosts=folded(hosts, 3),
            )


def _reasons(nodes: list[Node]) -> tuple[Evidence, ...]:
    hosts: dict[str, list[str]] = {}
    for node in nodes:
        hosts.setdefault(node.reason or node.state, []).append(node.name)
    return tuple(Evidence(folded(names, 4), reason) for reason, names in list(hosts.items())[:_REASONS])
