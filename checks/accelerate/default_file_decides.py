"""Judges accelerate-default-file-decides (ACC010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.shared.proofs import proofs, unread_config
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def default_file_decides(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """Worth knowing only where it decides the number or the kind of the processes."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    if launch.kind != "accelerate" or not accelerate.is_default or accelerate.broken or launch.option("cpu"):
        return
    kind, number = (accelerate.settings.get(name) for name in ("distributed_type", "num_processes"))
    decided = [] if launch.option("num_processes") or number is None else [number]
    flags = ("multi_gpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "tpu")
    if kind is not None and kind.value not in {"NO", False} and not any(launch.option(name) for name in flags):
        decided.insert(0, kind)
    if not decided or (len(decided) == 1 and decided[0] is number and number is not None and number.value == 1):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        file=accelerate.path.rpartition("/")[2],
        settings=", ".join(f"`{each.name}: {each.value}`" for each in decided),
        where=Where(file=accelerate.path),
        commands=("accelerate launch --config_file FILE",),
        evidence=proofs(*decided),
    )
