"""Judges packages-newer-than-data (PYT016), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: packages whose releases the checks look at
JUDGED = ("trl", "vllm", "torch", "transformers", "deepspeed", "accelerate", "peft")


@check(PROBLEM)
def newer_than_data(packages: Packages) -> Judgement:
    """Development builds count only when they lie behind the newest known release."""
    newer = [
        (name, version)
        for name in JUDGED
        if (version := packages.version(name)) and data.standing(name, version) is data.VersionStanding.NEWER
    ]
    if not newer:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("pip install -U grpo-doctor",),
        evidence=tuple(
            Observed.quoted("doctor's data", f"newest known {name}: {data.newest(name)}") for name, _ in newer
        ),
        built=data.built().isoformat(),
        names=", ".join(f"{name} {version}" for name, version in newer),
    )
