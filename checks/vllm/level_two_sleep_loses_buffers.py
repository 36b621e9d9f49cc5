"""Judges level-two-sleep-loses-buffers (VLL7618), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import at, whole
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

#: which level drops the weights as well
_ALL = 2


@check(PROBLEM)
def level_two_sleep_loses_buffers(script: Script, packages: Packages) -> Judgement:
    """The engine has compared the version; every call is told once."""
    for call in script.calls_of("sleep"):
        level = call.arguments.get("level")
        if level is not None and level.known and whole(level.value) == _ALL:
            yield found(
                PROBLEM,
                MESSAGE,
                where=at(call.place),
                version=packages.version("vllm"),
                evidence=(proof(level),),
                commands=('pip install "vllm>=0.8.5"',),
            )
            return
