"""vLLM's demo API server is no longer in the package.

## What it means
From 0.25.0 on `vllm.entrypoints.api_server` is not in the wheel: it became an example in vLLM's repository.
## What it does to a run
Python ends at once with `No module named vllm.entrypoints.api_server`.
## What to do
Start the OpenAI-compatible server. Its routes differ: `/v1/completions` takes the place of `/generate`.
Clients that need `/generate` get it from `doctor serve`, over the installed vLLM's engine.
## How it is found
The launch command runs the module and the installed vLLM is 0.25.0 or newer.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/issues/46783
https://docs.vllm.ai/en/latest/cli/serve/
"""

from __future__ import annotations

from doctor.checks.launch._helpers import COMMAND
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(id="VLL002", name="api-server-gone", severity=ERROR, since="0.1", affects={"vllm": ">=0.25"})

SIGNATURES = (Signature(r"No module named '?vllm\.entrypoints\.api_server\b"),)

LOG_MESSAGE = Message(
    en=Words(
        "the module `vllm.entrypoints.api_server` is not in the installed vLLM",
        "vLLM 0.25.0 took the demo API server out of the package; nothing is wrong with the installation.",
        "Start the OpenAI-compatible server instead, `vllm serve MODEL`; it has `/v1/completions` in "
        "place of `/generate`. vLLM 0.24 is the last release with the demo server.",
    ),
    zh=Words(
        "已安装的 vLLM 中没有模块 `vllm.entrypoints.api_server`",
        "vLLM 0.25.0 起,演示用 API 服务器不再随包发布;安装本身没有问题。",
        "改用 OpenAI 兼容服务器 `vllm serve MODEL`,以 `/v1/completions` 代替 `/generate`。vLLM 0.24 是最"
        "后一个带演示服务器的版本。",
    ),
)

LOG_COMMANDS = ("vllm serve MODEL",)

MESSAGE = Message(
    en=Words(
        "vLLM {version} has no module `vllm.entrypoints.api_server`",
        "The demo server left the package in 0.25.0, so Python ends with "
        "`No module named vllm.entrypoints.api_server`.",
        "Start the OpenAI-compatible server, and let clients call `/v1/completions` instead of `/generate`.",
    ),
    zh=Words(
        "vLLM {version} 中没有模块 `vllm.entrypoints.api_server`",
        "演示服务器已在 0.25.0 中移出软件包,Python 会以 `No module named vllm.entrypoints.api_server` 退出。",
        "改用 OpenAI 兼容服务器,客户端改为请求 `/v1/completions` 而不是 `/generate`。",
    ),
)


@check(PROBLEM)
def api_server_gone(launch: Launch, packages: Packages) -> Judgement:
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
