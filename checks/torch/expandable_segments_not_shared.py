"""GPU memory cannot be handed to another process, because it lies in expandable segments.

## What it means
With `expandable_segments:True` a tensor's memory is shared by handing over file descriptors (pidfd_open, pidfd_getfd).
The kernel allows that only to a process that may trace the other: not in most containers, not with
`kernel.yama.ptrace_scope` of 1 or more between siblings, and not before Linux 5.6.
## What it does to a run
The engine (SGLang, vLLM) fails when the trainer hands it the new weights.
## What to do
Turn expandable segments off in the trainer, or allow the tracing.
## How it is found
In a log: by torch's message.
## References
https://github.com/verl-project/verl/issues/3377
https://github.com/verl-project/verl/issues/2846
https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDACachingAllocator.cpp
https://man7.org/linux/man-pages/man2/pidfd_getfd.2.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR039", name="expandable-segments-not-shared", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: (?P<call>pidfd_(?:getfd|open)): ?(?:Operation not permitted|Function not implemented"
        r"|(?P<gone>No such process|Bad file descriptor))",
    ),
    Signature(
        r"The kernel on this machine does not support the (?P<call>pidfd_(?:open|getfd)) syscall",
    ),
)

_COMMANDS = ("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False",)

LOG_MESSAGE = Message(
    en=Words(
        "GPU memory in expandable segments cannot be shared with another process here ({call})",
        "The trainer gives new weights to the engine by CUDA IPC. For memory of "
        "`expandable_segments:True` torch passes file descriptors between the processes, and this kernel "
        "or container does not allow it.",
        "Take `expandable_segments:True` out of `PYTORCH_CUDA_ALLOC_CONF` (newer torch: "
        "`PYTORCH_ALLOC_CONF`) for the trainer, Ray's workers included (`runtime_env`). To keep it, "
        "start the container with `--cap-add=SYS_PTRACE` (Kubernetes: `securityContext.capabilities.add: "
        "[SYS_PTRACE]`) or as root on the host `sysctl -w kernel.yama.ptrace_scope=0`; the kernel must "
        "be 5.6 or newer.",
    ),
    zh=Words(
        "此处无法与另一进程共享位于 expandable segments 中的显存({call})",
        "训练进程通过 CUDA IPC 把新权重交给推理引擎。对于 `expandable_segments:True` 的显存,torch 要在进"
        "程间传递文件描述符,而该内核或容器不允许。",
        "在训练进程(包括 Ray worker,`runtime_env`)的 `PYTORCH_CUDA_ALLOC_CONF`(新版 "
        "torch:`PYTORCH_ALLOC_CONF`)中去掉 `expandable_segments:True`。若要保留,请以 "
        "`--cap-add=SYS_PTRACE` 启动容器(Kubernetes:`securityContext.capabilities.add: [SYS_PTRACE]`),或"
        "在宿主机以 root 执行 `sysctl -w kernel.yama.ptrace_scope=0`;内核须为 5.6 及以上。",
    ),
)

GONE = Message(
    en=Words(
        "the process that shares GPU memory of expandable segments is not found ({call})",
        "For memory of `expandable_segments:True` torch fetches file descriptors from the process that owns it, by "
        "its number. That process has ended, it lives in another container or PID namespace where the number stands "
        "for nothing, or the tensor was freed before it was fetched.",
        "Look for an earlier failure of the trainer or worker that sends the weights. Trainer and engine in several "
        "containers need one PID namespace (docker `--pid=host`, Kubernetes `shareProcessNamespace: true`). Keep the "
        "tensors alive until the other side has taken them; or take `expandable_segments:True` out of "
        "`PYTORCH_CUDA_ALLOC_CONF` (newer torch: `PYTORCH_ALLOC_CONF`).",
    ),
    zh=Words(
        "找不到共享 expandable segments 显存的那个进程({call})",
        "对于 `expandable_segments:True` 的显存,torch 按进程号从持有它的进程取得文件描述符。该进程已经结束、位于另一个"
        "容器或 PID 命名空间(进程号在此无意义),或张量在被取走之前已释放。",
        "查找发送权重的训练进程或 worker 更早的失败。训练与推理引擎位于不同容器时需共用 PID 命名空间(docker "
        "`--pid=host`,Kubernetes `shareProcessNamespace: true`)。在对方取走之前保持张量存活;或从 "
        "`PYTORCH_CUDA_ALLOC_CONF`(新版 torch:`PYTORCH_ALLOC_CONF`)中去掉 `expandable_segments:True`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A system that does not allow it, or an owner that is not there."""
    gone = hits.first.groups.get("gone")
    return found(
        PROBLEM, GONE if gone else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=_COMMANDS,
        confidence=LIKELY if gone else CONFIRMED, call=hits.first.groups["call"],
    )  # fmt: skip
