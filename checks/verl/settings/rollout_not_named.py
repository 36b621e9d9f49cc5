"""Judges verl-rollout-not-named (VRL014), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.verl_settings import ROLLOUT, Verl, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
#: engines by the name that veRL and their distribution have in common
ENGINES = ("vllm", "sglang")


@check(PROBLEM)
def rollout_not_named(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """A user's own file may leave it to the defaults as well."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.value(ROLLOUT + "name") != "???":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=verl.version,
        commands=tuple(f"{ROLLOUT}name={each}" for each in ENGINES if packages.version(each))[:1],
        evidence=verl.quoted(ROLLOUT + "name"),
    )
