"""Judges fsdp-version-2-unsupported (FSD001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.fsdp_settings import fsdp_setting, uses_fsdp, version
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
TORCH = TOML["torch"]
ACCELERATE = TOML["accelerate"]


@check(PROBLEM)
def version_2_unsupported(launch: Launch, accelerate: AccelerateConfig | None, packages: Packages) -> Judgement:
    """Both releases are told, for either is enough."""
    if not uses_fsdp(launch, accelerate) or version(launch, accelerate) != 2:
        return
    setting = fsdp_setting(launch, accelerate, "version")
    for name, message, old in (("torch", TORCH, "<2.6"), ("accelerate", ACCELERATE, "<1.6")):
        if packages.matches(name, old):
            yield found(
                PROBLEM,
                message,
                version=packages.version(name),
                where=place_of(setting),
                commands=(f"pip install '{name}>={old[1:]}'",),
                evidence=proofs(setting),
            )
