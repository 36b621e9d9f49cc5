"""A deployment of Ray Serve does not start.

## What it means
Serve starts the replicas of a deployment as actors. Their constructor raises, or they do not get their resources, or
their health check fails, several times.
## What it does to a run
`serve.run` or `serve deploy` ends, or the application stays unhealthy, and whoever asks it gets errors.
## What to do
Read what the constructor raised.
## How it is found
In a log: by Serve's own message, where nothing above it names the reason.
## References
https://docs.ray.io/en/latest/serve/production-guide/handling-errors.html
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/serve/_private/deployment_state.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY036", name="ray-serve-deployment-fails", severity=ERROR, since="0.1")

FAILS = Message(
    en=Words(
        "a deployment of Ray Serve failed to start {times} times in a row",
        "Its replicas ended in their constructor or in the first health check. Serve's message is the "
        "consequence: the exception of the replica stands above it or in the log of the replica.",
        "Read /tmp/ray/session_latest/logs/serve/replica_*.log (and `serve status`), and mend what is raised "
        "there. Out of memory or no GPU: compare `ray_actor_options` with `ray status`. A model that loads for "
        "minutes: raise `health_check_timeout_s`.",
    ),
    zh=Words(
        "Ray Serve 的一个部署连续 {times} 次启动失败",
        "其副本在构造函数或首次健康检查中结束。Serve 的消息只是后果:副本的异常在它上方或在副本日志中。",
        "查看 /tmp/ray/session_latest/logs/serve/replica_*.log(以及 `serve status`),修正其中的异常。内存或 "
        "GPU 不足:对照 `ray_actor_options` 与 `ray status`。加载需数分钟的模型:调整 `health_check_timeout_s`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"The deployment failed to start (?P<times>\d{1,6}) times in a row", symptom_of=("*",)),
        FAILS,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
