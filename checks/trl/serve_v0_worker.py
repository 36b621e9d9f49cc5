"""`trl vllm-serve` of TRL 0.16 needs vLLM's old engine.

## What it means
The server of TRL 0.16 gives vLLM a worker class built on the V0 engine's worker. vLLM 0.8.0 made V1 the
default, and 0.11.0 removed the V0 engine.
## What it does to a run
The server fails while vLLM starts (0.8 to 0.10) or at import (0.11 and newer), and the trainer waits for
it.
## What to do
Install versions of the two that fit together.
## How it is found
The installed versions of TRL and vLLM; the removed name was looked for in the released packages of both.
## References
https://github.com/huggingface/trl/pull/3276
https://github.com/huggingface/trl/blob/v0.16.1/trl/scripts/vllm_serve.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import COMMAND_LINE, installed
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="TRL028",
    name="vllm-serve-v0-worker",
    severity=ERROR,
    since="0.1",
    affects={"trl": ">=0.16,<0.17", "vllm": ">=0.8"},
)

MESSAGE = Message(
    en=Words(
        "`trl vllm-serve` of TRL {version} needs vLLM's V0 engine, not {vllm}'s",
        "Its worker is built on the V0 engine, which is not the default from vLLM 0.8.0 and gone from 0.11.0.",
        "Install TRL 0.17.0 or newer, or set VLLM_USE_V1=0 with a vLLM before 0.11.",
    ),
    zh=Words(
        "TRL {version} 的 `trl vllm-serve` 需要 vLLM 的 V0 引擎,与 {vllm} 不符",
        "其 worker 基于 V0 引擎,该引擎自 vLLM 0.8.0 起不再是默认,自 0.11.0 起被移除。",
        "安装 TRL 0.17.0 及以上版本,或在 0.11 之前的 vLLM 上设置 VLLM_USE_V1=0。",
    ),
)


@check(PROBLEM)
def serve_v0_worker(launch: Launch, environment: Environment, packages: Packages) -> Judgement:
    """Judge the command, unless the old engine is there and asked for."""
    if launch.kind != "trl-vllm-serve":
        return
    if environment.get("VLLM_USE_V1") == "0" and packages.matches("vllm", "<0.11"):
        return
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    yield found(
        PROBLEM,
        MESSAGE,
        evidence=(Evidence(COMMAND_LINE, " ".join(launch.argv)),),
        commands=('pip install "trl>=0.17"',),
        confidence=CONFIRMED if packages.matches("vllm", ">=0.11") else LIKELY,
        version=version,
        vllm=vllm,
    )
