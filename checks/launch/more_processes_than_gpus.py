"""More training processes than visible GPUs.

## What it means
The launcher starts one process a GPU and does not count the GPUs: `accelerate launch` takes `num_processes` from its
file, `torchrun` and `deepspeed` from their options.
## What it does to a run
With accelerate 0.33.0 and newer the surplus ranks are put on GPUs that another rank holds already and NCCL stops with
`Duplicate GPU detected`. Before, and under DeepSpeed, they stop with `CUDA error: invalid device ordinal`.
## What to do
Start as many processes as GPUs are visible, or make more GPUs visible.
## How it is found
Processes on this machine, as launcher and files ask for them, against the GPUs that CUDA_VISIBLE_DEVICES leaves.
## References
https://github.com/huggingface/accelerate/pull/2916
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="LCH005", name="more-processes-than-gpus", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"(?:CUDA|(?P<amd>HIP)) error: invalid device ordinal"),)

LOG_MESSAGE = Message(
    en=Words(
        "a process asked for a GPU that does not exist here{more}",
        "More processes were started (or a larger tensor parallel size was asked for) than this "
        "machine has visible GPUs, so a local rank selects a device number beyond the last one.",
        "Start as many processes per node as `nvidia-smi -L` and `CUDA_VISIBLE_DEVICES` show: lower "
        "`--nproc_per_node`, `--num_processes`, `--tp`/`tensor_parallel_size`, `n_gpus_per_node`, or "
        "raise the number of nodes; with several nodes use LOCAL_RANK, not RANK, as the device.",
    ),
    zh=Words(
        "进程请求了本机不存在的 GPU{more}",
        "启动的进程(或所设的张量并行大小)多于本机可见的 GPU,因此某个 local rank 选中了超出范围的设备号。",
        "每个节点的进程数应等于 `nvidia-smi -L` 与 `CUDA_VISIBLE_DEVICES` 所示的 GPU 数:降低 "
        "`--nproc_per_node`、`--num_processes`、`--tp`/`tensor_parallel_size`、`n_gpus_per_node`,或增"
        "加节点;多节点时以 LOCAL_RANK 而非 RANK 作为设备号。",
    ),
)

AMD = Message(
    en=Words(
        "a process asked for an AMD GPU that is not visible to it{more}",
        "Either more processes were started than GPUs are visible, or two lists of visibility lie on top of each "
        "other: `ROCR_VISIBLE_DEVICES` (Slurm, Ray before 2.45) takes cards away first, and `HIP_VISIBLE_DEVICES` or "
        "`CUDA_VISIBLE_DEVICES` then counts in what is left, so that number 1 of one card does not exist.",
        "Leave one list: in the job script and in every worker `unset ROCR_VISIBLE_DEVICES` and keep "
        "`HIP_VISIBLE_DEVICES` (with Ray 2.45 and newer, which hands out that one), the same as "
        "`CUDA_VISIBLE_DEVICES` where both are set. Else start as many processes per node as `rocm-smi` shows.",
    ),
    zh=Words(
        "进程请求了对它不可见的 AMD GPU{more}",
        "要么启动的进程多于可见的 GPU,要么两层可见列表叠加:`ROCR_VISIBLE_DEVICES`(Slurm、2.45 之前的 Ray)先去掉一些卡,"
        "`HIP_VISIBLE_DEVICES` 或 `CUDA_VISIBLE_DEVICES` 再在剩余的卡中编号,于是只剩一张卡时编号 1 不存在。",
        "只保留一层:在作业脚本与每个 worker 中 `unset ROCR_VISIBLE_DEVICES`,保留 `HIP_VISIBLE_DEVICES`(Ray 2.45 起由 "
        "它分配),若同时设置 `CUDA_VISIBLE_DEVICES` 则两者须相同。否则每个节点的进程数应等于 `rocm-smi` 所示的 GPU 数。",
    ),
)

#: kinds that make one process a GPU; what Ray programs do is their own matter
KINDS = {"accelerate", "torchrun", "deepspeed", "trl", "swift"}
_SAYS = {"torchrun": "--nproc_per_node {}", "deepspeed": "--num_gpus {}", "swift": "export NPROC_PER_NODE={}"}

MESSAGE = Message(
    en=Words(
        "{processes} processes are asked for on this machine, visible GPUs: {gpus}",
        "Each process needs a GPU of its own and the launcher does not check it: the run ends with "
        "`Duplicate GPU detected` from NCCL or with `invalid device ordinal` from CUDA.",
        "Start as many processes as GPUs are visible, or make {processes} visible.",
    ),
    zh=Words(
        "本机要启动 {processes} 个进程,而可见的 GPU 只有 {gpus} 张",
        "每个进程需要独占一张 GPU,而启动器不做检查:运行会以 NCCL 的 `Duplicate GPU detected` 或 CUDA 的 "
        "`invalid device ordinal` 结束。",
        "只启动 {gpus} 个进程,或让 {processes} 张 GPU 可见。",
    ),
)


@check(PROBLEM)
def more_processes_than_gpus(launch: Launch, world: World, training: Training | None) -> Judgement:
    """Compare the two numbers where both are known and the processes use GPUs."""
    if launch.kind not in KINDS or world.backend in {"cpu", "tpu"} or "srun" in launch.wrappers:
        return
    if training is not None and (training.value("use_cpu") or training.value("no_cuda")):
        return
    processes = world.local_processes
    if processes is None or processes < 2:
        return
    if world.visible_gpus is None:
        yield Skip("the GPUs of this machine cannot be seen")
        return
    gpus = len(world.visible_gpus)
    if not 0 < gpus < processes:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        processes=processes,
        gpus=gpus,
        where=place_of(world.processes_from),
        commands=(_SAYS.get(launch.kind, "--num_processes {}").format(gpus),),
        evidence=proofs(world.processes_from),
    )


def explain(hits: Hits) -> Finding:
    """With the parallel size and the GPUs where log or context tell them."""
    size = next(
        (
            hits.config[name]
            for name in ("tp", "tp_size", "tensor_parallel_size", "nproc_per_node")
            if name in hits.config
        ),
        None,
    )
    return found(
        PROBLEM,
        AMD if hits.get("amd") else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        more=f" (`{size}` per group or node were asked for)" if size else "",
    )
