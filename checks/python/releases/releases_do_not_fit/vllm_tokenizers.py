"""Judges PYT0301/vllm_tokenizers, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.shared.trainers import imports_vllm
from doctor.catalogue.words import words_of
from doctor.checks.python.releases.releases_do_not_fit import unless_spared
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def transformers_5_tokenizers(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """A command that does without vLLM is left alone."""
    yield from unless_spared(
        TOML, imports_vllm(launch, training, script), ("pip install 'transformers<5'",),
        vllm=packages.version("vllm"), transformers=packages.version("transformers"),
    )  # fmt: skip
