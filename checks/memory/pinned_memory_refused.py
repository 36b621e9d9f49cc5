"""CUDA says out of memory, and it is pinned host memory that was refused.

## What it means
cudaHostAlloc reports the same error as GPU memory. Pinned memory is limited under WSL 2 and by the locked-memory
limit.
## What it does to a run
vLLM's swap cache or DeepSpeed's offload buffers cannot be made, with a GPU nearly empty.
## What to do
Ask for less pinned memory or allow more.
## How it is found
`CUDA error: out of memory` below a function that allocates pinned memory.
## References
https://docs.nvidia.com/cuda/wsl-user-guide/index.html#known-limitations-for-linux-cuda-applications
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM020", name="pinned-memory-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:torch\.)?(?:RuntimeError|AcceleratorError): CUDA error: out of memory",
        frame="allocate_cpu_cache|pin_memory|swap_in|_pin\\b|cpu_offload|swap_tensor",
    ),
    Signature(
        r"(?P<npu>aclrtMallocHost\w{0,20}), error code is 207001|OutOfMemoryError: (?P<npu_host>allocate_host_memory)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "pinned host memory was refused, which CUDA reports as out of memory",
        "The traceback asks for page-locked RAM (the CPU swap cache of vLLM, or offload buffers), "
        "not for GPU memory. WSL 2 allows only part of the RAM to be pinned, and containers limit "
        "locked memory. The pinning thread of a data loader says the same where the GPU itself is too full for a "
        "CUDA context.",
        "Look at `nvidia-smi` first: a full GPU is to be freed. Else lower vLLM's `swap_space` (V0 engine; gone in "
        "0.18) or `kv_offloading_size`, turn `pin_memory` off (`offload_optimizer.pin_memory: false`, "
        "`dataloader_pin_memory=False`), raise `ulimit -l`, or give WSL more memory in `.wslconfig`.",
    ),
    zh=Words(
        "锁页主机内存申请被拒绝,CUDA 把它报成显存不足",
        "调用栈申请的是锁页内存(vLLM 的 CPU swap cache 或卸载缓冲),而不是显存。WSL 2 只允许锁定部分内"
        "存,容器也限制锁定内存。若 GPU 已满而无法建立 CUDA 上下文,数据加载器的锁页线程也会这样报错。",
        "先看 `nvidia-smi`:GPU 已满则释放它。否则降低 vLLM 的 `swap_space`(V0 引擎;0.18 起已无)或 `kv_offloading_size`,"
        "关闭 `pin_memory`(`offload_optimizer.pin_memory: "
        "false`、`dataloader_pin_memory=False`),提高 `ulimit -l`,或在 `.wslconfig` 中给 WSL 更多内存"
        "。",
    ),
)

ON_NPU = Message(
    en=Words(
        "page-locked host memory was refused on an Ascend node: the host's memory is full",
        "`aclrtMallocHost` asks for RAM that stays in place, for copies between host and NPU. Offloading optimizer "
        "states, gradients or parameters takes that much of it in every process of the node; veRL's engines make "
        "optimizer states also for runs that only validate.",
        "Offload less: `actor_rollout_ref.actor.megatron.optimizer_offload=False` (FSDP: "
        "`actor.fsdp_config.optimizer_offload=False`) and `grad_offload=False`; for validation alone "
        "`actor.megatron.forward_only=True`. Give the container more memory and `--ulimit memlock=-1`; `free -g` and "
        "the job's limit tell what there is.",
    ),
    zh=Words(
        "昇腾节点上锁页主机内存申请被拒绝:不是 NPU 内存不足,而是主机内存不足",
        "`aclrtMallocHost` 申请的是不可换出的内存,用于主机与 NPU 之间的拷贝。卸载优化器状态、梯度或参数时,节点上的每个"
        "进程都要占用相应的量;veRL 的引擎即使只做验证也会创建优化器状态。",
        "减少卸载:`actor_rollout_ref.actor.megatron.optimizer_offload=False`(FSDP 为 "
        "`actor.fsdp_config.optimizer_offload=False`)以及 `grad_offload=False`;只做验证时 "
        "`actor.megatron.forward_only=True`。给容器更多内存并设 `--ulimit memlock=-1`;用 `free -g` 与作业上限查看可用"
        "量。",
    ),
)


def explain(hits: Hits) -> Finding:
    """What CUDA words as its own memory, or what Ascend's runtime names."""
    if hits.get("npu") or hits.get("npu_host"):
        return found(PROBLEM, ON_NPU, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
    loader = any("torch/utils/data/" in frame.replace("\\", "/") for hit in hits for frame in hit.frames)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY if loader else CONFIRMED
    )
