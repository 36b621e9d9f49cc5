"""Kubernetes set VLLM_PORT, and vLLM reads it as its own.

## What it means
For each service Kubernetes sets variables in every pod of the name space: a service named `vllm` gives
`VLLM_PORT=tcp://ADDRESS:PORT`. vLLM takes a variable of this name for the first port that its workers may use.
## What it does to a run
The engine ends when it looks for a free port.
## What to do
Rename the service, switch the variables off for the pod, or unset this one.
## How it is found
In a log, by the error of vLLM.
## References
https://docs.vllm.ai/en/latest/configuration/env_vars.html
https://github.com/vllm-project/vllm/issues/34199
https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL079", name="port-variable-of-kubernetes", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: VLLM_PORT '(?P<value>[^'\n]{1,120})' appears to be a URI",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "`VLLM_PORT` holds the address of a Kubernetes service: `{value}`",
        "A service named `vllm` makes Kubernetes set this variable in every pod that starts after it, and "
        "vLLM reads the same name as a port number for its workers.",
        "Start with `env -u VLLM_PORT ...`, set `enableServiceLinks: false` in the pod's specification, or "
        "give the service another name than `vllm`.",
    ),
    zh=Words(
        "`VLLM_PORT` 中是 Kubernetes 服务的地址:`{value}`",
        "名为 `vllm` 的服务会使 Kubernetes 在其后启动的每个 pod 中设置该变量,而 vLLM 把同名变量当作 w"
        "orker 的端口号读取。",
        "用 `env -u VLLM_PORT ...` 启动,在 pod 规格中设置 `enableServiceLinks: false`,或给服务取 `vllm` 以外的名称。",
    ),
)

LOG_COMMANDS = ("unset VLLM_PORT",)
