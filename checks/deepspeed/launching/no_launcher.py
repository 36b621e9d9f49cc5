"""Judges deepspeed-without-launcher (DSP012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK")


@check(PROBLEM)
def no_launcher(launch: Launch, training: Training, environment: Environment, packages: Packages | None) -> Judgement:
    """Azure ML, SageMaker and MPI set the variables or have their own ways."""
    setting = training.get("deepspeed")
    if launch.kind != "python" or setting is None or (setting.known and not setting.value):
        return
    if set(launch.wrappers) & {"srun", "mpirun", "mpiexec", "torchrun"}:
        return
    if all(environment.get(name) for name in NEEDED) or environment.get("OMPI_COMM_WORLD_RANK"):
        return
    if packages is not None and "mpi4py" in packages.distributions:
        return
    certain = packages is not None and packages.complete
    script = launch.script.rpartition("/")[2] if launch.script else "SCRIPT"
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        confidence=CONFIRMED if certain else LIKELY,
        commands=(f"accelerate launch --num_processes 1 {script}", f"torchrun --nproc_per_node 1 {script}"),
        evidence=(proof(setting),),
    )
