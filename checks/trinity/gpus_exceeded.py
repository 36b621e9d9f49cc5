"""Explorer and trainer need more GPUs than the cluster is said to have.

## What it means
The rollout engines take `engine_num` times their parallel sizes, auxiliary models as well. In mode `both`
the trainer gets what is left, which must be at least one.
## What it does to a run
`Not enough GPUs for trainer` or `Total GPU number (8) is less than the number of GPUs required for rollout`
at the start; releases before 0.4 say that the number of training GPUs must be greater than 0, or wait for
Ray for ever.
## What to do
Start fewer engines, or give the cluster its real size.
## How it is found
The numbers of the file, where it states the size of the cluster.
## References
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.6.0/trinity/common/config_validator.py
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.3.3/trinity/common/verl_config.py
"""

from __future__ import annotations

from doctor.checks.trinity._helpers import ROLLOUT_MODEL, Trinity, trinity_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

PROBLEM = Problem(id="TRI004", name="trinity-gpus-exceeded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Not enough GPUs for trainer\. Explorer requires (?P<explorer>\d{1,6}) GPUs, but total"
        r" available GPUs are (?P<total>\d{1,6})"
    ),
    Signature(
        r"Total GPU number \((?P<total>\d{1,6})\) is less than the number of GPUs required for"
        r" rollout \((?P<explorer>\d{1,6})\)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the explorer takes {explorer} of {total} GPUs and leaves too few",
        "Engines times tensor parallel size (auxiliary models as well) is what the explorer takes; "
        "in mode `both` the trainer gets only the rest.",
        "Lower `explorer.rollout_model.engine_num` or `tensor_parallel_size`, or raise "
        "`cluster.node_num` and `cluster.gpu_per_node` to what there is. For one GPU use `mode: "
        "colocate`.",
    ),
    zh=Words(
        "explorer 需要 {total} 张 GPU 中的 {explorer} 张,剩余不足",
        "explorer 占用引擎数乘以张量并行大小(含辅助模型);`both` 模式下训练器只得到剩余的 GPU。",
        "降低 `explorer.rollout_model.engine_num` 或 `tensor_parallel_size`,或把 `cluster.node_num` "
        "与 `cluster.gpu_per_node` 设为实际数量。单卡请用 `mode: colocate`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "The explorer takes {explorer} of {total} GPUs, and mode `{mode}` leaves the trainer none",
        "Engines of rollout and auxiliary models are placed first; the trainer needs at least one GPU. "
        "Trinity-RFT ends at the start.",
        "Lower `engine_num` or the parallel sizes, or correct `cluster.node_num` and `cluster.gpu_per_node`.",
    ),
    zh=Words(
        "explorer 占用 {total} 张 GPU 中的 {explorer} 张,模式 `{mode}` 下 trainer 没有 GPU 可用",
        "rollout 与辅助模型的引擎会先被放置,而 trainer 至少需要一张 GPU,Trinity-RFT 会在启动时退出。",
        "降低 `engine_num` 或并行数,或更正 `cluster.node_num` 和 `cluster.gpu_per_node`。",
    ),
)

EXPLORES = Message(
    en=Words(
        "The engines take {explorer} GPUs, and the cluster is said to have {total}",
        "Mode `{mode}` starts all of them at once: Trinity-RFT ends at the start, or waits for Ray for ever.",
        "Lower `engine_num` or the parallel sizes, or correct `cluster.node_num` and `cluster.gpu_per_node`.",
    ),
    zh=Words(
        "引擎需要 {explorer} 张 GPU,而集群声明只有 {total} 张",
        "模式 `{mode}` 会同时启动所有引擎:Trinity-RFT 会在启动时退出,或一直等待 Ray。",
        "降低 `engine_num` 或并行数,或更正 `cluster.node_num` 和 `cluster.gpu_per_node`。",
    ),
)


@check(PROBLEM)
def gpus_exceeded(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Only a cluster whose size is written can be compared; Ray is asked for the rest."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    total, explorer, mode = trinity.cluster_gpus, trinity.explorer_gpus, trinity.value("mode")
    if total is None or explorer is None or trinity.has_stages or trinity.value("model.tinker.enable"):
        return
    if mode == "both" and explorer >= total:
        message = MESSAGE
    elif mode in {"explore", "bench", "serve"} and explorer > total:
        message = EXPLORES
    else:
        return
    keys = (ROLLOUT_MODEL + "engine_num", ROLLOUT_MODEL + "tensor_parallel_size", "cluster.gpu_per_node")
    yield found(
        PROBLEM,
        message,
        explorer=explorer,
        total=total,
        mode=mode,
        where=place_of(*trinity.settings(*keys)),
        evidence=trinity.quoted(*keys, "cluster.node_num"),
    )
