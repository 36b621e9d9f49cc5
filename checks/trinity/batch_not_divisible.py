"""The training batch cannot be shared evenly among the trainer's GPUs.

## What it means
`buffer.train_batch_size` (by default `batch_size` times `repeat_times`) must be a multiple of the trainer's
GPUs, those of one sequence parallel group counted once.
## What it does to a run
Trinity-RFT stops at the start: `batch_size (96) must be divisible by (7)`, in newer releases `The batch
size (96) must be divisible by the number of GPUs`.
## What to do
Change the batch, or the number of engines that the explorer takes away from the trainer.
## How it is found
The numbers of the file, where it states a cluster of one machine. With veRL 0.8 and newer the rule is gone.
## References
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.3.3/trinity/common/verl_config.py
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.5.2/trinity/trainer/verl/verl_config.py
"""

from __future__ import annotations

from doctor.checks.trinity._helpers import ROLLOUT_MODEL, Trinity, trinity_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

PROBLEM = Problem(
    id="TRI005",
    name="trinity-batch-not-divisible",
    severity=ERROR,
    since="0.1",
    affects={"trinity-rft": ">=0.3.1"},
)

MESSAGE = Message(
    en=Words(
        "The training batch of {batch} is no multiple of the trainer's {gpus} GPUs",
        "Of {total} GPUs the explorer takes {explorer}. Trinity-RFT compares the numbers at the start and "
        "ends with `must be divisible by`.",
        "Use a batch that comes out even, or other numbers of engines.",
    ),
    zh=Words(
        "训练 batch {batch} 不是 trainer 的 {gpus} 张 GPU 的倍数",
        "{total} 张 GPU 中 explorer 占用 {explorer} 张。Trinity-RFT 会在启动时比较这些数值并以 "
        "`must be divisible by` 退出。",
        "使用能整除的 batch,或调整引擎数。",
    ),
)


BATCH = "buffer.train_batch_size"
WITHOUT_ROLLOUT = {"sft", "dpo", "cpt"}
#: what the trainer's own settings say comes before the keys of the trainer
SAID_THERE, PARALLEL = "trainer.trainer_config.actor_rollout_ref.actor.", "ulysses_sequence_parallel_size"


def _batch(trinity: Trinity) -> int | None:
    """Training batch as Trinity-RFT fills it in."""
    batch = trinity.number(BATCH)
    if batch != 0:
        return batch
    if trinity.value("mode") == "train" or trinity.value("algorithm.algorithm_type") in WITHOUT_ROLLOUT:
        return None
    prompts, times = trinity.number("buffer.batch_size"), trinity.number("algorithm.repeat_times")
    return prompts * times if prompts and times else None


@check(PROBLEM, requires=("TRI004",))
def batch_not_divisible(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """The rule depends on veRL from Trinity-RFT 0.6.0 on."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    if packages.matches("trinity-rft", ">=0.6") and not packages.matches("verl", "<0.8"):
        return
    total, mode = trinity.cluster_gpus, trinity.value("mode")
    explorer = 0 if mode == "train" else trinity.explorer_gpus
    if total is None or explorer is None or mode not in {"both", "train"} or trinity.has_stages:
        return
    if trinity.number("cluster.node_num") != 1 or trinity.value("trainer.trainer_type") != "verl":
        return
    strategy = trinity.value(SAID_THERE + "strategy") or trinity.value("trainer.trainer_strategy") or "fsdp"
    if not str(strategy).startswith("fsdp"):
        return
    gpus, batch = total - explorer, _batch(trinity)
    parallel = trinity.number(SAID_THERE + PARALLEL) or trinity.number(f"trainer.{PARALLEL}") or 1
    if gpus < 1 or batch is None or gpus % parallel or batch % (gpus // parallel) == 0:
        return
    groups = gpus // parallel
    keys = (BATCH, "buffer.batch_size", "algorithm.repeat_times", ROLLOUT_MODEL + "engine_num", "cluster.gpu_per_node")
    yield found(
        PROBLEM,
        MESSAGE,
        batch=batch,
        gpus=gpus,
        total=total,
        explorer=explorer,
        where=place_of(*trinity.settings(*keys)),
        commands=(f"train_batch_size: {(batch // groups + 1) * groups}",),
        evidence=trinity.quoted(*keys),
    )
