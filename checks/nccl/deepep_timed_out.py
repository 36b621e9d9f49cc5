"""DeepEP waited for tokens of another rank in vain.

## What it means
With experts spread over GPUs, DeepEP sends each token to the rank of its expert and waits at most 100 s for what the
others send. A rank that does not come, or a network over which nothing arrives, ends the wait.
## What it does to a run
The rank that waited raises an error or traps its kernel, and the engine or the training step ends.
## What to do
Find the rank that did not send; else mend the transport of NVSHMEM.
## How it is found
In a log: by DeepEP's own words, unless another failure explains it.
## References
https://github.com/deepseek-ai/DeepEP
https://github.com/sgl-project/sglang/issues/6701
https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/5067
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NCC033", name="deepep-timed-out", severity=ERROR, since="0.1")

_CAUSES = ("NCC032", "MEM", "GPU", "TOR", "HST", "CUD", "VLL", "LCH018")

SIGNATURES = (
    Signature(
        r"RuntimeError: (?:Failed: )?DeepEP error: (?:CPU recv timeout|timeout)",
        symptom_of=_CAUSES,
    ),
    Signature(r"DeepEP (?:\w{1,20} ){0,3}timeout(?: check failed)?[:,] [^\n]{0,80}?rank\b", symptom_of=_CAUSES),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "DeepEP waited in vain for the tokens of another rank",
        "Every rank takes part in each exchange between experts, also with an empty batch. Either a rank did not come "
        "(it failed, compiles a kernel for the first time, or has no request under data parallelism and skips the "
        "step), or what it sent did not arrive: counters of -1 mean that nothing came over RDMA at all, so NVSHMEM's "
        "transport between the nodes does not work, or its version does not fit DeepEP's.",
        "Read the other ranks' logs first: an error or a compilation there is the cause (compile before serving: "
        "`python -m sglang.compile_deep_gemm`). Several nodes and counters of -1: test NVSHMEM alone (its perftests, "
        "DeepEP's `tests/test_internode.py`), set `NVSHMEM_IB_ENABLE_IBGDA=1`, `NVSHMEM_HCA_LIST`, "
        "`NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME`, and take the NVSHMEM that this DeepEP names. Many requests at once: "
        "a smaller `--max-running-requests`, `--deepep-mode normal`. To go on without it: `--moe-a2a-backend none` in "
        "SGLang, `--moe-token-dispatcher-type alltoall` in Megatron.",
    ),
    zh=Words(
        "DeepEP 没有等到其他 rank 的 token",
        "每次专家之间的交换都要求所有 rank 参加,即使批次为空。要么某个 rank 没有来(已失败、首次编译内核,或数据并行下没"
        "有请求而跳过该步),要么发出的数据没有到达:计数器为 -1 表示 RDMA 上什么都没收到,即节点间 NVSHMEM 的传输不通,或其"
        "版本与 DeepEP 不符。",
        "先看其他 rank 的日志:那里的报错或编译就是原因(服务前先编译:`python -m sglang.compile_deep_gemm`)。多节点且计数"
        "器为 -1:单独测试 NVSHMEM(其 perftest、DeepEP 的 `tests/test_internode.py`),设置 `NVSHMEM_IB_ENABLE_IBGDA=1`、"
        "`NVSHMEM_HCA_LIST`、`NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME`,并使用该 DeepEP 指定的 NVSHMEM。请求过多时:减小 "
        "`--max-running-requests`,使用 `--deepep-mode normal`。不用它:SGLang `--moe-a2a-backend none`,Megatron "
        "`--moe-token-dispatcher-type alltoall`。",
    ),
)
