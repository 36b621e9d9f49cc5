"""accelerate's `gpu_ids` replaces the CUDA_VISIBLE_DEVICES that was set for the command.

## What it means
CUDA_VISIBLE_DEVICES is set and `gpu_ids` names other GPUs. The launcher overwrites the variable with `gpu_ids`, which
counts the machine's GPUs and not those that the variable left.
## What it does to a run
The training takes other GPUs than the variable says, possibly those of another job on the machine.
## What to do
Use one of the two. `gpu_ids: all` keeps CUDA_VISIBLE_DEVICES.
## How it is found
The setting `gpu_ids` of the file or of the command line against the variable of the command.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/launch.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch

PROBLEM = Problem(id="LCH015", name="gpu-ids-replace-variable", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`gpu_ids` {ids} replaces `CUDA_VISIBLE_DEVICES={variable}`",
        "accelerate overwrites the variable before it starts the processes, so the training runs on GPUs {ids} of the "
        "machine, whoever uses them.",
        "Keep one of the two: `gpu_ids: all` keeps the variable.",
    ),
    zh=Words(
        "`gpu_ids` {ids} 会取代 `CUDA_VISIBLE_DEVICES={variable}`",
        "accelerate 在启动进程前会覆盖该变量,因此训练会用本机的 GPU {ids},不管它们正被谁使用。",
        "两者只留一个:`gpu_ids: all` 会保留该变量。",
    ),
)


@check(PROBLEM)
def gpu_ids_replace_variable(
    launch: Launch, environment: Environment, accelerate: AccelerateConfig | None
) -> Judgement:
    """Compare the two lists as written."""
    variable = environment.get("CUDA_VISIBLE_DEVICES")
    if launch.kind != "accelerate" or not variable:
        return
    setting = launch.option("gpu_ids") or (accelerate.settings.get("gpu_ids") if accelerate else None)
    if setting is None or not setting.known or setting.value in {None, "all"}:
        return
    ids = str(setting.value).replace(" ", "")
    if ids != variable.replace(" ", ""):
        evidence = (proof(setting), Evidence("environment", f"CUDA_VISIBLE_DEVICES={variable}"))
        yield found(
            PROBLEM,
            MESSAGE,
            ids=ids,
            variable=variable,
            where=place_of(setting),
            commands=(f"--gpu_ids {variable}",),
            evidence=evidence,
        )
