"""veRL's worker group does not come up: its register centre never appears.

## What it means
The first worker of a group starts a small named actor, and the driver waits for it (120 seconds, later 300). It stays
away when the worker itself died or still waits for CPUs, when actors of an earlier run are left in the cluster, or
when nodes of the cluster cannot reach each other.
## What it does to a run
The driver ends with a TimeoutError or an AssertionError before the first step.
## What to do
Look for the worker's own failure, see what Ray still waits for, and start with a clean cluster.
## How it is found
In a log: by the driver's message.
## References
https://github.com/verl-project/verl/pull/947
https://github.com/verl-project/verl/issues/491
https://github.com/verl-project/verl/issues/1144
https://github.com/langfengQ/verl-agent/issues/91
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL025", name="register-center-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"[Ff]ailed to get register_center_actor:? (?P<center>\w{1,60})",
        symptom_of=("MEM", "HST", "TOR", "PYT", "CUD", "GPU", "RAY", "VLL", "HUB", "TRF", "FLA", "LCH018"),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_COMMANDS = (
    "ray status",
    "ray list actors --filter state!=DEAD",
)

LOG_MESSAGE = Message(
    en=Words(
        "veRL's workers did not report: the actor `{center}` never appeared",
        "The first worker of the group starts this actor, and the driver waits for it. That worker died "
        "while it was starting, waits for CPUs or GPUs that are taken (agents and environments beside "
        "veRL ask for many), belongs to an earlier run that was not cleaned up, or sits on a node whose "
        "address the others cannot reach.",
        "Read the worker's own log first (`/tmp/ray/session_latest/logs/worker-*.err` on its node). `ray "
        "status` shows what is still asked for: give Ray more CPUs or lower `num_cpus` of environment "
        "workers. Clean up (`ray stop --force` on every node) and start again, each node with "
        "`--node-ip-address` of the network that joins them. Where the start is merely slow: "
        "`trainer.ray_wait_register_center_timeout=1200`.",
    ),
    zh=Words(
        "veRL 的 worker 没有报到:actor `{center}` 一直没有出现",
        "该 actor 由组内第一个 worker 启动,driver 在等它。这个 worker 在启动时已退出,在等待被占用的 CPU "
        "或 GPU(与 veRL 同跑的环境、agent 会占用很多),属于没有清理干净的上一次运行,或所在节点的地址其他节"
        "点无法到达。",
        "先看该 worker 自己的日志(其节点上的 `/tmp/ray/session_latest/logs/worker-*.err`)。`ray status` "
        "显示仍在等待的资源:给 Ray 更多 CPU,或降低环境 worker 的 `num_cpus`。在每个节点 `ray stop "
        "--force` 清理后重新启动,每个节点都用 `--node-ip-address` 指定互联网络的地址。若只是启动慢"
        ":`trainer.ray_wait_register_center_timeout=1200`。",
    ),
)
