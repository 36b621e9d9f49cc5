"""Judges PYT0301/vllm_tokenizers, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
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
def transformers_5_tokenizers(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """The engine has compared both versions; a command that does without vLLM is left alone."""
    imported = imports_vllm(launch, training, script)
    if imported is False:
        return
    vllm, transformers = packages.version("vllm"), packages.version("transformers")
    yield found(
        PROBLEM,
        MESSAGE,
        vllm=vllm,
        transformers=transformers,
        confidence=CONFIRMED if imported else LIKELY,
        severity=ERROR if imported else WARNING,
        commands=("pip install 'transformers<5'",),
        evidence=(Observed.quoted("installed packages", f"vllm {vllm}, transformers {transformers}"),),
    )
