"""Judges verl-sequence-parallel-with-padding (VRL010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import ACTOR, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


SWITCH = "actor_rollout_ref.model.use_remove_padding"


@check(PROBLEM)
def sequence_parallel_with_padding(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The actor's size; that of the reference follows it by default."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    key = ACTOR + "ulysses_sequence_parallel_size"
    parallel = verl.number(key)
    if not parallel or parallel < 2 or verl.is_on(SWITCH) is not False or not verl.is_fsdp:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        parallel=parallel,
        where=place_of(*place_settings(verl, key, SWITCH)),
        commands=(f"{SWITCH}=True",),
        evidence=verl.quoted(key, SWITCH),
    )
