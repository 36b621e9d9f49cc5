"""Less memory is free on the GPU than vLLM wants to take.

## What it means
vLLM takes `gpu_memory_utilization` of the whole card, 0.9 by default, and from 0.9.2 on looks before it
starts whether so much is free.
## What it does to a run
`ValueError: Free memory on device (30.1/79.1 GiB) on startup is less than desired GPU memory utilization
(0.9, 71.2 GiB)`.
## What to do
Lower the share so that it fits into what is free, or end what holds the memory.
## How it is found
Free and total memory by NVML, now, of the GPUs that the server will take.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.9.2/vllm/v1/worker/gpu_worker.py
https://github.com/vllm-project/vllm/issues/20305
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.checks.memory._helpers import gib
from doctor.checks.vllm._helpers import served_gpus
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL027", name="free-memory-below-share", severity=ERROR, since="0.1", affects={"vllm": ">=0.9.2"})

SIGNATURES = (
    Signature(
        r"Free memory on device (?:\S{1,20} )?\((?P<free>[\d.]{1,9})/(?P<total>[\d.]{1,9}) GiB\) on"
        r" startup is less than desired GPU memory utilization \((?P<share>[\d.]{1,8}),"
        r" (?P<want>[\d.]{1,9}) GiB\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "only {free} of {total} GiB were free when vLLM started, and its share {share} is {want} GiB",
        "Another process already holds {held} GiB of that GPU: a run that was not ended, a second "
        "server, or the training itself. vLLM takes its share of the whole card and looks before it "
        "loads anything.",
        "See who holds it with `nvidia-smi` and end what is not needed, take a free GPU with "
        "CUDA_VISIBLE_DEVICES, or lower `--gpu-memory-utilization` to {fits} or less "
        "(`vllm_gpu_memory_utilization` in TRL).",
    ),
    zh=Words(
        "vLLM 启动时 {total} GiB 中只有 {free} GiB 空闲,而它的比例 {share} 需要 {want} GiB",
        "该 GPU 上已有其他进程占用 {held} GiB:没有结束的运行、另一个服务器,或训练本身。vLLM 按整张显卡的"
        "比例占用显存,并在加载前检查。",
        "用 `nvidia-smi` 查看占用者并结束不需要的进程,用 CUDA_VISIBLE_DEVICES 选空闲的 GPU,或把 "
        "`--gpu-memory-utilization` 降到 {fits} 以下(TRL 中为 `vllm_gpu_memory_utilization`)。",
    ),
)

LOG_MESSAGE_SHARE = Message(
    en=Words(
        "the share {share} of the GPU is {want} GiB, and {free} of {total} GiB are free",
        "Hardly anything else is on the GPU: the driver and the desktop take what is missing already.",
        "Lower `--gpu-memory-utilization` to {fits} or less (`vllm_gpu_memory_utilization` in TRL).",
    ),
    zh=Words(
        "GPU 的比例 {share} 为 {want} GiB,而 {total} GiB 中有 {free} GiB 空闲",
        "GPU 上几乎没有其他占用:缺少的部分被驱动和桌面占用。",
        "把 `--gpu-memory-utilization` 降到 {fits} 以下(TRL 中为 `vllm_gpu_memory_utilization`)。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{gpu} has {free} GiB free, and the server wants {want} GiB (share {share})",
        "vLLM compares the two before it loads anything and ends with "
        "`Free memory on device ... is less than desired GPU memory utilization`.",
        "End what holds the memory, or ask for a share of at most {fitting}.",
    ),
    zh=Words(
        "{gpu} 有 {free} GiB 空闲,而服务器需要 {want} GiB(比例 {share})",
        "vLLM 在加载之前会比较两者,并以 `Free memory on device ... is less than desired GPU memory utilization` 退出。",
        "结束占用显存的进程,或把比例降到 {fitting} 以下。",
    ),
)


#: least default share of the releases in the range
DEFAULT_SHARE = 0.9
#: NVML counts some hundred MiB of the driver's that CUDA leaves out of both numbers
SLACK = 0.03


@check(PROBLEM)
def free_memory_below_share(
    serving: Serving, gpus: Gpus, environment: Environment | None, packages: Packages
) -> Judgement:
    """What is taken now may be free when the server starts, so this is likely at most."""
    setting = serving.arguments.get("gpu_memory_utilization")
    if (setting is not None and serving.gpu_memory_utilization is None) or packages.version("vllm") is None:
        return
    share = serving.gpu_memory_utilization or DEFAULT_SHARE
    for gpu in served_gpus(serving, gpus, environment):
        total, free = gpu.memory_total_bytes, gpu.memory_free_bytes
        if total is None or free is None or gpu.mig_enabled or not 0 < share <= 1:
            continue
        if free < total * (share - SLACK):
            fitting = max(int((free / total - SLACK) * 20) / 20, 0.0)
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                free=gib(free),
                want=gib(total * share),
                share=share,
                fitting=fitting,
                confidence=LIKELY,
                where=place_of(setting) or Where(gpu=gpu.index),
                commands=(f"--gpu-memory-utilization {fitting:g}",) if fitting else (),
                evidence=(*proofs(setting), Evidence("NVML", f"{gib(free)} of {gib(total)} GiB are free")),
            )


def explain(hits: Hits) -> Finding | None:
    """Say what is taken already and which share would fit."""
    share, want = float(hits.get("share") or 0), float(hits.get("want") or 0)
    free, total = float(hits.get("free") or 0), float(hits.get("total") or 0)
    fits = int(free / total * 100 - 2) / 100 if total else 0.0
    alone = free >= 0.9 * total  # hardly anything is taken: the share is just too large
    return found(
        PROBLEM,
        LOG_MESSAGE_SHARE if alone else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("nvidia-smi", f"--gpu-memory-utilization {fits:g}") if fits >= 0.05 else ("nvidia-smi",),
        free=f"{free:g}",
        total=f"{total:g}",
        share=f"{share:g}",
        want=f"{want:g}",
        held=f"{total - free:.1f}",
        fits=f"{max(fits, 0):g}",
    )
