"""Judges VRL3088/samples, a row of batch-sizes-unfit; its words stand in the TOML of the table."""

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
def samples_not_divisible(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The rule of verl/utils/config.py, before 0.6.0 in verl/trainer/ppo/ray_trainer.py."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    keys = ("data.train_batch_size", ROLLOUT + "n", "trainer.n_gpus_per_node", "trainer.nnodes")
    prompts, answers, gpus = verl.number(keys[0]), verl.number(keys[1]), verl.gpus
    dynamic = verl.is_on(ACTOR + "use_dynamic_bsz")
    if not prompts or not answers or not gpus or not verl.is_fsdp or dynamic is None:
        return
    if prompts * answers % gpus == 0 or (dynamic and packages.matches("verl", ">=0.6")):
        return
    even = [size for size in range(prompts, prompts + gpus) if size * answers % gpus == 0]
    yield found(
        PROBLEM,
        MESSAGE,
        prompts=prompts,
        answers=answers,
        samples=prompts * answers,
        gpus=gpus,
        where=place_of(*place_settings(verl, *keys)),
        commands=tuple(f"data.train_batch_size={size}" for size in even[:1]),
        evidence=verl.quoted(*keys),
    )
