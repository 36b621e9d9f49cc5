"""A matrix product fails in cuBLAS.

## What it means
cuBLAS reports a status where CUDA reports an error. Few of them mean what they say: no memory for its
workspace is told as `NOT_INITIALIZED` or `ALLOC_FAILED`, a foreign library as `INVALID_VALUE` or
`NOT_SUPPORTED`, an earlier crash of another kernel as `EXECUTION_FAILED`.
## What it does to a run
The process ends at the first product, or wherever memory ran out.
## What to do
The status narrows it down.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.nvidia.com/cuda/cublas/index.html#cublasstatus-t
https://github.com/pytorch/pytorch/issues/174949
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR025", name="cublas-fails", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"CUDA error: (?P<status>CUBLAS_STATUS_\w{1,40}) when calling `(?P<call>\w{1,60})"),)

LOG_MESSAGE = Message(
    en=Words(
        "cuBLAS failed with {status} in `{call}`",
        "Usually the consequence of an earlier kernel that read outside of its memory (token ids beyond "
        "the embedding, a device-side assert), seldom of the product itself or of a failing card.",
        "Run once with CUDA_LAUNCH_BLOCKING=1 to see the first call that fails; compare the largest "
        "token id with the embedding; look for `NVRM: Xid` in `dmesg`.",
    ),
    zh=Words(
        "cuBLAS 在 `{call}` 中以 {status} 失败",
        "通常是更早的内核越界访问的后果(token id 超出 embedding、device-side assert),很少是矩阵乘法本身或显卡故障。",
        "用 CUDA_LAUNCH_BLOCKING=1 再运行一次以找到最先失败的调用;比较最大的 token id 与 embedding;在 "
        "`dmesg` 中查找 `NVRM: Xid`。",
    ),
)

LOG_MESSAGE_MEMORY = Message(
    en=Words(
        "cuBLAS could not make its handle or workspace ({status}): GPU memory is most likely used up",
        "cuBLAS allocates outside of torch's own pool. When torch, vLLM or another process has taken the "
        "whole card, this is how the lack of memory shows. Rarely an earlier index error (token ids "
        "beyond the embedding) ends here, too.",
        "Leave room: a smaller batch or `--gpu-memory-utilization` (`vllm_gpu_memory_utilization`), end "
        "other processes (`nvidia-smi`). If memory was free, run with CUDA_LAUNCH_BLOCKING=1 and look "
        "for the first failing call.",
    ),
    zh=Words(
        "cuBLAS 无法创建句柄或工作区({status}):GPU 显存很可能已用尽",
        "cuBLAS 在 torch 的显存池之外分配。当 torch、vLLM 或其他进程占满整张卡时,就会这样表现。少数情况下"
        ",更早的索引错误(token id 超出 embedding)也会在此结束。",
        "留出空间:减小批次或 `--gpu-memory-utilization`(`vllm_gpu_memory_utilization`),结束其他进程"
        "(`nvidia-smi`)。若显存充足,用 CUDA_LAUNCH_BLOCKING=1 运行并找到最先失败的调用。",
    ),
)

LOG_MESSAGE_LIBRARY = Message(
    en=Words(
        "cuBLAS refuses a product ({status} in `{call}`)",
        "The call asks for what this library or card cannot do: another cuBLAS than torch's own was "
        "loaded (LD_LIBRARY_PATH, a toolkit, a separately upgraded nvidia-cublas package), bf16 or fp8 "
        "on a card without it, or an empty matrix.",
        "Start with an empty LD_LIBRARY_PATH (`env -u LD_LIBRARY_PATH ...`) and reinstall torch's own "
        "library: `pip install --force-reinstall torch`. On cards before Ampere use fp16. Check that no "
        "batch is empty.",
    ),
    zh=Words(
        "cuBLAS 拒绝了一次矩阵乘法(`{call}` 中的 {status})",
        "调用要求了该库或显卡做不到的事:加载了 torch 之外的 cuBLAS(LD_LIBRARY_PATH、工具包、单独升级的 "
        "nvidia-cublas 包),在不支持的显卡上使用 bf16 或 fp8,或矩阵为空。",
        "用空的 LD_LIBRARY_PATH 启动(`env -u LD_LIBRARY_PATH ...`),并重装 torch 自带的库:`pip install "
        "--force-reinstall torch`。Ampere 之前的显卡使用 fp16。检查没有空批次。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The status tells the kind, none of them for certain."""
    status = hits.get("status") or ""
    if "ALLOC_FAILED" in status:
        return None  # memory, told by MEM021
    handle = "cublasCreate" in (hits.get("call") or "") or "NOT_INITIALIZED" in status
    unsupported = "NOT_SUPPORTED" in status or "INVALID_VALUE" in status or "ARCH_MISMATCH" in status
    return found(
        PROBLEM,
        LOG_MESSAGE_MEMORY if handle else LOG_MESSAGE_LIBRARY if unsupported else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        status=status,
        call=hits.get("call"),
    )
