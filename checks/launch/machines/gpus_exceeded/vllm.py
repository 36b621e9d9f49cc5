"""Judges LCH5095/vllm, a row of gpus-exceeded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.engine_gpus import SIZES, devices, sizes_known
from doctor.catalogue.shared.proofs import proofs, seen_by
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NONE_SEEN = TOML["none_seen"]
WORKERS = TOML["workers"]
REPLICA = TOML["replica"]
INDEX = TOML["index"]
MESSAGE = TOML["main"]


#: positions in `SIGNATURES`
_COUNTED, _REPLICA, _INDEX = 3, 4, 5


SHORT = {"tensor_parallel_size": "TP", "pipeline_parallel_size": "PP", "data_parallel_size": "DP"}
#: options by which the engine reaches beyond this machine, or picks its GPUs itself
ELSEWHERE = ("nnodes", "node_rank", "device_ids", "data_parallel_backend", "headless", "enable_elastic_ep")


def on_cpu(serving: Serving) -> bool:
    """Whether the server is told to leave the GPUs alone, as releases up to 0.9.2 could be."""
    device = serving.arguments.get("device")
    return device is not None and device.value == "cpu"


@check(PROBLEM)
def parallel_beyond_gpus(
    serving: Serving, gpus: Gpus, environment: Environment, ray_cluster: RayCluster | None, launch: Launch
) -> Judgement:
    """Only an engine that stays on this machine can be counted."""
    backend = serving.arguments.get("distributed_executor_backend")
    if any(name in serving.arguments for name in ELSEWHERE) or (backend and backend.value != "mp"):
        return
    if {"srun", "sbatch", "mpirun", "mpiexec", "orterun", "ray job submit"} & set(launch.wrappers) or on_cpu(serving):
        return
    if ray_cluster is not None and (ray_cluster.raylet_running or ray_cluster.address):
        return
    if not sizes_known(serving):
        yield Skip("a parallel size of the command is not a number")
        return
    seen = seen_by(None, gpus, environment)
    need = devices(serving)
    if not seen or need <= len(seen):
        return
    given = [serving.arguments.get(name) for name in SIZES]
    sizes = " x ".join(f"{SHORT[each.name]} {each.value}" for each in given if each)
    yield found(
        PROBLEM,
        MESSAGE,
        need=need,
        have=len(seen),
        sizes=sizes,
        where=place_of(*given),
        commands=(f"--tensor-parallel-size {len(seen)}",) if serving.tensor_parallel_size == need else (),
        evidence=(*proofs(*given), Observed.quoted("visible GPUs", ", ".join(map(str, seen)))),
    )


def explain(hits: Hits) -> Finding:
    """No device at all is another matter than too few; a worker of Ray sees one device however many there are."""
    groups = next((hit.groups for hit in hits if hit.signature != _INDEX), hits.first.groups)
    kind = next((hit.signature for hit in hits if hit.signature != _INDEX), _INDEX)
    gpus = groups.get("gpus", "")
    few = NONE_SEEN if gpus == "0" else LOG_MESSAGE
    message = {_COUNTED: NONE_SEEN if gpus == "0" else WORKERS, _REPLICA: REPLICA, _INDEX: INDEX}.get(kind, few)
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if kind in (_COUNTED, _INDEX) else CONFIRMED,
        commands=(f"--tensor-parallel-size {gpus}",) if message is LOG_MESSAGE else (),
        size=groups.get("size", ""), gpus=gpus, variable=groups.get("variable", ""), shown=groups.get("shown", ""),
        first=groups.get("first", ""), end=groups.get("end", ""),
    )  # fmt: skip
