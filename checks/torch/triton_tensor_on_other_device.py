"""A Triton kernel is launched on another device than its tensors lie on.

## What it means
Triton launches on the current CUDA device of the process and does not look where the arguments are. A tensor on the
CPU, or on a GPU that is not the current one, cannot be read from there.
## What it does to a run
Liger, flash-linear-attention and other Triton kernels raise on their first use.
## What to do
Make the tensors' device the current one, and train with one process for each GPU.
## How it is found
In a log, by Triton's own message.
## References
https://github.com/triton-lang/triton/issues/2441
https://github.com/triton-lang/triton/issues/2925
https://github.com/triton-lang/triton/issues/5205
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR036", name="triton-tensor-on-other-device", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Pointer argument (?:\(at (?P<number>\d{1,3})\) )?cannot be accessed from Triton \(cpu tensor\?\)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a Triton kernel got a tensor that is not on the current GPU",
        'Triton launches on the process\'s current device. With `device_map="auto"` or a model moved to `cuda:1` the '
        "tensors lie elsewhere; a module that was left on the CPU or offloaded does the same.",
        'Train with one process for each GPU (`accelerate launch`, `torchrun`) and without `device_map="auto"`; call '
        "`torch.cuda.set_device(local_rank)` first. In your own code wrap the call in `with "
        "torch.cuda.device(x.device):`. Otherwise turn the kernel off (`use_liger_kernel=False`).",
    ),
    zh=Words(
        "Triton 内核收到的张量不在当前 GPU 上",
        'Triton 在进程的当前设备上启动内核。使用 `device_map="auto"` 或把模型移到 `cuda:1` 时,张量位于别处;'
        "留在 CPU 上或被卸载的模块也会如此。",
        '每张 GPU 使用一个进程训练(`accelerate launch`、`torchrun`),不要用 `device_map="auto"`;先调用 '
        "`torch.cuda.set_device(local_rank)`。自己的代码中用 `with torch.cuda.device(x.device):` 包住调用。否则关闭该内"
        "核(`use_liger_kernel=False`)。",
    ),
)
