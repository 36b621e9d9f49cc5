"""The allocator that vLLM's sleep mode needs is not in the installation.

## What it means
Sleep mode keeps weights and cache in a memory pool of a compiled module (`vllm.cumem_allocator`,
`vllm_ascend.vllm_ascend_C`). That module could not be imported: it was not compiled, belongs to another PyTorch, or
does not exist for this platform.
## What it does to a run
Loading the model ends with `AssertionError: camem allocator is not available` (NPU) or `cumem allocator ...`.
## What to do
Install the build that belongs to the installed PyTorch, or do without sleep mode.
## How it is found
In a log: by the assertion, and the warning above it that names why the module did not load.
## References
https://github.com/vllm-project/vllm-ascend/issues/3998
https://github.com/vllm-project/vllm-ascend/issues/556
https://github.com/vllm-project/vllm/pull/12695
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL114", name="sleep-allocator-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: (?P<allocator>c[au]mem) allocator is not available"),
    Signature(r"Failed to import vllm_ascend_C: ?(?P<why>[^\n]{1,300}?)\. Sleep mode will be disabled", kind="sign"),
)

ASCEND = Message(
    en=Words(
        "vLLM-Ascend's sleep mode has no allocator: its compiled part did not load",
        "The module `vllm_ascend_C` holds it. It was not compiled (`COMPILE_CUSTOM_KERNELS` was 0), was compiled "
        "against another torch or torch_npu (`undefined symbol`), or CANN's libraries are not on the path.",
        "See why: `python -c 'import torch, torch_npu, vllm_ascend.vllm_ascend_C'`. Then `source "
        "/usr/local/Ascend/ascend-toolkit/set_env.sh` and build again against what is installed: `export "
        "COMPILE_CUSTOM_KERNELS=1; pip install -v --no-build-isolation --force-reinstall --no-deps -e .` in its "
        "checkout, or take the image of that release. Until then switch sleep mode off (TRL "
        "`vllm_enable_sleep_mode=False`, veRL `rollout.free_cache_engine=False`).",
    ),
    zh=Words(
        "vLLM-Ascend 的睡眠模式没有分配器:其编译部分没有加载",
        "分配器位于模块 `vllm_ascend_C` 中。可能没有编译(`COMPILE_CUSTOM_KERNELS` 为 0),可能是按另一版本的 torch 或 "
        "torch_npu 编译(`undefined symbol`),也可能 CANN 的库不在路径中。",
        "查看原因:`python -c 'import torch, torch_npu, vllm_ascend.vllm_ascend_C'`。然后 `source "
        "/usr/local/Ascend/ascend-toolkit/set_env.sh`,在其检出目录按已安装的版本重新编译:`export "
        "COMPILE_CUSTOM_KERNELS=1; pip install -v --no-build-isolation --force-reinstall --no-deps -e .`,或使用该版本"
        "的官方镜像。在此之前关闭睡眠模式(TRL 为 `vllm_enable_sleep_mode=False`,veRL 为 `rollout.free_cache_engine="
        "False`)。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM's sleep mode has no allocator: this build lacks `cumem_allocator`",
        "The compiled module is built for CUDA, and for ROCm only in newer releases; in other builds, in WSL images "
        "without the driver's library, or in a checkout that was installed without compiling, it cannot be imported.",
        "See why: `python -c 'import torch, vllm.cumem_allocator'`. Install the wheel for CUDA, on AMD a build of "
        "ROCm that has it, or compile the checkout. Until then switch sleep mode off (TRL "
        "`vllm_enable_sleep_mode=False`, veRL `rollout.free_cache_engine=False`, vLLM without "
        "`--enable-sleep-mode`) and give the engine a smaller `gpu_memory_utilization`.",
    ),
    zh=Words(
        "vLLM 的睡眠模式没有分配器:此构建缺少 `cumem_allocator`",
        "该编译模块为 CUDA 构建,ROCm 只有较新的版本才有;在其他构建、缺少驱动库的 WSL 镜像或未编译安装的检出目录中无法"
        "导入。",
        "查看原因:`python -c 'import torch, vllm.cumem_allocator'`。安装 CUDA 的 wheel,AMD 上使用含有它的 ROCm 构建,或"
        "编译检出目录。在此之前关闭睡眠模式(TRL 为 `vllm_enable_sleep_mode=False`,veRL 为 `rollout.free_cache_engine="
        "False`,vLLM 去掉 `--enable-sleep-mode`),并调低引擎的 `gpu_memory_utilization`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The name of the allocator tells the platform."""
    return found(
        PROBLEM,
        ASCEND if hits.get("allocator") == "camem" else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )
