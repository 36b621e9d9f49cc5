"""Colocated vLLM under plain `python` wants port 12345, which is taken.

## What it means
TRL 0.20 to 0.23 set MASTER_PORT to the fixed 12345 for a colocated vLLM when no launcher has set it. TRL
0.24 and newer look for a free port.
## What it does to a run
A second job on the host, or anything else on that port, makes the process group fail with "address already
in use".
## What to do
Set MASTER_PORT to a free port, or install TRL 0.24 or newer.
## How it is found
The command is plain `python` without MASTER_PORT, GRPO uses vLLM in colocate mode, and something listens on
port 12345.
## References
https://github.com/huggingface/trl/pull/4057
https://github.com/huggingface/trl/blob/v0.23.1/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo, is_plain_python, vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="TRL015", name="colocate-fixed-port", severity=ERROR, since="0.1", affects={"trl": ">=0.20,<0.24"})

MESSAGE = Message(
    en=Words(
        "port 12345 is taken, and TRL {version} uses it for the colocated vLLM",
        'The process group cannot be made: "address already in use". The fixed port is TRL\'s choice in this release.',
        "Give this job a port of its own in front of the command.",
    ),
    zh=Words(
        "端口 12345 已被占用,而 TRL {version} 为 colocate 模式的 vLLM 使用它",
        "进程组无法建立,报错 address already in use。固定端口是该 TRL 版本的选择。",
        "在命令前为此作业单独指定端口。",
    ),
)


PORT = 12345


@check(PROBLEM)
def colocate_fixed_port(
    training: Training, launch: Launch, world: World, environment: Environment, packages: Packages, network: Network
) -> Judgement:
    """Judge only where the port is seen to be taken."""
    version = installed(packages, "trl")
    if not is_grpo(training) or not is_plain_python(launch, world, environment, training):
        return
    own_port = environment.get("MASTER_PORT") is not None or "MASTER_PORT" in training.environment_set
    if own_port or vllm_mode(training, version) != "colocate":
        return
    listener = network.listeners.get(PORT)
    if listener is not None:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(training.get("vllm_mode"), training.get("use_vllm")),
            evidence=(Evidence("listening sockets", f"{listener.address}:{PORT} {listener.process or ''}".rstrip()),),
            commands=("export MASTER_PORT=12346",),
            version=version,
        )
