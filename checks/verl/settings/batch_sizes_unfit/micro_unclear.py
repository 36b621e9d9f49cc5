"""Judges VRL3088/micro_unclear, a row of batch-sizes-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import ACTOR, REF, ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MISSING = TOML["missing"]
TWICE = TOML["twice"]


PARTS = (
    (ACTOR, "ppo_micro_batch_size"),
    (ROLLOUT, "log_prob_micro_batch_size"),
    (REF, "log_prob_micro_batch_size"),
)


def _uses_reference(verl: Verl) -> bool:
    return bool(verl.is_on(ACTOR + "use_kl_loss") or verl.is_on("algorithm.use_kl_in_reward"))


@check(PROBLEM)
def micro_batch_unclear(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Each part on its own: the user mends them all at once."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.is_on(ACTOR + "use_dynamic_bsz") is not False or not verl.is_fsdp:
        return
    for part, short in PARTS:
        key = part + short
        one, other = verl.value(key), verl.value(key + "_per_gpu")
        if UNKNOWN in (one, other) or (part == REF and not _uses_reference(verl)):
            continue
        if (one is None) == (other is None):
            yield found(
                PROBLEM,
                MISSING if one is None else TWICE,
                part=part.rstrip("."),
                short=short,
                key=key,
                version=verl.version,
                where=place_of(*place_settings(verl, key, key + "_per_gpu")),
                commands=(f"{key}_per_gpu=4" if one is None else f"{key}=null",),
                evidence=verl.quoted(key, key + "_per_gpu"),
            )
