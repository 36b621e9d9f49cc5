"""Judges unrelated-doctor (PYT012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def unrelated_doctor(packages: Packages) -> Judgement:
    """The engine has found the distribution; its name alone decides."""
    version = packages.version("doctor")
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("pip uninstall -y doctor grpo-doctor", "pip install grpo-doctor"),
        evidence=(
            Observed.quoted(packages.distributions["doctor"].location or "installed packages", f"doctor {version}"),
        ),
        version=version,
    )
