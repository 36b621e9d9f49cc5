"""Judges VRL3088/trinity, a row of batch-sizes-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trinity_settings import ROLLOUT_MODEL, Trinity, trinity_of
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


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


@check(PROBLEM, requires=("LCH5095/trinity_roles",))
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
