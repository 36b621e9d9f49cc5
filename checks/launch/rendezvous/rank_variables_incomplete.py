"""Judges rank-variables-incomplete (LCH013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.settings import whole
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
LEFT = TOML["left"]
WORLD = TOML["world"]


NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_LAUNCHED = frozenset({"srun", "sbatch", "mpirun", "mpiexec"})
#: what starts a process a rank itself and sets these variables for it
STARTERS = ("KUBERNETES_SERVICE_HOST", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


@check(PROBLEM)
def world_left_for_processors(
    launch: Launch, environment: Environment, training: Training, gpus: Gpus | None, packages: Packages | None
) -> Judgement:
    """Without LOCAL_RANK Accelerate takes WORLD_SIZE for a group of CPU processes, where there is no GPU (state.py)."""
    count = whole(environment.get("WORLD_SIZE")) or 1
    if launch.kind != "python" or training.trainer is None or count < 2 or environment.get("LOCAL_RANK"):
        return
    alone = (gpus is not None and not gpus.gpus) or True in (training.value("use_cpu"), training.value("no_cuda"))
    if not alone or any(map(environment.get, STARTERS)) or _LAUNCHED.intersection(launch.wrappers):
        return
    if packages is not None and packages.matches("accelerate", ">=0.20") is False:
        return
    names = [name for name in ("RANK", "WORLD_SIZE") if environment.get(name)]
    yield found(
        PROBLEM, WORLD, severity=WARNING, confidence=LIKELY, world=count, others=count - 1,
        commands=(f"unset {' '.join(names)}",),
        evidence=tuple(Observed.quoted("environment", f"{name}={environment.get(name)}") for name in names),
    )  # fmt: skip


@check(PROBLEM)
def rank_variables_incomplete(launch: Launch, environment: Environment, training: Training) -> Judgement:
    """Launchers set the variables themselves, so only plain Python with a trainer counts."""
    local_rank = environment.get("LOCAL_RANK")
    if launch.kind != "python" or training.trainer is None or local_rank in {None, "", "-1"}:
        return
    if _LAUNCHED & set(launch.wrappers):
        return
    missing = [name for name in NEEDED if not environment.get(name)]
    if missing:
        yield found(
            PROBLEM,
            MESSAGE,
            local_rank=local_rank,
            missing=", ".join(f"`{name}`" for name in missing),
            first=missing[0],
            commands=("unset LOCAL_RANK",),
            evidence=(Observed.quoted("environment", f"LOCAL_RANK={local_rank}"),),
        )
    elif (others := (whole(environment.get("WORLD_SIZE")) or 1) - 1) > 0 and not any(map(environment.get, STARTERS)):
        yield found(
            PROBLEM, LEFT, severity=WARNING, confidence=LIKELY, rank=environment.get("RANK"), others=others,
            world=others + 1, commands=("unset LOCAL_RANK RANK WORLD_SIZE MASTER_ADDR MASTER_PORT",),
            evidence=tuple(Observed.quoted("environment", f"{name}={environment.get(name)}") for name in NEEDED),
        )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """None where colocated vLLM asked for it: there the remedy is another."""
    if any("/vllm/" in frame for hit in hits for frame in hit.frames):
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), variable=hits.get("variable"))
