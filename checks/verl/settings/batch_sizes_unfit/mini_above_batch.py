"""Judges VRL3088/mini_above_batch, a row of batch-sizes-unfit; its words stand in the TOML of the table."""

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


@check(PROBLEM)
def mini_batch_above_batch(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Not checked by veRL where batches are dynamic."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    keys = (ACTOR + "ppo_mini_batch_size", "data.train_batch_size")
    mini, batch = map(verl.number, keys)
    if not mini or not batch or mini <= batch or verl.is_on(ACTOR + "use_dynamic_bsz") is not False:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        mini=mini,
        batch=batch,
        where=place_of(*place_settings(verl, *keys)),
        commands=(f"{keys[0]}={batch}",),
        evidence=verl.quoted(*keys),
    )
