"""Judges gpu-ids-replace-variable (LCH015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def gpu_ids_replace_variable(
    launch: Launch, environment: Environment, accelerate: AccelerateConfig | None
) -> Judgement:
    """Compare the two lists as written."""
    variable = environment.get("CUDA_VISIBLE_DEVICES")
    if launch.kind != "accelerate" or not variable:
        return
    setting = launch.option("gpu_ids") or (accelerate.settings.get("gpu_ids") if accelerate else None)
    if setting is None or not setting.known or setting.value in {None, "all"}:
        return
    ids = str(setting.value).replace(" ", "")
    if ids != variable.replace(" ", ""):
        evidence = (proof(setting), Observed.quoted("environment", f"CUDA_VISIBLE_DEVICES={variable}"))
        yield found(
            PROBLEM,
            MESSAGE,
            ids=ids,
            variable=variable,
            where=place_of(setting),
            commands=(f"--gpu_ids {variable}",),
            evidence=evidence,
        )
