"""Judges gpu-bf16-emulated (GPU013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, Where, found
from doctor.catalogue.shared.bf16 import NATIVE_BF16, saved_in_bf16
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
ASKED = TOML["asked"]
DEFAULT = TOML["default"]


@check(PROBLEM)
def bf16_emulated(gpus: Gpus, training: Training, packages: Packages, world: World, model: Model | None) -> Judgement:
    """The first visible card without bf16 stands for all; fp16 is not advised for what was saved in bf16 (NUM001)."""
    setting = training.get("bf16")
    by_default = _is_default(training, packages)
    if not by_default and not (setting is not None and setting.known and setting.value is True):
        return
    for gpu in gpus.gpus:
        if world.visible_gpus is None or gpu.index not in world.visible_gpus:
            continue
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
            continue
        if gpu.compute_capability >= NATIVE_BF16:
            continue
        place = setting.place if setting else None
        capability = ".".join(map(str, gpu.compute_capability))
        yield found(
            PROBLEM,
            DEFAULT if by_default else ASKED,
            gpu=gpu.label,
            capability=capability,
            trl=packages.version("trl"),
            where=Where(place.file, place.line, place.column) if place else Where(gpu=gpu.index),
            commands=("fp16=False, bf16=False" if saved_in_bf16(model) else "fp16=True, bf16=False",),
            evidence=(Observed.quoted("NVML", f"compute capability of GPU {gpu.index}: {capability}"),),
        )
        return


def _is_default(training: Training, packages: Packages) -> bool:
    """TRL's own configs choose bf16 from 0.19.0 on unless fp16 is set (`bf16 = not fp16`)."""
    explicit = {name for name in ("bf16", "fp16", "use_cpu") if training.get(name) is not None}
    is_trl = training.trainer is not None and training.config_class not in (None, "TrainingArguments")
    return is_trl and training.complete and not explicit and packages.matches("trl", ">=0.19.0") is True
