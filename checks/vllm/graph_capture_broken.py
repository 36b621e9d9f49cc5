"""A CUDA graph could not be captured, because an operation in it may not be captured.

## What it means
While a graph is recorded, nothing may wait for the GPU, allocate outside of its pool, or run on another stream.
A library, a custom operator or NCCL that does so breaks the capture of the whole graph.
## What it does to a run
The engine ends in its warm-up.
## What to do
Run without graphs, then find what does not fit: versions of the engine, of NCCL, of the attention backend.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
https://github.com/vllm-project/vllm/issues/4432
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL064", name="graph-capture-broken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"CUDA error: operation (?P<why>failed due to a previous error during capture|not permitted"
        r" when stream is capturing|not permitted on an event last recorded in a capturing"
        r" stream|would make the legacy stream depend on a capturing blocking stream)",
    ),
    Signature(
        r"CUDA error: (?P<stream>capturing stream has unjoined work|dependency created on uncaptured work in"
        r" another stream)"
    ),
    Signature(
        r"cudaErrorStreamCapture(?P<kind>Unsupported|Invalidated|Merge|Unmatched|Unjoined|Isolation|Im"
        r"plicit|WrongThread)",
    ),
    Signature(
        r"Cuda failure '(?P<nccl>dependency created on uncaptured work in another stream|operation"
        r" not permitted when stream is capturing)'",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the capture of a CUDA graph broke: an operation in it cannot be captured",
        "Weights fitted; the failure is in the recording of graphs. Something in the model step "
        "synchronizes, allocates or uses another stream: a custom or quantization kernel, an attention "
        "backend, an NCCL that is too old or loaded twice, or a defect of this engine release.",
        "Start without graphs: `--enforce-eager` (`enforce_eager=True`; SGLang `--disable-cuda-graph`); "
        'slower, but it runs. Then narrow down: `--compilation-config \'{{"cudagraph_mode": '
        '"PIECEWISE"}}\'`, another attention backend, `--disable-custom-all-reduce`, the NCCL wheel that '
        "torch pins (no other libnccl in LD_LIBRARY_PATH or VLLM_NCCL_SO_PATH), and the next or last "
        "release of the engine.",
    ),
    zh=Words(
        "CUDA graph 捕获失败:其中的某个操作不能被捕获",
        "权重已放下,失败发生在录制 CUDA graph 时。模型的某一步进行了同步、分配或使用了其他流:自定义或量化"
        "内核、注意力后端、过旧或被重复加载的 NCCL,或该引擎版本的缺陷。",
        "先不用 CUDA graph 启动:`--enforce-eager`(`enforce_eager=True`;SGLang 为 `--disable-cuda-graph`),"
        '较慢但可以运行。再逐步缩小范围:`--compilation-config \'{{"cudagraph_mode": "PIECEWISE"}}\'`、其他'
        "注意力后端、`--disable-custom-all-reduce`、torch 指定的 NCCL wheel(LD_LIBRARY_PATH 与 "
        "VLLM_NCCL_SO_PATH 中不要有其他 libnccl),以及引擎的下一个或上一个版本。",
    ),
)

LOG_CONFIDENCE = LIKELY
