"""Ray killed a worker because the machine ran low on memory.

## What it means
Ray's memory monitor watches the RAM of each node and kills the newest worker when its threshold (95 %) is passed.
## What it does to a run
An actor or task ends; veRL and vLLM report a dead worker.
## What to do
More RAM, fewer workers, less swap_space or offload.
## How it is found
The words of Ray's OutOfMemoryError and of the raylet.
## References
https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM018", name="ray-memory-monitor", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Task was killed due to the node running low on memory"),
    Signature(
        r"was running was (?P<used>[\d.]{1,12}GB) / (?P<total>[\d.]{1,12}GB) \([\d.]{1,12}\), which"
        r" exceeds the memory usage threshold of (?P<threshold>[01](?:\.\d{1,6})?)",
        kind="sign",
    ),
    Signature(r"\d{1,6} Workers \(tasks / actors\) killed due to memory pressure \(OOM\)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Ray killed a worker: host memory of the node ran out{used}",
        "Ray's monitor counts RAM of the node (or the container's limit), not GPU memory. Each "
        "worker loads the checkpoint on its own, and vLLM's V0 engine (default before 0.8, gone in 0.11) reserves "
        "`swap_space` (4 GiB by default) of RAM for every GPU; offloaded states count as well.",
        "Lower CPU offload (and `swap_space` of a V0 engine; vLLM 0.18 has no such argument any more), run fewer "
        "workers or give the container more memory. The threshold is `RAY_memory_usage_threshold`; turning the monitor "
        "off (`RAY_memory_monitor_refresh_ms=0`) only leaves the killing to the kernel.",
    ),
    zh=Words(
        "Ray 终止了一个工作进程:节点内存耗尽{used}",
        "Ray 监控的是节点(或容器限制)的内存而非显存。每个工作进程各自加载检查点;vLLM 的 V0 引擎(0.8 之前的默认,"
        "0.11 已移除)还会为每张 GPU 预留 `swap_space`(默认 4 GiB)内存;卸载的状态也计入。",
        "减少 CPU 卸载(V0 引擎还可降低 `swap_space`;vLLM 0.18 起已无此参数),减少工作进程,或给容器更多内存。阈值由 "
        "`RAY_memory_usage_threshold` 决定;关闭监控(`RAY_memory_monitor_refresh_ms=0`)只会让内核来终"
        "止进程。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With the sizes where Ray tells them."""
    used, total = hits.get("used"), hits.get("total")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), used=f", {used} of {total}" if used else ""
    )
