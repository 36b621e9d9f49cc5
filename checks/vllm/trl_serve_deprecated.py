"""`trl vllm-serve` only wraps vLLM's own server and will go.

## What it means
From TRL 1.11.0 on `trl vllm-serve` builds a `vllm serve` command, prints it and runs it; TRL 2.0 is to drop
it.
## What it does to a run
It works and warns at start-up.
## What to do
Run `vllm serve` with the options that the trainer needs; the warning itself prints the full command.
## How it is found
The launch command and the installed TRL.
## References
https://github.com/huggingface/trl/blob/v1.11.0/trl/scripts/vllm_serve.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import COMMAND
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

PROBLEM = Problem(
    id="VLL006", name="trl-vllm-serve-deprecated", severity=INFO, since="0.1", ends_run=False, affects={"trl": ">=1.11"}
)

MESSAGE = Message(
    en=Words(
        "`trl vllm-serve` of TRL {version} only runs `vllm serve`, and is deprecated",
        "It works and warns at start-up; TRL 2.0.0 is to drop it. `VLLM_SERVER_DEV_MODE=1` and the weight "
        "transfer are what it adds.",
        "Run `vllm serve` yourself with these options.",
    ),
    zh=Words(
        "TRL {version} 的 `trl vllm-serve` 只是运行 `vllm serve`,且已弃用",
        "目前仍可使用,启动时会有警告;TRL 2.0.0 将移除它。它额外加上的是 `VLLM_SERVER_DEV_MODE=1` 和权重传输。",
        "直接用这些选项运行 `vllm serve`。",
    ),
)


#: what TRL adds so that logprobs are those of the sampled distribution
EXACT = "--logprobs-mode processed_logprobs --max-logprobs -1"


@check(PROBLEM)
def trl_serve_deprecated(launch: Launch, serving: Serving, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != "trl-vllm-serve":
        return
    transfer = """--weight-transfer-config '{"backend": "nccl"}'"""
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("trl"),
        commands=(f"VLLM_SERVER_DEV_MODE=1 vllm serve {serving.model or 'MODEL'} {transfer} {EXACT}",),
        evidence=(Evidence(COMMAND, " ".join(launch.argv)),),
    )
