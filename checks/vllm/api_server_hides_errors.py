"""vLLM's demo API server hides the reason when its engine fails.

## What it means
In vLLM 0.6.2 to 0.8.4 the launcher's handler for engine errors reads `app.state.engine_client`, which the
demo server `vllm.entrypoints.api_server` never sets.
## What it does to a run
Nothing, until the engine fails: then the log ends with `'State' object has no attribute 'engine_client'`
instead of the real error, which stands further up.
## What to do
Start the OpenAI-compatible server, or install vLLM 0.9.0 or newer (0.8.5 does not start at all).
## How it is found
The launch command runs the module and the installed vLLM is in the range.
## References
https://github.com/vllm-project/vllm/issues/17395
https://github.com/vllm-project/vllm/blob/v0.8.4/vllm/entrypoints/launcher.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import COMMAND
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="VLL003",
    name="api-server-hides-errors",
    severity=INFO,
    since="0.1",
    ends_run=False,
    affects={"vllm": ">=0.6.2,<0.8.5"},
)

MESSAGE = Message(
    en=Words(
        "`vllm.entrypoints.api_server` of vLLM {version} hides the errors of its engine",
        "When the engine fails, the handler itself dies with "
        "`'State' object has no attribute 'engine_client'`, and the real error stands further up in the "
        "log. This is a bug of vLLM.",
        "Start the OpenAI-compatible server, or read the log upwards from that line.",
    ),
    zh=Words(
        "vLLM {version} 的 `vllm.entrypoints.api_server` 会掩盖引擎的错误",
        "引擎出错时,处理程序自己会因 `'State' object has no attribute 'engine_client'` 崩溃,真正的错误在日"
        "志更靠上的位置。这是 vLLM 的缺陷。",
        "改用 OpenAI 兼容服务器,或从该行向上查看日志。",
    ),
)


@check(PROBLEM)
def api_server_hides_errors(launch: Launch, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != "vllm-api-server":
        return
    model = launch.arguments.get("model")
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        commands=(f"vllm serve {model.value if model else 'MODEL'}",),
        evidence=(Evidence(COMMAND, " ".join(launch.argv)),),
    )
