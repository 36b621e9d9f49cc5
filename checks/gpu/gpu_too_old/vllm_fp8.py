"""Judges GPU7876/vllm_fp8, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Where, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.engine_gpus import capability, engine_gpus, release_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def fp8_unsupported(
    packages: Packages,
    gpus: Gpus,
    environment: Environment | None,
    serving: Serving | None,
    training: Training | None,
    world: World | None,
    model: Model | None,
) -> Judgement:
    """Judge the GPUs on which the engine will run."""
    setting = serving.arguments.get("quantization") if serving is not None else None
    saved = model is not None and model.quantization == "fp8"
    asked = saved or (serving is not None and serving.quantization == "fp8")
    release = release_of(packages)
    if not asked or release is None or release.fp8_min_compute_capability is None:
        return
    least = release.fp8_min_compute_capability
    for gpu in engine_gpus(serving, training, world, gpus, environment, packages):
        if gpu.compute_capability is not None and gpu.compute_capability < least:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                capability=capability(gpu),
                least=".".join(map(str, least)),
                version=packages.version("vllm"),
                where=place_of(setting) or Where(gpu=gpu.index),
                evidence=(
                    *proofs(setting),
                    Observed.quoted("NVML", f"{gpu.label}: compute capability {capability(gpu)}"),
                ),
            )
            return


def explain(hits: Hits) -> Finding | None:
    """VLLM tells capabilities as 75 for 7.5."""
    least, have = hits.get("least") or "", hits.get("have") or ""
    method = hits.get("method") or ""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        method="of the checkpoint" if method == "scheme" else f"`{method}`",
        least=f"{least[:-1]}.{least[-1:]}",
        have=f"{have[:-1]}.{have[-1:]}",
    )
