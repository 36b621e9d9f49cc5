"""Judges vllm-tensor-parallel-world-size (TRL016), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.generation_batch import nearest
from doctor.catalogue.shared.trainers import certainty, installed, is_grpo, quoted, vllm_mode
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def vllm_tensor_parallel_world(training: Training, world: World, packages: Packages) -> Judgement:
    """Judge an explicit size; the default is 1."""
    setting = training.get("vllm_tensor_parallel_size")
    if not is_grpo(training) or setting is None or vllm_mode(training, installed(packages, "trl")) != "colocate":
        return
    parallel = whole(setting.value)
    if not setting.known or parallel is None or world.processes is None:
        yield Skip("`vllm_tensor_parallel_size` or the number of processes is not known")
        return
    if parallel < 1 or world.processes % parallel == 0:
        return
    fitting = tuple(each for each in range(1, world.processes + 1) if world.processes % each == 0)
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=certainty(training),
        where=place_of(setting),
        evidence=quoted(setting, world.processes_from),
        commands=tuple(f"vllm_tensor_parallel_size={each}" for each in nearest(parallel, fitting, 2)),
        parallel=parallel,
        processes=world.processes,
    )


def explain(hits: Hits) -> Finding | None:
    """Name the sizes that divide the processes."""
    processes = int(hits.get("processes") or 0)
    sizes = [each for each in range(1, processes + 1) if processes % each == 0]
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=tuple(f"vllm_tensor_parallel_size={each}" for each in sizes[:4]),
        parallel=hits.get("parallel"),
        processes=processes,
        sizes=", ".join(map(str, sizes)),
    )
