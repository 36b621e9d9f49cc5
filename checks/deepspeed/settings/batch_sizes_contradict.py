"""Judges deepspeed-batch-sizes-contradict (DSP005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import setting_of, unread
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_STEPS = TOML["log_steps"]
LOG_MESSAGE_ZERO = TOML["log_zero"]
MESSAGE = TOML["main"]

#: settings of OpenRLHF by which several processes work on one batch
_OF_GROUPS = ("ring_attn_size", "ds_tensor_parallel_size", "use_dynamic_batch")


@check(PROBLEM, requires=("DSP004",))
def batch_sizes_contradict(deepspeed: DeepspeedConfig | None, world: World, training: Training | None) -> Judgement:
    """Numbers only; sequence, tensor and pipeline parallelism change the count of processes."""
    if deepspeed is None:
        yield from unread(training)
        return
    keys = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    settings = [setting_of(deepspeed, key) for key in keys]
    values = [each.value if each and isinstance(each.value, int) else None for each in settings]
    total, micro, steps = values
    if total is None or micro is None or world.processes is None or world.backend != "deepspeed":
        return
    if settings[2] is not None and steps is None:
        return
    shifting = ("elasticity.", "sequence_parallel_size", "tensor_parallel.", "pipeline.", "expert_parallel.")
    if any(name.startswith(shifting) for name in deepspeed.settings):
        return
    whole_steps = steps if steps is not None else total // micro // world.processes if micro > 0 else 0
    product = micro * whole_steps * world.processes
    if product != total:
        yield found(
            PROBLEM,
            MESSAGE,
            total=total,
            micro=micro,
            steps=whole_steps,
            processes=world.processes,
            product=product,
            where=place_of(*settings),
            evidence=proofs(*settings),
        )


@check(PROBLEM)
def batches_of_openrlhf(framework_config: FrameworkConfig | None, launch: Launch | None, world: World) -> Judgement:
    """OpenRLHF writes its own two sizes into the configuration; the steps are what DeepSpeed derives.

    https://github.com/OpenRLHF/OpenRLHF/blob/v0.8.5/openrlhf/utils/deepspeed/deepspeed.py, `get_ds_train_config`
    """
    config, processes = framework_config, world.processes
    if config is None or config.framework != "openrlhf" or launch is None or processes is None:
        return
    if launch.kind != "deepspeed":
        return
    if any(config.settings.get(name) is not None for name in _OF_GROUPS):
        return  # ranks of one group share a batch
    settings = [config.settings.get(name) for name in ("train_batch_size", "micro_train_batch_size")]
    total, micro = (whole(each.value) if each is not None and each.known else None for each in settings)
    if not total or not micro:
        return
    steps = total // micro // processes
    if micro * steps * processes != total:
        yield found(
            PROBLEM, MESSAGE, total=total, micro=micro, steps=steps, processes=processes,
            product=micro * steps * processes, where=place_of(*settings), evidence=proofs(*settings),
        )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Name the nearest batch sizes that fit."""
    total, micro, steps, processes = (int(hits.get(name) or 0) for name in ("total", "micro", "steps", "processes"))
    unit = micro * processes
    below = total // unit * unit if unit else 0
    message = LOG_MESSAGE_ZERO if not below else LOG_MESSAGE_STEPS if below == total else LOG_MESSAGE
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        total=total,
        micro=micro,
        steps=steps,
        processes=processes,
        product=micro * steps * processes,
        unit=unit,
        below=below,
        above=below + unit,
        fitting=total // unit if unit else 0,
    )
