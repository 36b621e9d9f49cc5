"""Trainer and vLLM server do not meet in the group that carries the weights.

## What it means
In server mode the trainer opens, besides HTTP, a group of its own with the server's workers on a second port (TRL
and ms-swift: 51216 unless told otherwise). HTTP works, and the second meeting does not: the port is closed between the
machines, the server still holds the group of an earlier trainer, its workers died, or both sides run different
releases.
## What it does to a run
The trainer waits for minutes in `init_communicator` and then raises.
## What to do
Restart the server, open the port, install the same releases on both sides.
## How it is found
In a log: by the time-out of a socket with the client's `init_communicator` in the traceback.
## References
https://huggingface.co/docs/trl/vllm_integration
https://github.com/modelscope/ms-swift/issues/9416
https://github.com/huggingface/trl/blob/v0.24.0/trl/extras/vllm_client.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL055", name="weight-group-not-joined", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:DistNetworkError|DistStoreError|RuntimeError|TimeoutError): (?:The client socket has (?:timed out|failed)|"
        r"Timed out after)[^\n]{0,120}(?:\((?P<host>[^,\n]{1,120}), (?P<port>\d{1,5})\)|clients joined)",
        frame=r"vllm_client\.py:|:init_communicator$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the trainer did not meet the vLLM server's workers in the group for weights{at}",
        "The server answers over HTTP, but weights go through a second connection. Its port is closed, an earlier "
        "trainer's group is still open in the server, the server's workers have died, or the two run different "
        "releases.",
        "Look into the server's log first. Stop and start the server before each training run; give the address "
        "that the trainer's machine can reach (`--vllm_server_host`), open the group's port in the firewall or "
        "choose another (TRL: `vllm_group_port`, ms-swift: `--vllm_server_group_port`); install the same TRL or "
        'ms-swift and the same vLLM on both sides; for one machine `vllm_mode="colocate"` needs no server.',
    ),
    zh=Words(
        "训练器没有在权重通信组中与 vLLM 服务器的 worker 会合{at}",
        "服务器的 HTTP 有应答,但权重走第二条连接:其端口被阻断、服务器中仍保留上一个训练器的通信组、服务器的 worker "
        "已退出,或两侧版本不同。",
        "先查看服务器日志。每次训练前重启服务器;填写训练机能访问的地址(`--vllm_server_host`),在防火墙中放行该组端口"
        "或另选(TRL:`vllm_group_port`,ms-swift:`--vllm_server_group_port`);两侧安装相同版本的 TRL 或 ms-swift 以及 "
        'vLLM;单机可用不需要服务器的 `vllm_mode="colocate"`。',
    ),
)


def explain(hits: Hits) -> Finding:
    """With the meeting point where it is told."""
    host = hits.get("host")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        at=f" ({host}:{hits.get('port')})" if host else "",
    )  # fmt: skip
