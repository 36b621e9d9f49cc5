"""The server takes requests from any machine, without a key.

## What it means
It listens on all interfaces, `--host 0.0.0.0`, or on one that other machines reach. Without the argument `vllm serve`
and `trl vllm-serve` listen on all; that is left unsaid, for it is so on every machine.
## What it does to a run
Whoever reaches the port can generate on your GPUs. A server for training also lets them change its weights
(`/update_named_param/`, `/init_weight_transfer_engine`), which spoils a run without a trace.
## What to do
Listen on 127.0.0.1 where the trainer runs on the same machine. Else set a key, or let only the trainer's
address through the firewall.
## How it is found
A host that was written, the key of the command, and the variable VLLM_API_KEY.
## References
https://docs.vllm.ai/en/latest/usage/security.html
https://github.com/huggingface/trl/blob/v0.25.0/trl/scripts/vllm_serve.py
"""

from __future__ import annotations

import ipaddress

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.environment import Environment
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL016", name="served-without-api-key", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`--host {host}` lets any machine use this server, and no API key is set",
        "Whoever reaches the port can generate on these GPUs, and change the weights of a server that a trainer uses.",
        "Listen on 127.0.0.1 when the trainer runs on this machine. Else set an API key (vLLM's own "
        "server) or a firewall rule.",
    ),
    zh=Words(
        "`--host {host}` 允许任何机器使用该服务器,且没有设置 API key",
        "能访问该端口的任何人都可以使用这些 GPU 生成,还能修改供训练使用的服务器的权重。",
        "训练端在本机时只监听 127.0.0.1;否则设置 API key(vLLM 自己的服务器)或防火墙规则。",
    ),
)

#: ways to serve without a TCP port, or with an authentication of the user's own
OTHERWISE = ("uds", "headless", "middleware", "ssl_ca_certs", "help")


@check(PROBLEM)
def served_without_key(serving: Serving, environment: Environment | None) -> Judgement:
    """Judge a host that was written; that a server without one listens everywhere is its default, and no news."""
    setting, key = serving.arguments.get("host"), serving.arguments.get("api_key")
    if serving.has_api_key or key is not None or any(name in serving.arguments for name in OTHERWISE):
        return
    if setting is None or not setting.known or not _for_others(serving.host):
        return
    if environment is None:
        yield Skip("the environment of the command, where a key may be set, is not known")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        host=serving.host,
        where=place_of(setting),
        commands=("--host 127.0.0.1",),
        evidence=proofs(setting),
    )


def _for_others(host: str | None) -> bool:
    """Whether an address is one that other machines may reach; of a name nothing is said."""
    try:
        return not ipaddress.ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return False
