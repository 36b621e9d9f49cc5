"""Judges PYT3270/liger, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
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
OLD = TOML["old"]


@check(PROBLEM)
def liger_missing(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit switch against the packages."""
    names = ("use_liger_kernel", "use_liger_loss")
    setting = next((each for name in names if (each := training.get(name)) and truth(each.value)), None)
    if not is_grpo(training) or setting is None:
        return
    version = installed(packages, "trl")
    release = data.trl_release(version)
    minimum = release.liger_minimum if release and packages.matches("trl", "<1.15") else None
    there = packages.has("liger-kernel")
    if there is None:
        yield Skip(packages.why_unknown("liger-kernel"))
        return
    missing = not there
    old = minimum is not None and packages.matches("liger-kernel", f"<{minimum}")
    if not missing and not old:
        return
    yield found(
        PROBLEM,
        MESSAGE if missing else OLD,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=(f'pip install "liger-kernel>={minimum}"' if minimum else "pip install liger-kernel",),
        name=setting.name,
        minimum=minimum,
        liger=packages.version("liger-kernel"),
        version=version,
    )
