"""The script, a configuration or a folder of the run is not the same on all nodes.

## What it means
The training script, the model's config.json or a launch configuration has other contents on some nodes, a path that
the run uses is missing there, or another file system lies under it.
## What it does to a run
Ranks run different programs or build different models: shapes that do not fit, collectives that hang. A folder that
is local on one node and shared on the others loses checkpoints, or is not found.
## What to do
Keep script, configuration and model in one shared folder, or copy them again to the nodes that differ; mount what is
missing.
## How it is found
SHA-256 of these files, existence and file system of the paths that the run uses, and network mounts of each node.
## References
https://docs.pytorch.org/docs/stable/distributed.html
https://huggingface.co/docs/transformers/main_classes/configuration
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, INFO, WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="LCH028", name="files-differ-between-nodes", severity=WARNING, since="0.1")

ODD = Message(
    en=Words(
        "{hosts} against {others} other nodes: {told}",
        "The ranks of these nodes run another program, build another model, or look into another folder: "
        "shapes that do not fit, collectives that hang, checkpoints that are not found.",
        "Keep script, configuration and model in one shared folder, or copy them again; mount what is missing.",
    ),
    zh=Words(
        "{hosts} 与其余 {others} 个节点不同:{told_zh}",
        "这些节点上的 rank 运行另一份程序、构造另一个模型,或查看另一个目录:形状对不上、集合通信挂住、检查点找不到。",
        "把脚本、配置与模型放在同一个共享目录,或重新复制一份;挂载缺少的目录。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "The ranks of these nodes run another program, build another model, or look into another folder: "
        "shapes that do not fit, collectives that hang, checkpoints that are not found.",
        "Decide which value is right and give it to all nodes; none has a majority.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "这些节点上的 rank 运行另一份程序、构造另一个模型,或查看另一个目录:形状对不上、集合通信挂住、检查点找不到。",
        "没有占多数的取值:请先确定哪个正确,再让所有节点一致。",
    ),
)


@check(PROBLEM)
def files_differ_between_nodes(cluster: Cluster) -> Judgement:
    """Another model is an error, other programs and folders are warnings, other mounts for information."""
    rows = compare(cluster, named("SHA-256 of {}"))
    if cluster.engine == "ray":  # the driver alone reads the script and its configuration
        rows = tuple(each for each in rows if each.name.endswith("/config.json"))
    models = [each for each in rows if each.name.endswith("/config.json")]
    paths = compare(cluster, named("{} exists", "file system of {}"))
    yield from told_apart(PROBLEM, ODD, SPLIT, models, severity=ERROR)
    yield from told_apart(PROBLEM, ODD, SPLIT, [*(each for each in rows if each not in models), *paths])
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("mount {}")), severity=INFO)
