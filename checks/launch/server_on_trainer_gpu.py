"""A vLLM server holds memory of a GPU that the trainer will use, or the ranks leave no GPU for it.

## What it means
The training talks to a vLLM server, and that server runs on this machine on one of the GPUs that the trainer sees; or
it is still to be started here, and the ranks of the training take every GPU of the machine.
## What it does to a run
TRL sends weights over NCCL, which cannot have the same GPU twice in a group: TRL's own server stops with `Attempting to
use the same CUDA device`, NCCL with `Duplicate GPU detected`. A rank on the other shared GPUs finds most memory taken.
## What to do
Give the server and the trainer different GPUs by CUDA_VISIBLE_DEVICES, and start fewer ranks than there are GPUs.
## How it is found
Processes that NVML lists on the visible GPUs, by their command line, and `vllm_mode` of the training. Where no server
answers yet: its address is this machine's, and there are as many local ranks as GPUs. A tunnel to another machine or a
server in another container looks the same, so that is likely and not proven.
## References
https://huggingface.co/docs/trl/vllm_integration
https://github.com/huggingface/trl/blob/v0.24.0/trl/scripts/vllm_serve.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import GIB, effective, proofs
from doctor.checks.trl._helpers import vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.gpus import Gpu, GpuProcess, Gpus
from doctor.facts.network import Endpoint, Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="LCH014", name="server-on-trainer-gpu", severity=ERROR, since="0.1")

SERVER_WORDS = ("vllm serve", "vllm-serve", "VLLM::", "vllm.entrypoints")

MESSAGE = Message(
    en=Words(
        "{gpu} is visible to the trainer and held by a vLLM server (PID {pid}, {gib} GiB)",
        "Weights go from trainer to server over NCCL, and NCCL cannot have one GPU twice in a group: the first weight "
        "update ends with `Duplicate GPU detected` or TRL's own `same CUDA device` error, or a rank runs out "
        "of memory.",
        "Give server and trainer different GPUs.",
    ),
    zh=Words(
        "{gpu} 对训练端可见,同时被 vLLM 服务器占用(PID {pid},{gib} GiB)",
        "训练端通过 NCCL 把权重发给服务器,而 NCCL 的一个组里同一张 GPU 不能出现两次:第一次更新权重时会以 "
        "`Duplicate GPU detected` 或 TRL 自己的 `same CUDA device` 错误退出,或者某个 rank 显存不足。",
        "让服务器和训练端使用不同的 GPU。",
    ),
)

NO_ROOM = Message(
    en=Words(
        "The training takes every GPU of this machine ({count}), and its vLLM server needs one",
        "Server mode wants a vLLM server at {host}, which is this machine. On a GPU that a rank uses, the first weight "
        "update ends with `Duplicate GPU detected` or TRL's own `same CUDA device` error, for NCCL cannot have one GPU "
        "twice in a group.",
        "Start fewer ranks and give the server the GPUs that they leave, or let vLLM share the GPUs of the training "
        'with `vllm_mode="colocate"` (TRL 0.18 and newer).',
    ),
    zh=Words(
        "训练占满了本机全部 GPU({count} 张),而它的 vLLM 服务器还需要一张",
        "server 模式需要 {host}(即本机)上的 vLLM 服务器。如果它与某个 rank 共用 GPU,第一次更新权重时会以 "
        "`Duplicate GPU detected` 或 TRL 自己的 `same CUDA device` 错误退出,因为 NCCL 的一个组里同一张 GPU "
        "不能出现两次。",
        '减少 rank 数,把空出的 GPU 留给服务器;或用 `vllm_mode="colocate"`(TRL 0.18 及以上)让 vLLM 与训练共用 GPU。',
    ),
)

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
                evidence=(Evidence("NVML", process.command or process.name or f"PID {process.pid}"),),
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
