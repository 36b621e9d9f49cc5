"""A call of cuDNN failed.

## What it means
cuDNN could not start or run: mostly no memory is left on the GPU for its handle or workspace; else a cuDNN or
driver that does not belong to the torch build, or an earlier kernel that broke the context.
## What it does to a run
The operation raises RuntimeError.
## What to do
Look at free memory first, then at the versions.
## How it is found
In a log: by torch's exception, where no version mismatch was reported.
## References
https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html
https://github.com/pytorch/pytorch/issues/27588
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR035", name="cudnn-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"cuDNN error: (?P<status>CUDNN_STATUS_(?!SUBLIBRARY_|VERSION_)\w{1,60})",
        symptom_of=("CUD008", "GPU", "TOR012", "TOR013", "MEM006", "MEM007", "MEM016"),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "cuDNN failed with `{status}`",
        "Most often the GPU has no memory left for cuDNN's handle or workspace, because other "
        "processes or the model fill it; else driver or cuDNN library do not belong to this "
        "torch build, or an earlier kernel broke the context.",
        "Look at `nvidia-smi` for free memory and other processes and lower batch size or "
        "sequence length; check for a foreign cuDNN on `LD_LIBRARY_PATH` (`doctor check`); run "
        "once with `CUDA_LAUNCH_BLOCKING=1`, and with `torch.backends.cudnn.enabled=False` to "
        "see whether it is cuDNN.",
    ),
    zh=Words(
        "cuDNN 失败:`{status}`",
        "多半是 GPU 已无显存供 cuDNN 的句柄或工作区使用(被其他进程或模型占满);否则是驱动或 cuDNN "
        "库与该 torch 不匹配,或之前的内核破坏了上下文。",
        "用 `nvidia-smi` 查看空闲显存与其他进程,减小批大小或序列长度;检查 `LD_LIBRARY_PATH` "
        "上是否有外来的 cuDNN(`doctor check`);用 `CUDA_LAUNCH_BLOCKING=1` 运行一次,并用 "
        "`torch.backends.cudnn.enabled=False` 判断是否 cuDNN 所致。",
    ),
)
