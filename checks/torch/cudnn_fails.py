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

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR035", name="cudnn-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"cuDNN error: (?P<status>CUDNN_STATUS_(?!SUBLIBRARY_|VERSION_)\w{1,60})",
        symptom_of=("CUD008", "GPU", "TOR012", "TOR013", "MEM006", "MEM007", "MEM016"),
    ),
    Signature(
        r"RuntimeError: (?P<none>(?:cuDNN Frontend error: \[cudnn_frontend\] Error: )?No execution plans support"
        r" the graph"
        r"|GET was unable to find an engine to execute this computation"
        r"|Unable to find a valid cuDNN algorithm to run convolution)",
        symptom_of=("CUD008", "GPU", "TOR012", "TOR013", "MEM006", "MEM007", "MEM016"),
    ),
)

NO_PLAN = Message(
    en=Words(
        "cuDNN found no way to compute this convolution or attention here",
        "Every algorithm was refused: most often because GPU memory for their workspace was short, which older torch "
        "reports so instead of as out of memory; else the dtype, layout or head size has no kernel on this card, or "
        "another cuDNN than torch's own was loaded.",
        "Look at `nvidia-smi` and make the batch smaller first. `unset LD_LIBRARY_PATH`, reinstall torch with its own "
        "`nvidia-cudnn` wheel, and try float16 or float32 instead of bfloat16 and `.contiguous()`. To go around it: "
        "`torch.backends.cudnn.enabled = False`, for attention `torch.backends.cuda.enable_cudnn_sdp(False)`.",
    ),
    zh=Words(
        "cuDNN 在此处找不到计算该卷积或注意力的方法",
        "所有算法都被拒绝:多半是工作区显存不足,较旧的 torch 会这样报告而不是显存不足;否则是 dtype、布局或 head size "
        "在该卡上没有内核,或加载了 torch 自带以外的 cuDNN。",
        "先查看 `nvidia-smi` 并减小批次。`unset LD_LIBRARY_PATH`,重装 torch 及其 `nvidia-cudnn` wheel,尝试用 "
        "float16 或 float32 代替 bfloat16 并 `.contiguous()`。绕开的办法:`torch.backends.cudnn.enabled = "
        "False`,注意力用 `torch.backends.cuda.enable_cudnn_sdp(False)`。",
    ),
)
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


def explain(hits: Hits) -> Finding:
    """A status, or no algorithm at all."""
    status = hits.get("status")
    return found(
        PROBLEM, LOG_MESSAGE if status else NO_PLAN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        status=status or "",
    )  # fmt: skip
