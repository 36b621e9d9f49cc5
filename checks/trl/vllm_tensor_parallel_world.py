"""The tensor parallel size of colocated vLLM does not divide the processes.

## What it means
In colocate mode the training processes form the tensor parallel groups of vLLM, so their number must be a
multiple of `vllm_tensor_parallel_size`.
## What it does to a run
The trainer raises "must divide world size" after the model was loaded on every rank.
## What to do
Set `vllm_tensor_parallel_size` to a divisor of the number of processes.
## How it is found
The number of processes that the launch command makes, against the argument.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_generation.py
https://github.com/huggingface/trl/blob/v0.18.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._batch import nearest
from doctor.checks.trl._helpers import certainty, installed, is_grpo, quoted, vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="TRL016",
    name="vllm-tensor-parallel-world-size",
    severity=ERROR,
    since="0.1",
    affects={"trl": ">=0.18"},
)

SIGNATURES = (
    Signature(
        r"ValueError: (?:vllm_)?tensor_parallel_size \((?P<parallel>\d{1,5})\) must divide world size"
        r" \((?P<processes>\d{1,6})\) evenly",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`vllm_tensor_parallel_size={parallel}` does not divide the {processes} training processes",
        "A colocated vLLM engine spans that many training processes, so their number must be a multiple "
        "of it; TRL stops on every rank once the model is loaded.",
        "Set `vllm_tensor_parallel_size` to one of {sizes}, or start a number of processes that is a "
        "multiple of {parallel} (`accelerate launch --num_processes`).",
    ),
    zh=Words(
        "`vllm_tensor_parallel_size={parallel}` 不能整除 {processes} 个训练进程",
        "colocate 模式的 vLLM 引擎横跨这么多训练进程,因此进程数必须是它的倍数;模型加载后 TRL 在每个 rank 上停止。",
        "把 `vllm_tensor_parallel_size` 设为 {sizes} 之一,或启动 {parallel} 的倍数个进程(`accelerate "
        "launch --num_processes`)。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`vllm_tensor_parallel_size={parallel}` does not divide the number of processes, {processes}",
        "Each vLLM engine spans {parallel} training processes, so TRL raises a ValueError on every rank "
        "once the model is loaded.",
        "Use one of these sizes, or change the number of processes.",
    ),
    zh=Words(
        "`vllm_tensor_parallel_size={parallel}` 不能整除进程数 {processes}",
        "每个 vLLM 引擎横跨 {parallel} 个训练进程,因此模型加载后 TRL 会在每个 rank 上抛出 ValueError。",
        "采用下列任一大小,或更改进程数。",
    ),
)


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
