"""Weave, the tracer of Weights & Biases, does not start.

## What it means
`weave.init` asks the server for the account, and compares its project with that of `wandb.init` where both are used.
Frameworks for agents (ART, verifiers, AgentLightning) start it by themselves when it is installed.
## What it does to a run
The run ends when the first rollout or the trainer is set up.
## What to do
Use one `entity/project` for both, or leave Weave out.
## How it is found
In a log: by Weave's message, or by a connection error that goes through its files.
## References
https://docs.wandb.ai/weave/guides/tracking/trace-disable
https://github.com/wandb/weave/blob/master/weave/trace/weave_init.py
https://github.com/johnson7788/RLDecisionAgent/blob/ef60ea920fa09c11ec20f8640099f975f7fb9215/docs/ART/Error.md
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRK009", name="weave-refused", severity=ERROR, since="0.1")

PROJECTS = Message(
    en=Words(
        "Weave was started for the project `{weave}` while a wandb run of `{run}` is open",
        "Both must name the same entity and project. An empty part in front of the slash is a `wandb.init` without an "
        "entity (offline, or not logged in); a run that is still open keeps its project.",
        "Give both the same one: `wandb.init(entity=ENTITY, project=PROJECT)` and `weave.init('ENTITY/PROJECT')` (set "
        "`WANDB_ENTITY` for all of them). End an older run first with `wandb.finish()`, remove a stale folder "
        "`wandb/`; or leave Weave out (`WEAVE_DISABLED=true`).",
    ),
    zh=Words(
        "Weave 以项目 `{weave}` 启动,而此时打开的 wandb run 属于 `{run}`",
        "两者的 entity 与 project 必须相同。斜杠前为空表示 `wandb.init` 没有 entity(离线或未登录);未结束的 run "
        "会保留其项目。",
        "让两者一致:`wandb.init(entity=ENTITY, project=PROJECT)` 与 `weave.init('ENTITY/PROJECT')`(统一设置 "
        "`WANDB_ENTITY`)。先用 `wandb.finish()` 结束旧 run,删除残留的 `wandb/` 目录;或不使用 "
        "Weave(`WEAVE_DISABLED=true`)。",
    ),
)
UNREACHABLE = Message(
    en=Words(
        "`weave.init` could not reach `{host}`",
        "The node has no way to the server of Weights & Biases: no internet, a firewall, or a proxy that does not "
        "answer. It is asked while Weave starts, before anything is traced.",
        "Leave it out with `export WEAVE_DISABLED=true` (and `WANDB_MODE=offline` for wandb), or take the call of "
        "`weave.init` out of the script. Else mend the way: `echo $https_proxy`, `curl -I https://{host}`.",
    ),
    zh=Words(
        "`weave.init` 无法连接 `{host}`",
        "该节点无法到达 Weights & Biases 的服务器:没有外网、有防火墙,或代理不应答。Weave 启动时就会访问它,早于任何追踪"
        "。",
        "用 `export WEAVE_DISABLED=true` 关闭它(wandb 用 `WANDB_MODE=offline`),或从脚本中去掉 `weave.init`。否则修复网"
        "络:`echo $https_proxy`、`curl -I https://{host}`。",
    ),
)

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"Project Mismatch: weave and wandb must be [^\n]{1,80}wandb\.init targeting project"
            r" \"(?P<run>[^\"\n]{1,160})\" and weave\.init targeting project \"(?P<weave>[^\"\n]{1,160})\""
        ),
        PROJECTS,
    ),
    (
        (
            r"(?:ProxyError|ConnectionError|ConnectTimeout|SSLError"
            r"|ConnectError)[:(][^\n]{0,80}host='(?P<host>[\w.\-]{3,80})'"
        ),
        UNREACHABLE,
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0], frame=r"[\\/]weave[\\/]\S{0,80}(?:weave_init\.py:|api\.py:init$)"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
