"""A compiled graph of Ray waited for a result longer than its limit.

## What it means
vLLM with Ray as executor runs pipeline and tensor parallel workers as a compiled graph. Reading or writing one of its
channels ends after `RAY_CGRAPH_get_timeout` or `RAY_CGRAPH_submit_timeout` seconds: a worker computes for longer (first
compilation, a long prefill), hangs, or died.
## What it does to a run
The engine ends with RayChannelTimeoutError.
## What to do
Look for a worker that failed first; otherwise raise the limit.
## How it is found
In a log, by Ray's words.
## References
https://docs.ray.io/en/latest/ray-core/compiled-graph/troubleshooting.html
https://github.com/vllm-project/vllm/issues/19703
https://github.com/vllm-project/vllm/issues/15199
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY037", name="compiled-graph-timeout", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RayChannelTimeoutError: System error: (?:Timed out waiting for object available"
        r"|If the execution is expected)",
        symptom_of=("VLL", "MEM", "TOR", "NCC", "CUD", "RAY001", "RAY009", "GPU", "HST", "PYT"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a worker of vLLM's Ray executor did not deliver its result in time (Ray compiled graph)",
        "Another worker of the pipeline still computes (first compilation or graph capture, a very long prompt, a slow "
        "network), waits for a collective that never ends, or died; its own error is not in this log.",
        "Look for the first error in the other workers' logs (`ray logs`, `RAY_DEDUP_LOGS=0`) and at GPU use. If "
        "they only need longer: `export RAY_CGRAPH_get_timeout=300 RAY_CGRAPH_submit_timeout=300` before the "
        "start, on every node. If they hang: `--enforce-eager`, `NCCL_DEBUG=INFO`, `NCCL_SOCKET_IFNAME`; on a "
        "single node `--distributed-executor-backend mp` does without Ray.",
    ),
    zh=Words(
        "vLLM 的 Ray 执行器中有 worker 未按时交出结果(Ray compiled graph)",
        "流水线中的另一个 worker 仍在计算(首次编译或图捕获、很长的 prompt、慢网络)、在等待永不结束的集合通信,或已退"
        "出;其自身的错误不在此日志中。",
        "在其他 worker 的日志中查找第一个错误(`ray logs`、`RAY_DEDUP_LOGS=0`)并查看 GPU 占用。若只是需要更久:启动前"
        "在每个节点 `export RAY_CGRAPH_get_timeout=300 RAY_CGRAPH_submit_timeout=300`。若挂起:`--enforce-eager`、"
        "`NCCL_DEBUG=INFO`、`NCCL_SOCKET_IFNAME`;单节点可用 `--distributed-executor-backend mp`,不经过 Ray。",
    ),
)

LOG_CONFIDENCE = LIKELY
