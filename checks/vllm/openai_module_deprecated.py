"""The server is started by a module that vLLM has deprecated.

## What it means
From 0.29.0 on `python -m vllm.entrypoints.openai.api_server` warns that it is deprecated and may be
removed.
## What it does to a run
It works. A later vLLM will end with `No module named`, as the demo server did.
## What to do
Write `vllm serve MODEL` with the same options.
## How it is found
The launch command runs the module and the installed vLLM is 0.29.0 or newer.
## References
https://github.com/vllm-project/vllm/blob/v0.29.0/vllm/entrypoints/openai/api_server.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import COMMAND
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="VLL005", name="openai-module-deprecated", severity=INFO, since="0.1", ends_run=False, affects={"vllm": ">=0.29"}
)

MESSAGE = Message(
    en=Words(
        "`python -m vllm.entrypoints.openai.api_server` is deprecated in vLLM {version}",
        "It still works and warns at start-up; a later release may not have it.",
        "Use `vllm serve`, which takes the same options.",
    ),
    zh=Words(
        "`python -m vllm.entrypoints.openai.api_server` 在 vLLM {version} 中已弃用",
        "目前仍可使用,启动时会有警告;之后的版本可能会移除它。",
        "改用 `vllm serve`,选项相同。",
    ),
)


@check(PROBLEM)
def openai_module_deprecated(launch: Launch, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != "vllm-openai-server":
        return
    model = launch.arguments.get("model")
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        commands=(f"vllm serve {model.value if model else 'MODEL'}",),
        evidence=(Evidence(COMMAND, " ".join(launch.argv)),),
    )
