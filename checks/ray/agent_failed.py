"""A Ray node went down because one of its agents did.

## What it means
Each Ray node runs a dashboard agent and a runtime-environment agent beside its raylet. When one of them ends, the
raylet ends as well, and with it every worker of the node.
## What it does to a run
Actors die before the first step; what is shown is "The actor is dead because its owner has died".
## What to do
Find out why the agent ended: a gRPC that does not fit, a port that is taken, or memory.
## How it is found
In a log, by the raylet's own message.
## References
https://github.com/ray-project/ray/pull/37585
https://github.com/verl-project/verl/issues/4242
https://docs.ray.io/en/latest/ray-observability/user-guides/configure-logging.html
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY018", name="ray-agent-failed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The raylet exited immediately because (?:one|the) Ray agent failed(?:, agent_name = (?P<agent>\w{1,40}))?"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a Ray node ended because an agent beside its raylet had ended",
        "The raylet shares the fate of its dashboard and runtime-environment agents. They end when `grpcio` is not the "
        "version that this Ray wants, when a port of theirs is taken, or when the machine or container runs out of "
        "memory. The actors that died lost their node.",
        "Read `/tmp/ray/session_latest/logs/dashboard_agent.log` and `runtime_env_agent.log` on that node. Run `pip "
        "check` and reinstall `grpcio` as Ray asks for it (`pip install -U 'ray[default]'`), end older clusters with "
        "`ray stop --force`, unset proxies for the node's own address, and look at `dmesg -T | grep -i killed`.",
    ),
    zh=Words(
        "某个 Ray 节点因其 raylet 旁的 agent 退出而终止",
        "raylet 与 dashboard agent、runtime-env agent 同生共死。`grpcio` 版本不符、"
        "端口被占用或机器(容器)内存不足都会使 "
        "agent 退出。死亡的 actor 只是失去了所在节点。",
        "在该节点查看 `/tmp/ray/session_latest/logs/dashboard_agent.log` 与 `runtime_env_agent.log`。运行 `pip check`,"
        "按 Ray 的要求重装 `grpcio`(`pip install -U 'ray[default]'`),用 `ray stop --force` 结束旧集群,"
        "对节点自身地址取消代理,并检查 `dmesg -T | grep -i killed`。",
    ),
)
