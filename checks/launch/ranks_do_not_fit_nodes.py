"""The numbers of nodes and the places in the launch do not fit the nodes that are there.

## What it means
The command asks for more machines than were found, two nodes were given the same rank, a rank below the number of
nodes is nobody's, or the nodes were told different numbers of nodes.
## What it does to a run
The rendezvous waits for nodes that never come, until it times out; of two nodes with one rank the second is refused
or both take the same ranks, and the group never completes.
## What to do
Give every node its own `--node_rank` (`--machine_rank`), counted from 0, and the same number of nodes everywhere.
Under Slurm take them from SLURM_NODEID and SLURM_NNODES.
## How it is found
Number of machines and processes that the command resolves to, rank and number of nodes that each node's variables
tell, against the nodes that were asked and the GPUs they have. In a log: by torchrun's look-up of its own place.
## References
https://github.com/pytorch/pytorch/issues/123815
https://github.com/pytorch/pytorch/blob/v2.3.0/torch/distributed/elastic/agent/server/api.py
https://docs.pytorch.org/docs/stable/elastic/run.html
https://huggingface.co/docs/accelerate/basic_tutorials/launch
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.hosts import folded
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.cluster import Cluster, Node
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="LCH029", name="ranks-do-not-fit-nodes", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^IndexError: list index out of range",
        frame=r"elastic[\\/]agent[\\/]server[\\/]api\.py:_assign_worker_ranks$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "this node's rank is not below the number of nodes that torchrun was told",
        "With a fixed rendezvous torchrun looks its node up by `--node_rank` in a list of `--nnodes` places, counted "
        "from 0, and found none: the rank begins at 1, is the rank of a process instead of a node, or `--nnodes` is "
        "another number here than on the rest (platforms export RANK and WORLD_SIZE for nodes, or for processes).",
        "Print what the command becomes: `echo $RANK $WORLD_SIZE $SLURM_NODEID $SLURM_NNODES`. Ranks go from 0 to N-1: "
        "`torchrun --nnodes N --node_rank 0..N-1 --nproc_per_node GPUS --master_addr HOST --master_port PORT`; on PAI "
        "DLC and Kubeflow `--nnodes $WORLD_SIZE --node_rank $RANK`, under Slurm `$SLURM_NNODES` and `$SLURM_NODEID`.",
    ),
    zh=Words(
        "本节点的编号不小于 torchrun 得到的节点数",
        "固定汇合方式下,torchrun 按 `--node_rank` 在 `--nnodes` 个位置(从 0 开始)中查找本节点,却没有找到:编号从 1 开"
        "始、用了进程的 rank 而非节点的,或此处的 `--nnodes` 与其他节点不同(平台导出的 RANK、WORLD_SIZE 有的指节点,有的"
        "指进程)。",
        "打印命令实际的取值:`echo $RANK $WORLD_SIZE $SLURM_NODEID $SLURM_NNODES`。编号为 0 到 N-1:`torchrun --nnodes N "
        "--node_rank 0..N-1 --nproc_per_node GPUS --master_addr HOST --master_port PORT`;PAI DLC 与 Kubeflow 用 "
        "`--nnodes $WORLD_SIZE --node_rank $RANK`,Slurm 用 `$SLURM_NNODES` 与 `$SLURM_NODEID`。",
    ),
)

TOO_FEW = Message(
    en=Words(
        "The command asks for {wanted} machines, and {there} nodes were found",
        "The rendezvous waits for machines that are not there, and ends with a time-out.",
        "Start the missing nodes, or ask for as many machines as there are.",
    ),
    zh=Words(
        "命令要求 {wanted} 台机器,只找到 {there} 个节点",
        "汇合会一直等待不存在的机器,最后超时退出。",
        "启动缺少的节点,或按实际数量填写机器数。",
    ),
)
TOO_FEW_GPUS = Message(
    en=Words(
        "{wanted} processes are asked for, and the nodes have {there} GPUs together",
        "Each process wants a GPU of its own: the last ones end with `invalid device ordinal` or share a card.",
        "Ask for as many processes as there are GPUs, or add nodes.",
    ),
    zh=Words(
        "要求 {wanted} 个进程,而所有节点共有 {there} 块 GPU",
        "每个进程需要独占一块 GPU:多出的进程会以 `invalid device ordinal` 结束,或与其他进程共用一块卡。",
        "进程数不要超过 GPU 数,或增加节点。",
    ),
)
TWICE = Message(
    en=Words(
        "Rank {rank} was given to {count} nodes: {hosts}",
        "Their processes take the same places in the group: the second is refused, or the group never completes.",
        "Give every node a `--node_rank` (`--machine_rank`) of its own, counted from 0.",
    ),
    zh=Words(
        "编号 {rank} 分给了 {count} 个节点:{hosts}",
        "它们的进程在进程组中占同样的位置:后来者被拒绝,或进程组永远凑不齐。",
        "给每个节点各自的 `--node_rank`(`--machine_rank`),从 0 开始。",
    ),
)
NOBODY = Message(
    en=Words(
        "Nobody has rank {ranks} of {wanted} nodes",
        "The others wait for them in the rendezvous until it times out.",
        "Start the nodes that are missing, or count the ranks from 0 without gaps.",
    ),
    zh=Words(
        "{wanted} 个节点中,编号 {ranks} 没有节点占用",
        "其他节点会在汇合处等待它们,直到超时。",
        "启动缺少的节点,或让编号从 0 开始且没有空缺。",
    ),
)
ODD = Message(
    en=Words(
        "Another number of nodes was told to {hosts} than to {others} others: {told}",
        "Each waits for as many as it was told: the group never completes.",
        "Give all nodes the same `--nnodes` (`--num_machines`).",
    ),
    zh=Words(
        "{hosts} 得到的节点数与其余 {others} 个节点不同:{told_zh}",
        "每个节点按各自得到的数目等待,进程组永远凑不齐。",
        "给所有节点相同的 `--nnodes`(`--num_machines`)。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}`: {seen} nodes were told different numbers: {told}",
        "Each waits for as many as it was told: the group never completes.",
        "Give all nodes the same `--nnodes` (`--num_machines`).",
    ),
    zh=Words(
        "`{name_zh}`:{seen} 个节点得到的数目不同:{told_zh}",
        "每个节点按各自得到的数目等待,进程组永远凑不齐。",
        "给所有节点相同的 `--nnodes`(`--num_machines`)。",
    ),
)


@check(PROBLEM)
def command_fits_nodes(cluster: Cluster, launch: Launch, world: World) -> Judgement:
    """Only what the command asks for over all machines; fewer machines than nodes is a choice."""
    there = len(cluster.nodes)
    evidence = (Evidence("launch command", " ".join(launch.argv)),)
    if not launch.trains or (world.machines or 1) < 2:
        return
    if (world.machines or 1) > there:
        yield found(PROBLEM, TOO_FEW, wanted=world.machines, there=there, confidence=LIKELY, evidence=evidence)
        return
    gpus = [node.value("gpus") for node in cluster.nodes]
    if world.backend in {None, "none", "cpu", "tpu"} or world.processes is None or None in gpus:
        return
    total = sum(len(each.gpus) for each in gpus if each is not None)
    if 0 < total < world.processes:
        yield found(PROBLEM, TOO_FEW_GPUS, wanted=world.processes, there=total, evidence=evidence)


@check(PROBLEM)
def places_fit_nodes(cluster: Cluster) -> Judgement:
    """Ranks as the nodes' own variables tell them; Ray gives its ranks itself."""
    if cluster.engine == "ray":
        return
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("nodes of the run")))
    ranks: dict[int, list[str]] = {}
    for node in cluster.heard:
        rank = _rank(node)
        if rank is not None:
            ranks.setdefault(rank, []).append(node.name)
    for rank, hosts in sorted(ranks.items()):
        if len(hosts) > 1:
            yield found(
                PROBLEM, TWICE, rank=rank, count=len(hosts), hosts=folded(hosts, 3), where=Where(host=hosts[0]),
                nodes=tuple(hosts), evidence=(Evidence("environment", f"rank {rank}: {folded(hosts, 6)}"),),
            )  # fmt: skip
    yield from _gaps(cluster, set(ranks))


def _rank(node: Node) -> int | None:
    facts = node.value("node")
    return node.rank if node.rank is not None or facts is None else facts.rank


def _gaps(cluster: Cluster, ranks: set[int]) -> Iterator[Finding]:
    """Ranks that no node has, where every node tells its own; nodes that were not heard are told elsewhere."""
    numbers = [facts.nodes for node in cluster.heard if (facts := node.value("node")) is not None and facts.nodes]
    if len(numbers) < len(cluster.nodes) or len(set(numbers)) != 1 or len(ranks) < len(cluster.nodes):
        return
    missing = sorted(set(range(numbers[0])) - ranks)
    if missing:
        told = folded(map(str, missing), 4)
        yield found(PROBLEM, NOBODY, wanted=numbers[0], ranks=told, severity=WARNING, confidence=LIKELY)
