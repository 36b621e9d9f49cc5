"""Judges pynvml-unofficial (PYT013), whose words stand in the TOML beside it."""

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
def unofficial_pynvml(packages: Packages) -> Judgement:
    """The engine has compared the version: from 12.0 on `pynvml` only depends on the official one."""
    version = packages.version("pynvml")
    official = packages.version("nvidia-ml-py")
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("pip uninstall -y pynvml", "pip install --force-reinstall nvidia-ml-py"),
        evidence=(
            Observed.quoted("installed packages", f"pynvml {version}, nvidia-ml-py {official or 'not installed'}"),
        ),
        version=version,
    )
