"""One node, or one GPU, exchanges messages slower than the others do with each other.

## What it means
Every pair of nodes was measured, and the pairs in which this one takes part are slow, whoever the partner is: a damaged
cable or port, a network card that came up at a lower rate or fell back to Ethernet, a PCIe link that is narrow, an
interface that NCCL or gloo chose wrongly on this node, or something else that uses its network.
## What it does to a run
A collective operation is as fast as its slowest member: every step of every node waits for this one.
## What to do
Compare its network cards with those of a fast node (rate, state, errors), leave the node out, measure again.
## How it is found
`doctor check --deep` over many nodes: latency and bandwidth of pairs in rounds in which each has one partner. Pairs of
a node against all pairs without it: 1.5 times slower (2 times for latency, more where only a few pairs can be compared)
and more than 5 standard deviations of the measured noise, in three quarters of its pairs, after those that looked slow
were measured up to three times more and the best counted. Confirmed where it is 2 times and measured more than once.
Where the time was not enough for the pairs, all-reduces over halves of the nodes: for each binary digit of the nodes'
numbers the half with the slow one takes 3 times as long or more; likely.
## References
https://dathan.github.io/blog/posts/debugging-slow-nodes-in-an-infiniband-network
https://engineering.fluidstack.io/post/debugging-a-flaky-nvlink
https://github.com/NVIDIA/nccl-tests/issues/106
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""

from __future__ import annotations

from doctor.checks.nccl._measured import bandwidth, latency, who
from doctor.cluster.measured import Cost, Measured, SlowEnd
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="NCC022", name="node-slow", severity=WARNING, since="0.1")

BANDWIDTH = Message(
    en=Words(
        "{who} exchanges {own} with the others, which reach {others}",
        "A collective operation runs at the speed of its slowest member, so all nodes wait for this one at every step.",
        "Compare its network cards with those of a fast node: rate and state of the port, PCIe width, error counters, "
        "the interface that is chosen. Leave it out until it is mended.",
    ),
    zh=Words(
        "{who_zh} 与其他节点的交换速度为 {own},其他节点之间为 {others}",
        "集合通信的速度由最慢的成员决定,所有节点的每一步都在等它。",
        "与快的节点比较网卡:端口速率和状态、PCIe 宽度、错误计数、所选网卡接口。修好之前先不要使用它。",
    ),
)

LATENCY = Message(
    en=Words(
        "Messages of {who} take {own}, those between the others {others}",
        "Small collective operations (norms, flags, barriers, tensor parallelism) wait for this node each time.",
        "Compare its network with that of a fast node: interface, route, power saving, retransmissions.",
    ),
    zh=Words(
        "{who_zh} 的消息需要 {own},其他节点之间为 {others}",
        "小的集合通信(范数、标志、屏障、张量并行)每次都要等这个节点。",
        "与快的节点比较网络:接口、路由、CPU 与网卡的节能设置、重传。",
    ),
)

INSIDE = Message(
    en=Words(
        "Inside its node {who} exchanges {own}, where {others} is usual",
        "Collective operations of this node go slower, and with them those of all others.",
        "Look at NVLink state and PCIe width of that node: `nvidia-smi nvlink -s`, `nvidia-smi topo -m`.",
    ),
    zh=Words(
        "{who_zh} 在节点内部的交换为 {own},通常为 {others}",
        "该节点的集合通信变慢,所有节点随之变慢。",
        "检查该节点的 NVLink 状态和 PCIe 宽度:`nvidia-smi nvlink -s`、`nvidia-smi topo -m`。",
    ),
)

HALVES = Message(
    en=Words(
        "All-reduces with {who} take {factor} times as long as those without it",
        "A collective operation runs at the speed of its slowest member, so all nodes wait for this one at every step.",
        "Measure again with more `--deep-seconds`, so that all pairs are measured, or without that node.",
    ),
    zh=Words(
        "有 {who_zh} 参加的 all-reduce 耗时是没有它时的 {factor} 倍",
        "集合通信的速度由最慢的成员决定,所有节点的每一步都在等它。",
        "用更大的 `--deep-seconds` 重新测量,以便测完所有节点对,或去掉该节点再测。",
    ),
)

_TOLD = {"bandwidth": bandwidth, "latency": latency}


@check(PROBLEM)
def node_slow(cluster: Cluster) -> Judgement:
    """Bandwidth first; a latency adds a finding only where the bandwidth has none."""
    measured = Measured(cluster)
    if not measured.parts:
        return
    if len({each.node_a for each in measured.exchanges(inside=False)}) < 2:
        yield Skip("fewer than three nodes exchanged messages, so there is nothing to compare a link with")
    costs: tuple[Cost, Cost] = ("bandwidth", "latency")
    known: set[tuple[int, int | None, bool]] = set()
    for cost in costs:
        for end in measured.slow_ends(cost):
            if (end.node, end.local, end.inside) not in known:
                known.add((end.node, end.local, end.inside))
                yield _finding(measured, end)
    if not known and not measured.whole:
        yield from _by_halves(measured)


def _by_halves(measured: Measured) -> Judgement:
    """Where the time was not enough for the pairs: what the rings over halves of the nodes spell."""
    found_by_halves = measured.slow_by_halves()
    if found_by_halves is None:
        return
    node, factor = found_by_halves
    name = measured.name(node)
    text = f"for each binary digit of its number ({node}) the half with it was {factor:.1f} times slower or more"
    yield found(
        PROBLEM,
        HALVES,
        who=f"`{name}`",
        who_zh=f"`{name}`",
        factor=f"{factor:.1f}",
        confidence=LIKELY,
        where=Where(host=name),
        evidence=(Evidence("doctor check --deep", text),),
    )


def _finding(measured: Measured, end: SlowEnd) -> Finding:
    told, slow = _TOLD[end.cost], end.slow
    name, name_zh = who(measured, end.node, end.local)
    message = INSIDE if end.inside else BANDWIDTH if end.cost == "bandwidth" else LATENCY
    process = measured.process(end.node, end.local) if end.local is not None else None
    text = (
        f"median {end.cost} of its pairs {told(slow.own)}, of the pairs without it {told(slow.others)}: "
        f"{slow.factor:.1f} times slower, {slow.sigmas:.0f} standard deviations of the noise"
    )
    return found(
        PROBLEM,
        message,
        who=name,
        who_zh=name_zh,
        own=told(slow.own),
        others=told(slow.others),
        confidence=CONFIRMED if end.again and slow.factor >= 2 else LIKELY,
        where=Where(host=measured.name(end.node), gpu=process.gpu if process else None),
        commands=("ip -s -br link; ibstat", "nvidia-smi topo -m"),
        evidence=(Evidence("doctor check --deep", text),),
    )
