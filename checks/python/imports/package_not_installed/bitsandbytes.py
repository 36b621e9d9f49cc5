"""Judges PYT3270/bitsandbytes, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.shared.wanted_quantization import quantization
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def not_installed(training: Training, packages: Packages, script: Script | None) -> Judgement:
    """Optimizers of bitsandbytes are PYT3270/optimizer's."""
    setting = quantization(training, script)
    if setting is None or (there := packages.has("bitsandbytes")):
        return
    if there is None:
        yield Skip(packages.why_unknown("bitsandbytes"))
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=("pip install bitsandbytes",),
        name=setting.name.rpartition(".")[2],
    )
