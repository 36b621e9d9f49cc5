"""A process finds no CUDA GPU, because Ray or a variable hides them.

## What it means
Ray sets CUDA_VISIBLE_DEVICES to nothing for actors and tasks that asked for no GPU.
## What it does to a run
The first CUDA call ends the process.
## What to do
Ask Ray for a GPU for that process.
## How it is found
torch's message about missing GPUs.
## References
https://docs.ray.io/en/latest/ray-core/scheduling/accelerators.html
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY011", name="ray-actor-without-gpu", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"^RuntimeError: No CUDA GPUs are available", symptom_of=("GPU001",)),)

LOG_MESSAGE = Message(
    en=Words(
        "a process that Ray started sees no GPU at all",
        "CUDA_VISIBLE_DEVICES is empty or names no GPU for this process. Ray does that for every "
        "actor or task (also a Serve replica or the driver of an engine) that asked for no GPU; the "
        "GPUs of a placement group belong to its workers only.",
        "Give the process that touches CUDA a GPU (`@ray.remote(num_gpus=1)`, a bundle of the "
        "placement group), or let the engine run in Ray workers and keep CUDA out of this process; "
        "`RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1` leaves the variable alone.",
    ),
    zh=Words(
        "Ray 启动的一个进程看不到任何 GPU",
        "该进程的 CUDA_VISIBLE_DEVICES 为空或没有指向 GPU。Ray 会对每个未申请 GPU 的 actor 或任务(包"
        "括 Serve 副本与引擎驱动进程)这样设置;placement group 的 GPU 只属于其工作进程。",
        "为使用 CUDA 的进程申请 GPU(`@ray.remote(num_gpus=1)` 或 placement group 的 bundle),或让引擎"
        "在 Ray 工作进程中运行而不在本进程触碰 CUDA;`RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1` "
        "让 Ray 不改该变量。",
    ),
)


#: processes that vLLM starts itself and labels alike
_OF_VLLM = re.compile(r"(?i)(?:EngineCore|APIServer|Worker_|VllmWorker|Worker rank)")


def explain(hits: Hits) -> Finding | None:
    """Only where the log shows Ray: else torch's own words are the answer."""
    ray = (
        "ray" in hits.versions
        or any("/ray/" in frame for hit in hits for frame in hit.frames)
        or any("pid=" in hit.process and not _OF_VLLM.match(hit.process) for hit in hits)
    )
    if not ray:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )
