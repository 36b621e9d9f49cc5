"""Judges GPU7876/flash_attn_3, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.torch_builds import used_gpus
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.shared.wanted_attention import asked_attention, flash_version
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


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
    for gpu in used_gpus(gpus, world):
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
        elif gpu.compute_capability < HOPPER:
            capability = ".".join(map(str, gpu.compute_capability))
            yield found(
                PROBLEM,
                MESSAGE,
                where=place_of(setting),
                evidence=(
                    *quoted(setting),
                    Observed.quoted("NVML", f"compute capability of GPU {gpu.index}: {capability}"),
                ),
                commands=('attn_implementation="sdpa"',),
                attention=setting.value,
                gpu=gpu.label,
                capability=capability,
            )
            return
