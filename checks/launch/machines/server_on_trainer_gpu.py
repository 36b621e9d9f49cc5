"""Judges server-on-trainer-gpu (LCH014), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from doctor.base.evidence import Observed
from doctor.base.fact import Settings
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, Where, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import GIB, effective, proofs
from doctor.catalogue.shared.trainers import vllm_mode
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpu, GpuProcess, Gpus
from doctor.facts.launch import Launch
from doctor.facts.network import Endpoint, Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
NO_ROOM = TOML["no_room"]
SAME_SCRIPT = TOML["same_script"]


SERVER_WORDS = ("vllm serve", "vllm-serve", "VLLM::", "vllm.entrypoints")


#: start a command on another machine, or with other numbers of cards
_ELSEWHERE = frozenset({"docker", "podman", "nerdctl", "srun", "ssh", "pdsh", "mpirun", "mpiexec"})
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
def one_script_starts_both(launch: Launch | None, training: Training, world: World, packages: Packages) -> Judgement:
    """A server in the background and the training behind it: by the cards that their variables leave to each."""
    servers = [each for each in (launch.beside if launch else ()) if each.certain and each.kind == "trl-vllm-serve"]
    trl = packages.version("trl")
    if (
        launch is None
        or len(servers) != 1
        or trl is None
        or vllm_mode(training, trl) != "server"
        or world.machines != 1
    ):
        return
    if _ELSEWHERE.intersection((*servers[0].wrappers, *launch.wrappers)) or world.backend in {None, "none", "cpu"}:
        return
    size = _server_size(servers[0].arguments)
    of_server = _cards(servers[0].environment, size)
    of_trainer = _cards(launch.environment, world.local_processes)
    both = sorted(set(of_server or ()) & set(of_trainer or ()))
    if both:
        yield found(
            PROBLEM, SAME_SCRIPT, confidence=LIKELY, cards=", ".join(map(str, both)), server=_shown(of_server),
            trainer=_shown(of_trainer), where=place_of(otherwise=servers[0].place),
            evidence=(_quoted(servers[0].argv, servers[0].environment), _quoted(launch.argv, launch.environment)),
        )  # fmt: skip


def _server_size(arguments: Settings) -> int | None:
    """GPUs that the server takes."""
    sizes = [arguments.get(name) for name in ("tensor_parallel_size", "data_parallel_size")]
    counts = [1 if each is None else whole(each.value) if each.known else None for each in sizes]
    return None if None in counts else math.prod(each or 1 for each in counts)


def _cards(variables: Mapping[str, str], count: int | None) -> list[int] | None:
    """Numbers of the first cards that a command may use; None where that is not written in numbers."""
    value = variables.get("CUDA_VISIBLE_DEVICES")
    if not count:
        return None
    if value is None:
        return list(range(count))
    entries = [each.strip() for each in value.split(",")]
    return [int(each) for each in entries[:count]] if all(each.isdigit() for each in entries) else None


def _shown(cards: list[int] | None) -> str:
    return ",".join(map(str, cards or ()))


def _quoted(argv: tuple[str, ...], variables: Mapping[str, str]) -> Observed:
    value = variables.get("CUDA_VISIBLE_DEVICES")
    front = "" if value is None else f"CUDA_VISIBLE_DEVICES={value} "
    return Observed.quoted("launch command", front + " ".join(argv))


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
