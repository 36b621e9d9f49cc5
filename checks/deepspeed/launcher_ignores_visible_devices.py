"""The `deepspeed` launcher ignores the CUDA_VISIBLE_DEVICES of this command.

## What it means
CUDA_VISIBLE_DEVICES counts for `deepspeed` only when none of `--num_gpus`, `--num_nodes`, `--include` and
`--exclude` is given. Otherwise the launcher removes the variable and counts the machine's GPUs from 0.
## What it does to a run
The training takes GPUs 0, 1, ... whoever uses them. The launcher says so in one line at its start.
## What to do
Leave `--num_gpus` out, or name the GPUs by `--include localhost:2,3`.
## How it is found
The variable and the launcher's options.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/launcher/runner.py
https://www.deepspeed.ai/getting-started/#resource-configuration-single-node
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch

PROBLEM = Problem(id="DSP013", name="deepspeed-ignores-visible-devices", severity=WARNING, since="0.1")

OPTIONS = ("num_gpus", "include", "exclude")

MESSAGE = Message(
    en=Words(
        "`deepspeed --{option}` ignores `CUDA_VISIBLE_DEVICES={variable}`",
        "With this option the launcher removes the variable and counts the machine's GPUs from 0: the training runs on "
        "other GPUs than the variable names.",
        "Leave the option out, or name the GPUs by `--include`.",
    ),
    zh=Words(
        "`deepspeed --{option}` 会忽略 `CUDA_VISIBLE_DEVICES={variable}`",
        "给了该选项后,启动器会删除这个变量并从 0 开始数本机的 GPU:训练会跑在别的 GPU 上。",
        "去掉该选项,或用 `--include` 指定 GPU。",
    ),
)


def _would_differ(launch: Launch, variable: str) -> bool:
    """Whether other GPUs are taken than the variable names; `--num_gpus 2` beside "0,1" takes the same."""
    number = launch.option("num_gpus")
    named = [entry.strip() for entry in variable.split(",")]
    if number is not None and str(number.value).isdecimal():
        return named != [str(index) for index in range(int(number.value))]
    include = launch.option("include")
    return include is None or str(include.value).rpartition(":")[2] != ",".join(named)


@check(PROBLEM)
def launcher_ignores_visible_devices(launch: Launch, environment: Environment) -> Judgement:
    """A host file turns the whole matter off, since the variable is then kept."""
    variable = environment.get("CUDA_VISIBLE_DEVICES")
    option = next((each for each in (launch.option(name) for name in OPTIONS) if each is not None), None)
    if launch.kind != "deepspeed" or not variable or option is None or launch.option("hostfile"):
        return
    if _would_differ(launch, variable):
        yield found(
            PROBLEM,
            MESSAGE,
            option=option.name,
            variable=variable,
            commands=(f"deepspeed --include localhost:{variable}",),
            evidence=(proof(option), Evidence("environment", f"CUDA_VISIBLE_DEVICES={variable}")),
        )
