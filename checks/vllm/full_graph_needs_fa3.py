"""A full CUDA graph is asked for, and the attention cannot be captured.

## What it means
Capturing the whole forward pass needs an attention that schedules itself ahead of time. Of vLLM's kernels
of 2025 only FlashAttention 3 did, which runs on Hopper.
## What it does to a run
The engine ends while it captures graphs.
## What to do
Leave the attention out of the graph, or do without graphs.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/design/cuda_graphs/
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/compilation.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL033", name="full-graph-needs-fa3", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AoT scheduling is required for full cuda graph"),
    Signature(r"ValueError: CUDAGraphMode\.(?P<mode>\w{1,40}) is not supported with (?P<backend>\w{1,60}) backend"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a full CUDA graph was asked for, which the attention kernel of this GPU cannot do",
        "Capturing attention in the graph needs ahead-of-time scheduling, which vLLM has with "
        "FlashAttention 3 on Hopper (9.0). Older and consumer cards run FlashAttention 2 and can only "
        "capture the rest. Unsloth's `fast_inference=True` asks for the full graph by itself.",
        "Switch it off: `full_cuda_graph` false in `--compilation-config` (newer vLLM: "
        '`--compilation-config \'{{"cudagraph_mode": "PIECEWISE"}}\'`), or run without graphs with '
        "`--enforce-eager`; with Unsloth set `fast_inference=False` or update it together with vLLM.",
    ),
    zh=Words(
        "要求使用完整的 CUDA graph,而此 GPU 的注意力内核做不到",
        "在图中捕获注意力需要提前调度(ahead-of-time),vLLM 中只有 Hopper(9.0)上的 FlashAttention 3 具备。"
        "较旧和消费级显卡使用 FlashAttention 2,只能捕获其余部分。Unsloth 的 `fast_inference=True` 会自行"
        "要求完整的图。",
        "关闭它:在 `--compilation-config` 中把 `full_cuda_graph` 设为 false(较新的 "
        'vLLM:`--compilation-config \'{{"cudagraph_mode": "PIECEWISE"}}\'`);或用 `--enforce-eager` 不使用图'
        ";使用 Unsloth 时设置 `fast_inference=False`,或与 vLLM 一起升级。",
    ),
)
