"""Judges PYT0301/vllm_cuda, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.engine_gpus import release_of
from doctor.catalogue.shared.trainers import imports_vllm
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def cuda_of_another_torch(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """Builds from source, builds with a suffix and commands that do without vLLM are left alone."""
    if imports_vllm(launch, training, script) is False:
        return
    release, build, installed = release_of(packages), packages.torch_build, packages.distributions.get("vllm")
    if release is None or release.cuda is None or build is None or build.cuda is None or installed is None:
        return
    version = installed.version or ""
    major, other = release.cuda.split(".")[0], build.cuda.split(".")[0]
    if installed.editable or "+" in version or major == other:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        vllm=version,
        cuda=release.cuda,
        other=build.cuda,
        major=major,
        confidence=LIKELY,
        commands=(f"pip install 'vllm=={version}' 'torch{release.torch or ''}'",),
        evidence=(Observed.quoted("torch/version.py", f"{build.version}, CUDA {build.cuda}"),),
    )
