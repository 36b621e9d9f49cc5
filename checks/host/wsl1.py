"""Judges wsl1 (HST010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.host import Host

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def wsl1(host: Host) -> Judgement:
    """Judge the kernel alone."""
    if host.wsl == 1:
        yield found(
            PROBLEM,
            MESSAGE,
            commands=("wsl --list --verbose", "wsl --set-version Ubuntu 2"),
            evidence=(Observed.quoted("uname -r", host.kernel),),
        )
