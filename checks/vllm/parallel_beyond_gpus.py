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
https://github.com/vllm-project/vllm/pull/28873
https://github.com/vllm-project/vllm-ascend/issues/14628
https://github.com/huggingface/trl/issues/3363
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs, seen_by
from doctor.checks.vllm._helpers import SIZES, devices, sizes_known
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
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
    Signature(
        r"local_world_size \((?P<size>\d{1,5})\) must be less than or equal to the number of visible devices"
        r" \((?P<gpus>\d{1,4})\)",
        symptom_of=("GPU", "CUD"),
    ),
    Signature(
        r"Error setting (?P<variable>\w{1,40}_VISIBLE_DEVICES): local range: \[(?P<first>\d{1,5}), (?P<end>\d{1,5})\) "
        r"base value: \"(?P<shown>[^\"\n]{0,200})\"",
        symptom_of=("GPU",),
    ),
    Signature(r"^IndexError: list index out of range", frame=r":\w{0,20}device_id_to_physical_device_id$"),
)
#: positions in `SIGNATURES`
_COUNTED, _REPLICA, _INDEX = 3, 4, 5

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

#: the engine counts no device at all, or only the one that Ray gave the worker that asked
NONE_SEEN = Message(
    en=Words(
        "vLLM is to run on {size} devices and sees none",
        "The parallel size is not the point: no GPU or NPU is visible to the process. Its driver or device files did "
        "not reach the container, a variable hides all of them, or torch is built for another kind of device.",
        "Look from the same shell and container: `nvidia-smi -L` and CUDA_VISIBLE_DEVICES for NVIDIA (`docker run "
        "--gpus all`), `npu-smi info`, `ls /dev/davinci*` and ASCEND_RT_VISIBLE_DEVICES for Ascend (`--device "
        "/dev/davinci0 ...`, `source set_env.sh` of CANN), `rocm-smi` and HIP_VISIBLE_DEVICES for AMD. Under Ray the "
        "worker must ask for GPUs.",
    ),
    zh=Words(
        "vLLM 需要 {size} 个设备,却一个也看不到",
        "问题不在并行大小:该进程看不到任何 GPU 或 NPU。驱动或设备文件没有进入容器,某个环境变量把它们全部隐藏,或 torch "
        "是为另一类设备编译的。",
        "在同一 shell 和容器中检查:NVIDIA 用 `nvidia-smi -L` 和 CUDA_VISIBLE_DEVICES(`docker run --gpus all`);昇腾用 "
        "`npu-smi info`、`ls /dev/davinci*` 和 ASCEND_RT_VISIBLE_DEVICES(`--device /dev/davinci0 ...`,并 `source` "
        "CANN 的 set_env.sh);AMD 用 `rocm-smi` 和 HIP_VISIBLE_DEVICES。在 Ray 下,worker 必须申请 GPU。",
    ),
)
WORKERS = Message(
    en=Words(
        "vLLM's engine is to run on {size} devices, and this process sees {gpus}",
        "Either the parallel size is larger than what is visible on this machine, or the engine runs in workers of "
        "Ray or of a trainer (veRL), each of which sees its own device only: vLLM 0.11.1 and 0.11.2 count them all "
        "the same, and so does a later vLLM under a trainer that was not made for it.",
        "On one machine without Ray: `--tensor-parallel-size {gpus}` or less, or more devices in CUDA_VISIBLE_DEVICES "
        "(ASCEND_RT_VISIBLE_DEVICES). Under Ray or veRL: the vLLM release that the trainer names (not 0.11.1 or "
        "0.11.2), or a newer trainer.",
    ),
    zh=Words(
        "vLLM 引擎需要 {size} 个设备,而该进程只看到 {gpus} 个",
        "要么并行大小超过了本机可见的设备数,要么引擎运行在 Ray 或训练框架(veRL)的 worker 中,每个 worker 只看到自己的设"
        "备:vLLM 0.11.1 与 0.11.2 仍会检查总数,更新的 vLLM 配上不是为它编写的训练框架时也是如此。",
        "单机且不用 Ray 时:`--tensor-parallel-size {gpus}` 或更小,或在 CUDA_VISIBLE_DEVICES(ASCEND_RT_VISIBLE_DEVICES)"
        "中给出更多设备。使用 Ray 或 veRL 时:安装训练框架所指明的 vLLM 版本(不用 0.11.1 与 0.11.2),或升级训练框架。",
    ),
)

REPLICA = Message(
    en=Words(
        "a replica of the vLLM server has no GPU left: {variable} is `{shown}`",
        "Each replica takes its own share of the visible devices; this one was to take the numbers {first} up to, not "
        "with, {end} of that list, counted from 0, and the list is shorter. Tensor times data parallel size is larger "
        "than what is visible on this machine.",
        "Lower `--data-parallel-size` (`--data_parallel_size` of `trl vllm-serve`) or `--tensor-parallel-size` until "
        "their product is the number of devices in `{variable}`, or show the server more of them. Over several "
        "machines tell each how many replicas it holds: `--data-parallel-size-local`.",
    ),
    zh=Words(
        "vLLM 服务器的某个副本已没有 GPU 可用:{variable} 为 `{shown}`",
        "每个副本占用可见设备中的一份;该副本应取列表中从 0 数起的第 {first} 个到第 {end} 个(不含),而列表没有这么长。张"
        "量并行与数据并行大小的乘积超过了本机可见的设备数。",
        "减小 `--data-parallel-size`(`trl vllm-serve` 为 `--data_parallel_size`)或 `--tensor-parallel-size`,使其乘积等"
        "于 `{variable}` 中的设备数,或让服务器看到更多设备。跨多台机器时,用 `--data-parallel-size-local` 说明每台机器"
        "的副本数。",
    ),
)
INDEX = Message(
    en=Words(
        "vLLM asked for a GPU that is not in the list of visible ones",
        "vLLM counts the entries of CUDA_VISIBLE_DEVICES (ASCEND_RT_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES), and a "
        "process took a number beyond their end: tensor times data parallel size is larger than that list, a script "
        "picks the card by its number on the machine (`cuda:7` where five are visible), or the variable was narrowed "
        "after the devices were given out.",
        "Compare the product of the parallel sizes with the entries of the variable: lower `--data-parallel-size` or "
        "`--tensor-parallel-size`, or show more devices. Count devices from 0 within the list. Set the variable before "
        "the process starts, and nowhere in the code.",
    ),
    zh=Words(
        "vLLM 请求的 GPU 不在可见设备列表中",
        "vLLM 按 CUDA_VISIBLE_DEVICES(ASCEND_RT_VISIBLE_DEVICES、HIP_VISIBLE_DEVICES)中的条目计数,而某个进程取了超出末"
        "尾的序号:张量并行与数据并行大小的乘积超过该列表;脚本按整机编号选卡(只有五张可见却用 `cuda:7`);或变量在分配设"
        "备之后又被缩小。",
        "把并行大小的乘积与该变量的条目数对照:减小 `--data-parallel-size` 或 `--tensor-parallel-size`,或让更多设备可"
        "见。设备序号从 0 起在该列表内计数。在进程启动之前设置该变量,代码中不要再改。",
    ),
)

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
