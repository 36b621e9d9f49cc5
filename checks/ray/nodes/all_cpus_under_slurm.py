"""Judges ray-takes-all-cpus-under-slurm (RAY006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


KEYS = ("ray_kwargs.ray_init.num_cpus", "ray_init.num_cpus")
COUNTS = ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE")


@check(PROBLEM)
def all_cpus_under_slurm(
    environment: Environment, verl_config: VerlConfig, packages: Packages, ray_cluster: RayCluster | None
) -> Judgement:
    """A cluster that runs already has its number of CPUs."""
    job = environment.get("SLURM_JOB_ID")
    if not job or (ray_cluster is not None and ray_cluster.address):
        return
    if any((setting := verl_config.get(key)) is not None and setting.value is not None for key in KEYS):
        return
    from doctor import data

    known = data.verl_keys(packages.version("verl") or "")
    if known is None:
        yield Skip("the keys of this veRL are not known")
        return
    key = next((each for each in KEYS if each in known), None)
    if key is None:
        return
    count = next((environment.get(each) for each in COUNTS if environment.get(each)), None)
    yield found(
        PROBLEM,
        MESSAGE,
        job=job,
        key=key,
        confidence=LIKELY,
        commands=(f"{key}={count or '$SLURM_CPUS_ON_NODE'}",),
        evidence=(Observed.quoted("environment", f"SLURM_JOB_ID={job}"),),
    )
