"""vLLM's demo API server logs an error whenever a client goes away.

## What it means
vLLM 0.9.1 and 0.9.2 read `app.state.enable_server_load_tracking` when a client disconnects, and the demo
server `vllm.entrypoints.api_server` never sets it.
## What it does to a run
A background task ends with an `AttributeError` and `Task exception was never retrieved`. Requests that
finish are not touched: it is noise that looks like a failure.
## What to do
Ignore the message, start the OpenAI-compatible server, or install vLLM 0.10.0 or newer.
## How it is found
The launch command runs the module and vLLM 0.9.1 or 0.9.2 is installed.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/issues/20842
https://github.com/vllm-project/vllm/pull/20845
"""

from __future__ import annotations

from doctor.checks.launch._helpers import COMMAND
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="VLL004",
    name="api-server-load-tracking",
    severity=INFO,
    since="0.1",
    affects={"vllm": ">=0.9.1,<0.10"},
)

SIGNATURES = (Signature(r"'State' object has no attribute 'enable_server_load_tracking'", kind="warning"),)

LOG_MESSAGE = Message(
    en=Words(
        "the demo API server of vLLM 0.9.1 and 0.9.2 logs an error whenever a client goes away",
        "The handler for clients that hang up reads a setting that this server never makes. Answers that "
        "were waited for are not affected: this is noise, and a bug of vLLM.",
        "Ignore it, or install vLLM 0.10.0 or newer, or start `vllm serve` instead of the demo server.",
    ),
    zh=Words(
        "vLLM 0.9.1 与 0.9.2 的演示 API 服务器在客户端断开时都会记录错误",
        "处理断开连接的代码读取了该服务器从未设置的属性。正常等待的请求不受影响:这只是噪声,是 vLLM 的缺陷。",
        "可以忽略;或安装 vLLM 0.10.0 及以上版本;或用 `vllm serve` 代替演示服务器。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`vllm.entrypoints.api_server` of vLLM {version} logs an error when a client disconnects",
        "The log shows `'State' object has no attribute 'enable_server_load_tracking'`. Requests that "
        "finish are not touched: this is a bug of vLLM {version}, mended in 0.10.0.",
        "Ignore these lines, or start the OpenAI-compatible server.",
    ),
    zh=Words(
        "vLLM {version} 的 `vllm.entrypoints.api_server` 在客户端断开时会记录错误",
        "日志中会出现 `'State' object has no attribute 'enable_server_load_tracking'`,但正常完成的请求不受"
        "影响:这是 vLLM {version} 的缺陷,0.10.0 已修复。",
        "忽略这些日志,或改用 OpenAI 兼容服务器。",
    ),
)


@check(PROBLEM)
def api_server_load_tracking(launch: Launch, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != "vllm-api-server":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        evidence=(Evidence(COMMAND, " ".join(launch.argv)),),
    )
