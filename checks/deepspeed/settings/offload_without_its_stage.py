"""Judges deepspeed-offload-without-its-stage (DSP011), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import of_yaml, setting_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
PARAMETERS = TOML["parameters"]
OPTIMIZER = TOML["optimizer"]


@check(PROBLEM)
def offload_without_its_stage(
    world: World, deepspeed: DeepspeedConfig | None, accelerate: AccelerateConfig | None
) -> Judgement:
    """The stage as the world resolved it; the place from whichever file says it."""
    if world.backend != "deepspeed" or world.zero_stage is None:
        return
    wanted = (
        ("offload_param", world.offload_param, 3, PARAMETERS, WARNING),
        ("offload_optimizer", world.offload_optimizer, 1, OPTIMIZER, ERROR),
    )
    for what, device, needed, message, severity in wanted:
        if device not in {"cpu", "nvme"} or world.zero_stage >= needed:
            continue
        setting = setting_of(deepspeed, f"zero_optimization.{what}.device") or of_yaml(accelerate, f"{what}_device")
        yield found(
            PROBLEM,
            message,
            device=device,
            stage=world.zero_stage,
            where=place_of(setting),
            severity=severity,
            confidence=CONFIRMED if needed == 3 else LIKELY,
            evidence=proofs(setting),
        )
