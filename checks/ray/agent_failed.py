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

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY018", name="ray-agent-failed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The raylet exited immediately because (?:one|the) Ray agent failed(?:, agent_name = (?P<agent>\w{1,40}))?"
    ),
    Signature(r"No available agent to submit job, please try again later"),
    Signature(r"Runtime Env Agent timed out in \d{1,9}ms\b"),
    Signature(
        r"The raylet exited immediately because the runtime env agent timed out when Raylet try to connect to it"
    ),
)

LOG_MESSAGE_SUBMIT = Message(
    en=Words(
        "`ray job submit` found no agent that takes a job",
        "Each node runs an agent of the dashboard, and the head hands jobs to one. None registered: it still starts, "
        "it ended at its start (another `grpcio`, `opentelemetry` or `pydantic` than this Ray wants, a port that is "
        "taken), or the head cannot reach it at the address that the node told (0.0.0.0, a proxy).",
        "Wait a minute and submit again. Then read `/tmp/ray/session_latest/logs/dashboard_agent.log` on the head: "
        "an import error there is mended by `pip install -U 'ray[default]'` in a clean environment and `pip check`. "
        "Start the head with its real address (`--node-ip-address`), `unset http_proxy https_proxy`, `ray stop "
        "--force` before. Or run the command on the head without `ray job submit`.",
    ),
    zh=Words(
        "`ray job submit` 找不到可以接收作业的 agent",
        "每个节点运行一个 dashboard agent,head 把作业交给其中之一。没有 agent 登记:它仍在启动,启动时退出(`grpcio`、"
        "`opentelemetry` 或 `pydantic` 版本与该 Ray 不符,端口被占用),或 head "
        "无法用该节点登记的地址到达它(0.0.0.0、代理)。",
        "等一分钟再提交。然后在 head 上查看 `/tmp/ray/session_latest/logs/dashboard_agent.log`:其中的导入错误用干净环境"
        "中的 `pip install -U 'ray[default]'` 与 `pip check` 解决。先 `ray stop --force`,`unset http_proxy "
        "https_proxy`,再用真实地址启动 head(`--node-ip-address`)。或不用 `ray job submit`,直接在 head 上运行命令。",
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
        "raylet 与 dashboard agent、runtime-env agent 同生共死。`grpcio` 版本不符、端口被占用或机器(容器)内存不足都会使"
        " agent 退出。死亡的 actor 只是失去了所在节点。",
        "在该节点查看 `/tmp/ray/session_latest/logs/dashboard_agent.log` 与 `runtime_env_agent.log`。运行 `pip "
        "check`,按 Ray 的要求重装 `grpcio`(`pip install -U 'ray[default]'`),用 `ray stop --force` 结束旧集群,对节点自身"
        "地址取消代理,并检查 `dmesg -T | grep -i killed`。",
    ),
)


LOG_MESSAGE_SILENT = Message(
    en=Words(
        "a Ray node ended because its raylet did not reach the agent beside it",
        "Raylet and agent are on one machine and speak over the node's own address. The agent was never up (an "
        "import error, a port that is taken, a start slower than the time-out), or that address does not work from "
        "the machine itself: a proxy in the environment, an IP that is not of this machine or container, no free "
        "port for new connections. The actors that died lost their node.",
        "Read `/tmp/ray/session_latest/logs/runtime_env_agent.log` on that node: when it shows no error, the way to "
        "it is at fault. `unset http_proxy https_proxy` or add the node's address to `no_proxy`; start Ray with an "
        "address of this machine (`--node-ip-address`, see `ip -4 addr`); look at `ss -s` for used-up ports. When it "
        "shows an import error: `pip install -U 'ray[default]'` and `pip check`. `ray stop --force` before the next "
        "start.",
    ),
    zh=Words(
        "某个 Ray 节点终止,因为其 raylet 连接不到旁边的 agent",
        "raylet 与 agent 在同一台机器,通过该节点自己的地址通信。要么 agent 没有起来(导入错误、端口被占用、启动慢于"
        "超时),要么该地址从本机不可达:环境中有代理,IP 不属于本机或本容器,或没有空闲端口建立新连接。死亡的 actor 只"
        "是失去了所在节点。",
        "在该节点查看 `/tmp/ray/session_latest/logs/runtime_env_agent.log`:若没有错误,则是连接的问题。`unset "
        "http_proxy https_proxy` 或把节点地址加入 `no_proxy`;用本机地址启动 Ray(`--node-ip-address`,见 `ip -4 "
        "addr`);用 `ss -s` 查看端口是否用尽。若有导入错误:`pip install -U 'ray[default]'` 并 `pip check`。再次启动"
        "前先 `ray stop --force`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A node that ended, an agent that was not reached, or jobs that nobody takes."""
    if not hits.of(0) and not hits.of(1):
        return found(PROBLEM, LOG_MESSAGE_SILENT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    ended = not hits.of(1)
    return found(
        PROBLEM,
        LOG_MESSAGE if ended else LOG_MESSAGE_SUBMIT,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
    )
