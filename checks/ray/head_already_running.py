"""A head of Ray is started where one runs already.

## What it means
The port of the head (6379 unless given) belongs to a cluster that still runs, of an earlier job or of another user.
The new head finds the data of the old one behind the port.
## What it does to a run
`ray start --head` ends; later commands join the old cluster, with its old environment.
## What to do
End the old cluster, or take another port and folder.
## How it is found
In a log: by the message of `ray start`, or by the assertion about the name of the session.
## References
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/scripts/scripts.py
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/_private/node.py
https://docs.ray.io/en/latest/cluster/cli.html#ray-start
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY041", name="ray-head-already-running", severity=ERROR, since="0.1")

RUNS = Message(
    en=Words(
        "a head of Ray already runs at the port that a new one is to take",
        "A cluster of an earlier job (or of another user on this machine) was not stopped. The new head reaches "
        "the store of the old one and finds the name of another session in it.",
        "Where nothing runs on it any more, `ray stop --force` on this node (on all nodes of the old cluster), then "
        "start again; keep both with another port and folder: `ray start --head --port=6380 --dashboard-port=8266 "
        "--temp-dir=/tmp/ray-$USER`. Of another user: take another port, and point `RAY_ADDRESS` to yours. With an "
        "external Redis empty it, or set `RAY_external_storage_namespace`.",
    ),
    zh=Words(
        "新的 Ray head 要使用的端口上已有一个 head 在运行",
        "先前作业(或本机其他用户)的集群没有停止。新 head 连到了旧集群的存储,其中是另一个会话的名称。",
        "若其上已没有任务在运行,在本节点(旧集群的所有节点)执行 `ray stop --force` 后重新启动;若要并存,换端口和目"
        "录:`ray start --head --port=6380 --dashboard-port=8266 --temp-dir=/tmp/ray-$USER`。若属于其他用户:换一个端"
        "口,并把 `RAY_ADDRESS` 指向自己的集群。使用外部 Redis 时先清空,或设置 `RAY_external_storage_namespace`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"AssertionError: Session name \S{1,120} does not match persisted value"),
        RUNS,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
