"""SGLang cannot learn how much memory the GPU has.

## What it means
SGLang derives `--mem-fraction-static`, the size of a prefill chunk and of CUDA graphs from the memory of the card,
and asks `nvidia-smi` or `rocminfo` for it. In a MIG slice, on a card with unified memory (Jetson, DGX Spark), in a
container without these tools and on a CPU they give no number.
## What it does to a run
The start ends before the model is read.
## What to do
Give the settings by hand, or take a release that asks torch as well.
## How it is found
In a log: by the messages of SGLang's own query, and by a comparison with None among its arguments.
## References
https://github.com/sgl-project/sglang/pull/8167
https://github.com/sgl-project/sglang/pull/3353
https://github.com/sgl-project/sglang/pull/7336
https://github.com/sgl-project/sglang/issues/11103
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="VLL110", name="sglang-memory-unknown", severity=ERROR, since="0.1")

_FILES = r"sglang[\\/](?:srt[\\/])?(?:utils|server_args|platforms|hardware)"

_SILENT = Message(
    en=Words(
        "SGLang gets no number for the GPU's memory from `nvidia-smi` or `rocminfo`",
        "In a MIG slice the query lacks the permission, a card with unified memory (Jetson, DGX Spark) answers with "
        "N/A, and in a container the tool may be missing or lack the driver. Releases before 0.4.10 ask nothing "
        "else and end here.",
        "Upgrade SGLang (`pip install -U sglang`, 0.4.10 or newer asks torch where the tool is silent). Else look at "
        "what `nvidia-smi --query-gpu=memory.total --format=csv,noheader` says inside the container: start it with "
        "`--gpus all` and the driver capability `utility` (`NVIDIA_DRIVER_CAPABILITIES=compute,utility`), or give the "
        "whole card instead of a MIG slice.",
    ),
    zh=Words(
        "SGLang 无法从 `nvidia-smi` 或 `rocminfo` 得到 GPU 显存大小",
        "在 MIG 分片中该查询没有权限,统一内存的卡(Jetson、DGX Spark)返回 N/A,容器中可能缺少该工具或驱动。0.4.10 之前的"
        "版本没有别的途径,因此在此退出。",
        "升级 SGLang(`pip install -U sglang`,0.4.10 及以上在工具无结果时改问 torch)。否则查看容器内 `nvidia-smi "
        "--query-gpu=memory.total --format=csv,noheader` 的输出:以 `--gpus all` 及驱动能力 `utility`"
        "(`NVIDIA_DRIVER_CAPABILITIES=compute,utility`)启动,或用整卡代替 MIG 分片。",
    ),
)
_NONE = Message(
    en=Words(
        "SGLang's arguments are worked out from the memory of the device, which is not known here",
        "On a CPU, or a device whose memory SGLang does not ask for, its size is None, and the comparison that "
        "chooses `mem_fraction_static` and the chunk size fails.",
        "Give them yourself: `--mem-fraction-static 0.8 --chunked-prefill-size 2048 --max-running-requests 16`, and "
        "name the device (`--device cpu` with SGLang's CPU build). Upgrading SGLang mends it as well. On a GPU machine "
        "this means that the GPU is not seen: check `nvidia-smi` and `torch.cuda.is_available()`.",
    ),
    zh=Words(
        "SGLang 依据设备内存推算参数,而此处内存大小未知",
        "在 CPU 或 SGLang 不查询其内存的设备上,该值为 None,选择 `mem_fraction_static` 与 chunk 大小的比较因此失败。",
        "自行给出:`--mem-fraction-static 0.8 --chunked-prefill-size 2048 --max-running-requests 16`,并指定设备"
        "(`--device cpu`,配合 SGLang 的 CPU 构建)。升级 SGLang 也可解决。若在 GPU 机器上,说明 GPU 未被识别:检查 "
        "`nvidia-smi` 与 `torch.cuda.is_available()`。",
    ),
)

CASES = (
    (Signature(r"ValueError: No GPU memory values found\.", frame=_FILES), _SILENT, CONFIRMED),
    (
        Signature(
            r"RuntimeError: (?:nvidia-smi|rocm-smi|hl-smi) (?:not found\. Ensure|error: )"
            r"|RuntimeError: Not a Jetson device and nvidia-smi was not found",
            frame=_FILES,
        ),
        _SILENT,
        CONFIRMED,
    ),
    (
        Signature(
            r"TypeError: '[<>]=?' not supported between instances of '(?:NoneType' and '(?:int|float)"
            r"|(?:int|float)' and 'NoneType)'",
            frame=r"server_args\.py:(?:_handle_gpu_memory_settings|_handle_\w{0,40}mem\w{0,40})",
        ),
        _NONE,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Which of the two it is: a tool that says nothing, or a device that is not asked."""
    return finding_of_signature(PROBLEM, CASES, hits)
