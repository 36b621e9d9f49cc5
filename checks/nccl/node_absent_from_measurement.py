"""A node did not take part in the measurement between nodes, or fell out of it.

## What it means
The nodes meet at the store of the launcher or in the shared folder, and then form a process group just as the training
will. One did not come before the others stopped waiting, its process died, or it could not connect. Where every node
found only itself, the folder is not shared.
## What it does to a run
A training waits for such a node until a time-out, half an hour by default, and then ends.
## What to do
Read what that node's process said, then look at its network, its torch, and the folder's mount.
## How it is found
`doctor check --deep` over many nodes: each node notes how its processes ended and whom they waited for. Where one died,
the errors of the others are its consequence and are quoted only.
## References
https://docs.pytorch.org/docs/stable/distributed.html#initialization
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cluster.hosts import folded
from doctor.cluster.measured import Measured
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.cluster import Cluster
from doctor.facts.collectives import Process

PROBLEM = Problem(id="NCC024", name="node-absent-from-measurement", severity=WARNING, since="0.1")

NOT_SHARED = Message(
    en=Words(
        "None of the {expected} nodes met another in the folder that they should share",
        "Nothing was measured between nodes. Checkpoints and logs that a run writes there are lost to the other nodes.",
        "Give `--collect` a folder on a file system that all nodes mount, or start the nodes by `torchrun`.",
    ),
    zh=Words(
        "{expected} 个节点在本应共享的文件夹中没有遇到任何其他节点",
        "节点之间什么都没有测量。训练写到该处的检查点和日志,其他节点也看不到。",
        "让 `--collect` 指向所有节点都挂载的文件系统中的文件夹,或用 `torchrun` 启动各节点。",
    ),
)

MISSING = Message(
    en=Words(
        "{who} did not come to the measurement; {came} of {expected} nodes did",
        "A training would wait for it until the time-out. The links of that node were not measured.",
        "Look whether it was started there, whether it reaches the others, and what its output says.",
    ),
    zh=Words(
        "{who} 没有参加测量;{expected} 个节点中到了 {came} 个",
        "训练会一直等它直到超时。该节点的链路没有测量。",
        "检查该节点上是否已启动、能否连到其他节点,以及它的输出。",
    ),
)

DIED = Message(
    en=Words(
        "The measuring process of {who} died of {signal}{during}",
        "The processes of the other nodes ended with it; what they had measured until then is judged.",
        "Read the kernel log of that node (out of memory, Xid) and measure again.",
    ),
    zh=Words(
        "{who} 的测量进程因 {signal} 终止{during_zh}",
        "其他节点的进程随之结束;此前测得的结果仍被采用。",
        "查看该节点的内核日志(内存不足、Xid),然后重新测量。",
    ),
)

FAILED = Message(
    en=Words(
        "{who} could not {what}",
        "A training that goes the same way fails at the same point, or waits there until its time-out.",
        "Read the error below, mend it on that node and measure again.",
    ),
    zh=Words(
        "{who} 无法{what_zh}",
        "走同样路径的训练会在同一处失败,或在那里等到超时。",
        "阅读下面的错误,在该节点上修复后重新测量。",
    ),
)

#: phase -> what was not possible
_WHAT = {
    "import": ("import torch", "导入 torch"),
    "store": ("open the store at which the nodes meet", "打开各节点会合的存储"),
    "meeting": ("learn who takes part in the measurement", "得知谁参加测量"),
    "products": ("multiply matrices", "做矩阵乘法"),
    "group": ("form a process group with the other nodes", "与其他节点建立进程组"),
    "pairs": ("exchange messages with the other nodes", "与其他节点交换消息"),
    "repeats": ("exchange messages with the other nodes", "与其他节点交换消息"),
    "rings": ("finish an all-reduce with the other nodes", "与其他节点完成 all-reduce"),
}
_DURING = {
    "pairs": (" while pairs were measured", "(测量节点对时)"),
    "repeats": (" while pairs were measured", "(测量节点对时)"),
    "rings": (" during an all-reduce", "(all-reduce 时)"),
    "products": (" while it multiplied matrices", "(矩阵乘法时)"),
}
_QUOTED = 3


@check(PROBLEM)
def node_absent_from_measurement(cluster: Cluster) -> Judgement:
    """The earliest cause alone: a folder that is not shared, who never came, who died, who failed."""
    measured = Measured(cluster)
    if not measured.parts:
        return
    if _alone(measured):
        yield found(PROBLEM, NOT_SHARED, expected=measured.nodes, where=Where(host=measured.name(min(measured.parts))))
        return
    yield from _missing(measured)
    died = _first_to_die([(node, each) for node, each in measured.processes() if each.outcome == "died"])
    failed = [(node, each) for node, each in measured.processes() if each.outcome in ("error", "timeout")]
    quotes = tuple(Evidence(measured.name(node), each.error) for node, each in failed if each.error)[:_QUOTED]
    for node, process in died:
        yield _died(measured, node, process, quotes)
    if failed and not died:
        yield _failed(measured, failed, quotes)


def _alone(measured: Measured) -> bool:
    """Whether several nodes waited in a folder, each for all the others."""
    waited = [(node, each) for node, each in measured.processes() if each.members is not None]
    through_folder = all(part.told.shared_by == "folder" for part in measured.parts.values())
    return (
        through_folder
        and len({node for node, _ in waited}) > 1
        and all(set(each.missing) == set(range(measured.nodes)) - {node} for node, each in waited)
    )


def _first_to_die(died: list[tuple[int, Process]]) -> list[tuple[int, Process]]:
    """Without those that torch aborted (SIGABRT), where another was killed: they lost their partner."""
    return [each for each in died if each[1].signal != "SIGABRT"] or died


def _missing(measured: Measured) -> Iterator[Finding]:
    """Nodes that the others did not see; why, where a file of theirs says so."""
    missing = sorted({node for _, process in measured.processes() for node in process.missing})
    if not missing:
        return
    said = [
        Evidence(measured.name(node), f"ended in phase `{each.phase}`: {each.error or each.outcome}")
        for node in missing
        if (part := measured.parts.get(node)) is not None
        for each in part.told.processes
    ]
    yield found(
        PROBLEM,
        MISSING,
        who=f"`{folded(map(measured.name, missing), 6)}`",
        came=measured.nodes - len(missing),
        expected=measured.nodes,
        confidence=CONFIRMED,
        where=Where(host=measured.name(missing[0])),
        evidence=tuple(said[:_QUOTED]),
    )


def _died(measured: Measured, node: int, process: Process, quotes: tuple[Evidence, ...]) -> Finding:
    during, during_zh = _DURING.get(process.phase or "", ("", ""))
    return found(
        PROBLEM,
        DIED,
        who=f"`{measured.name(node)}`",
        signal=process.signal,
        during=during,
        during_zh=during_zh,
        confidence=CONFIRMED,
        where=Where(host=measured.name(node), gpu=process.gpu),
        commands=("dmesg -T | tail -50",),
        evidence=quotes,
    )


def _failed(measured: Measured, failed: list[tuple[int, Process]], quotes: tuple[Evidence, ...]) -> Finding:
    """All failures as one: the node that failed in the earliest part is the likeliest to have begun it."""
    order = list(_WHAT)
    node, first = min(failed, key=lambda each: order.index(each[1].phase) if each[1].phase in order else 0)
    what, what_zh = _WHAT.get(first.phase or "import", _WHAT["import"])
    together = first.phase in ("group", "pairs", "repeats", "rings")
    nodes = sorted({measured.name(each) for each, process in failed if process.phase == first.phase})
    return found(
        PROBLEM,
        FAILED,
        who=f"`{folded(nodes, 6)}`",
        what=what,
        what_zh=what_zh,
        severity=ERROR if together else WARNING,
        confidence=LIKELY if together else CONFIRMED,
        where=Where(host=measured.name(node), gpu=first.gpu),
        evidence=quotes
        or (Evidence(measured.name(node), f"no answer in phase `{first.phase}` before the time was up"),),
    )
