"""Two nodes exchange messages slowly with each other, and fast with everybody else.

## What it means
Neither node is at fault: what lies between them is. Their flows share a link of the network with others (routing that
puts several on one cable), a cable between switches is damaged, or the two find each other by another route.
## What it does to a run
The ring of a collective operation that has these two as neighbours runs at the speed of their link.
## What to do
Show the pair to whoever runs the network. Another order of the nodes keeps the two from being neighbours.
## How it is found
`doctor check --deep` over many nodes: a pair that is 2 times slower than the median pair and by more than 6 standard
deviations of the measured noise, in each of two or more measurements (confirmed from three on), while both nodes are
fast with the others. Where more than a tenth of the pairs is slow, that is how the network is built, and none is named.
Needs 5 nodes or more. Of two nodes with 3 GPUs or more the pairs of their GPUs are compared with each other: 2 times (4
times below 6 pairs) slower than the median of the others.
## References
https://github.com/NVIDIA/nccl/issues/325
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""

from __future__ import annotations

from doctor.checks.nccl._measured import bandwidth, latency, who
from doctor.cluster.measured import Cost, Measured
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="NCC023", name="link-slow", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{a}` and `{b}` exchange messages {factor} times slower than other pairs: {own}, not {others}",
        "A ring that has the two as neighbours runs at the speed of their link, and all nodes with it.",
        "Show the pair to whoever runs the network (routing, cable between switches), or order the nodes so that the "
        "two are no neighbours.",
    ),
    zh=Words(
        "`{a}` 与 `{b}` 之间的交换比其他节点对慢 {factor} 倍:{own},而不是 {others}",
        "环上若两者相邻,整个环以及所有节点都以这条链路的速度运行。",
        "把这对节点告诉网络管理员(路由、交换机之间的线缆),或调整节点顺序,使两者不相邻。",
    ),
)
RAIL = Message(
    en=Words(
        "{a} and {b} exchange messages {factor} times slower than the other GPUs of the two nodes: {own}, not {others}",
        "Of two nodes there is no telling which end is the slow one. A ring over all GPUs runs at the speed of this "
        "pair.",
        "Compare the network card next to each of the two GPUs with that of a fast one (port rate, PCIe width), or "
        "measure with a third node, which tells the ends apart.",
    ),
    zh=Words(
        "{a_zh} 与 {b_zh} 之间的交换比两节点的其他 GPU 慢 {factor} 倍:{own},而不是 {others}",
        "只有两个节点时无法判断哪一端慢。经过所有 GPU 的环以这一对的速度运行。",
        "把这两块 GPU 旁的网卡与快的网卡比较(端口速率、PCIe 宽度),或加入第三个节点再测,即可区分两端。",
    ),
)


@check(PROBLEM)
def link_slow(cluster: Cluster) -> Judgement:
    """Each pair once: by its bandwidth, else by its latency."""
    measured = Measured(cluster)
    known: set[tuple[int, int]] = set()
    costs: tuple[Cost, Cost] = ("bandwidth", "latency")
    for cost in costs:
        told = bandwidth if cost == "bandwidth" else latency
        for slow, times in measured.slow_links(cost):
            if slow.who in known:
                continue
            known.add(slow.who)
            a, b = (measured.name(node) for node in slow.who)
            text = (
                f"{cost} of `{a}` and `{b}` {told(slow.own)} at best in {times} measurements, median of the other "
                f"pairs {told(slow.others)}, {slow.sigmas:.0f} standard deviations of the noise"
            )
            yield found(
                PROBLEM,
                MESSAGE,
                a=a,
                b=b,
                factor=f"{slow.factor:.1f}",
                own=told(slow.own),
                others=told(slow.others),
                confidence=CONFIRMED if times > 2 else LIKELY,
                where=Where(host=a),
                evidence=(Evidence("doctor check --deep", text),),
            )


@check(PROBLEM)
def rail_slow(cluster: Cluster) -> Judgement:
    """Of two nodes alone the pairs of their GPUs are compared with each other."""
    measured = Measured(cluster)
    known: set[object] = set()
    costs: tuple[Cost, Cost] = ("bandwidth", "latency")
    for cost in costs:
        told = bandwidth if cost == "bandwidth" else latency
        for slow, times in measured.slow_rails(cost):
            if slow.who in known:
                continue
            known.add(slow.who)
            (a, a_zh), (b, b_zh) = (who(measured, *end) for end in slow.who)
            text = f"{cost} {told(slow.own)} at best in {times} measurements, median of the others {told(slow.others)}"
            yield found(
                PROBLEM,
                RAIL,
                a=a,
                b=b,
                a_zh=a_zh,
                b_zh=b_zh,
                factor=f"{slow.factor:.1f}",
                own=told(slow.own),
                others=told(slow.others),
                confidence=LIKELY,
                where=Where(host=measured.name(slow.who[0][0])),
                evidence=(Evidence("doctor check --deep", text),),
            )
