"""Judges LCH5095/verl_rollout, a row of gpus-exceeded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.verl_settings import ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


KEY = ROLLOUT + "tensor_model_parallel_size"


@check(PROBLEM)
def rollout_not_divisible(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The world size here is that of the hybrid engine, the only one of this entry."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    gpus, parallel = verl.gpus, verl.number(KEY)
    if not gpus or not parallel or verl.is_on("actor_rollout_ref.hybrid_engine") is False:
        return
    others = [verl.value(ROLLOUT + name) for name in ("data_parallel_size", "pipeline_model_parallel_size")]
    if UNKNOWN in others:
        return
    engine = parallel
    for size in others:
        engine *= whole(size) or 1
    if gpus % engine == 0:
        return
    fitting = max((size for size in range(1, parallel + 1) if gpus % (size * engine // parallel) == 0), default=1)
    yield found(
        PROBLEM,
        MESSAGE,
        gpus=gpus,
        engine=engine,
        parallel=parallel,
        where=place_of(*place_settings(verl, KEY, "trainer.n_gpus_per_node", "trainer.nnodes")),
        commands=(f"{KEY}={fitting}",),
        evidence=verl.quoted(KEY, "trainer.n_gpus_per_node", "trainer.nnodes"),
    )
