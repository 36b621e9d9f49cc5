"""A remote call of Ray was not finished when the time given to it was over.

## What it means
`ray.get(..., timeout=...)` gives up after its seconds. The call may still wait for resources, for an actor that is
busy with an earlier call, or for another process, or it simply takes longer.
## What it does to a run
The driver raises GetTimeoutError; the call itself goes on.
## What to do
Find what the worker does, and give it more time only where it works.
## How it is found
In a log: by the exception.
## References
https://docs.ray.io/en/latest/ray-core/api/doc/ray.get.html
https://docs.ray.io/en/latest/ray-observability/user-guides/debug-apps/debug-hangs.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY039", name="ray-call-not-answered-in-time", severity=ERROR, since="0.1")

TIMEOUT = Message(
    en=Words(
        "a remote call of Ray did not finish within the time that `ray.get` was given",
        "The task or actor method is still pending or running: it waits for CPUs or GPUs that are taken, its "
        "actor is busy or hangs in an earlier call (a collective, a download, a server that starts), or the work "
        "takes longer than the limit.",
        "`ray status` shows what is pending, `ray list tasks` and `ray list actors` the state, and `ray stack` "
        "(or py-spy on the pid) where a worker stands. Mend what it waits for; raise `timeout=` of that `ray.get` "
        "(or the framework's own setting) only where the worker makes progress.",
    ),
    zh=Words(
        "Ray 的一次远程调用没有在 `ray.get` 给定的时间内完成",
        "该任务或 actor 方法仍在等待或运行:等待被占用的 CPU、GPU,actor 正忙或卡在先前的调用(集合通信、下载、"
        "启动中的服务),或工作本身超过了时限。",
        "`ray status` 查看等待的资源,`ray list tasks` 与 `ray list actors` 查看状态,`ray stack`(或对 pid 用 "
        "py-spy)查看 worker 停在哪里。解决其等待的原因;只有 worker 确有进展时才提高该 `ray.get` 的 "
        "`timeout=`(或框架的对应设置)。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"GetTimeoutError: Get timed out: some object\(s\) not ready", symptom_of=("RAY", "NCC", "VLL", "MEM")
        ),
        TIMEOUT,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
