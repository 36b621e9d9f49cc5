"""Judges verl-sync-rollout-gone (VRL013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import ROLLOUT, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def sync_rollout_gone(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The engine has compared the version."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.value(ROLLOUT + "mode") != "sync":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=verl.version,
        where=place_of(*place_settings(verl, ROLLOUT + "mode")),
        commands=(f"{ROLLOUT}mode=async",),
        evidence=verl.quoted(ROLLOUT + "mode"),
    )
