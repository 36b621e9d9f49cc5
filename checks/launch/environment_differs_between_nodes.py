"""Environment variables that a run reads differ between nodes.

## What it means
A variable that Python, CUDA, vLLM, the Hugging Face libraries or a launcher reads has another value on some nodes
than on most.
## What it does to a run
Other libraries or modules are loaded there (PYTHONPATH, LD_LIBRARY_PATH, LD_PRELOAD), another engine or kernel is
chosen (VLLM_*, TORCH_*), or files are looked for elsewhere (HF_HOME): errors on some ranks only.
## What to do
Set them in one place for all nodes: the job script, the image, or `runtime_env`.
## How it is found
Variables of interest on each node, without those that tell nodes and tasks apart and without NCCL's (NCC026).
## References
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
https://slurm.schedmd.com/sbatch.html
"""

from __future__ import annotations

from doctor.cluster.compare import Compared, compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import INFO, WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="LCH031", name="environment-differs-between-nodes", severity=WARNING, since="0.1")

_OF_NCCL = ("NCCL_", "GLOO_", "TORCH_NCCL_")
_COSTLY = (
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "VLLM_",
    "TORCH",
    "PYTORCH_",
    "TRANSFORMERS_OFFLINE",
    "HF_HUB_",
)

ODD = Message(
    en=Words(
        "{hosts} against {others} other nodes: {told}",
        "Other libraries may be loaded there, other kernels chosen, files looked for elsewhere: what goes "
        "wrong then shows on some ranks only.",
        "Set them in one place for all nodes: the job script, the image, or Ray's `runtime_env`.",
    ),
    zh=Words(
        "{hosts} 与其余 {others} 个节点不同:{told_zh}",
        "那里可能加载别的库、选择别的算子、到别处找文件:由此引起的错误只出现在部分 rank 上。",
        "在同一处为所有节点设置:作业脚本、镜像,或 Ray 的 `runtime_env`。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "Other libraries may be loaded there, other kernels chosen, files looked for elsewhere: what goes "
        "wrong then shows on some ranks only.",
        "Decide which value is right and give it to all nodes; none has a majority.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "那里可能加载别的库、选择别的算子、到别处找文件:由此引起的错误只出现在部分 rank 上。",
        "没有占多数的取值:请先确定哪个正确,再让所有节点一致。",
    ),
)


@check(PROBLEM)
def environment_differs_between_nodes(cluster: Cluster) -> Judgement:
    """Those that change what is loaded or chosen are a warning, the others for information."""
    rows = [each for each in compare(cluster, named("{}")) if each.area == "environment" and _counts(each)]
    costly = [each for each in rows if each.name.startswith(_COSTLY)]
    others = [each for each in rows if not each.name.startswith(_COSTLY)]
    yield from told_apart(PROBLEM, ODD, SPLIT, costly, confidence=LIKELY)
    yield from told_apart(PROBLEM, ODD, SPLIT, others, severity=INFO, confidence=LIKELY)


def _counts(row: Compared) -> bool:
    """NCCL's variables and the master's address are problems of their own; each node has its own size of a world."""
    return not row.name.startswith(_OF_NCCL) and row.name not in {"MASTER_PORT", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}
