"""Judges server-on-trainer-gpu (LCH014), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, Where, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import GIB, effective, proofs
from doctor.catalogue.shared.trainers import vllm_mode
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpu, GpuProcess, Gpus
from doctor.facts.network import Endpoint, Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
NO_ROOM = TOML["no_room"]


SERVER_WORDS = ("vllm serve", "vllm-serve", "VLLM::", "vllm.entrypoints")


LOCAL = {"localhost", "127.0.0.1", "0.0.0.0", "::1", "::"}  # noqa: S104 - compared, never bound


def _server_on(gpu: Gpu) -> GpuProcess | None:
    for process in gpu.processes or ():
        text = f"{process.name or ''} {process.command or ''}"
        if any(word in text for word in SERVER_WORDS):
            return process
    return None


@check(PROBLEM)
def server_on_trainer_gpu(training: Training, world: World, gpus: Gpus, packages: Packages | None) -> Judgement:
    """Only where the ranks of this machine fill the visible GPUs is the overlap certain."""
    if not training.value("use_vllm") or not world.visible_gpus:
        return
    mode = effective(training, packages, "vllm_mode")
    if mode is None or mode.value != "server":
        return
    if world.order_uncertain:
        yield Skip("CUDA may number these GPUs of different models in another order")
        return
    used = world.visible_gpus[: world.local_processes or 1]
    free = [gpu.index for gpu in gpus.gpus if gpu.index not in used and _server_on(gpu) is None]
    for gpu in gpus.gpus:
        if gpu.index not in used:
            continue
        if gpu.processes is None:
            yield Skip(f"the processes on GPU {gpu.index} are not shown")
            continue
        process = _server_on(gpu)
        if process is not None:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                pid=process.pid,
                gib=f"{(process.used_bytes or 0) / GIB:.1f}",
                where=Where(gpu=gpu.index),
                commands=(f"CUDA_VISIBLE_DEVICES={','.join(map(str, free))}",) if free else (),
                evidence=(Observed.quoted("NVML", process.command or process.name or f"PID {process.pid}"),),
            )


@check(PROBLEM)
def no_gpu_left_for_server(
    training: Training, world: World, gpus: Gpus, network: Network, packages: Packages
) -> Judgement:
    """Silent where a server answers: then either it is elsewhere behind a tunnel, or NVML shows where it is."""
    trl = packages.version("trl")
    if trl is None or not packages.matches("trl", ">=0.16") or vllm_mode(training, trl) != "server":
        return
    endpoint = network.endpoint("vllm_server")
    if endpoint is None or endpoint.answers is not False or not _is_here(endpoint, network):
        return
    if world.machines != 1 or any(gpu.mig_enabled for gpu in gpus.gpus):
        return
    count = len(gpus.gpus)
    if not count or world.local_processes != count or len(world.visible_gpus or ()) != count:
        return
    fewer = (f"--num_processes {count - 1}",) if count > 1 else ()
    colocate = ('vllm_mode="colocate"',) if packages.matches("trl", ">=0.18") else ()
    yield found(
        PROBLEM,
        NO_ROOM,
        count=count,
        host=endpoint.host,
        where=place_of(training.get("vllm_mode"), training.get("use_vllm")),
        confidence=LIKELY,
        commands=fewer + colocate,
        evidence=proofs(training.get("use_vllm"), training.get("vllm_mode"), world.processes_from),
    )


def _is_here(endpoint: Endpoint, network: Network) -> bool:
    own = {address for each in network.interfaces for address in each.addresses}
    return endpoint.host in LOCAL | {network.hostname} or (bool(endpoint.addresses) and own >= set(endpoint.addresses))
