"""Judges PYT3270/optimizer, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: how the value starts -> distribution, first match counts
#: https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/trainer.py
PACKAGES = (
    ("adamw_torch_4bit", "torchao"),
    ("adamw_torch_8bit", "torchao"),
    ("adamw_bnb_8bit", "bitsandbytes"),
    ("adamw_8bit", "bitsandbytes"),
    ("ademamix", "bitsandbytes"),
    ("lion_", "bitsandbytes"),
    ("paged_", "bitsandbytes"),
    ("rmsprop_bnb", "bitsandbytes"),
    ("galore_", "galore-torch"),
    ("lomo", "lomo-optim"),
    ("adalomo", "lomo-optim"),
    ("grokadamw", "grokadamw"),
    ("schedule_free_", "schedulefree"),
    ("apollo_", "apollo-torch"),
    ("stable_adamw", "torch-optimi"),
)


def _package(optim: str) -> str | None:
    """Return the distribution that an optimizer comes from, None for those of torch and Transformers."""
    return next((package for start, package in PACKAGES if optim.startswith(start)), None)


@check(PROBLEM)
def optimizer_package_missing(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit and readable value."""
    setting = training.get("optim")
    if setting is None or not setting.known or not isinstance(setting.value, str):
        return
    package = _package(setting.value)
    if package is None or (there := packages.has(package)):
        return
    if there is None:
        yield Skip(packages.why_unknown(package))
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=(f"pip install {package}", 'optim="adamw_torch"'),
        optim=setting.value,
        package=package,
    )
