"""The server asks for more GPUs than it can see.

## What it means
Tensor, pipeline and data parallel sizes multiply, and each product needs a GPU of its own.
## What it does to a run
The engine ends at start-up: `World size (8) is larger than the number of available GPUs (4)`, a demand for
Ray, or `invalid device ordinal`.
## What to do
Lower a parallel size, show the server more GPUs, or start Ray and say `--distributed-executor-backend ray`.
## How it is found
The sizes of the command against the GPUs that CUDA_VISIBLE_DEVICES leaves. Engines that are spread by Ray
or `--nnodes` are left alone.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/parallel.py
https://docs.vllm.ai/en/latest/serving/parallelism_scaling/
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs, seen_by
from doctor.checks.vllm._helpers import SIZES, devices, sizes_known
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL007", name="parallel-sizes-beyond-gpus", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"please set tensor_parallel_size \((?P<size>\d{1,5})\) to less than max local gpu count"
        r" \((?P<gpus>\d{1,4})\)",
    ),
    Signature(
        r"please ensure that world_size \((?P<size>\d{1,5})\) is less than than max local gpu count"
        r" \((?P<gpus>\d{1,4})\)",
    ),
    Signature(
        r"World size \((?P<size>\d{1,5})\) is larger than the number of available GPUs \((?P<gpus>\d{1,4})\) in this"
        r" node",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM is to run on {size} GPUs and sees {gpus}",
        "The product of tensor and pipeline parallel sizes is the number of GPUs that the engine takes "
        "on this machine, and no more than {gpus} are visible to it.",
        "Set `--tensor-parallel-size` to at most {gpus}, or make more GPUs visible: look at "
        "CUDA_VISIBLE_DEVICES, at the GPUs that the container or the scheduler hands out, and at "
        "`nvidia-smi -L`. Over several machines add `--distributed-executor-backend ray`.",
    ),
    zh=Words(
        "vLLM 需要 {size} 张 GPU,却只看到 {gpus} 张",
        "张量并行与流水线并行大小的乘积就是引擎在本机占用的 GPU 数,而它最多只能看到 {gpus} 张。",
        "把 `--tensor-parallel-size` 设为不超过 {gpus};或让更多 GPU 可见:检查 CUDA_VISIBLE_DEVICES、容器"
        "或调度器分配的 GPU 以及 `nvidia-smi -L`。跨多台机器时加 `--distributed-executor-backend ray`。",
    ),
)

LOG_COMMANDS = ("--tensor-parallel-size {gpus}",)

MESSAGE = Message(
    en=Words(
        "The server needs {need} GPUs ({sizes}), and {have} are visible",
        "Each tensor parallel rank of each replica needs a GPU of its own. The engine ends at start-up, "
        "before or while its workers are made.",
        "Lower the sizes so that their product is at most {have}, or make more GPUs visible.",
    ),
    zh=Words(
        "服务器需要 {need} 张 GPU({sizes}),而可见的只有 {have} 张",
        "每个副本的每个张量并行 rank 都需要独占一张 GPU,引擎会在启动、创建 worker 时退出。",
        "降低并行数,使其乘积不超过 {have},或让更多 GPU 可见。",
    ),
)


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
    if {"srun", "mpirun", "mpiexec", "orterun", "ray job submit"} & set(launch.wrappers) or on_cpu(serving):
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
        evidence=(*proofs(*given), Evidence("visible GPUs", ", ".join(map(str, seen)))),
    )
