"""The nodes of a run have other versions of Python or of the packages that train.

## What it means
Python, torch, its CUDA or a package of the stack has another version on some nodes than on most: an image that was
not pulled, an environment that was updated in one place, another `python` on the path.
## What it does to a run
Ranks run different code in one step. What follows depends on the difference: objects that cannot be unpickled,
arguments that one side does not know, kernels with other results, collectives that do not fit together and hang.
## What to do
Install the same environment everywhere (one lock file, one image), or start from a shared folder.
## How it is found
The versions that each node reports are compared; the value of more than half of them is the usual one. Ray's own
version and Python under Ray are told as RAY003, NCCL as NCC016.
## References
https://github.com/NVIDIA/nccl/issues/354
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words
from doctor.core.problem import INFO, WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="LCH027", name="packages-differ-between-nodes", severity=WARNING, since="0.1")

#: what these problems tell themselves: RAY003
_OF_RAY = frozenset({"Python", "ray"})

ODD = Message(
    en=Words(
        "{hosts} against {others} other nodes: {told}",
        "The ranks run different code in the same step: arguments that one side does not know, objects that "
        "it cannot unpickle, kernels with other results, and in the worst case collectives that do not fit "
        "together and hang.",
        "Install the same environment on all nodes: one image, one lock file, or a shared folder.",
    ),
    zh=Words(
        "{hosts} 与其余 {others} 个节点不同:{told_zh}",
        "各 rank 在同一步里运行不同的代码:一方不认识的参数、无法反序列化的对象、结果不同的算子,最坏时集合通信对不上而挂"
        "住。",
        "让所有节点使用同一个环境:同一镜像、同一锁定文件或共享目录。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "The ranks run different code in the same step: arguments that one side does not know, objects that "
        "it cannot unpickle, kernels with other results, and in the worst case collectives that do not fit "
        "together and hang.",
        "Decide which value is right and give it to all nodes; none has a majority.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "各 rank 在同一步里运行不同的代码:一方不认识的参数、无法反序列化的对象、结果不同的算子,最坏时集合通信对不上而挂"
        "住。",
        "没有占多数的取值:请先确定哪个正确,再让所有节点一致。",
    ),
)


@check(PROBLEM)
def packages_differ_between_nodes(cluster: Cluster) -> Judgement:
    """The stack is a warning, any other package is told for information."""
    rows = compare(cluster, named("Python", "torch", "CUDA of torch", "{}", "package {}"))
    rows = tuple(each for each in rows if each.area == "software")
    if cluster.engine == "ray":
        rows = tuple(each for each in rows if each.name not in _OF_RAY)
    stack = tuple(each for each in rows if not each.name.startswith("package "))
    yield from told_apart(PROBLEM, ODD, SPLIT, stack)
    yield from told_apart(PROBLEM, ODD, SPLIT, (each for each in rows if each not in stack), severity=INFO)
