"""Judges engine-divided-for-small-model (TRL8556), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.engine_gpus import colocated_parallel
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

#: the largest size that was measured to be fastest undivided is 1.5 billion (with its embeddings 1.8), and the least
#: that gained is 7 billion: https://huggingface.co/blog/vllm-colocate
SMALL = 2_000_000_000
HALF_BYTES = 2
#: share of a card that the weights may take for one GPU to hold the model "with ease"
EASE = 0.2


@check(PROBLEM)
def engine_divided_for_small_model(
    training: Training, packages: Packages, model: Model, gpus: Gpus | None
) -> Judgement:
    """A small card may want even a small model divided."""
    setting = colocated_parallel(training, packages)
    size = whole(setting.value) if setting is not None else None
    if setting is None or size is None or size < 2 or model.parameters is None or model.parameters > SMALL:
        return
    sizes = [gpu.memory_total_bytes for gpu in (gpus.gpus if gpus is not None else ()) if gpu.memory_total_bytes]
    if not sizes or model.parameters * HALF_BYTES > EASE * min(sizes):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        size=size,
        billions=f"{model.parameters / 1e9:.1f}",
        where=place_of(setting),
        confidence=LIKELY,
        commands=("vllm_tensor_parallel_size=1",),
        evidence=(proof(setting), Observed.quoted(model.folder, f"{model.parameters} parameters")),
    )
