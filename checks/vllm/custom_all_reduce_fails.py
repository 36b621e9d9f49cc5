"""vLLM's own all-reduce cannot map the memory of the other GPUs.

## What it means
Within one machine vLLM exchanges small tensors through buffers that the GPUs map from each other (CUDA IPC).
That fails where peer access is not given, in some containers and virtual machines, and for memory of an
allocator that IPC cannot share (`expandable_segments`).
## What it does to a run
Workers end while CUDA graphs are captured or registered, without a Python exception.
## What to do
Switch it off: NCCL does the same, a little slower for small tensors.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/usage/troubleshooting/
https://github.com/vllm-project/vllm/issues/5613
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL056", name="custom-all-reduce-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:Failed: )?Cuda error \S{0,200}custom_all_reduce\.cuh:\d{1,5} '(?P<why>[\w ]{1,60})'",
    ),
    Signature(
        r"RuntimeError: CUDART error: (?P<why>[\w ]{1,60})",
        frame=r"custom_all_reduce\.py",
    ),
    Signature(
        r"RuntimeError: CUDA error: (?P<why>invalid argument|invalid resource handle|peer access is not "
        r"supported[\w ]{0,40})",
        frame=r"custom_all_reduce\.py:|sgl_kernel[\\/]allreduce\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the custom all-reduce of vLLM or SGLang failed: {why}",
        "It maps memory of the other GPUs of this machine by CUDA IPC. That is not possible here: no "
        "peer access between the cards (PCIe switches, virtual machines, MIG), a container without the "
        "host IPC namespace, or memory of `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, which IPC "
        "cannot share.",
        "Start with `--disable-custom-all-reduce` (`disable_custom_all_reduce=True` in Python), so that "
        "NCCL does it. Unset `PYTORCH_CUDA_ALLOC_CONF` for the engine, run the container with "
        "`--ipc=host`, and check `nvidia-smi topo -p2p r`.",
    ),
    zh=Words(
        "vLLM 或 SGLang 的 custom all-reduce 失败:{why}",
        "它通过 CUDA IPC 映射本机其他 GPU 的显存。此处无法做到:显卡之间没有 peer access(PCIe 交换、虚拟机"
        "、MIG),容器没有主机 IPC 命名空间,或显存来自 "
        "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`,IPC 无法共享。",
        "用 `--disable-custom-all-reduce`(Python 中 `disable_custom_all_reduce=True`)启动,改由 NCCL 完成"
        "。为引擎取消 `PYTORCH_CUDA_ALLOC_CONF`,容器使用 `--ipc=host`,并检查 `nvidia-smi topo -p2p r`。",
    ),
)

LOG_CONFIDENCE = LIKELY
