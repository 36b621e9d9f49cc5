"""Judges stale-group (LCH017), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import whole
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


NEEDED = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@check(PROBLEM)
def stale_group(launch: Launch, environment: Environment, training: Training) -> Judgement:
    """Slurm's and MPI's launchers give the variables for good reason."""
    size = whole(environment.get("WORLD_SIZE"))
    if launch.kind != "python" or training.trainer is None or size is None or size < 2:
        return
    by_hand = launch.wrappers or {"RANK", "WORLD_SIZE"} & set(environment.from_command)
    slurm = environment.get("SLURM_PROCID") or environment.get("OMPI_COMM_WORLD_RANK") or environment.get("PMI_RANK")
    if by_hand or slurm or not all(environment.get(name) for name in NEEDED):
        return
    evidence = tuple(
        Observed.quoted("environment", f"{name}={environment.get(name)}") for name in ("WORLD_SIZE", *NEEDED)
    )
    yield found(
        PROBLEM,
        MESSAGE,
        size=size,
        others=size - 1,
        confidence=LIKELY,
        commands=("unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT",),
        evidence=evidence,
    )
