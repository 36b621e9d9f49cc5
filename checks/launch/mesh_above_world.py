"""A device mesh asks for more ranks than the launcher started.

## What it means
A mesh arranges the ranks of a run by what they share: data, tensor, sequence, pipeline parallel. Its sizes multiply to
the number of ranks that it needs, and the launcher started fewer.
## What it does to a run
The run ends when the mesh is made, before the model is loaded.
## What to do
Start more processes, or lower a size.
## How it is found
In a log, by torch's error.
## References
https://pytorch.org/docs/stable/distributed.html#torch.distributed.device_mesh.init_device_mesh
https://github.com/pytorch/pytorch/blob/main/torch/distributed/device_mesh.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH043", name="mesh-above-world", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: Mesh should not be bigger than default world size (?P<world>\d{1,6}), but fo"
        r"und (?P<mesh>\d{1,7}) ranks",
    ),
    Signature(
        r"the new group's world size should be (?P<group>less or equal) to the world size set by init_process_group",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the parallel sizes need {mesh} ranks, and {world} were started",
        "Sizes of data, tensor, sequence and pipeline parallelism multiply. Either one of them is too large "
        "for this run, or the launcher started fewer processes than meant: `python` instead of `torchrun` or "
        "`accelerate launch` (one rank), `--nproc_per_node` or `--num_processes` of another machine, a node "
        "that is missing.",
        "Start {mesh} processes (`torchrun --nproc_per_node`, times `--nnodes`; `accelerate launch "
        "--num_processes {mesh}`), or lower a size so that the product is {world}.",
    ),
    zh=Words(
        "并行大小共需 {mesh} 个 rank,而只启动了 {world} 个",
        "数据、张量、序列与流水线并行的大小相乘。可能其中之一过大,或启动的进程比预期少:用 `python` 代"
        "替了 `torchrun` 或 `accelerate launch`(只有一个 rank),沿用了其他机器的 `--nproc_per_node` 或"
        " `--num_processes`,或缺少某个节点。",
        "启动 {mesh} 个进程(`torchrun --nproc_per_node` 乘以 `--nnodes`;`accelerate launch --num_proc"
        "esses {mesh}`),或减小某个并行大小使乘积为 {world}。",
    ),
)

GROUP = Message(
    en=Words(
        "a group of more ranks was asked for than were started",
        "A parallel size (tensor, sequence, expert, a group of an engine) is larger than the number of processes, or "
        "the launcher started fewer than meant: `python` instead of `torchrun` or `accelerate launch`, a node that is "
        "missing, `--nproc_per_node` of another machine.",
        "Compare `WORLD_SIZE` (`torchrun --nproc_per_node` times `--nnodes`) with the parallel sizes of the "
        "configuration; start more processes or lower the size.",
    ),
    zh=Words(
        "请求的组包含的 rank 多于已启动的 rank",
        "某个并行大小(张量、序列、专家,或引擎的组)大于进程数,或启动的进程比预期少:用 `python` 代替了 `torchrun` 或 "
        "`accelerate launch`,缺少节点,沿用了其他机器的 `--nproc_per_node`。",
        "将 `WORLD_SIZE`(`torchrun --nproc_per_node` 乘以 `--nnodes`)与配置中的并行大小比较;启动更多进程或减小该大小。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A mesh tells both numbers, a group none."""
    return found(
        PROBLEM, GROUP if hits.get("group") else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED, mesh=hits.get("mesh") or "", world=hits.get("world") or "",
    )  # fmt: skip
