"""Judges TRF054/tf32_without_device, a row of training-settings-unfit (words: the TOML)."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.checks.transformers.training.training_settings_unfit import certainty, written
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
#: compute capability of Ampere, the first with TF32
#: (https://docs.nvidia.com/cuda/ampere-tuning-guide/index.html)
AMPERE = 8


@check(PROBLEM)
def tf32_on_cpu_build(training: Training, packages: Packages) -> Judgement:
    """A CPU build of torch sees no device that has it."""
    tf32, build = written(training, "tf32"), packages.torch_build
    if tf32 is None or not truth(tf32.value) or build is None or build.cuda or build.hip or "+cpu" not in build.version:
        return
    yield _refused(training)


@check(PROBLEM)
def tf32_before_ampere(training: Training, gpus: Gpus | None, world: World | None) -> Judgement:
    """Of the first GPU that the run sees; all of them, for which it is depends on the rank."""
    tf32 = written(training, "tf32")
    if tf32 is None or not truth(tf32.value) or gpus is None or world is None:
        return
    if world.visible_gpus is None or world.order_uncertain:
        return
    cards = [gpu for gpu in gpus.gpus if gpu.index in world.visible_gpus]
    if cards and all(map(_is_older, cards)):
        yield _refused(training)


def _is_older(gpu: Gpu) -> bool:
    if gpu.compute_capability is None:
        return False
    major, _ = gpu.compute_capability
    return major < AMPERE


def _refused(training: Training) -> Finding:
    tf32 = training.get("tf32")
    return found(
        PROBLEM, TOML["log"], where=place_of(tf32), confidence=certainty(training), evidence=quoted(tf32),
        commands=("tf32=False",),
    )  # fmt: skip
