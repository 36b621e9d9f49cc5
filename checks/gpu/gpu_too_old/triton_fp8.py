"""Judges GPU7876/triton_fp8, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.engine_gpus import capability, engine_gpus
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
RECIPE = TOML["recipe"]
CACHE = TOML["main"]

#: fp8 is e4m3, which Triton computes from here on; FlashInfer, where it is installed, converts it from Turing on
_E4M3, _NATIVE, _FLASHINFER = frozenset({"fp8", "fp8_e4m3"}), (8, 9), (7, 5)
_CONVERTS = "flashinfer-python"


@check(PROBLEM)
def cache_in_fp8(serving: Serving, gpus: Gpus, packages: Packages, environment: Environment | None) -> Judgement:
    """The V1 engine's choice for such a cache is FlashInfer, else Triton, which has no e4m3 on these cards."""
    setting = serving.arguments.get("kv_cache_dtype")
    if setting is None or not setting.known or setting.value not in _E4M3 or not packages.matches("vllm", ">=0.10.2"):
        return
    for gpu in engine_gpus(serving, None, None, gpus, environment, packages):
        if gpu.compute_capability is None or gpu.compute_capability >= _NATIVE:
            continue
        too_old = gpu.compute_capability < _FLASHINFER
        if not too_old and packages.has(_CONVERTS):
            continue
        if not too_old and packages.has(_CONVERTS) is None:
            yield Skip(packages.why_unknown(_CONVERTS))
            return
        yield found(
            PROBLEM, CACHE, gpu=gpu.label, capability=capability(gpu), value=setting.text, where=place_of(setting),
            severity=ERROR if too_old else WARNING, confidence=LIKELY, commands=("--kv-cache-dtype auto",),
            evidence=(*proofs(setting), Observed.quoted("NVML", f"{gpu.label}: compute capability {capability(gpu)}")),
        )  # fmt: skip
        return


def explain(hits: Hits) -> Finding:
    """A kernel of Triton's, or a recipe of Transformer Engine's."""
    need = hits.get("need")
    return found(
        PROBLEM, RECIPE if need else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        types=hits.get("types"),
    )  # fmt: skip
