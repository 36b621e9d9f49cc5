"""A mathematical library of CUDA or ROCm failed.

## What it means
torch leaves decompositions, sparse products, Fourier transforms and, on AMD, products and convolutions to libraries:
cuSOLVER, cuSPARSE, cuFFT, hipBLAS, MIOpen. They report a status instead of a reason.
## What it does to a run
The operation raises; often memory is short, an earlier kernel failed, or the library belongs to another CUDA or ROCm.
## What to do
Leave memory free, find earlier errors, load torch's own libraries, try the operation in another precision.
## How it is found
In a log: by the status in torch's error.
## References
https://docs.nvidia.com/cuda/cusolver/index.html
https://docs.nvidia.com/cuda/cufft/index.html
https://rocm.docs.amd.com/projects/MIOpen/en/latest/
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR062", name="math-library-fails", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"(?:RuntimeError|AcceleratorError|_LinAlgError): [^\n]{0,60}?(?P<status>CUSOLVER_STATUS_\w{3,40}|"
            r"CUSPARSE_STATUS_\w{3,40}|CUFFT_\w{3,40})(?:,? when calling `?(?P<call>\w{3,60}))?"
        ),
        Message(
            en=Words(
                "a mathematical library of CUDA failed with `{status}`",
                "cuSOLVER, cuSPARSE and cuFFT need GPU memory of their own beside torch's: INTERNAL_ERROR, "
                "ALLOC_FAILED and NOT_INITIALIZED mostly mean that none was left. Else values were NaN or "
                "infinite (EXECUTION_FAILED), an earlier kernel had failed, or a library of another CUDA was "
                "loaded.",
                "Look at `nvidia-smi` at that moment and leave a part free (smaller batch, "
                "`torch.cuda.empty_cache()` before, lower `gpu_memory_utilization`); check the matrix with "
                "`torch.isfinite(x).all()`; `unset LD_LIBRARY_PATH` and reinstall torch with its own "
                '`nvidia-*` wheels. To go on: `torch.backends.cuda.preferred_linalg_library("magma")`, float32 '
                "instead of half, or the operation on the CPU. `CUDA_LAUNCH_BLOCKING=1` shows an earlier "
                "failure.",
            ),
            zh=Words(
                "CUDA 的数学库失败:`{status}`",
                "cuSOLVER、cuSPARSE、cuFFT 除 torch 之外还需要自己的显存:INTERNAL_ERROR、ALLOC_FAILED、"
                "NOT_INITIALIZED 多表示没有剩余显存。否则是数值为 NaN 或无穷(EXECUTION_FAILED)、之前的内核已失"
                "败,或加载了另一 CUDA 的库。",
                "查看当时的 `nvidia-smi` 并留出显存(更小的批次、事先 `torch.cuda.empty_cache()`、更低的 "
                "`gpu_memory_utilization`);用 `torch.isfinite(x).all()` 检查矩阵;`unset LD_LIBRARY_PATH` 并重装"
                "带自有 `nvidia-*` wheel 的 torch。要先跑起来"
                ':`torch.backends.cuda.preferred_linalg_library("magma")`、用 float32 代替半精度,或在 CPU 上执'
                "行该操作。`CUDA_LAUNCH_BLOCKING=1` 可显示更早的失败。",
            ),
        ),
    ),
    (
        (
            r"(?P<status>HIPBLAS_STATUS_\w{3,40}|HIPSOLVER_STATUS_\w{3,40}|HIPFFT_\w{3,40}|miopenStatus(?!Succ"
            r"ess)\w{3,40})|(?:MIOpen Error: [^\n]{0,120}unable to open database file)"
        ),
        Message(
            en=Words(
                "a mathematical library of ROCm failed (hipBLAS, MIOpen)",
                "MIOpen compiles kernels while it runs and keeps them in files: its folder in the home "
                "directory cannot be written, lies on a network disk, or two processes hold its database. Else "
                "GPU memory is short, or the libraries do not know this card (gfx) or are of another ROCm than "
                "torch.",
                "Give every process a folder of its own on a local disk: `export "
                "MIOPEN_USER_DB_PATH=/tmp/miopen-$LOCAL_RANK MIOPEN_CUSTOM_CACHE_DIR=/tmp/miopen-$LOCAL_RANK`. "
                "Look at `rocm-smi` for memory, and compare `torch.version.hip` with the ROCm of the system "
                "(`cat /opt/rocm/.info/version`), whose libraries must not come first in LD_LIBRARY_PATH. "
                "hipBLASLt: `TORCH_BLAS_PREFER_HIPBLASLT=0`. `MIOPEN_ENABLE_LOGGING=1` tells more.",
            ),
            zh=Words(
                "ROCm 的数学库失败(hipBLAS、MIOpen)",
                "MIOpen 在运行时编译内核并存入文件:其在用户主目录中的文件夹不可写、位于网络盘,或两个进程同时占"
                "用其数据库。否则是显存不足,或这些库不支持该卡(gfx)、与 torch 的 ROCm 版本不同。",
                "让每个进程使用本地盘上各自的目录:`export MIOPEN_USER_DB_PATH=/tmp/miopen-$LOCAL_RANK "
                "MIOPEN_CUSTOM_CACHE_DIR=/tmp/miopen-$LOCAL_RANK`。用 `rocm-smi` 查看显存,并比较 "
                "`torch.version.hip` 与系统 ROCm(`cat /opt/rocm/.info/version`),系统库不可排在 LD_LIBRARY_PATH "
                "前面。hipBLASLt:`TORCH_BLAS_PREFER_HIPBLASLT=0`。`MIOPEN_ENABLE_LOGGING=1` 可给出更多信息。",
            ),
        ),
    ),
)

SIGNATURES = tuple(
    Signature(pattern, symptom_of=("GPU", "MEM", "CUD", "NCC", "TOR012", "TOR013", "TOR047", "NUM"))
    for pattern, _ in CASES
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
