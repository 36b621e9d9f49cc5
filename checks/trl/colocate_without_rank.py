"""Colocated vLLM under plain `python`, which sets no RANK.

## What it means
TRL starts the colocated vLLM with the executor `external_launcher`, which reads RANK and LOCAL_RANK from
the environment. A launcher sets them; TRL sets them itself only from 0.20.0.
## What it does to a run
vLLM raises `KeyError: 'RANK'` after the training model was loaded.
## What to do
Start with `accelerate launch` or `torchrun`, or set the variables, or install TRL 0.20 or newer.
## How it is found
The command is plain `python`, RANK or LOCAL_RANK is unset, GRPO uses vLLM in colocate mode and TRL is 0.18
or 0.19.
In a log: by the exception of vLLM's executor.
## References
https://github.com/huggingface/trl/pull/3723
https://github.com/huggingface/trl/blob/v0.19.1/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

import re
import shlex

from doctor.checks.trl._helpers import COMMAND_LINE, installed, is_grpo, is_plain_python, quoted, vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="TRL014", name="colocate-without-rank", severity=ERROR, since="0.1", affects={"trl": ">=0.18,<0.20"}
)

_READERS = r"trl/trainer/grpo_trainer\.py:|vllm/(?:v1/)?executor/"

SIGNATURES = (
    Signature(
        r"^KeyError: '(?P<variable>RANK|LOCAL_RANK)'",
        frame=_READERS,
    ),
    Signature(
        r"environment variable (?P<variable>RANK|LOCAL_RANK|MASTER_ADDR|MASTER_PORT|WORLD_SIZE)"
        r" expected, but not set",
        frame=r"vllm/(?:v1/)?executor/",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "colocated vLLM found no `{variable}` in the environment: plain `python` started the script",
        "vLLM's external launcher takes its place in the group from RANK, LOCAL_RANK, WORLD_SIZE and "
        "MASTER_ADDR. TRL 0.18 and 0.19 do not set them, a launcher does; TRL sets them itself from "
        "0.20.0.",
        "Start the script with `accelerate launch` or `torchrun --nproc-per-node 1`, also for one "
        "process, or upgrade TRL to 0.20.0 or newer.",
    ),
    zh=Words(
        "colocate 模式的 vLLM 在环境中找不到 `{variable}`:脚本由普通 `python` 启动",
        "vLLM 的 external launcher 从 RANK、LOCAL_RANK、WORLD_SIZE 和 MASTER_ADDR 得知自己的位置。TRL "
        "0.18 和 0.19 不设置它们,由启动器设置;TRL 自 0.20.0 起自行设置。",
        "即使只有一个进程,也用 `accelerate launch` 或 `torchrun --nproc-per-node 1` 启动脚本,或将 TRL 升"
        "级到 0.20.0 及以上。",
    ),
)

LOG_COMMANDS = ("accelerate launch train.py",)

MESSAGE = Message(
    en=Words(
        "colocated vLLM under plain `python`: RANK and LOCAL_RANK are not set",
        "vLLM's external launcher reads both and raises `KeyError: 'RANK'`. TRL sets them itself only from "
        "0.20.0; {version} is installed.",
        "Start the script with a launcher, also for one process.",
    ),
    zh=Words(
        "用普通 `python` 启动且 vLLM 为 colocate 模式:未设置 RANK 和 LOCAL_RANK",
        "vLLM 的 external launcher 会读取二者并抛出 `KeyError: 'RANK'`。TRL 自 0.20.0 起才自行设置;当前安装"
        "的是 {version}。",
        "即使只有一个进程,也用启动器启动脚本。",
    ),
)


@check(PROBLEM)
def colocate_without_rank(
    training: Training, launch: Launch, world: World, environment: Environment, packages: Packages
) -> Judgement:
    """Judge the command; the engine has compared the version."""
    version = installed(packages, "trl")
    if not is_grpo(training) or not is_plain_python(launch, world, environment, training):
        return
    mode = vllm_mode(training, version)
    if mode is None:
        yield Skip("whether and how GRPO uses vLLM could not be read without running the script")
    if mode != "colocate":
        return
    script = (launch.script or "train.py", *launch.script_args)
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(training.get("vllm_mode"), training.get("use_vllm")),
        evidence=(Evidence(COMMAND_LINE, " ".join(launch.argv)), *quoted(training.get("vllm_mode"))),
        commands=(f"accelerate launch --num_processes 1 {shlex.join(script)}",),
        version=version,
    )


def explain(hits: Hits) -> Finding | None:
    """Only where vLLM or TRL read the variable; a reward function may read it as well."""
    frames = [each for each in hits.first.frames if not re.search(r"frozen os>:|[\\/]os\.py:", each)]
    if hits.first.text.lstrip().startswith("KeyError") and not re.search(_READERS, frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        variable=hits.first.groups["variable"],
    )  # fmt: skip
