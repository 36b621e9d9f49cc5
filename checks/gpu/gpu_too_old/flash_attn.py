"""Judges GPU7876/flash_attn, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.shared.torch_builds import trains_on_cpu, used_gpus
from doctor.catalogue.shared.wanted_attention import asked_attention, flash_version
from doctor.catalogue.words import words_of
from doctor.checks.gpu.gpu_too_old import first_older_than
from doctor.facts.gpus import Gpus
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem


OLDEST = (8, 0)


@check(PROBLEM)
def gpu_too_old(training: Training, gpus: Gpus, world: World | None) -> Judgement:
    """The first card that is too old stands for all."""
    setting = asked_attention(training)
    if setting is None or trains_on_cpu(training, world):
        return
    if flash_version(setting.value) != 2 and not setting.value.startswith("kernels-community/flash-attn"):
        return
    yield from first_older_than(OLDEST, TOML, setting, used_gpus(gpus, world))
