"""Judges GPU7876/flash_attn_3, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.shared.torch_builds import used_gpus
from doctor.catalogue.shared.wanted_attention import asked_attention, flash_version
from doctor.catalogue.words import words_of
from doctor.checks.gpu.gpu_too_old import first_older_than
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem


HOPPER = (9, 0)


@check(PROBLEM)
def flash3_needs_hopper(training: Training, gpus: Gpus, packages: Packages, world: World | None) -> Judgement:
    """Newer Transformers leave FlashAttention-3 on older cards to the package itself."""
    setting = asked_attention(training)
    version = flash_version(setting.value) if setting is not None else None
    if setting is None or version not in {3, 4}:
        return
    if version == 3 and packages.matches("transformers", "<5.2") is not True:
        return
    yield from first_older_than(HOPPER, TOML, setting, used_gpus(gpus, world))
