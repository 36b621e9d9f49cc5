"""The GPU memory ran out while vLLM or SGLang captured CUDA graphs.

## What it means
Graphs need memory of their own beside weights and KV cache, outside of what gpu_memory_utilization counted in older
releases.
## What it does to a run
The server ends during capture, after the KV cache has been made.
## What to do
Leave more room beside the cache, or capture fewer and smaller graphs.
## How it is found
The exception of torch's allocator, and the phase that its traceback tells.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from __future__ import annotations

from doctor.checks.memory._oom import OUT_OF_MEMORY, finding, told
from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM009", name="cuda-graphs-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory during CUDA graph capture: {asked} more wanted{of}{free}",
        "Captured graphs need memory beside weights and KV cache, and the cache had taken what was left.",
        "Lower `gpu_memory_utilization` (SGLang: `--mem-fraction-static`), capture fewer sizes "
        "(`cudagraph_capture_sizes`, older `cuda_graph_sizes`, or `max_num_seqs`; SGLang `--cuda-graph-max-bs-decode`, "
        "older `--cuda-graph-max-bs`), or turn graphs off with `enforce_eager=True` (SGLang `--disable-cuda-graph`).",
    ),
    zh=Words(
        "捕获 CUDA graph 时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "CUDA graph 需要权重与 KV cache 之外的显存,而 KV cache 已占去剩余空间。",
        "降低 `gpu_memory_utilization`(SGLang 为 `--mem-fraction-static`),减少捕获的尺寸(`cudagraph_capture_sizes`,旧版"
        " `cuda_graph_sizes`,或 `max_num_seqs`;SGLang `--cuda-graph-max-bs-decode`,旧版 `--cuda-graph-max-bs`),或用 "
        "`enforce_eager=True`(SGLang `--disable-cuda-graph`)关闭。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "graph") else None
