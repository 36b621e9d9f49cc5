"""Judges PYT3270/vllm, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import installed, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def vllm_missing(training: Training, packages: Packages) -> Judgement:
    """Judge a proven absence only."""
    setting = training.get("use_vllm")
    if not is_grpo(training) or setting is None or not truth(setting.value):
        return
    if there := packages.has("vllm"):
        return
    if there is None:
        yield Skip(packages.why_unknown("vllm"))
        return
    version = installed(packages, "trl")
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=(f'pip install "trl[vllm]=={version}"',),
    )
