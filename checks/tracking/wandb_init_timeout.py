"""wandb.init waited for its server until the time-out.

## What it means
The node has no way to the server of Weights & Biases (api.wandb.ai or an own one), or the way is slow: no
internet on compute nodes, a proxy that is not set, many ranks that log in at once.
## What it does to a run
`wandb.init` raises CommError after 90 seconds, and the run with it.
## What to do
Run offline and upload later, or give the node a way out.
## How it is found
In a log: by wandb's exception; its retries before it prove the network.
## References
https://docs.wandb.ai/guides/track/environment-variables
https://docs.wandb.ai/ref/cli/wandb-sync
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRK005", name="wandb-init-timeout", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Run initialization has timed out after (?P<seconds>[\d.]{1,8}) sec"),
    Signature(r"wandb: Network error \((?P<error>\w{1,40})\), entering retry loop", kind="sign"),
    Signature(
        r"^(?:[\w.]{1,60}\.)?(?:ProxyError|ConnectionError|ConnectTimeout|ReadTimeout|SSLError|CommError)[:(]"
        r"[^\n]{0,200}host='(?P<host>api\.wandb\.ai)'",
        frame=r"[\\/]wandb[\\/]",
    ),
    # wandb 0.30 and later: the words of its service
    Signature(r'CommError: [^\n]{0,80}(?:Post|Get) "https?://(?P<server>[\w.\-:]{3,80})/graphql": '),
)

LOG_MESSAGE = Message(
    en=Words(
        "`wandb.init` could not reach its server{within}",
        "The node has no network connection to the Weights & Biases server (no internet access on "
        "compute nodes, a proxy or firewall, DNS), or it is very slow.",
        "Set `WANDB_MODE=offline` and upload later from a login node with `wandb sync "
        'wandb/offline-run-*`; or switch it off with `report_to="none"` (or `WANDB_MODE=disabled`); or '
        "set `https_proxy`. A longer `WANDB_INIT_TIMEOUT=300` only helps where the network is slow, not "
        "where there is none.",
    ),
    zh=Words(
        "`wandb.init` 无法连上其服务器{within_zh}",
        "该节点没有到 Weights & Biases 服务器的网络连接(计算节点无外网、代理或防火墙、DNS),或连接很慢。",
        "设置 `WANDB_MODE=offline`,之后在登录节点用 `wandb sync wandb/offline-run-*` 上传;或用 "
        '`report_to="none"`(或 `WANDB_MODE=disabled`)关闭;或设置 `https_proxy`。更长的 '
        "`WANDB_INIT_TIMEOUT=300` 只在网络慢时有用,没有网络时无效。",
    ),
)

LOG_COMMANDS = ("export WANDB_MODE=offline",)


def explain(hits: Hits) -> Finding:
    """With the seconds, where it waited for them; a time-out alone may be a slow disk or machine as well.

    `debug.log` has a traceback of every attempt that is made again: alone, without a time-out, they prove no end.
    """
    gave_up = bool(hits.of(0))
    seconds = hits.get("seconds")
    told = any(hit.signature and (gave_up or not (hit.frames and _RETRY.search(hit.frames[0]))) for hit in hits)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        confidence=CONFIRMED if told else LIKELY,
        within=f" within {seconds} s" if seconds else "", within_zh=f"(等待 {seconds} 秒)" if seconds else "",
    )  # fmt: skip


_RETRY = re.compile(r"wandb[\\/]sdk[\\/]lib[\\/]retry\.py:__call__$")
