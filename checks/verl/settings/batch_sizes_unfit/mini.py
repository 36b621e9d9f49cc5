"""Judges VRL3088/mini, a row of batch-sizes-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import ACTOR, ROLLOUT, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def mini_batch_not_divisible(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The arithmetic of verl/workers/fsdp_workers.py, `normalize config`."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    keys = (ACTOR + "ppo_mini_batch_size", ROLLOUT + "n", ACTOR + "ppo_micro_batch_size_per_gpu")
    mini, answers, micro = map(verl.number, keys)
    gpus, parallel = verl.gpus, verl.number(ACTOR + "ulysses_sequence_parallel_size") or 1
    if not mini or not answers or not micro or not gpus or not verl.is_fsdp or gpus % parallel:
        return
    if verl.is_on(ACTOR + "use_dynamic_bsz") is not False:
        return
    groups = gpus // parallel
    share = mini * answers // groups
    if share and share % micro == 0:
        return
    fitting = max((size for size in range(1, min(share, micro) + 1) if share % size == 0), default=1)
    yield found(
        PROBLEM,
        MESSAGE,
        share=share,
        micro=micro,
        mini=mini,
        answers=answers,
        groups=groups,
        where=place_of(*place_settings(verl, keys[2], keys[0], keys[1])),
        commands=(f"{keys[2]}={fitting}",) if share else (f"{keys[0]}={groups}",),
        evidence=verl.quoted(*keys, "trainer.n_gpus_per_node", "trainer.nnodes"),
    )
