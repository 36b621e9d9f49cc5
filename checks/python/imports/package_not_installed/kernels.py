"""Judges PYT3270/kernels, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.shared.wanted_attention import asked_attention, is_kernel
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def kernels_missing(training: Training, packages: Packages) -> Judgement:
    """Judge a proven absence only."""
    setting = asked_attention(training)
    if setting is None or not is_kernel(setting.value) or (there := packages.has("kernels")):
        return
    if there is None:
        yield Skip(packages.why_unknown("kernels"))
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=("pip install kernels", 'attn_implementation="sdpa"'),
        attention=setting.value,
    )
